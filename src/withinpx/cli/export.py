"""A finished run in other programs: its detector as ONNX or as a web page, its tracks in the formats of other tools."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.errors import InputError
from withinpx.tracking.options import Format


@dataclass(frozen=True)
class ExportCommand:
    """Write a finished run's tracks in the formats of other tools, or its detector for programs without PyTorch."""

    folder: Positional[Path]
    """A folder that `withinpx track` made; with --to, also one of `withinpx detect`."""
    to: tuple[Format, ...] = ()
    """The formats to write the tracks in."""
    onnx: bool = False
    """The detector as ONNX: frames in, positions with their verdicts out."""
    html: bool = False
    """The detector as one HTML file: it finds the objects in clips that are dropped on it, and uploads nothing."""
    out: Path | None = None
    """The folder to write the tracks to, or the file of the detector; in the run's folder if not given."""
    clip: Path | None = None
    """The recording, which SLEAP and TrackMate show behind the tracks; it is named in their files and not opened."""
    unreviewed: bool = False
    """Write the network's own tracks, though a person has reviewed them."""

    def run(self) -> None:
        if bool(self.to) + self.onnx + self.html != 1:
            raise InputError(
                "Choose what to write: the detector with --onnx or --html, or the tracks with --to and formats."
            )
        if self.to:
            self._write_tracks()
        elif self.onnx:
            self._write_onnx()
        else:
            self._write_page()

    def _write_tracks(self) -> None:
        from withinpx.reviewing.reviewed import read_reviewed  # noqa: PLC0415
        from withinpx.tracking.exports import check_formats, check_nothing_is_replaced, export  # noqa: PLC0415
        from withinpx.tracking.tracks import TRACKS, read_tracks  # noqa: PLC0415

        check_formats(self.to)
        if not (self.folder / TRACKS).is_file():
            raise InputError(f"{self.folder} is no run, it has no {TRACKS}: name a folder that track or detect made.")
        review, out = None if self.unreviewed else read_reviewed(self.folder), self.out or self.folder
        tracks = read_tracks(self.folder / TRACKS) if review is None else review.tracks
        check_nothing_is_replaced(tracks, out, self.to)
        if review is not None:
            print(
                f"These are the reviewed tracks: {review.summary}. A person's positions have no bound; --unreviewed "
                "writes the network's own tracks."
            )
        detector = None
        if review is None and "coco" in self.to and (self.folder / "detector.json").is_file():
            from withinpx.tracking.detector import Detector  # noqa: PLC0415  (torch takes seconds to import)

            detector = Detector.load(self.folder)
        for path in export(tracks, out, self.to, detector, self.clip, names=review.renamed if review else None):
            print(f"Wrote {path}")
        if "coco" in self.to and detector is None:
            lacking = f"{self.folder} has no detector, which renders them"
            why = lacking if review is None else "reviewed tracks have none"
            print(f"The COCO results are without masks: {why}.")

    def _write_onnx(self) -> None:
        from withinpx.tracking.detector import Detector  # noqa: PLC0415
        from withinpx.tracking.onnx_file import NAME, write_onnx  # noqa: PLC0415
        from withinpx.tracking.onnx_graph import Verdicts  # noqa: PLC0415

        path = self._new_file(NAME)
        detector = Detector.load(self.folder)
        write_onnx(path, detector)
        width, height = detector.recording
        outputs = ", ".join(f"`{name}`" for name in Verdicts._fields)
        print(f"Wrote {path}: `frames` ({width}x{height} px, uint8) in; {outputs} out")

    def _write_page(self) -> None:
        from withinpx.browser.page import NAME, write_page  # noqa: PLC0415
        from withinpx.tracking.detector import Detector  # noqa: PLC0415

        path = self._new_file(NAME)
        detector = Detector.load(self.folder)
        write_page(path, detector)
        width, height = detector.recording
        print(f"Wrote {path}: open it in a browser and drop a clip of {width}x{height} px on it")

    def _new_file(self, name: str) -> Path:
        path = self.out or self.folder / name
        if path.exists():
            raise InputError(f"{path} exists already: name another file with --out, nothing was overwritten.")
        return path
