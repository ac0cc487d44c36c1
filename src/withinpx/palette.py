"""One colour per object, the same in every picture and page, told apart by colour-blind readers too."""

from collections.abc import Callable

# Okabe & Ito's colours, without the yellow that paper swallows and the black that dark footage swallows.
BASE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
REFUSED = "#9A9A9A"
ALARM = "#C8352B"

RGB = tuple[int, int, int]


def colour_of(each: int) -> str:
    """The colour of an object, as #RRGGBB: six clear ones, then lighter, then darker ones, then from the start."""
    rounds: tuple[Callable[[float], float], ...] = (_same, _lighter, _darker)
    change = rounds[each // len(BASE) % len(rounds)]
    red, green, blue = (round(change(value)) for value in rgb(BASE[each % len(BASE)]))
    return f"#{red:02X}{green:02X}{blue:02X}"


def rgb(colour: str) -> RGB:
    """#RRGGBB as three numbers from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _same(value: float) -> float:
    return value


def _lighter(value: float) -> float:
    return 255 - 0.5 * (255 - value)


def _darker(value: float) -> float:
    return 0.55 * value
