"""How long a pixel is in the scene."""

from withinpx.errors import InputError

LEAST_MM_PER_PX, MOST_MM_PER_PX = 1e-9, 1e6  # a pixel of a picometre, and of a kilometre


def check_scale(mm_per_px: float | None) -> None:
    """Refuse a scale that no footage has; None is an unknown one.

    >>> check_scale(0.12)
    """
    if mm_per_px is not None and not LEAST_MM_PER_PX <= mm_per_px <= MOST_MM_PER_PX:
        raise InputError(
            f"The scale is {mm_per_px:g} mm per px: give a known length in mm divided by its length in px "
            f"({LEAST_MM_PER_PX:g} to {MOST_MM_PER_PX:g})."
        )
