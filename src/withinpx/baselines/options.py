"""Options of a baseline run, in the library and on the command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Method = Literal["mobilesam", "sam", "coco", "mog2"]


@dataclass(frozen=True, kw_only=True)
class BaselineOptions:
    method: Method
    """MobileSAM; any SAM through transformers; any detector's COCO results (CutLER); OpenCV's MOG2 with contours."""
    images: tuple[Path, ...]
    """Folders of images; the paper takes the training and the test images of a dataset together."""
    truth: tuple[Path, ...] = ()
    """A table frame,object,x,y,w,h,full for each folder, in the same order."""
    weights: Path | None = None
    """MobileSAM's weights."""
    model: str | None = None
    """SAM's name on the hub (facebook/sam-vit-huge), or a folder that contains it."""
    results: Path | None = None
    """A file of COCO results. An image_id is the image's index, from 0, or its name."""
    dataset: Path | None = None
    """The COCO dataset whose image ids the results use, if those differ."""
    least_score: float = 0.0
    """Ignore COCO results with a lower score."""
    grid: int = 32
    """Prompt points along each side of the image for SAM."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Device for SAM."""
