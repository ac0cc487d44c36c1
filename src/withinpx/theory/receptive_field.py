"""Five filters for any odd receptive field (app. C.1)."""

from withinpx.errors import InputError

LAYERS = 5
LARGEST_FILTER = 7
LARGEST_RECEPTIVE_FIELD = 1 + LAYERS * (LARGEST_FILTER - 1)


def check_receptive_field(size: int, name: str = "receptive field") -> None:
    if size != int(size) or not 1 <= size <= LARGEST_RECEPTIVE_FIELD or size % 2 == 0:
        raise InputError(
            f"The {name} is {size}, but {LAYERS} layers of 1, 3, 5 or 7 px filters reach the odd sizes "
            f"1 to {LARGEST_RECEPTIVE_FIELD}: choose one of those."
        )


def filters_for(size: int) -> tuple[int, ...]:
    """The filter sizes of the five layers, as equal as possible (the cheapest choice), larger ones first.

    Each k x k layer widens the receptive field by k - 1, so these sum to ``size - 1``.
    """
    check_receptive_field(size)
    share, rest = divmod((size - 1) // 2, LAYERS)
    return tuple(1 + 2 * (share + (layer < rest)) for layer in range(LAYERS))
