"""Options of inspection, tracking and detection, declared once for library, command line and studio."""

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from withinpx.data.selection import Selection
from withinpx.errors import InputError
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD
from withinpx.tracking.scale import check_scale

BackgroundName = Literal["auto", "layered", "perspective", "nearby"]
DeviceName = Literal["auto", "cpu", "cuda", "mps"]
Format = Literal["coco", "mot", "dlc", "sleap", "movement", "nwb", "trackpy", "idtracker", "napari", "trackmate"]
Kind = TypeVar("Kind")
SPARE = 2.0  # px that the decoder is wider than the largest object seen
LARGEST_OBJECT = LARGEST_RECEPTIVE_FIELD - SPARE


def only(kind: type[Kind], options: Any) -> Kind:
    """The options of a base class alone, from an object of a class that adds fields to it."""
    return kind(**{item.name: getattr(options, item.name) for item in fields(kind)})  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class InspectOptions(Selection):
    """Which part of the recording to use, how its background is known, and how many objects there are.

    >>> InspectOptions(objects=2).count
    2
    """

    background: BackgroundName = "auto"
    """`layered`: objects look the same everywhere. `perspective`: their appearance depends on where they are. `nearby`:
    the camera moves, and the background is estimated from frames nearby in time."""
    objects: int | Literal["auto"] = "auto"
    """How many objects there are; `auto` finds the number."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objects != "auto" and (not isinstance(self.objects, int) or self.objects < 1):
            raise InputError(f"The number of objects is {self.objects}: give one at least, or auto.")

    @property
    def count(self) -> int | None:
        """The number of objects, None if it is to be found."""
        return None if self.objects == "auto" else self.objects


@dataclass(frozen=True, kw_only=True)
class TrackOptions(InspectOptions):
    """Everything that decides what ``track`` learns.

    >>> TrackOptions(objects=2, seed=1).objects
    2
    """

    encoder_rf: int | None = None
    """Receptive field of the encoder, px; chosen if not given."""
    decoder_rf: int | None = None
    """Receptive field of the decoder, px; chosen if not given."""
    sigma: float | None = None
    """Width of the rendered Gaussian, px; chosen if not given."""
    largest_object: float = 25.0
    """Side to which larger objects are scaled down for the network, px."""
    target: float | None = None
    """The largest error of z that is acceptable, px; the network is designed for it."""
    channels: int = 16
    """Channels of every hidden layer."""
    appearance: int | Literal["auto"] = "auto"
    """Entries of the appearance code, for objects that turn or deform; `auto` tries a code where none is not enough."""
    seed: int = 0
    """The first seed to try."""
    budget: float = 600.0
    """Seconds within which another hypothesis is tried if one is refused."""
    step: float | None = None
    """The largest step along an axis, px, that any object makes from one frame to the next; it decides which identities
    of objects that look alike are proved. Measured if not given."""
    overlay: bool = True
    """Write overlay.mp4."""
    mm_per_px: float | None = None
    """How long a pixel is in the scene, mm: a known length in mm divided by its length in px. The table then has
    positions and bounds in mm as well."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.mm_per_px)
        if not 1 <= self.largest_object <= LARGEST_OBJECT:
            raise InputError(
                f"The largest object is {self.largest_object:g} px: a network renders objects of 1 to "
                f"{LARGEST_OBJECT:g} px; give one of those sizes."
            )


@dataclass(frozen=True, kw_only=True)
class DetectOptions:
    """How a detector is run over other footage; crop and scale are the detector's own."""

    start: float | None = None
    """Skip frames before this time, s."""
    end: float | None = None
    """Skip frames after this time, s."""
    frames: tuple[int, int] | None = None
    """Use the frames from this number to that one only, both included, counted from 0."""
    every: int = 1
    """Use one frame in this many."""
    overlay: bool = True
    """Write overlay.mp4."""
    export: tuple[Format, ...] = ()
    """Formats of other tools to write as well, as `withinpx export --to` does."""
    device: DeviceName = "auto"
    """Where to compute."""
    certificate: Literal["sets", "theorem"] = "sets"
    """`theorem` skips the search for feasible sets: faster, with the theorem's wider bound only."""
    step: float | None = None
    """The largest step along an axis, px, of objects that look alike; measured if not given."""
    backend: Literal["torch", "onnx"] = "torch"
    """`onnx` runs the encoder with onnxruntime, over the whole frame."""
    mm_per_px: float | None = None
    """How long a pixel is in the scene, mm; the table then has positions and bounds in mm as well."""

    @property
    def span(self) -> Selection:
        """The frames that are used."""
        return Selection(start=self.start, end=self.end, frames=self.frames, every=self.every)

    def __post_init__(self) -> None:
        check_scale(self.mm_per_px)
