"""withinpx measure: speed, acceleration and distance of a finished run, with proved limits."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.cli.common import exit_if_nothing


@dataclass(frozen=True)
class MeasureCommand:
    """Speed, acceleration and distance of the objects of a finished run, each with the limits that are proved for it.

    Exit status: 0 if a speed is proved, 3 if none is, 2 for bad input.
    """

    run_folder: Positional[Path]
    """A folder that `withinpx track` or `withinpx detect` made, or its tracks.csv."""
    mm_per_px: float | None = None
    """How long a pixel is in the scene, mm; that of the run if not given. A tracks.csv with columns in mm is written
    as well."""
    over: int = 1
    """From a frame to the one so many rows later: a mean over a longer time has tighter limits."""
    frame_rate: float | None = None
    """Frames per second; takes the place of the recording's time stamps."""
    out: Path | None = None
    """A new folder for motion.csv and motion.png; `motion` in the run's folder if not given."""

    def run(self) -> None:
        from withinpx.tracking.measure import measure, summary_lines  # noqa: PLC0415  (pandas, matplotlib)

        measured = measure(
            self.run_folder, self.out, mm_per_px=self.mm_per_px, over=self.over, frame_rate=self.frame_rate
        )
        for line in summary_lines(measured.motion):
            print(line)
        print(f"See {measured.folder / 'motion.csv'} and motion.png")
        exit_if_nothing(bool(measured.motion.linked.any()))
