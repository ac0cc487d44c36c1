"""Tracks: the position of every object in every frame, and the proved bound on its error."""

import csv
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from math import ceil, isnan, log10
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from withinpx.errors import InputError
from withinpx.files import atomic_file, naming_file, read_json, writable_folder, write_json
from withinpx.tracking.scale import check_scale

if TYPE_CHECKING:
    import pandas as pd

    from withinpx.tracking.motion import Motion

TRACKS = "tracks.csv"
COLUMNS = (
    *("frame", "time_s", "object", "x", "y", "width", "height", "bound_px", "motion_px", "sigma_px"),
    *("z_x", "z_y", "theorem_px", "residual_px", "present", "certified", "reason"),
    *("identity_certified", "identity_p", "set_px"),
)
DECIMALS = 4  # of every px value in the table
CODE = "code_"  # a column for each entry of the appearance code, if there is one, follows the others
ANGLE = "angle_deg"  # follows them; tables of before it was added have none
ANGLE_DECIMALS = 1
MM = ("x_mm", "y_mm", "bound_mm")  # the last columns, if the scale is known
PERSON = "person"  # the reason where a person set the position: it is no measurement, and has no bound

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Tracks:
    """Positions of n objects in f frames, in pixels of the recording; (0, 0) is its top-left corner.

    >>> import withinpx
    >>> tracks = withinpx.read_tracks("tracked/tracks.csv")
    >>> tracks
    Tracks(24 frames, 3 objects, 7... of 72 positions certified)
    >>> tracks.positions.shape, tracks.bounds.shape
    ((24, 3, 2), (24, 3))
    >>> tracks.to_dataframe().columns[:8].tolist()
    ['frame', 'time_s', 'object', 'x', 'y', 'width', 'height', 'bound_px']
    """

    frames: NDArray[np.int64]  # (f,), frame numbers in the recording
    times_s: Array  # (f,), NaN where the recording has no clock
    positions: Array  # (f, n, 2), calibrated centre (x, y)
    sizes: Array  # (f, n, 2), width and height of the object's box
    bounds: Array  # (f, n), proved half-width around the position, larger axis; NaN where refused
    z: Array  # (f, n, 2), the raw latent position
    theorem_px: Array  # (f, n), theorem 4.1's bound around z with what is added to it; NaN where refused
    residual_px: Array  # (f, n), distance from the reconstructed object to the one in the frame; NaN where absent
    present: NDArray[np.bool_]  # (f, n)
    reasons: NDArray[np.str_]  # (f, n), why a position is refused; empty where it is certified
    sigma_px: Array  # (f, n), the statistical floor (Cramer-Rao), a standard deviation and no bound; NaN if unknown
    set_px: Array  # (f, n), half-width of the feasible set around the position; NaN where the theorem is all there is
    width: int  # of the recording's frames
    height: int
    unordered: bool = False  # a set of images without an order: no displacement has a meaning
    codes: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (f, n, k): appearance, each entry from -1 to 1
    step_px: float | None = None  # assumed of objects that look alike: the largest step along an axis between frames
    classes: NDArray[np.int64] | None = None  # (n,): which object of the certificate each is one of; None if all differ
    proved: Array | None = None  # (f, n), of objects that look alike: ``identity_certified``
    guessed: Array | None = None  # (f, n), of those: ``identity_p``
    angles_deg: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (f, n), direction from x to y; NaN if unknown
    mm_per_px: float | None = None  # how long a pixel is in the scene; None if unknown

    def __post_init__(self) -> None:
        check_scale(self.mm_per_px)
        if not self.codes.size and self.codes.shape[:2] != self.present.shape:  # left out: there is no code
            object.__setattr__(self, "codes", np.zeros((*self.present.shape, 0)))
        if not self.angles_deg.size:  # left out: none is known
            object.__setattr__(self, "angles_deg", np.full(self.present.shape, np.nan))
        if self.frames.ndim != 1 or self.present.ndim != 2 or self.present.shape[1] < 1:
            raise InputError("Tracks need a list of frames and at least one object.")
        rows = (len(self.frames), self.objects)
        for name in _ARRAYS:
            expected = rows[:1] if name in ("frames", "times_s") else (*rows, 2) if name in _PAIRS else rows
            if name == "codes":
                expected = (*rows, *self.codes.shape[2:3])
            shape = getattr(self, name).shape
            if shape != expected:
                raise InputError(f"The tracks' {name} have the shape {shape} where {expected} is needed.")
        if (np.diff(self.frames) <= 0).any():
            raise InputError("The frames of the tracks are not in the order of the recording.")
        if self.width < 1 or self.height < 1:
            raise InputError(f"The tracks' frame size of {self.width}x{self.height} px is empty.")
        known = np.isfinite(np.concatenate([self.positions, self.z, self.sizes], axis=-1)).all(axis=-1)
        for row, index in np.argwhere(self.present & ~known):
            raise InputError(
                f"Object {index} is present in frame {self.frames[row]} but has no position or size there."
            )

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        certified, present = int(self.certified.sum()), int(self.present.sum())
        return f"Tracks({len(self)} frames, {self.objects} objects, {certified} of {present} positions certified)"

    @property
    def objects(self) -> int:
        return int(self.present.shape[1])

    @cached_property
    def certified(self) -> NDArray[np.bool_]:
        """Which positions carry a proved bound: (f, n)."""
        return np.asarray(self.reasons == "")

    @property
    def motion_bounds(self) -> Array:
        """Proved half-width around each displacement since the previous frame: (f, n); NaN where there is none.

        An object with a feasible set keeps its appearance: its centre is as far from its rendering's in both frames.
        """
        motion = np.full(self.bounds.shape, np.nan)
        if not self.unordered:
            motion[1:] = np.fmin(self.bounds[1:] + self.bounds[:-1], self.set_px[1:] + self.set_px[:-1])
            motion[np.isnan(self.bounds)] = np.nan
            motion[1:][np.isnan(self.bounds[:-1])] = np.nan
        return motion

    @property
    def identity_certified(self) -> Array:
        """1 where a position is proved to be the object of the previous frame, 0 where not, NaN where undefined.

        Distinct objects are certified only if no two look alike, so two certified positions in a row are the same
        object's. For objects that look alike it must be proved (theory/identity.py).
        """
        if self.proved is not None:
            return self.proved
        identity = np.full(self.bounds.shape, np.nan)
        if not self.unordered:
            linked = self.certified[1:] & self.certified[:-1]
            identity[1:] = np.where(self.present[1:], linked, np.nan)
        return identity

    @property
    def identity_p(self) -> Array:
        """(f, n), the probability of a link that is guessed; NaN where it is proved, or no link is guessed."""
        return np.full(self.bounds.shape, np.nan) if self.guessed is None else self.guessed

    @property
    def certificate_of(self) -> NDArray[np.int64]:
        """(n,): which object of the certificate, by its place there, each object is one of."""
        return np.arange(self.objects) if self.classes is None else self.classes

    def one_of_each(self, count: int) -> "Tracks":
        """One column per object of the certificate; for a class, in every frame the object of which least is proved."""
        if self.classes is None:
            return self
        worst = np.where(self.present, np.where(self.certified, np.nan_to_num(self.bounds), np.inf), -np.inf)
        own = self.classes[None] == np.arange(count)[:, None]  # (count, n)
        chosen = np.where(own[None], worst[:, None], -np.inf).argmax(axis=-1)  # (f, count)
        rows = np.arange(len(self))[:, None]
        arrays: dict[str, Any] = {
            name: getattr(self, name)[rows, chosen] for name in _ARRAYS if name not in ("frames", "times_s")
        }
        seen = arrays["present"] & own.any(axis=1)
        arrays |= {"present": seen, "reasons": np.where(seen, arrays["reasons"], "absent")}
        return replace(self, **arrays, classes=None, step_px=None, proved=None, guessed=None)

    @property
    def boxes(self) -> Array:
        """(f, n, 4): left, top, width, height of the box around each position."""
        return np.concatenate([self.positions - self.sizes / 2, self.sizes], axis=-1)

    def __getitem__(self, rows: slice) -> "Tracks":
        """A span of the tracked frames."""
        part: dict[str, Any] = {name: getattr(self, name)[rows] for name in (*_ARRAYS, *self._identities)}
        return replace(self, **part)

    @classmethod
    def joined(cls, parts: Sequence["Tracks"]) -> "Tracks":
        """Consecutive parts of one recording as one."""
        names = (*_ARRAYS, *parts[0]._identities)
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return replace(parts[0], **joined)

    @property
    def _identities(self) -> tuple[str, ...]:
        """The arrays that only objects which look alike have."""
        return tuple(name for name in ("proved", "guessed") if getattr(self, name) is not None)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per frame and object, with the columns of tracks.csv."""
        import pandas as pd  # noqa: PLC0415  (a machine that only trains need not have it)

        seen = self.present[..., None]
        (x, y), (z_x, z_y), (width, height) = (
            np.where(seen, pair, np.nan).reshape(-1, 2).T.round(DECIMALS)
            for pair in (self.positions, self.z, self.sizes)
        )
        frame, number = np.indices(self.present.shape).reshape(2, -1)
        identity = pd.array(self.identity_certified.ravel(), dtype="Float64")
        codes = np.where(seen, self.codes, np.nan).reshape(len(frame), self.codes.shape[-1]).T.round(DECIMALS)
        return pd.DataFrame(
            {
                "frame": self.frames[frame],
                "time_s": self.times_s[frame].round(6),
                "object": number,
                **{"x": x, "y": y, "width": width, "height": height},
                "bound_px": rounded_up(self.bounds.ravel()),
                "motion_px": rounded_up(self.motion_bounds.ravel()),
                "sigma_px": rounded_up(self.sigma_px.ravel()),
                **{"z_x": z_x, "z_y": z_y},
                "theorem_px": rounded_up(self.theorem_px.ravel()),
                "residual_px": self.residual_px.ravel().round(DECIMALS),
                "present": self.present.ravel(),
                "certified": self.certified.ravel(),
                "reason": self.reasons.ravel(),
                "identity_certified": identity.astype("boolean"),
                "identity_p": self.identity_p.ravel().round(DECIMALS),
                "set_px": rounded_up(self.set_px.ravel()),
                **{f"{CODE}{number}": entry for number, entry in enumerate(codes)},
                ANGLE: self.angles_deg.ravel().round(ANGLE_DECIMALS),
                **self._in_mm(),
            },
            columns=list(columns_with(len(codes), mm=self.mm_per_px is not None)),
        )

    def _in_mm(self) -> dict[str, Array]:
        """Positions and bounds in mm, from the top-left corner; nothing if the scale is unknown."""
        if self.mm_per_px is None:
            return {}
        decimals = decimals_of(self.mm_per_px)
        positions = np.where(self.present[..., None], self.positions, np.nan).reshape(-1, 2) * self.mm_per_px
        bounds = self.bounds * self.mm_per_px + 0.5 * 10.0**-decimals  # positions are rounded here
        columns = (*positions.T.round(decimals), rounded_up(bounds.ravel(), decimals))
        return dict(zip(MM, columns, strict=True))

    def motion(self, over: int = 1, frame_rate: float | None = None) -> "Motion":
        """Speed, acceleration and distance of every object with proved limits, between frames ``over`` rows apart.

        ``frame_rate`` takes the place of the recording's time stamps.

        >>> motion = read_tracks("tracked/tracks.csv").motion(over=4, frame_rate=25)
        >>> motion.speed.shape, bool((motion.speed_low <= motion.speed_high)[motion.linked].all())
        ((24, 3), True)
        """
        from withinpx.tracking.motion import motion_of  # noqa: PLC0415  (it needs this class)

        return motion_of(self, over, frame_rate)

    def to_xarray(self) -> Any:
        """A dataset with the dimensions that ``movement`` expects; needs the extra ``xarray``.

        ``confidence`` is NaN: a bound is not a probability. ``bound_px`` and ``certified`` hold what is known.
        """
        xarray = _extra("xarray")
        times = self.times_s if np.isfinite(self.times_s).all() else self.frames
        seconds = times is self.times_s and len(self) > 1
        positions = np.where(self.present[..., None], self.positions, np.nan).transpose(0, 2, 1)[:, :, None]
        per_object = ("time", "keypoints", "individuals")
        return xarray.Dataset(
            {
                "position": (("time", "space", "keypoints", "individuals"), positions),
                "confidence": (per_object, np.full((len(self), 1, self.objects), np.nan)),
                "bound_px": (per_object, self.bounds[:, None]),
                "certified": (per_object, self.certified[:, None]),
            },
            coords={
                "time": times,
                "space": ["x", "y"],
                "keypoints": ["centre"],
                "individuals": [f"object{index}" for index in range(self.objects)],
            },
            attrs={
                "ds_type": "poses",
                "source_software": "withinpx",
                "time_unit": "seconds" if seconds else "frames",
                **({"fps": float(1 / np.median(np.diff(self.times_s)))} if seconds else {}),
            },
        )

    def to_supervision(self, frame: int) -> Any:
        """The objects of one frame as ``supervision.Detections``; needs the extra ``supervision``.

        ``tracker_id`` and ``class_id`` are the object's number; ``data`` holds the other columns.
        """
        supervision = _extra("supervision")
        (rows,) = np.nonzero(self.frames == frame)
        if not len(rows):
            raise InputError(
                f"Frame {frame} is not tracked: the tracks have frames {self.frames[0]} to {self.frames[-1]}."
            )
        row = int(rows[0])
        here = np.flatnonzero(self.present[row])
        corner, size = np.split(self.boxes[row, here], 2, axis=-1)
        return supervision.Detections(
            xyxy=np.concatenate([corner, corner + size], axis=-1),
            confidence=self.scores[row, here],
            class_id=here,
            tracker_id=here,
            data={
                "position": self.positions[row, here],
                "bound_px": self.bounds[row, here],
                "z": self.z[row, here],
                "theorem_px": self.theorem_px[row, here],
                "residual_px": self.residual_px[row, here],
                "certified": self.certified[row, here],
                "reason": self.reasons[row, here],
            },
        )

    @property
    def scores(self) -> Array:
        """(f, n), for formats with one confidence: 1 certified, 0.5 present but refused, 0 absent."""
        return np.where(self.present, np.where(self.certified, 1.0, 0.5), 0.0)


_NOT_PER_FRAME = ("width", "height", "unordered", "step_px", "classes", "proved", "guessed", "mm_per_px")
_ARRAYS = tuple(item.name for item in fields(Tracks) if item.name not in _NOT_PER_FRAME)
_PAIRS = ("positions", "sizes", "z")


def columns_with(entries: int, *, mm: bool = False) -> tuple[str, ...]:
    """The columns of a table of objects whose code has so many entries, of a scene whose scale is known or not."""
    return (*COLUMNS, *(f"{CODE}{number}" for number in range(entries)), ANGLE, *(MM if mm else ()))


def decimals_of(unit_px: float) -> int:
    """How many decimals a value in units of so many per pixel needs to be as exact as one in px.

    >>> decimals_of(1.0), decimals_of(0.12), decimals_of(25.0)
    (4, 5, 4)
    """
    return DECIMALS + max(0, ceil(-log10(unit_px)))


def _extra(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise InputError(f"{package} is not installed: pip install 'withinpx[{package}]'.") from None


def rounded_up(bounds: Array, decimals: int = DECIMALS) -> Array:
    """Rounded up: rounding must not make a bound tighter."""
    factor = 10.0**decimals
    return np.asarray(np.ceil(bounds * factor - 1e-6) / factor)


def bounds_text(bounds_px: Array) -> str:
    """What half of some bounds are within, and the largest if that is another one; "no bound" if there are none."""
    if not len(bounds_px):
        return "no bound"
    usual, largest = bound_text(float(np.median(bounds_px))), bound_text(float(bounds_px.max()))
    return usual if usual == largest else f"half within {usual}, all within {largest}"


def bound_text(bound_px: float) -> str:
    """A bound for people, rounded up to a tenth of a pixel."""
    return f"±{ceil(bound_px * 10 - 1e-6) / 10:.1f} px" if np.isfinite(bound_px) else "no bound"


def write_tracks(path: Path, tracks: Tracks) -> None:
    with TracksWriter(path) as writer:
        writer.add(tracks)


class TracksWriter:
    """Writes tracks.csv chunk by chunk; the file gets its name when all rows are there.

    The size of the recording's frames goes into a JSON file beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = writable_folder(path.parent) / path.name
        self._stack = ExitStack()
        self._last: Tracks | None = None

    def __enter__(self) -> Self:
        with naming_file(self._path):
            self._part = self._stack.enter_context(atomic_file(self._path))
            self._file = self._stack.enter_context(self._part.open("w", newline="", encoding="utf-8"))
        return self

    def add(self, tracks: Tracks) -> None:
        """Append the next frames."""
        last = self._last
        if len(tracks) == 0:
            return
        if last is not None and last.objects != tracks.objects:
            raise InputError(f"The tracks change from {last.objects} to {tracks.objects} objects midway.")
        if last is not None and tracks.frames[0] <= last.frames[-1]:
            raise InputError(f"Frame {tracks.frames[0]} of the tracks comes after frame {last.frames[-1]}.")
        joint = tracks if last is None else Tracks.joined([last, tracks])
        table = joint.to_dataframe().iloc[-tracks.present.size :]
        flags = {name: table[name].astype("Int8") for name in ("present", "certified", "identity_certified")}
        with naming_file(self._path):
            table.assign(**flags).to_csv(self._file, header=last is None, index=False, lineterminator="\n")
        self._last = tracks[-1:]

    def finish(self, angles_deg: Array) -> None:
        """Fill the column of angles (f, n), which are not known before all frames are; nothing can be added then."""
        if not np.isfinite(angles_deg).any():
            return
        with naming_file(self._path):
            self._file.close()
            with (
                atomic_file(self._part) as filled,
                filled.open("w", newline="", encoding="utf-8") as table,
                self._part.open(newline="", encoding="utf-8") as rows,
            ):
                header = next(rows)
                table.write(header)
                after = len(MM) if header.rstrip("\n").endswith(MM[-1]) else 0  # columns behind it, none of them text
                for row, angle in zip(rows, angles_deg.ravel().round(ANGLE_DECIMALS).tolist(), strict=True):
                    before, *others = row.rstrip("\n").rsplit(",", after)
                    table.write(row if isnan(angle) else ",".join([f"{before}{angle}", *others]) + "\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            with suppress(OSError):  # report the first error
                self._stack.__exit__(kind, error, trace)
            return
        with naming_file(self._path), self._stack:
            if self._last is None:
                self._file.write(",".join(COLUMNS) + "\n")
            else:
                about = {name: getattr(self._last, name) for name in ("width", "height", "unordered")}
                if self._last.classes is not None:
                    about |= {"step_px": self._last.step_px, "classes": self._last.classes.tolist()}
                if self._last.mm_per_px is not None:
                    about |= {"mm_per_px": self._last.mm_per_px}
                write_json(self._path.with_suffix(".json"), about)


def read_tracks(path: str | PathLike[str], width: int | None = None, height: int | None = None) -> Tracks:
    """A table that ``track`` or ``detect`` wrote. The frame size is stored beside it, in tracks.json.

    >>> read_tracks("tracked/tracks.csv")
    Tracks(24 frames, 3 objects, 7... of 72 positions certified)
    """
    path = Path(path)
    table = _read_table(path)
    objects = _count_objects(path, table["frame"].to_numpy(), table["object"].to_numpy())
    about: dict[str, Any] = {"width": width, "height": height, "unordered": False}
    if width is None or height is None:
        about = _read_about(path)
    alike: dict[str, Any] = {}
    if about.get("classes") is not None:
        about["classes"] = np.array(about["classes"], np.int64)
        alike = {"proved": "identity_certified", "guessed": "identity_p"}

    def column(*names: str) -> Any:
        values = np.stack([table[name].to_numpy() for name in names], axis=-1)
        return values.reshape(-1, objects, *values.shape[1:]) if len(names) > 1 else values.reshape(-1, objects)

    try:
        return Tracks(
            frames=column("frame")[:, 0].astype(np.int64),
            times_s=column("time_s")[:, 0],
            positions=column("x", "y"),
            sizes=column("width", "height"),
            bounds=column("bound_px"),
            z=column("z_x", "z_y"),
            theorem_px=column("theorem_px"),
            residual_px=column("residual_px"),
            present=column("present").astype(np.bool_),
            reasons=column("reason").astype(np.str_),
            sigma_px=column("sigma_px"),
            set_px=column("set_px"),
            codes=_codes(table, objects),
            angles_deg=column(ANGLE),
            **{name: column(own) for name, own in alike.items()},
            **about,
        )
    except InputError as error:
        raise InputError(f"{path} is no complete tracks table: {error}") from None


def _codes(table: "pd.DataFrame", objects: int) -> Array:
    """The appearance codes (f, n, k), zeros where an object is absent."""
    names = [name for name in table.columns[len(COLUMNS) :] if name.startswith(CODE)]
    codes = np.nan_to_num(table[names].to_numpy(np.float64))
    return np.asarray(codes.reshape(len(table) // objects, objects, len(names)))


def _read_about(path: Path) -> dict[str, Any]:
    beside = path.with_suffix(".json")
    about = read_json(beside) if beside.exists() else None
    required = {"width", "height", "unordered"}
    if not isinstance(about, dict) or set(about) - {"mm_per_px"} not in (required, required | {"step_px", "classes"}):
        raise InputError(
            f"The frame size of {path} is unknown ({beside.name} is missing or broken): give width and height."
        )
    return about


_FLAGS = {"present": ("0", "1"), "certified": ("0", "1"), "identity_certified": ("0", "1", "")}


def _read_table(path: Path) -> "pd.DataFrame":
    """The table with numbers as float, NaN where a cell is empty."""
    import pandas as pd  # noqa: PLC0415

    try:
        with path.open(newline="", encoding="utf-8") as file:
            columns = _columns_like(next(csv.reader(file), []))
        numbers = [name for name in columns if name != "reason"]
        types: Any = dict.fromkeys(numbers, np.float64) | {"reason": str}
        table = pd.read_csv(path, dtype=types, keep_default_na=False, na_values={name: [""] for name in numbers})
        valid = tuple(table.columns) == columns and not table.empty and _is_valid(table)
    except OSError as error:
        raise InputError(f"The tracks table {path} cannot be read: {error.strerror}.") from None
    except (ValueError, csv.Error):  # also what pandas raises for text that is no table
        valid = False
    if not valid:
        raise InputError(_first_mistake(path))
    return table if ANGLE in table else table.assign(**{ANGLE: np.nan})


def _columns_like(header: Sequence[str]) -> tuple[str, ...]:
    """The columns that a table with this header must have; one of before angles were added has none."""
    if tuple(header[-len(MM) :]) == MM:
        return (*columns_with(max(0, len(header) - 1 - len(MM) - len(COLUMNS))), *MM)
    if header[-1:] == [ANGLE]:
        return columns_with(max(0, len(header) - 1 - len(COLUMNS)))
    return columns_with(max(0, len(header) - len(COLUMNS)))[:-1]


def _is_valid(table: "pd.DataFrame") -> bool:
    whole, flags = table[["frame", "object"]].to_numpy(), table[list(_FLAGS)].to_numpy()
    return bool(
        ((whole >= 0) & (whole % 1 == 0)).all()
        and (np.isin(flags, (0, 1)) | (np.isnan(flags) & [False, False, True])).all()
        and not np.isinf(table.drop(columns="reason").to_numpy()).any()
    )


def _first_mistake(path: Path) -> str:
    """What is wrong with a table, with the line and the cell."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = [*csv.reader(file)] or [[]]
    except (UnicodeDecodeError, csv.Error):
        return f"{path} is no tracks table: it is not text."
    columns = _columns_like(header)
    if tuple(header) != columns:
        return f"{path} is no tracks table: its first line is not {','.join(COLUMNS)}."
    for line, cells in enumerate(rows, start=2):
        if len(cells) != len(columns):
            return f"{path} has {len(cells)} values in line {line} where {len(columns)} are needed."
        for name, cell in zip(columns, cells, strict=True):
            if name in _FLAGS and cell not in _FLAGS[name]:
                return f"{path} has {cell!r} for {name} in line {line}: 0 or 1 is needed there."
            if (name in ("frame", "object") and not cell.isdecimal()) or (name != "reason" and not _is_number(cell)):
                return f"{path} has {cell!r} for {name} in line {line}: a number is needed there."
    return f"The tracks table {path} has no rows."


def _is_number(cell: str) -> bool:
    try:
        return not cell or bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _count_objects(path: Path, frames: Array, numbers: Array) -> int:
    """Every frame must list the same objects, 0 and up, once each; the first frame shows how many."""
    others = np.flatnonzero(frames != frames[0])
    objects = int(others[0]) if len(others) else len(frames)
    row = np.arange(len(frames))
    wrong = np.flatnonzero((numbers != row % objects) | (frames != frames[row - row % objects]))
    if len(wrong):
        line = int(wrong[0]) + 2
        raise InputError(f"{path} has an object too few or too many at line {line}: every frame lists the same ones.")
    if len(frames) % objects:
        raise InputError(f"{path} breaks off in the middle of frame {frames[-1]:g}.")
    return objects
