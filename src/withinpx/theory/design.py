"""The Discussion (sec. 6), inverted: object sizes and a target error in, a network out."""

import math
from dataclasses import dataclass, replace

from withinpx.errors import InputError
from withinpx.theory.bound import Bound, CompactSupport, SizeRange, check_number, error_bound
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD, filters_for

PAPER_SIGMA = 0.8  # what the paper trains with
SMALLEST_SIGMA = 0.5  # below it the next pixel's share of the Gaussian, and with it the gradient, all but vanishes
ROUNDING = 1e-9  # px
SUPPORT_SIGMAS = 4  # the paper's decoders used the Gaussian out to 4 sigma (sec. 5.1): cut it there, for certain


@dataclass(frozen=True)
class NetworkDesign:
    """A network and what it guarantees."""

    encoder_rf: int
    decoder_rf: int
    sigma: float
    support: float  # the rendering is exactly zero beyond this radius, so the bound is deterministic
    sizes: SizeRange
    bound: Bound  # over the whole range of sizes
    made_so: str  # what was chosen, and why

    @property
    def why(self) -> str:
        """The same with what comes of it."""
        return f"{self.made_so}, so no position is ever more than {self.bound.bound:g} px off."

    @property
    def encoder_filters(self) -> tuple[int, ...]:
        """The filter sizes of the encoder's five layers."""
        return filters_for(self.encoder_rf)

    @property
    def decoder_filters(self) -> tuple[int, ...]:
        """The filter sizes of the decoder's five layers."""
        return filters_for(self.decoder_rf)

    @property
    def bound_per_size(self) -> dict[float, float]:
        """The bound for each whole object size of the range, and for its ends."""
        whole = range(math.ceil(self.sizes.smallest), math.floor(self.sizes.largest) + 1)
        each = sorted({self.sizes.smallest, *map(float, whole), self.sizes.largest})
        rendering = CompactSupport(self.support)
        return {size: error_bound(self.encoder_rf, self.decoder_rf, size, rendering).bound for size in each}


def design(sizes: SizeRange, target: float | None = None, sigma: float | None = None) -> NetworkDesign:
    """The network for objects of these sizes; with a target, one whose guaranteed error is at most that.

    The decoder is the smallest that holds the largest object (Discussion 1 and 4), the Gaussian the paper's unless the
    target asks for a narrower one (3), and the encoder sees about one object, or as much less as the target asks (2).
    """
    decoder_rf = odd_at_least(sizes.largest)
    if decoder_rf > LARGEST_RECEPTIVE_FIELD:
        raise InputError(
            f"The object is {sizes.largest:g} px and the largest decoder draws {LARGEST_RECEPTIVE_FIELD} px: "
            f"scale the images down by {math.ceil(10 * sizes.largest / LARGEST_RECEPTIVE_FIELD) / 10:g} or more."
        )
    if sigma is not None:
        check_number(sigma, "sigma", at_least=0.01)
    comfortable_encoder = odd_at_least(sizes.smallest)
    widest = PAPER_SIGMA if sigma is None else sigma
    if target is None:
        chosen = _network(comfortable_encoder, decoder_rf, widest, sizes)
        return _explained(chosen, f"the encoder sees about one object ({chosen.encoder_rf} px)")

    check_number(target, "target", at_least=0.0)
    narrowest = SMALLEST_SIGMA if sigma is None else sigma
    for width in _descending(widest, narrowest):
        for encoder_rf in range(comfortable_encoder, 0, -2):
            chosen = _network(encoder_rf, decoder_rf, width, sizes)
            if chosen.bound.bound <= target + ROUNDING:
                if encoder_rf == comfortable_encoder:
                    return _explained(chosen, f"the encoder sees about one object ({encoder_rf} px)")
                return _explained(chosen, f"the encoder is as large as the target allows ({encoder_rf} px)")
    best = _network(1, decoder_rf, narrowest, sizes).bound.bound
    raise InputError(
        f"No network guarantees {target:g} px for objects of {_words(sizes)}: the smallest reachable bound is "
        f"{best:g} px (encoder 1, decoder {decoder_rf}, sigma {narrowest:g})."
    )


def odd_at_least(size: float) -> int:
    """The smallest odd whole number that is no smaller than ``size``."""
    return math.ceil(size) | 1


def _network(encoder_rf: int, decoder_rf: int, sigma: float, sizes: SizeRange) -> NetworkDesign:
    support = SUPPORT_SIGMAS * sigma
    bound = error_bound(encoder_rf, decoder_rf, sizes, CompactSupport(support))
    return NetworkDesign(encoder_rf, decoder_rf, sigma, support, sizes, bound, made_so="")


def _explained(network: NetworkDesign, encoder_reason: str) -> NetworkDesign:
    made_so = (
        f"For objects of {_words(network.sizes)} the decoder is the smallest that holds the largest "
        f"({network.decoder_rf} px), {encoder_reason}, and the Gaussian of sigma {network.sigma:g} px is cut off at "
        f"{network.support:g} px"
    )
    return replace(network, made_so=made_so)


def _descending(widest: float, narrowest: float) -> list[float]:
    steps = round((widest - narrowest) / 0.1)
    return [round(widest - 0.1 * step, 3) for step in range(steps)] + [narrowest]


def _words(sizes: SizeRange) -> str:
    if sizes.smallest == sizes.largest:
        return f"{sizes.smallest:g} px"
    return f"{sizes.smallest:g} to {sizes.largest:g} px"
