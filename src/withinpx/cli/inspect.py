"""withinpx inspect: what moves in a clip, before any training."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.cli.common import Json, print_json
from withinpx.data.recording import open_recording
from withinpx.tracking.options import InspectOptions, only
from withinpx.tracking.progress import Event, reporting


@dataclass(frozen=True, kw_only=True)
class InspectCommand(InspectOptions):
    """Inspect a clip before any training: what moves, how large it is, and do the theorem's assumptions look met?"""

    clip: Positional[Path]
    """A video file, or a folder of images."""
    out: Path | None = None
    """Where the contact sheet goes (a PNG)."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        recording = open_recording(self.clip)  # a mistyped name is refused before anything else
        with reporting(True) as report:
            report(Event("reading"))
            from withinpx.tracking.track import inspect  # noqa: PLC0415  (torch takes seconds to import)

            inspection = inspect(recording, only(InspectOptions, self), progress=report)
            if self.out is not None:
                report(Event("writing"))
                from withinpx.discovery.contact_sheet import save_contact_sheet  # noqa: PLC0415  (so does matplotlib)

                save_contact_sheet(self.out, inspection)
        if self.json:
            return print_json(inspection.to_json())
        print(inspection)
        if self.out is not None:
            print(f"See {self.out}")
