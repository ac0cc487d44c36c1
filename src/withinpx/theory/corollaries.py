"""Corollaries 4.2 to 4.5, B.1 and B.2: the bound as a piecewise linear function of one variable.

``reach`` is the largest |Delta_G| that the bound allows for: n sigma, or the support's radius. The exact curves equal
theorem 4.1 everywhere. The paper prints the borders of the regions for Delta_G = 0, and its size-range curves are
looser in the middle; ``printed_*`` are those, to the letter (docs/theory.md).
"""

import math
from dataclasses import dataclass

from withinpx.errors import InputError
from withinpx.theory.bound import Limiting, SizeRange


@dataclass(frozen=True)
class Region:
    """One linear piece: ``intercept + slope * x`` for x up to ``end``."""

    end: float
    limiting: Limiting
    slope: float
    intercept: float


@dataclass(frozen=True)
class Curve:
    """The bound against one variable, defined from ``start`` on."""

    variable: str
    start: float
    regions: tuple[Region, ...]

    @property
    def crossings(self) -> tuple[float, ...]:
        """The borders between regions: the dashed lines of figures 3 and 7."""
        inner = {region.end for region in self.regions[:-1]}
        return tuple(sorted(x for x in inner if self.start < x < self.regions[-1].end))

    def region_at(self, x: float) -> Region:
        """The region that contains x; at a border, the one that ends there."""
        if not self.start <= x <= self.regions[-1].end:
            raise InputError(f"The bound has no {self.variable} {x:g}: it starts at {self.start:g}.")
        return next(region for region in self.regions if x <= region.end)

    def __call__(self, x: float) -> float:
        region = self.region_at(x)
        return region.intercept + region.slope * x


def bound_vs_encoder_rf(decoder_rf: float, sizes: SizeRange, reach: float) -> Curve:
    """Cor. 4.2 for one size, the exact form of cor. B.1 for a range."""
    return _vs_encoder_rf(decoder_rf, sizes, reach, border=2 * reach, middle=reach / 2)


def printed_bound_vs_encoder_rf(decoder_rf: float, sizes: SizeRange, reach: float) -> Curve:
    """Cor. B.1 as the paper prints it (cor. 4.2 for one size)."""
    return _vs_encoder_rf(decoder_rf, sizes, reach, border=0, middle=reach)


def _vs_encoder_rf(decoder_rf: float, sizes: SizeRange, reach: float, *, border: float, middle: float) -> Curve:
    return Curve(
        "encoder receptive field",
        1,
        (
            Region(decoder_rf - 2 * sizes.largest + 2 + border, "encoder", 1 / 2, sizes.largest / 2 - 1),
            Region(decoder_rf - 2 * sizes.smallest + 2 + border, "both", 1 / 4, decoder_rf / 4 - 1 / 2 + middle),
            Region(math.inf, "decoder", 0, decoder_rf / 2 - sizes.smallest / 2 + reach),
        ),
    )


def bound_vs_decoder_rf(encoder_rf: float, sizes: SizeRange, reach: float) -> Curve:
    """Cor. 4.3 for one size, the exact form of cor. B.2 for a range."""
    return _vs_decoder_rf(encoder_rf, sizes, reach, start=sizes.largest, border=2 * reach, middle=reach / 2)


def printed_bound_vs_decoder_rf(encoder_rf: float, sizes: SizeRange, reach: float) -> Curve:
    """Cor. B.2 as the paper prints it (cor. 4.3 for one size)."""
    return _vs_decoder_rf(encoder_rf, sizes, reach, start=sizes.smallest, border=0, middle=reach)


def _vs_decoder_rf(
    encoder_rf: float, sizes: SizeRange, reach: float, *, start: float, border: float, middle: float
) -> Curve:
    return Curve(
        "decoder receptive field",
        start,
        (
            Region(encoder_rf + 2 * sizes.smallest - 2 - border, "decoder", 1 / 2, reach - sizes.smallest / 2),
            Region(encoder_rf + 2 * sizes.largest - 2 - border, "both", 1 / 4, encoder_rf / 4 - 1 / 2 + middle),
            Region(math.inf, "encoder", 0, encoder_rf / 2 + sizes.largest / 2 - 1),
        ),
    )


def bound_vs_object_size(encoder_rf: float, decoder_rf: float, reach: float) -> Curve:
    """Cor. 4.4: the bound is largest at the crossing, and smaller for smaller and for larger objects."""
    return Curve(
        "object size",
        1,
        (
            Region(min(decoder_rf / 2 - encoder_rf / 2 + 1 + reach, decoder_rf), "encoder", 1 / 2, encoder_rf / 2 - 1),
            Region(decoder_rf, "decoder", -1 / 2, decoder_rf / 2 + reach),
        ),
    )


def bound_vs_sigma(encoder_rf: float, decoder_rf: float, object_size: float, n_sigma: float) -> Curve:
    """Cor. 4.5 at ``n_sigma`` standard deviations: the crossing is the printed one divided by n."""
    slack = encoder_rf / 2 - decoder_rf / 2 + object_size - 1
    crossing = slack / n_sigma if n_sigma > 0 else math.copysign(math.inf, slack)
    return Curve(
        "sigma",
        0,
        (
            Region(crossing, "decoder", n_sigma, decoder_rf / 2 - object_size / 2),
            Region(math.inf, "encoder", 0, encoder_rf / 2 + object_size / 2 - 1),
        ),
    )
