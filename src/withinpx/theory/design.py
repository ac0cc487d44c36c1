"""The Discussion (sec. 6), inverted: object sizes and a target error in, a network out."""

import math
from dataclasses import dataclass

from withinpx.errors import InputError
from withinpx.theory.bound import Bound, CompactSupport, SizeRange, check_number, error_bound
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD, filters_for

PAPER_SIGMA = 0.8  # what the paper trains with
SMALLEST_SIGMA = 0.5  # below it the next pixel's share of the Gaussian, and with it the gradient, all but vanishes
SUPPORT_SIGMAS = 4  # the paper's decoders used the Gaussian out to 4 sigma (sec. 5.1): it is truncated there
ROUNDING = 1e-9  # px


@dataclass(frozen=True)
class NetworkDesign:
    """Receptive fields and Gaussian for a range of object sizes; the bound is deterministic."""

    encoder_rf: int
    decoder_rf: int
    sigma: float
    sizes: SizeRange

    def __repr__(self) -> str:
        return (
            f"NetworkDesign(encoder_rf={self.encoder_rf}, decoder_rf={self.decoder_rf}, sigma={self.sigma:g}, "
            f"bound={self.bound.bound:g} px)"
        )

    @property
    def support(self) -> float:
        """The radius beyond which the Gaussian is exactly zero, px."""
        return SUPPORT_SIGMAS * self.sigma

    @property
    def bound(self) -> Bound:
        """Theorem 4.1 over the whole range of sizes."""
        return error_bound(self.encoder_rf, self.decoder_rf, self.sizes, CompactSupport(self.support))

    @property
    def bound_per_size(self) -> dict[float, float]:
        """The bound for each whole object size of the range, and for its ends."""
        smallest, largest = self.sizes.smallest, self.sizes.largest
        sizes = {smallest, *map(float, range(math.ceil(smallest), math.floor(largest) + 1)), largest}
        rendering = CompactSupport(self.support)
        return {size: error_bound(self.encoder_rf, self.decoder_rf, size, rendering).bound for size in sorted(sizes)}

    @property
    def encoder_filters(self) -> tuple[int, ...]:
        return filters_for(self.encoder_rf)

    @property
    def decoder_filters(self) -> tuple[int, ...]:
        return filters_for(self.decoder_rf)

    @property
    def rationale(self) -> str:
        """The choices and their reasons, without a full stop."""
        sees_all = self.encoder_rf == odd_at_least(self.sizes.largest)
        reason = "the encoder sees all of it" if sees_all else "the encoder is as large as the target allows"
        return (
            f"For objects of {_words(self.sizes)} the decoder is the smallest that holds the largest "
            f"({self.decoder_rf} px), {reason} ({self.encoder_rf} px), and the Gaussian of sigma {self.sigma:g} px is "
            f"cut off at {self.support:g} px"
        )

    @property
    def why(self) -> str:
        """``rationale`` and the bound that follows."""
        return f"{self.rationale}, so no position is ever more than {self.bound.bound:g} px off."


def design(
    sizes: SizeRange, target: float | None = None, sigma: float | None = None, spare: float = 0.0
) -> NetworkDesign:
    """The network for objects of these sizes; with a ``target``, one whose bound is at most that many px.

    The decoder is the smallest that holds the largest object and ``spare`` px (Discussion 1 and 4). The Gaussian is
    the paper's unless the target needs a narrower one (3). The encoder sees all of the largest object, or less if the
    target needs it (2): one that sees less finds no single place in a large plain object to put the peak at.

    >>> design(SizeRange(6, 10), target=5.5)
    NetworkDesign(encoder_rf=5, decoder_rf=11, sigma=0.8, bound=5.1 px)
    """
    decoder_rf = odd_at_least(sizes.largest + spare)
    if decoder_rf > LARGEST_RECEPTIVE_FIELD:
        raise InputError(
            f"The object is {sizes.largest:g} px and the largest decoder draws {LARGEST_RECEPTIVE_FIELD} px: "
            f"scale the images down by {math.ceil(10 * sizes.largest / LARGEST_RECEPTIVE_FIELD) / 10:g} or more."
        )
    if sigma is not None:
        check_number(sigma, "sigma", at_least=0.01)
    largest_encoder = odd_at_least(sizes.largest)
    widest, narrowest = (PAPER_SIGMA, SMALLEST_SIGMA) if sigma is None else (sigma, sigma)
    if target is None:
        return NetworkDesign(largest_encoder, decoder_rf, widest, sizes)

    check_number(target, "target", at_least=0.0)
    steps = round((widest - narrowest) / 0.1)
    for width in [*(round(widest - 0.1 * step, 3) for step in range(steps)), narrowest]:
        for encoder_rf in range(largest_encoder, 0, -2):
            network = NetworkDesign(encoder_rf, decoder_rf, width, sizes)
            if network.bound.bound <= target + ROUNDING:
                return network
    best = NetworkDesign(1, decoder_rf, narrowest, sizes).bound.bound
    raise InputError(
        f"No network guarantees {target:g} px for objects of {_words(sizes)}: the smallest reachable bound is "
        f"{best:g} px (encoder 1, decoder {decoder_rf}, sigma {narrowest:g})."
    )


def odd_at_least(size: float) -> int:
    """The smallest odd whole number that is no smaller than ``size``."""
    return math.ceil(size) | 1


def _words(sizes: SizeRange) -> str:
    if sizes.smallest == sizes.largest:
        return f"{sizes.smallest:g} px"
    return f"{sizes.smallest:g} to {sizes.largest:g} px"
