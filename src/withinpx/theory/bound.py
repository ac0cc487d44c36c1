"""Theorem 4.1: the largest distance between a learned position z and the true one. Pixels throughout."""

import math
from dataclasses import dataclass
from typing import Literal

from withinpx.errors import InputError
from withinpx.theory.receptive_field import check_receptive_field

# On footage the encoder's input is masked to the pixels that changed, and whether a pixel changed depends on its
# neighbours: the mask widens the encoder's receptive field by one pixel on either side.
GATE_PX = 2


@dataclass(frozen=True)
class Gaussian:
    """The paper's rendering, Delta_G ~ N(0, sigma^2), truncated at ``n_sigma`` standard deviations.

    The bound holds if the decoder uses no part of the Gaussian further out than that.

    >>> Gaussian(sigma=0.8, n_sigma=2).reach
    1.6
    """

    sigma: float  # sigma_G, px
    n_sigma: float = 2.0

    def __post_init__(self) -> None:
        check_number(self.sigma, "sigma", at_least=0.0)
        check_number(self.n_sigma, "n-sigma", at_least=0.0)

    @property
    def reach(self) -> float:
        """The largest |Delta_G| that the bound allows for, px."""
        return self.n_sigma * self.sigma

    @property
    def probability(self) -> float:
        """P(|Delta_G| <= reach)."""
        return math.erf(self.n_sigma / math.sqrt(2)) if self.sigma > 0 else 1.0

    @property
    def deterministic(self) -> bool:
        return self.sigma == 0


@dataclass(frozen=True)
class CompactSupport:
    """Rendering that is exactly zero beyond ``radius`` px, so |Delta_G| <= radius always.

    >>> CompactSupport(3.2).deterministic
    True
    """

    radius: float

    def __post_init__(self) -> None:
        check_number(self.radius, "support", at_least=0.0)

    @property
    def reach(self) -> float:
        return self.radius

    probability = 1.0
    deterministic = True


Rendering = Gaussian | CompactSupport
Limiting = Literal["encoder", "decoder", "both"]


@dataclass(frozen=True)
class SizeRange:
    """Object sizes from ``smallest`` to ``largest`` px (s_o: the longer side of the bounding box).

    >>> SizeRange(6, 10)
    SizeRange(smallest=6, largest=10)
    """

    smallest: float
    largest: float

    def __post_init__(self) -> None:
        check_number(self.smallest, "object size", at_least=1.0)
        check_number(self.largest, "object size", at_least=1.0)
        if self.smallest > self.largest:
            raise InputError(
                f"The object sizes {self.smallest:g} {self.largest:g} are reversed: give the smaller one first."
            )


@dataclass(frozen=True)
class Bound:
    """Theorem 4.1 for one network: |z - truth| <= ``bound`` along each axis."""

    encoder_term: float  # s_psi/2 + s_o/2 - 1, at the worst object size
    decoder_term: float  # s_phi/2 - s_o/2 + |Delta_G|, at the worst object size
    bound: float
    limiting: Limiting  # the smaller term
    deterministic: bool  # holds whatever part of the Gaussian the decoder uses
    probability: float  # P(|Delta_G| <= reach); 1 when deterministic
    worst_size: float  # the object size at which the bound is reached

    def __repr__(self) -> str:
        return f"Bound({self.bound:g} px, limiting={self.limiting!r}, probability={self.probability:.6g})"

    def in_words(self, n_sigma: float | None, decimals: int = 4) -> str:
        """One sentence; ``n_sigma`` is named where the bound is not deterministic."""
        sure = "always" if self.deterministic else f"at {n_sigma:g} sigma ({self.probability:.{decimals}%})"
        return f"Every position is within {self.bound:g} px, {sure}."


def encoder_term(encoder_rf: float, object_size: float) -> float:
    """The largest distance between an encoder window and an object that share a pixel (fig. 2a)."""
    return encoder_rf / 2 + object_size / 2 - 1


def decoder_term(decoder_rf: float, object_size: float, reach: float) -> float:
    """The largest distance between a Gaussian and an object inside the decoder's window (fig. 2b)."""
    return decoder_rf / 2 - object_size / 2 + reach


def crossing_size(encoder_rf: float, decoder_rf: float, reach: float) -> float:
    """The object size at which both terms are equal; below it the encoder limits, above it the decoder."""
    return decoder_rf / 2 - encoder_rf / 2 + 1 + reach


def error_bound(encoder_rf: int, decoder_rf: int, object_size: float | SizeRange, rendering: Rendering) -> Bound:
    """Theorem 4.1; for a range of sizes, its exact maximum over the range.

    >>> error_bound(encoder_rf=9, decoder_rf=25, object_size=9, rendering=Gaussian(0.8))
    Bound(8 px, limiting='encoder', probability=1)
    >>> error_bound(9, 11, SizeRange(6, 10), CompactSupport(3.2)).bound
    5.7
    """
    sizes = object_size if isinstance(object_size, SizeRange) else SizeRange(object_size, object_size)
    check_network(encoder_rf, decoder_rf, sizes)
    return theorem(encoder_rf, decoder_rf, sizes, rendering)


def theorem(encoder_rf: int, decoder_rf: int, sizes: SizeRange, rendering: Rendering) -> Bound:
    """``error_bound`` without its checks: the decoder may be smaller than the object.

    Such a decoder reconstructs the object only as far as the Gaussian's width helps; a bound below zero means that it
    cannot. The encoder term grows with the size and the decoder term falls, so their minimum peaks where they cross,
    or at the end of the range that is nearest to the crossing.
    """
    crossing = crossing_size(encoder_rf, decoder_rf, rendering.reach)
    worst = min(max(crossing, sizes.smallest), sizes.largest)
    encoder = encoder_term(encoder_rf, worst)
    decoder = decoder_term(decoder_rf, worst, rendering.reach)
    limiting: Limiting = "encoder" if crossing >= sizes.largest else "decoder" if crossing <= sizes.smallest else "both"
    deterministic = limiting == "encoder" or rendering.deterministic  # the encoder's term has no Delta_G in it
    return Bound(
        encoder_term=encoder,
        decoder_term=decoder,
        bound=min(encoder, decoder),
        limiting=limiting,
        deterministic=deterministic,
        probability=1.0 if deterministic else rendering.probability,
        worst_size=worst,
    )


def check_network(encoder_rf: int, decoder_rf: int, sizes: SizeRange) -> None:
    check_receptive_field(encoder_rf, "encoder receptive field")
    check_receptive_field(decoder_rf, "decoder receptive field")
    if decoder_rf < sizes.largest:
        raise InputError(
            f"The decoder receptive field is {decoder_rf} px and the object {sizes.largest:g} px: no decoder can draw "
            f"an object larger than its receptive field; make it at least as large as the object."
        )


def check_number(value: float, name: str, at_least: float) -> None:
    if not math.isfinite(value) or value < at_least:
        raise InputError(f"The {name} is {value:g}: give a finite number of at least {at_least:g}.")
