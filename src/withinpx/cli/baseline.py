"""Other detectors on the same images, by the paper's protocol."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from withinpx.cli.common import Device
from withinpx.errors import InputError


@dataclass(frozen=True)
class BaselineCommand:
    """Run another detector on images; with a truth, measure it as the paper does (SAM needs the extra `baselines`)."""

    method: Literal["mobilesam", "sam", "coco", "mog2"]
    """MobileSAM; any SAM through transformers; any detector's COCO results (CutLER); OpenCV's MOG2 with contours."""
    images: tuple[Path, ...]
    """Folders of images; the paper takes the training and the test images of a dataset together."""
    out: Path
    """A folder for detections.json and errors.csv. An interrupted run goes on."""
    truth: tuple[Path, ...] = ()
    """A table frame,object,x,y,w,h,full for each folder, in the same order."""
    weights: Path | None = None
    """MobileSAM's weights."""
    model: str | None = None
    """SAM's name on the hub (facebook/sam-vit-huge), or a folder that holds it."""
    results: Path | None = None
    """A file of COCO results. An image_id is the image's place among the images, from 0, or its name."""
    dataset: Path | None = None
    """The COCO data set whose image ids the results use, if those are others."""
    least_score: float = 0.0
    """Leave out COCO results of which the detector is less sure."""
    grid: int = 32
    """Points along each side of the image that SAM is asked about."""
    device: Device = "auto"
    """Where SAM computes."""

    def run(self) -> None:
        """Detect, write, measure."""
        from withinpx.baselines.run import ERRORS, Asked, run_baseline  # noqa: PLC0415
        from withinpx.jobs.progress import JobProgress  # noqa: PLC0415

        asked = Asked(
            self.method,
            self.images,
            self.truth,
            self.weights,
            self.model,
            self.results,
            self.dataset,
            self.least_score,
            self.grid,
            self.device,
        )
        with JobProgress(unit="images") as progress:
            outcome = run_baseline(asked, self.out, progress)
        boxes = sum(len(each.boxes) for each in outcome.found)
        print(f"{self.method}: {boxes} boxes in {len(outcome.names)} images. See {self.out}")
        if outcome.score is not None:
            print(outcome.score)
        if outcome.too_few:
            few = outcome.too_few
            more = f" and {len(few) - 3} others" if len(few) > 3 else ""
            raise InputError(
                f"{len(few)} of {len(outcome.names)} images show fewer masks than the protocol needs, one for the "
                f"background and one for each object ({', '.join(few[:3])}{more}): {ERRORS} is without them; a finer "
                "--grid may find more."
            )
