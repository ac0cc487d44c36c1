"""Section 3, one file per box of figure 1."""

import torch

from withinpx.model.autoencoder import Autoencoder, NetworkConfig, Reconstruction
from withinpx.model.background import BackgroundMode

__all__ = ["Autoencoder", "BackgroundMode", "NetworkConfig", "Reconstruction"]

# The far tails of heatmaps and Gaussians are denormal numbers, with which a CPU computes some fifty times slower. They
# are as good as zero; threads that torch starts later take this over, so it is set before the first computation.
torch.set_flush_denormal(True)
