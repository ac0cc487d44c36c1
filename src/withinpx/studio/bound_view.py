"""Theorem 4.1 for the page's sliders: the bound, and its curves against each variable."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from withinpx.theory import CompactSupport, Gaussian, SizeRange, error_bound
from withinpx.theory.bound import Bound, Rendering, theorem
from withinpx.theory.corollaries import bound_vs_decoder_rf, bound_vs_encoder_rf, bound_vs_object_size
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD

DEVIATIONS = (1, 2, 3, 4)  # that are shaded in figure 3
LARGEST_SIGMA = 5.0  # px, of figure 3
POINTS = 121  # of a curve
AtReach = Callable[[float, float], float]  # x, the largest |Delta_G| per px of sigma -> the bound


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
    gaussian = Gaussian(sigma, n_sigma)
    rendering: Rendering = gaussian if support is None else CompactSupport(support)
    found = error_bound(encoder_rf, decoder_rf, sizes, rendering)
    fixed = support  # with a support, its radius is the only reach there is
    curves = {
        "encoder_rf": _curves(
            np.linspace(1, LARGEST_RECEPTIVE_FIELD, POINTS),
            lambda x, n: bound_vs_encoder_rf(decoder_rf, sizes, n * sigma)(x),
        ),
        "decoder_rf": _curves(
            np.linspace(sizes.largest, LARGEST_RECEPTIVE_FIELD, POINTS),
            lambda x, n: bound_vs_decoder_rf(encoder_rf, sizes, n * sigma)(x),
        ),
        "object_size": _curves(
            np.linspace(1, decoder_rf, POINTS), lambda x, n: bound_vs_object_size(encoder_rf, decoder_rf, n * sigma)(x)
        ),
        "sigma": _curves(
            np.linspace(0, LARGEST_SIGMA, POINTS),
            lambda x, n: theorem(encoder_rf, decoder_rf, sizes, CompactSupport(n * x)).bound,
        ),
    }
    if fixed is not None:
        _add_support(curves, encoder_rf, decoder_rf, sizes, fixed)
    return {**asdict(found), "reach": rendering.reach, "sentence": _sentence(found, gaussian), "curves": curves}


def _curves(x: Iterable[float], at: AtReach) -> dict[str, list[float]]:
    values = [round(float(value), 4) for value in x]
    lines = {"mean": 0, **{f"n{n}": n for n in DEVIATIONS}}
    return {"x": values, **{name: [round(at(value, n), 4) for value in values] for name, n in lines.items()}}


def _add_support(
    curves: dict[str, dict[str, list[float]]], encoder_rf: int, decoder_rf: int, sizes: SizeRange, radius: float
) -> None:
    """One more line each: the bound for a Gaussian that is exactly zero beyond a radius."""
    against: dict[str, Callable[[float], float]] = {
        "encoder_rf": bound_vs_encoder_rf(decoder_rf, sizes, radius),
        "decoder_rf": bound_vs_decoder_rf(encoder_rf, sizes, radius),
        "object_size": bound_vs_object_size(encoder_rf, decoder_rf, radius),
        "sigma": lambda _: theorem(encoder_rf, decoder_rf, sizes, CompactSupport(radius)).bound,
    }
    for name, bound_at in against.items():
        curves[name]["support"] = [round(bound_at(value), 4) for value in curves[name]["x"]]


def _sentence(found: Bound, gaussian: Gaussian) -> str:
    sureness = "always" if found.deterministic else f"at {gaussian.n_sigma:g} sigma ({found.probability:.1%})"
    return f"Every position is within {found.bound:g} px, {sureness}."
