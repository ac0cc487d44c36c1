"""CLEVR-like datasets (sec. 5.2, app. C.2, app. D): the poses of their solids and the exact ground truth.

``blender.py`` renders them; ``clevr_render.py`` and ``clevr_folder.py`` write and read the images.
"""

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from withinpx.data.solids import Camera, Floats, Pose, Solid, centre, posed_vertices
from withinpx.errors import InputError

Kind = Literal["spheres", "shapes"]
Split = Literal["train", "test"]

KINDS: dict[Kind, tuple[Solid, ...]] = {
    "spheres": (Solid("sphere", "red", "metal"), Solid("sphere", "green", "metal"), Solid("sphere", "blue", "metal")),
    "shapes": (Solid("sphere", "red", "metal"), Solid("cylinder", "blue", "rubber"), Solid("cube", "green", "rubber")),
}
SPLITS: tuple[Split, ...] = get_args(Split)

REACH = 3.0  # largest distance of a solid from the middle of the ground along both axes, as in CLEVR
MEAN_DISTANCE = 10.5  # from the camera; a sphere at this distance has the geometric mean of the two size limits
MARGIN = 4.0  # px, smallest distance from a solid to the border
GAP = 3.0  # px, smallest distance between the boxes of two solids: none touches or occludes another
MIN_SIZE = 3.0  # px; smaller solids have no recognisable shape
MAX_TRIES = 1000  # to arrange the solids of an image


@dataclass(frozen=True)
class Scene:
    """Ground truth of one image. Positions are in px; (0, 0) is the top-left corner of the first pixel."""

    poses: tuple[Pose, ...]
    boxes: Floats  # (solids, 4): centre x, y, width, height of each solid's silhouette
    centres: Floats  # (solids, 2): projections of the solids' centres; perspective moves the box centres off them


@dataclass(frozen=True)
class ClevrSet:
    """Three solids at random poses in every image; their sizes differ by perspective alone."""

    kind: Kind
    smallest: float  # larger side of the bounding box, px
    largest: float
    train: int = 150  # images
    test: int = 50
    seed: int = 0
    camera: Camera = field(default_factory=Camera)

    def __post_init__(self) -> None:
        if not MIN_SIZE <= self.smallest < self.largest < math.inf:
            raise InputError(
                f"The sizes {self.smallest:g} to {self.largest:g} px are not possible: give the smaller one first, at "
                f"least {MIN_SIZE:g} px, then the larger one."
            )
        if self.train < 0 or self.test < 0 or self.train + self.test == 0:
            raise InputError(f"The numbers of images are {self.train} and {self.test}: give at least one image.")
        if self.seed < 0:
            raise InputError(f"The seed is {self.seed}: give 0 or more.")

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.smallest:02g}-{self.largest:02g}"

    @property
    def solids(self) -> tuple[Solid, ...]:
        """Object 0, object 1, ... of every image."""
        return KINDS[self.kind]

    @property
    def radius(self) -> float:
        """Radius of all solids, which centres the sizes in their range. For the paper's datasets: 0.29 to 0.80."""
        focal = self.camera.pixels * self.camera.lens_mm / self.camera.sensor_mm
        return math.sqrt(self.smallest * self.largest) * MEAN_DISTANCE / (2 * focal)

    def count(self, split: Split) -> int:
        """Number of images in a split."""
        return self.train if split == "train" else self.test

    def scenes(self, split: Split) -> Iterator[Scene]:
        return (self.scene(split, index) for index in range(self.count(split)))

    def scene(self, split: Split, index: int) -> Scene:
        """One image, independent of all others: uniform over the arrangements that fit."""
        random = np.random.default_rng((self.seed, SPLITS.index(split), index, zlib.crc32(self.name.encode())))
        for _ in range(MAX_TRIES):
            scene = self._arrange(random)
            if scene is not None:
                return scene
        raise InputError(
            f"No arrangement of {len(self.solids)} separate {self.kind} of {self.smallest:g} to {self.largest:g} px "
            f"was found for an image of {self.camera.pixels} px: give smaller sizes, or a wider range."
        )

    def _arrange(self, random: np.random.Generator) -> Scene | None:
        """Random poses; None if a solid has the wrong size, is cut off or too close to another."""
        sampled = random.uniform((-REACH, -REACH, 0), (REACH, REACH, 2 * np.pi), (len(self.solids), 3))
        poses = tuple(Pose(*pose) for pose in sampled.tolist())
        boxes = np.empty((len(poses), 4))
        for index, (solid, pose) in enumerate(zip(self.solids, poses, strict=True)):
            boxes[index] = self.camera.box(posed_vertices(solid.shape, self.radius, pose))
            if not self._fits(boxes[index]) or any(gap(boxes[index], other) < GAP for other in boxes[:index]):
                return None
        centres = [centre(solid.shape, self.radius, pose) for solid, pose in zip(self.solids, poses, strict=True)]
        return Scene(poses, boxes, self.camera.project(np.array(centres)))

    def _fits(self, box: Floats) -> bool:
        inside = np.abs(box[:2] - self.camera.pixels / 2) + box[2:] / 2 <= self.camera.pixels / 2 - MARGIN
        return bool(inside.all()) and self.smallest <= box[2:].max() <= self.largest


def gap(first: Floats, second: Floats) -> float:
    """The distance of two boxes along the axis that separates them most, px; negative if they overlap."""
    return float((np.abs(first[:2] - second[:2]) - (first[2:] + second[2:]) / 2).max())


DATASETS = {
    dataset.name: dataset
    for dataset in (
        *(ClevrSet("spheres", *sizes) for sizes in ((6, 10), (9, 14), (11, 17), (13, 19), (15, 24), (17, 27))),
        ClevrSet("shapes", 9, 19),
    )
}


def named_datasets(name: str, sizes: tuple[float, float] | None = None) -> tuple[ClevrSet, ...]:
    """One of the paper's seven datasets, ``all`` of them, or ``spheres`` or ``shapes`` with given sizes."""
    if sizes is not None:
        if name not in KINDS:
            raise InputError(f"The sizes of {name} are fixed: --sizes is for {' or '.join(KINDS)}.")
        return (ClevrSet("spheres" if name == "spheres" else "shapes", *sizes),)
    if name in KINDS:
        known = ", ".join(dataset for dataset in DATASETS if dataset.startswith(name))
        raise InputError(f"The sizes of the {name} are missing: give --sizes SMALLEST LARGEST in px, or name {known}.")
    if name == "all":
        return tuple(DATASETS.values())
    if name not in DATASETS:
        raise InputError(f"There is no dataset {name}: there are {', '.join(DATASETS)}, and all.")
    return (DATASETS[name],)
