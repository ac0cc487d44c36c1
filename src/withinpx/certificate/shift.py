"""The label-free shift from z to the middle of an object's body, and how it changes over the picture."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.observation import Observations

Points = NDArray[np.float64]  # (..., 2), (x, y)

REACHES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)  # px that a varying shift is averaged over
PLAINLY = 0.95  # of a constant's error: a shift that varies must do better than this
FEWEST = 12  # places, for a shift that varies
FAR = 6.0  # times the usual distance from the median: what is farther off was measured of something else
FAR_PX = 0.5  # and no less than this


@dataclass(frozen=True)
class Shift:
    """What was measured at some places; in between, their mean, the nearest counting most."""

    places: Points  # (k, 2), px of the network's pictures
    steps: Points  # (k, 2), the middle of the body minus z
    reach: float  # px

    @classmethod
    def everywhere(cls, step: Points) -> "Shift":
        """The same at all places."""
        return cls(np.zeros((1, 2)), np.asarray(step, np.float64)[None], 1.0)

    def at(self, raw: Points) -> Points:
        """The shift at each z (f, 2)."""
        return np.asarray(_weights(raw, self.places, self.reach) @ self.steps)


def fitted_shift(places: Points, steps: Points, varies: bool) -> Shift:
    """The median of what was measured; if it may vary, averaged as far as foretells what was left out best."""
    if not len(steps):
        return Shift.everywhere(np.zeros(2))
    constant = Shift.everywhere(np.median(steps, axis=0))
    away = np.abs(steps - constant.steps)
    plausible = (away <= np.maximum(FAR * np.median(away, axis=0), FAR_PX)).all(axis=1)
    places, steps = places[plausible], steps[plausible]
    if not varies or len(steps) < FEWEST:
        return constant
    errors = {reach: _error_of_others(places, steps, reach) for reach in REACHES}
    best = min(REACHES, key=errors.__getitem__)
    unvarying = float(np.abs(steps - constant.steps).mean())
    return Shift(places, steps, best) if errors[best] < PLAINLY * unvarying else constant


def fitted_shifts(seen: Observations, body: Points, varies: bool) -> tuple[Shift, ...]:
    """Of all objects, from the middle of each body (f, n, 2) where it is known, else from what is drawn."""
    shifts = []
    for each in range(seen.z.shape[1]):
        whole = seen.present[:, each] & ~seen.cut[:, each]
        known = whole & np.isfinite(body[:, each]).all(axis=-1)
        middles, there = (body, known) if known.any() else (seen.body, whole)
        shifts.append(fitted_shift(seen.z[there, each], (middles - seen.z)[there, each], varies))
    return tuple(shifts)


def shifts_at(shifts: Sequence[Shift], raw: Points) -> Points:
    """The shift of each object at its z: (f, n, 2)."""
    return np.stack([shift.at(raw[:, each]) for each, shift in enumerate(shifts)], axis=1)


def _error_of_others(places: Points, steps: Points, reach: float) -> float:
    """How far each measurement is from what the others foretell, px."""
    weights = _weights(places, places, reach, themselves=False)
    return float(np.abs(weights @ steps - steps).mean())


def _weights(raw: Points, places: Points, reach: float, *, themselves: bool = True) -> NDArray[np.float64]:
    """How much each place counts (f, k); rows sum to one."""
    away = ((raw[:, None] - places[None]) ** 2).sum(axis=-1) / (2 * reach**2)
    if not themselves:
        away = away + np.diag(np.full(len(away), np.inf))
    weights = np.exp(away.min(axis=1, keepdims=True) - away)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
