"""Five filters for any odd receptive field (app. C.1); beyond the paper's 31 px, the middle three are dilated."""

from withinpx.errors import InputError

LAYERS = 5
LARGEST_FILTER = 7
LARGEST_UNDILATED = 1 + LAYERS * (LARGEST_FILTER - 1)
LARGEST_DILATION = LARGEST_FILTER  # the filters before and after fill its gaps, so that no pixel is left out
LARGEST_RECEPTIVE_FIELD = 1 + (2 + (LAYERS - 2) * LARGEST_DILATION) * (LARGEST_FILTER - 1)


def check_receptive_field(size: int, name: str = "receptive field") -> None:
    if size != int(size) or not 1 <= size <= LARGEST_RECEPTIVE_FIELD or size % 2 == 0:
        raise InputError(
            f"The {name} is {size}, but {LAYERS} layers of 1, 3, 5 or 7 px filters reach the odd sizes "
            f"1 to {LARGEST_RECEPTIVE_FIELD}: choose one of those."
        )


def filters_for(size: int) -> tuple[int, ...]:
    """The filter sizes of the five layers, as equal as possible (the cheapest choice), larger ones first.

    A k x k layer of dilation d widens the receptive field by (k - 1) * d, so these sum to ``size - 1``. Beyond 31 px
    all are 7 x 7, but what the dilations reach too far is taken off the last filter and the first.
    """
    check_receptive_field(size)
    if size > LARGEST_UNDILATED:
        excess = (LARGEST_FILTER // 2) * sum(dilations_for(size)) - size // 2
        middle = (LARGEST_FILTER,) * (LAYERS - 2)
        return LARGEST_FILTER - 2 * (excess > 1), *middle, LARGEST_FILTER - 2 * (excess > 0)
    share, rest = divmod((size - 1) // 2, LAYERS)
    return tuple(1 + 2 * (share + (layer < rest)) for layer in range(LAYERS))


def dilations_for(size: int) -> tuple[int, ...]:
    """The dilations of the five layers: 1 up to 31 px; beyond, those of the middle three are as equal as possible."""
    check_receptive_field(size)
    if size <= LARGEST_UNDILATED:
        return (1,) * LAYERS
    needed = -(-(size // 2) // (LARGEST_FILTER // 2)) - 2  # by the middle layers; the outer two are not dilated
    share, rest = divmod(needed, LAYERS - 2)
    return 1, *(share + (layer < rest) for layer in range(LAYERS - 2)), 1
