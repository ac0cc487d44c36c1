"""Section 3: one file per box of figure 1, and their sparse execution (field, windows, sparse)."""

from withinpx.model.autoencoder import Autoencoder, NetworkConfig, Reconstruction
from withinpx.model.background import BackgroundMode

__all__ = ["Autoencoder", "BackgroundMode", "NetworkConfig", "Reconstruction"]
