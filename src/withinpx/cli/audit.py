"""withinpx audit: another program's tracks, judged."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from withinpx.auditing.options import AuditOptions
from withinpx.cli.common import PROVED_WRONG, Device, Json, log, print_json
from withinpx.data.recording import open_recording
from withinpx.files import check_is_new
from withinpx.tracking.options import TrackOptions, only
from withinpx.tracking.progress import Event, reporting


@dataclass(frozen=True, kw_only=True)
class AuditCommand(AuditOptions, TrackOptions):
    """Say of every position that another program found in a clip whether it is proved right, proved wrong, or neither.

    The objects are learned from the clip without labels, as by `withinpx track`. Exit status: 0 if nothing was proved
    wrong, 4 if something was, 2 for bad input.
    """

    clip: Positional[Path]
    """A video file, or a folder of images."""
    tracks: Positional[Path]
    """Tracks of it: trackpy, TRex, idtracker.ai, SLEAP, DeepLabCut, MOTChallenge, COCO results, or any CSV with frame,
    id, x and y."""
    run_folder: Annotated[Path | None, arg(name="run")] = None
    """What `withinpx track` made of the same clip; without it, the clip is tracked first."""
    out: Path = Path("audited")
    """A new folder for audit.csv, swaps.csv, check.csv, summary.json and audit.html."""
    device: Device = "auto"
    """Where to train."""
    json: Json = False
    """Print the summary as JSON."""

    def run(self) -> None:
        recording = open_recording(self.clip)  # a mistyped name is refused before anything else
        check_is_new(self.out)
        with reporting(True) as report:
            report(Event("reading"))
            from withinpx.auditing.audit import audit  # noqa: PLC0415  (torch takes seconds to import)

            found = audit(
                recording,
                self.tracks,
                only(AuditOptions, self),
                run=self.run_folder,
                track_options=only(TrackOptions, self),
                device=self.device,
                progress=report,
            )
        found.save(self.out)
        if self.json:
            print_json(found.summary())
        else:
            counts = found.counts
            for note in found.notes:
                log(note)
            print(
                f"{counts['right']} of {len(found.foreign)} positions are proved right, {counts['wrong']} wrong, "
                f"{counts['undecided']} undecided; {len(found.swaps)} swaps are proved. See {self.out / 'audit.html'}"
            )
        if found.anything_wrong:
            sys.exit(PROVED_WRONG)
