"""withinpx detect: a detector over other footage, one recording or a collection."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.cli.common import EngineName, engine_named, exit_if_nothing, log_losses
from withinpx.errors import InputError
from withinpx.tracking.options import DetectOptions, only


@dataclass(frozen=True, kw_only=True)
class DetectCommand(DetectOptions):
    """Find a detector's objects in other footage of the same camera, without training; each frame gets its verdict.

    Exit status: 0 if something was certified, 3 if nothing was, 2 for bad input.
    """

    detector: Positional[Path]
    """What `withinpx track` made."""
    clips: Positional[tuple[Path, ...]]
    """Video files, or folders of images."""
    out: Path = Path("detected")
    """A new folder for tracks.csv and overlay.mp4. For several clips, a folder with one for each: those that exist
    already are left alone."""
    engine: EngineName = "local"
    """Several clips one after the other, or on a Ray cluster whose nodes see the same files."""
    address: str | None = None
    """HOST:PORT of the Ray cluster; a new one on this machine when not given."""

    def run(self) -> None:
        engine = engine_named(self.engine, self.address, self.device)
        if not self.clips:
            raise InputError("There is no clip: name a video file or a folder of images.")
        if len(self.clips) == 1 and self.engine == "local":
            return self._detect_one(self.clips[0])
        from withinpx.jobs.progress import JobProgress  # noqa: PLC0415
        from withinpx.tracking.collection import detect_collection  # noqa: PLC0415

        with JobProgress(unit="clips") as callback:
            rows = detect_collection(
                self.detector, self.clips, self.out, self._options(), engine=engine, callback=callback
            )
        for row in rows:
            print(f"{row['clip']}: {row['message']}")
        failed = sum(row["failed"] for row in rows)
        existing = len(self.clips) - len(rows)
        print(f"{len(rows) - failed} clips done, {existing} existed already. See {self.out}")
        if failed:
            raise InputError(f"{failed} of {len(self.clips)} clips could not be used, for the reasons given above.")
        exit_if_nothing(bool(existing) or any(row["certified"] for row in rows))

    def _detect_one(self, clip: Path) -> None:
        from withinpx.files import atomic_folder, check_is_new  # noqa: PLC0415
        from withinpx.tracking.collection import detect_recording, prepare  # noqa: PLC0415
        from withinpx.tracking.progress import reporting  # noqa: PLC0415
        from withinpx.tracking.tracks import TRACKS  # noqa: PLC0415

        check_is_new(self.out)
        options = self._options()
        prepared = prepare(self.detector, clip, options)
        with reporting(True) as report, atomic_folder(self.out) as part:
            counts, losses = detect_recording(prepared, part, options, report)
        log_losses(clip, losses)
        print(counts)
        print(f"See {self.out / TRACKS}")
        exit_if_nothing(bool(counts.certified))

    def _options(self) -> DetectOptions:
        return only(DetectOptions, self)
