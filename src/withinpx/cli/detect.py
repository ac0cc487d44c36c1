"""A detector over other footage: one recording, or a collection."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from withinpx.cli.common import Device, EngineName, engine_named, tell_losses
from withinpx.errors import InputError

if TYPE_CHECKING:
    from withinpx.tracking.collection import Request


@dataclass(frozen=True)
class DetectCommand:
    """Find a detector's objects in other footage of the same camera: no training, each frame with its verdict."""

    detector: Positional[Path]
    """What `withinpx track` made."""
    clips: Positional[tuple[Path, ...]]
    """Video files, or folders of images."""
    out: Path = Path("detected")
    """A new folder for tracks.csv and overlay.mp4. For several clips, a folder with one for each: those that are there
    already are left alone."""
    start: float | None = None
    """Leave out what comes before this time, s."""
    end: float | None = None
    """Leave out what comes after this time, s."""
    every: int = 1
    """Keep one frame of this many."""
    overlay: bool = True
    """Write overlay.mp4."""
    export: tuple[Literal["coco", "mot", "dlc"], ...] = ()
    """Other tables to write: COCO results, MOTChallenge, DeepLabCut."""
    device: Device = "auto"
    """Where to compute."""
    backend: Literal["torch", "onnx"] = "torch"
    """`onnx` runs the encoder with onnxruntime, over the whole frame."""
    engine: EngineName = "local"
    """Several clips one after the other, or all over a Ray cluster whose nodes see the same files."""
    address: str | None = None
    """HOST:PORT of the Ray cluster; a new one on this machine when not given."""

    def run(self) -> None:
        """Stream, look, write."""
        engine = engine_named(self.engine, self.address, self.device)
        if not self.clips:
            raise InputError("There is nothing to look at: name a video file or a folder of images.")
        if len(self.clips) == 1 and self.engine == "local":
            return self._one(self.clips[0])
        from withinpx.jobs.progress import job_progress  # noqa: PLC0415
        from withinpx.tracking.collection import detect_collection  # noqa: PLC0415

        with job_progress(unit="clips") as callback:
            rows = detect_collection(self._request(), self.clips, self.out, engine, callback)
        for row in rows:
            print(f"{row['clip']}: {row['said']}")
        refused = sum(row["refused"] for row in rows)
        print(f"{len(rows) - refused} clips done, {len(self.clips) - len(rows)} there already. See {self.out}")
        if refused:
            raise InputError(f"{refused} of {len(self.clips)} clips could not be used, for the reasons given above.")

    def _one(self, clip: Path) -> None:
        from withinpx.files import atomic_folder, check_is_new  # noqa: PLC0415
        from withinpx.tracking.collection import detect_recording, prepare  # noqa: PLC0415
        from withinpx.tracking.detect import TRACKS  # noqa: PLC0415
        from withinpx.training.progress import Counter  # noqa: PLC0415

        check_is_new(self.out)
        request = self._request()
        ready = prepare(request, clip)
        with Counter("frames") as counter, atomic_folder(self.out) as beside:
            found = detect_recording(request, ready, beside, counter)
        tell_losses(found.lost, clip)
        print(found)
        print(f"See {self.out / TRACKS}")

    def _request(self) -> "Request":
        from withinpx.data.selection import Selection  # noqa: PLC0415
        from withinpx.tracking.collection import Request  # noqa: PLC0415

        selection = Selection(self.start, self.end, self.every)
        return Request(self.detector, selection, self.overlay, self.export, self.device, self.backend)
