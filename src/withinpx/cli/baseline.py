"""The command ``baseline``: other detectors on the same images."""

from dataclasses import dataclass
from pathlib import Path

from withinpx.baselines.options import BaselineOptions
from withinpx.errors import InputError


@dataclass(frozen=True, kw_only=True)
class BaselineCommand(BaselineOptions):
    """Run another detector on images; with a truth, evaluate it as the paper does (SAM needs the extra `baselines`)."""

    out: Path
    """A folder for detections.json and errors.csv. An interrupted run resumes."""

    def run(self) -> None:
        from withinpx.baselines.run import ERRORS, run_baseline  # noqa: PLC0415
        from withinpx.jobs.progress import JobProgress  # noqa: PLC0415

        with JobProgress(unit="images") as progress:
            result = run_baseline(self, self.out, progress)
        boxes = sum(len(found.boxes) for found in result.detections)
        print(f"{self.method}: {boxes} boxes in {len(result.names)} images. See {self.out}")
        if result.score is not None:
            print(result.score)
        if result.too_few:
            few = result.too_few
            more = f" and {len(few) - 3} others" if len(few) > 3 else ""
            raise InputError(
                f"{len(few)} of {len(result.names)} images have fewer masks than the protocol needs, one for the "
                f"background and one for each object ({', '.join(few[:3])}{more}): {ERRORS} is without them; a finer "
                "--grid may find more."
            )
