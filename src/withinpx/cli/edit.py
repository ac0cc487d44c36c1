"""Objects of a detector at positions where they never were."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.errors import InputError


@dataclass(frozen=True)
class EditCommand:
    """Render a detector's objects along new trajectories: `--path object=0:40,30:80,60`."""

    detector: Positional[Path]
    """A folder that `withinpx track` made."""
    path: tuple[str, ...] = ()
    """object=NUMBER:x,y:x,y...: the trajectory of one object, px of the recording; one for each object to render."""
    appearance: tuple[str, ...] = ()
    """FRAME: render all objects as they appear in this frame of the clip; object=NUMBER:FRAME: one of them. The others
    have their usual appearance."""
    frames: int = 50
    """Number of frames from the first to the last point."""
    out: Path | None = None
    """The video to write (.mp4)."""
    superimpose: Path | None = None
    """An image of all frames in one to write (.png), as in figures 10 and 11 of the paper."""

    def run(self) -> None:
        import numpy as np  # noqa: PLC0415

        from withinpx.tracking import edit  # noqa: PLC0415
        from withinpx.tracking.detector import Detector  # noqa: PLC0415
        from withinpx.tracking.tracks import TRACKS, read_tracks  # noqa: PLC0415

        if self.out is None and self.superimpose is None:
            raise InputError("Nothing to write: give --out new.mp4, --superimpose new.png, or both.")
        detector = Detector.load(self.detector)
        paths = edit.parse_paths(self.path)
        codes = None
        if self.appearance:
            shown = edit.parse_appearances(self.appearance, paths)
            codes = edit.codes_in(detector, read_tracks(self.detector / TRACKS), shown)
        if self.out is not None:
            print(f"Wrote {edit.write_edit(self.out, detector, paths, self.frames, codes=codes)}")
        if self.superimpose is not None:
            frames = np.stack(list(edit.edited_frames(detector, paths, self.frames, codes)))
            image = edit.superimpose(frames, edit.empty_frame(detector))
            print(f"Wrote {edit.write_superimposed(self.superimpose, [('generated', image)])}")
