"""Twenty squares networks trained at once on one GPU: the hand-written kernels behind figure 4, used nowhere else.

``fit_together`` trains several networks of one shape; each learns what ``training.fit`` would teach it alone. On CUDA
one step of all networks is recorded as a graph. With ``Kernels.TF32``, batch-norm, ReLU and the bookkeeping of windows
run in Triton kernels; with ``Kernels.HALF``, filters and feature maps are in half precision besides (heatmaps,
positions, images and the loss are not). But for rounding the numbers equal the sparse engine's.
"""

from withinpx.experiments.squares_gpu.together import engines_for, fit_together

__all__ = ["engines_for", "fit_together"]
