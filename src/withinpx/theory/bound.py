"""Theorem 4.1: how far the learned position can be from the true one. Pure Python, pixels throughout."""

import math
from dataclasses import dataclass
from typing import Literal

from withinpx.errors import InputError
from withinpx.theory.receptive_field import check_receptive_field

# On footage the encoder sees only pixels that changed, and whether a pixel changed depends on the pixels next to it:
# one more pixel on either side of its receptive field.
GATE_PX = 2


@dataclass(frozen=True)
class Gaussian:
    """The paper's rendering: Delta_G ~ N(0, sigma^2), read off at n standard deviations."""

    sigma: float  # sigma_G, px
    n_sigma: float = 2.0  # the bound holds when the decoder uses no part of the Gaussian further out than this

    def __post_init__(self) -> None:
        check_number(self.sigma, "sigma", at_least=0.0)
        check_number(self.n_sigma, "n-sigma", at_least=0.0)

    @property
    def reach(self) -> float:
        """The largest |Delta_G| that is reckoned with, px."""
        return self.n_sigma * self.sigma

    @property
    def probability(self) -> float:
        """The probability that |Delta_G| stays within ``reach``."""
        return math.erf(self.n_sigma / math.sqrt(2)) if self.sigma > 0 else 1.0

    @property
    def certain(self) -> bool:
        """Is |Delta_G| never larger than ``reach``? Only for a point."""
        return self.sigma == 0


@dataclass(frozen=True)
class CompactSupport:
    """Rendering that is exactly zero beyond ``radius`` px: |Delta_G| <= radius always."""

    radius: float

    def __post_init__(self) -> None:
        check_number(self.radius, "support", at_least=0.0)

    @property
    def reach(self) -> float:
        """The largest |Delta_G| there is, px."""
        return self.radius

    @property
    def probability(self) -> float:
        """The probability that |Delta_G| stays within ``reach``."""
        return 1.0

    @property
    def certain(self) -> bool:
        """Is |Delta_G| never larger than ``reach``? Always."""
        return True


Rendering = Gaussian | CompactSupport
Limiting = Literal["encoder", "decoder", "both"]


@dataclass(frozen=True)
class SizeRange:
    """Object sizes from ``smallest`` to ``largest`` px (larger side of the bounding box, s_o); equal for one size."""

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
    """The theorem's answer: no |z - truth| along an axis is larger than ``bound``."""

    encoder_term: float  # s_psi/2 + s_o/2 - 1, at the worst object size
    decoder_term: float  # s_phi/2 - s_o/2 + |Delta_G|, at the worst object size
    bound: float
    limiting: Limiting  # whose term it is
    deterministic: bool  # does it hold whatever part of the Gaussian the decoder uses?
    probability: float  # that |Delta_G| stays within what the bound reckons with; 1 when deterministic
    worst_size: float  # the object size at which the bound is reached

    def in_words(self, n_sigma: float | None, decimals: int = 4) -> str:
        """One sentence; the probability of ``n_sigma`` standard deviations with so many decimals of a per cent."""
        sure = "always" if self.deterministic else f"at {n_sigma:g} sigma ({self.probability:.{decimals}%})"
        return f"Every position is within {self.bound:g} px, {sure}."


def encoder_term(encoder_rf: float, object_size: float) -> float:
    """The furthest an encoder window can be from an object that it still touches by one pixel (fig. 2a)."""
    return encoder_rf / 2 + object_size / 2 - 1


def decoder_term(decoder_rf: float, object_size: float, reach: float) -> float:
    """The furthest the Gaussian can be from an object that is drawn inside the decoder's window (fig. 2b)."""
    return decoder_rf / 2 - object_size / 2 + reach


def crossing_size(encoder_rf: float, decoder_rf: float, reach: float) -> float:
    """The object size at which both terms are equal; below it the encoder limits, above it the decoder."""
    return decoder_rf / 2 - encoder_rf / 2 + 1 + reach


def error_bound(encoder_rf: int, decoder_rf: int, object_size: float | SizeRange, rendering: Rendering) -> Bound:
    """Theorem 4.1; for a range of sizes, its exact maximum over the range.

    The encoder term grows with the size and the decoder term falls, so their minimum peaks where they cross, or at
    the end of the range that is nearest to the crossing.
    """
    sizes = object_size if isinstance(object_size, SizeRange) else SizeRange(object_size, object_size)
    check_network(encoder_rf, decoder_rf, sizes)
    return theorem(encoder_rf, decoder_rf, sizes, rendering)


def theorem(encoder_rf: int, decoder_rf: int, sizes: SizeRange, rendering: Rendering) -> Bound:
    """``error_bound`` for any network, also one whose decoder is smaller than the object.

    Such a decoder draws the object only as far as the Gaussian's width helps; a bound below zero says that it cannot.
    """
    crossing = crossing_size(encoder_rf, decoder_rf, rendering.reach)
    worst = min(max(crossing, sizes.smallest), sizes.largest)
    encoder = encoder_term(encoder_rf, worst)
    decoder = decoder_term(decoder_rf, worst, rendering.reach)
    limiting: Limiting = "encoder" if crossing >= sizes.largest else "decoder" if crossing <= sizes.smallest else "both"
    deterministic = limiting == "encoder" or rendering.certain  # the encoder's term has no Delta_G in it
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
    """Refuse receptive fields that cannot be built, and objects that no decoder of this size can draw."""
    check_receptive_field(encoder_rf, "encoder receptive field")
    check_receptive_field(decoder_rf, "decoder receptive field")
    if decoder_rf < sizes.largest:
        raise InputError(
            f"The decoder receptive field is {decoder_rf} px and the object {sizes.largest:g} px: no decoder can draw "
            f"an object larger than its receptive field; make it at least as large as the object."
        )


def check_number(value: float, name: str, at_least: float) -> None:
    """Refuse NaN, infinities and what is too small."""
    if not math.isfinite(value) or value < at_least:
        raise InputError(f"The {name} is {value:g}: give a finite number of at least {at_least:g}.")
