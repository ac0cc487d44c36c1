"""Theorem 4.1 for the page's sliders: the bound, and its curve against each variable."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from withinpx.theory import CompactSupport, Gaussian, SizeRange, error_bound
from withinpx.theory.bound import Rendering, theorem
from withinpx.theory.corollaries import bound_vs_decoder_rf, bound_vs_encoder_rf, bound_vs_object_size
from withinpx.theory.receptive_field import LARGEST_UNDILATED

MAX_SIGMA = 5.0  # px, as in figure 3
POINTS = 121  # per curve


def bound_json(
    encoder_rf: int,
    decoder_rf: int,
    sizes: SizeRange,
    sigma: float,
    *,
    n_sigma: float = 2.0,
    support: float | None = None,
) -> dict[str, Any]:
    """The bound of one network, and curves that vary one variable each."""
    rendering: Rendering = Gaussian(sigma, n_sigma) if support is None else CompactSupport(support)
    bound = error_bound(encoder_rf, decoder_rf, sizes, rendering)
    furthest = max(LARGEST_UNDILATED, encoder_rf, decoder_rf)
    grids = {
        "encoder_rf": np.linspace(1, furthest, POINTS),
        "decoder_rf": np.linspace(sizes.largest, furthest, POINTS),
        "object_size": np.linspace(1, decoder_rf, POINTS),
        "sigma": np.linspace(0, MAX_SIGMA, POINTS),
    }
    curves = {name: {"x": grid.round(4).tolist()} for name, grid in grids.items()}

    def add_line(line: str, reach: float, reach_at: Callable[[float], float]) -> None:
        """One line per curve; ``reach_at`` is the reach of the Gaussian as sigma varies."""
        bounds: dict[str, Callable[[float], float]] = {
            "encoder_rf": bound_vs_encoder_rf(decoder_rf, sizes, reach),
            "decoder_rf": bound_vs_decoder_rf(encoder_rf, sizes, reach),
            "object_size": bound_vs_object_size(encoder_rf, decoder_rf, reach),
            "sigma": lambda x: theorem(encoder_rf, decoder_rf, sizes, CompactSupport(reach_at(x))).bound,
        }
        for name, bound_at in bounds.items():
            curves[name][line] = [round(bound_at(x), 4) for x in curves[name]["x"]]

    for n, line in enumerate(("mean", "n1", "n2", "n3", "n4")):  # the standard deviations of figure 3
        add_line(line, n * sigma, lambda x, n=n: n * x)  # type: ignore[misc]
    if support is not None:  # the reach is the radius, whatever sigma is
        add_line("support", support, lambda _: support)
    return {**asdict(bound), "reach": rendering.reach, "message": bound.in_words(n_sigma, 1), "curves": curves}
