"""withinpx inspect: what moves in a clip, before any training."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.cli.common import Json, log_losses, print_json
from withinpx.tracking.options import InspectOptions, only


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
        from withinpx.discovery.contact_sheet import save_contact_sheet  # noqa: PLC0415
        from withinpx.tracking.track import inspect  # noqa: PLC0415

        inspection = inspect(self.clip, only(InspectOptions, self))
        log_losses(self.clip, inspection.clip.lost)
        if self.json:
            return print_json(inspection.to_json())
        print(inspection)
        if self.out is not None:
            print(f"See {save_contact_sheet(self.out, inspection)}")
