"""One colour per object, the same in every figure and page, distinguishable by colour-blind readers."""

# Okabe & Ito's colours without yellow, which vanishes on white paper, and black, which vanishes on dark footage.
BASE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
REFUSED = "#9A9A9A"
ALARM = "#C8352B"

RGB = tuple[int, int, int]


def colour_of(index: int) -> str:
    """The colour of an object as #RRGGBB: six base colours, then lighter and darker ones, then from the start."""
    offset, factor = ((0, 1), (127.5, 0.5), (0, 0.55))[index // len(BASE) % 3]
    return "#" + bytes(round(offset + factor * value) for value in rgb(BASE[index % len(BASE)])).hex().upper()


def rgb(colour: str) -> RGB:
    """#RRGGBB as three numbers from 0 to 255."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
