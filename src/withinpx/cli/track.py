"""withinpx track: from a clip to certified tracks."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.cli.common import Device, Json, exit_if_nothing, print_json
from withinpx.data.recording import open_recording
from withinpx.tracking.options import Format, TrackOptions, only
from withinpx.tracking.progress import Event, reporting


@dataclass(frozen=True, kw_only=True)
class TrackCommand(TrackOptions):
    """Find everything that moves in a clip, and prove within how many pixels each position is right.

    Exit status: 0 if something was certified, 3 if nothing was, 2 for bad input.
    """

    clip: Positional[Path]
    """A video file, or a folder of images."""
    out: Path = Path("tracked")
    """A new folder for the detector, the certificate, the tracks, the overlay and the summary."""
    device: Device = "auto"
    """Where to train."""
    export: tuple[Format, ...] = ()
    """Formats of other tools to write as well, as `withinpx export --to` does."""
    resume: bool = False
    """Continue an interrupted run in --out."""
    json: Json = False
    """Print the certificate as JSON."""

    def run(self) -> None:
        recording = open_recording(self.clip)  # a mistyped name is refused before anything else
        with reporting(True) as report:
            report(Event("reading"))
            from withinpx.tracking.exports import check_formats, export  # noqa: PLC0415  (takes seconds)
            from withinpx.tracking.track import track  # noqa: PLC0415

            check_formats(self.export)

            options = only(TrackOptions, self)
            result = track(recording, options, out=self.out, device=self.device, resume=self.resume, progress=report)
        if self.export:
            export(result.tracks, self.out, self.export, result.detector, self.clip)
        if self.json:
            print_json(result.certificate.to_json())
        else:
            certified, positions = int(result.tracks.certified.sum()), int(result.tracks.present.sum())
            print(result.certificate)
            print(f"{certified} of {positions} positions are certified: {self.out / 'tracks.csv'}. ", end="")
            print(f"See {self.out / 'certificate.html'}")
        exit_if_nothing(bool(result.tracks.certified.any()))
