"""Motion: speed, acceleration and distance of tracked objects, each with the limits that are proved for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from withinpx.errors import InputError
from withinpx.theory.motion import displacement_bound, mean_acceleration, mean_velocity, norm_limits
from withinpx.tracking.tracks import Tracks, decimals_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
LEAST_RATE, MOST_RATE = 1e-6, 1e9  # frames per second


@dataclass(frozen=True, eq=False, repr=False)
class Motion:
    """What is proved about the motion of n objects in f frames, px and s. A row is about the time that ends with it.

    Velocity is the mean over the interval from the frame ``over`` rows before. NaN where a frame on the way is refused,
    or not proved to show the same object. Speed is its magnitude, not that along a path that turns between the frames.

    >>> import withinpx
    >>> motion = withinpx.read_tracks("tracked/tracks.csv").motion(frame_rate=25)
    >>> motion
    Motion(24 frames, 3 objects, ... of 69 intervals measured)
    >>> motion.to_dataframe().columns[:6].tolist()
    ['frame', 'time_s', 'object', 'since_frame', 'velocity_x_px_s', 'velocity_y_px_s']
    """

    frames: NDArray[np.int64]  # (f,), frame numbers in the recording
    times: Array  # (f,), s, or frames where the recording has no clock
    in_seconds: bool
    over: int  # rows from the start of an interval to its end
    velocity: Array  # (f, n, 2), px per unit of time
    velocity_bound: Array  # (f, n), proved half-width around it, along each axis
    acceleration: Array  # (f, n, 2), from the interval before to this one
    acceleration_bound: Array  # (f, n)
    distance: Array  # (f, n), px: the polyline through every ``over``-th position since the last gap
    distance_low: Array  # (f, n)
    distance_high: Array  # (f, n)
    mm_per_px: float | None = None

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        possible = max(0, len(self) - self.over) * self.objects
        objects = f"{len(self)} frames, {self.objects} objects"
        return f"Motion({objects}, {int(self.linked.sum())} of {possible} intervals measured)"

    @property
    def objects(self) -> int:
        return int(self.velocity.shape[1])

    @property
    def linked(self) -> NDArray[np.bool_]:
        """(f, n): is a velocity proved for the interval that ends here?"""
        return np.asarray(np.isfinite(self.velocity_bound))

    @property
    def speed(self) -> Array:
        """(f, n): the magnitude of the mean velocity."""
        return np.asarray(np.linalg.norm(self.velocity, axis=-1))

    @property
    def speed_low(self) -> Array:
        return norm_limits(self.velocity, self.velocity_bound)[0]

    @property
    def speed_high(self) -> Array:
        return norm_limits(self.velocity, self.velocity_bound)[1]

    @property
    def since(self) -> NDArray[np.int64]:
        """(f,): the row in which the interval of each row begins; -1 in the first rows, which end none."""
        rows = np.arange(len(self)) - self.over
        return np.where(rows >= 0, rows, -1)

    @property
    def edges(self) -> Array:
        """(f, 2): where a figure's level of each row begins and ends, around the middle of its interval."""
        middle = (self.times + self.times[np.maximum(self.since, 0)]) / 2
        half = np.diff(self.times, prepend=self.times[0]) / 2
        return np.stack([middle - half, middle + half], axis=-1)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per frame and object, in px and, if the scale is known, in mm; limits are rounded outwards."""
        import pandas as pd  # noqa: PLC0415

        frame, number = np.indices(self.linked.shape).reshape(2, -1)
        since = pd.array(np.where(self.since >= 0, self.frames[self.since], -1)[frame], dtype="Int64")
        since[self.since[frame] < 0] = pd.NA
        clock = self.times if self.in_seconds else np.full(len(self), np.nan)
        table = {"frame": self.frames[frame], "time_s": clock[frame].round(6), "object": number, "since_frame": since}
        scales = [("px", 1.0)] + ([] if self.mm_per_px is None else [("mm", self.mm_per_px)])
        for unit, scale in scales:
            table |= self._columns(unit, scale)
        return pd.DataFrame(table)

    def _columns(self, unit: str, scale: float) -> dict[str, Array]:
        per, decimals = "s" if self.in_seconds else "frame", decimals_of(scale)
        columns: dict[str, Array] = {}
        for name, vector, bound, suffix in (
            ("velocity", self.velocity, self.velocity_bound, f"{unit}_{per}"),
            ("acceleration", self.acceleration, self.acceleration_bound, f"{unit}_{per}2"),
        ):
            size = "speed" if name == "velocity" else name
            low, high = norm_limits(vector, bound)
            columns |= {
                f"{name}_x_{suffix}": vector[..., 0],
                f"{name}_y_{suffix}": vector[..., 1],
                f"{name}_bound_{suffix}": bound,
                f"{size}_{suffix}": np.linalg.norm(vector, axis=-1),
                f"{size}_low_{suffix}": low,
                f"{size}_high_{suffix}": high,
            }
        columns |= {f"distance_{unit}": self.distance, f"distance_low_{unit}": self.distance_low}
        columns[f"distance_high_{unit}"] = self.distance_high
        return {name: _outwards(name, values.ravel() * scale, decimals) for name, values in columns.items()}

    def plot(self) -> "Figure":
        """Speed over time with its proved limits, a panel for each object."""
        from withinpx.tracking.motion_figure import plot_motion  # noqa: PLC0415  (matplotlib)

        return plot_motion(self)


def motion_of(tracks: Tracks, over: int = 1, frame_rate: float | None = None) -> Motion:
    """What ``Tracks.motion`` returns."""
    times, in_seconds = _times(tracks, frame_rate)
    _check(tracks, over)
    velocity, velocity_bound, seconds = _velocity(tracks, times, over)
    acceleration, acceleration_bound = _acceleration(velocity, velocity_bound, seconds, over)
    low, high = norm_limits(velocity, velocity_bound)
    run = _linked_rows(tracks, times)
    lengths = (np.linalg.norm(velocity, axis=-1), low, high)
    distance, distance_low, distance_high = (_along(values * seconds, run, over) for values in lengths)
    return Motion(
        frames=tracks.frames,
        times=times,
        in_seconds=in_seconds,
        over=over,
        velocity=velocity,
        velocity_bound=velocity_bound,
        acceleration=acceleration,
        acceleration_bound=acceleration_bound,
        distance=distance,
        distance_low=distance_low,
        distance_high=distance_high,
        mm_per_px=tracks.mm_per_px,
    )


def _check(tracks: Tracks, over: int) -> None:
    if tracks.unordered:
        raise InputError("The images have no order, so nothing is known of the motion between them.")
    if not 1 <= over < max(2, len(tracks)):
        raise InputError(
            f"An interval of {over} frames is not possible in tracks of {len(tracks)}: give 1, or more for tighter "
            "limits of a mean over a longer time."
        )


def _times(tracks: Tracks, frame_rate: float | None) -> tuple[Array, bool]:
    """When each frame was recorded: s, or its number if there is no clock and no rate is given."""
    if frame_rate is not None:
        if not LEAST_RATE <= frame_rate <= MOST_RATE:
            raise InputError(f"The frame rate is {frame_rate:g}: give the frames per second of the recording.")
        return tracks.frames / frame_rate, True
    if np.isfinite(tracks.times_s).all():
        return tracks.times_s, True
    return tracks.frames.astype(np.float64), False


def _linked_rows(tracks: Tracks, times: Array) -> NDArray[np.int64]:
    """(f, n): for how many rows back the object is proved to be the same, each position certified; -1 where refused."""
    linked = np.zeros(tracks.certified.shape, np.bool_)
    linked[1:] = tracks.certified[1:] & tracks.certified[:-1] & (tracks.identity_certified[1:] == 1)
    linked[1:] &= (np.diff(times) > 0)[:, None]  # a broken clock
    run = np.where(tracks.certified, 0, -1)
    for row in range(1, len(run)):
        run[row] = np.where(linked[row], run[row - 1] + 1, run[row])
    return run


def _velocity(tracks: Tracks, times: Array, over: int) -> tuple[Array, Array, Array]:
    """Mean velocity (f, n, 2), its bound and the time that it is over (f, n); NaN where none is proved."""
    shape = tracks.certified.shape
    velocity, bound, seconds = np.full((*shape, 2), np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    if len(tracks) <= over:
        return velocity, bound, seconds
    whole = _linked_rows(tracks, times)[over:] >= over
    steps = np.lib.stride_tricks.sliding_window_view(tracks.motion_bounds[1:], over, axis=0)
    shared = np.where(whole, steps.sum(axis=-1), np.nan)
    reach = np.where(whole, displacement_bound(tracks.bounds[:-over], tracks.bounds[over:], shared), np.nan)
    moved = np.where(whole[..., None], tracks.positions[over:] - tracks.positions[:-over], np.nan)
    seconds[over:] = np.where(whole, (times[over:] - times[:-over])[:, None], np.nan)
    velocity[over:], bound[over:] = mean_velocity(moved, reach, seconds[over:])
    return velocity, bound, seconds


def _acceleration(velocity: Array, bound: Array, seconds: Array, over: int) -> tuple[Array, Array]:
    """From the interval before to the one that ends in a row: (f, n, 2), and its bound (f, n)."""
    found, reach = np.full(velocity.shape, np.nan), np.full(bound.shape, np.nan)
    pairs = tuple((values[:-over], values[over:]) for values in (velocity, bound, seconds))
    found[over:], reach[over:] = mean_acceleration(*pairs)
    return found, reach


def _along(lengths: Array, run: NDArray[np.int64], over: int) -> Array:
    """Lengths (f, n) of intervals, added up since the last gap; in every ``over``-th row from there."""
    total = np.where(run == 0, 0.0, np.nan)
    for row in range(over, len(run)):
        ends = (run[row] > 0) & (run[row] % over == 0)
        total[row] = np.where(ends, total[row - over] + lengths[row], total[row])
    return total


def _outwards(name: str, values: Array, decimals: int) -> Array:
    """Rounded so that limits and bounds get no tighter."""
    factor = 10.0**decimals
    if "_low_" in name:
        return np.asarray(np.floor(values * factor + 1e-6) / factor)
    if "_high_" in name or "_bound_" in name:
        return np.asarray(np.ceil(values * factor - 1e-6) / factor) + 0.0  # no -0.0
    return np.asarray(values.round(decimals))
