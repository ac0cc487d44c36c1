"""Section 4 and appendix B of the paper: the error bound and the networks that reach it. No torch."""

from withinpx.theory.bound import Bound, CompactSupport, Gaussian, SizeRange, error_bound
from withinpx.theory.design import NetworkDesign, design

__all__ = ["Bound", "CompactSupport", "Gaussian", "NetworkDesign", "SizeRange", "design", "error_bound"]
