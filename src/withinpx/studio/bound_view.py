"""Theorem 4.1 for the page's sliders: the bound, and its curves against each variable."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from withinpx.theory import CompactSupport, Gaussian, SizeRange, error_bound
from withinpx.theory.bound import Rendering, theorem
from withinpx.theory.corollaries import bound_vs_decoder_rf, bound_vs_encoder_rf, bound_vs_object_size
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD

LARGEST_SIGMA = 5.0  # px, of figure 3
POINTS = 121  # of a curve


def bound_json(
    encoder_rf: int,
    decoder_rf: int,
    sizes: SizeRange,
    sigma: float,
    *,
    n_sigma: float = 2.0,
    support: float | None = None,
) -> dict[str, Any]:
    """The bound of one network, and how it changes with each of its variables, the others as they are."""
    rendering: Rendering = Gaussian(sigma, n_sigma) if support is None else CompactSupport(support)
    found = error_bound(encoder_rf, decoder_rf, sizes, rendering)
    places = {
        "encoder_rf": np.linspace(1, LARGEST_RECEPTIVE_FIELD, POINTS),
        "decoder_rf": np.linspace(sizes.largest, LARGEST_RECEPTIVE_FIELD, POINTS),
        "object_size": np.linspace(1, decoder_rf, POINTS),
        "sigma": np.linspace(0, LARGEST_SIGMA, POINTS),
    }
    curves = {name: {"x": [round(float(value), 4) for value in values]} for name, values in places.items()}

    def add(line: str, reach: float, per_sigma: float | None) -> None:
        """A line in each of them: so far reaches the Gaussian, or so far for each px of the sigma that varies."""
        bounds: dict[str, Callable[[float], float]] = {
            "encoder_rf": bound_vs_encoder_rf(decoder_rf, sizes, reach),
            "decoder_rf": bound_vs_decoder_rf(encoder_rf, sizes, reach),
            "object_size": bound_vs_object_size(encoder_rf, decoder_rf, reach),
            "sigma": lambda x: (
                theorem(
                    encoder_rf, decoder_rf, sizes, CompactSupport(reach if per_sigma is None else per_sigma * x)
                ).bound
            ),
        }
        for name, bound_at in bounds.items():
            curves[name][line] = [round(bound_at(value), 4) for value in curves[name]["x"]]

    for n, line in enumerate(("mean", "n1", "n2", "n3", "n4")):  # the deviations that figure 3 shades
        add(line, n * sigma, n)
    if support is not None:  # then its radius is the only reach there is
        add("support", support, None)
    return {**asdict(found), "reach": rendering.reach, "sentence": found.in_words(n_sigma, 1), "curves": curves}
