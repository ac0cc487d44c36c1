"""CLEVR-like pictures (sec. 5.2, app. C.2, app. D): the datasets, where their solids stand, and the exact truth.

Nothing here renders: ``blender.py`` does, ``clevr_folder.py`` writes and reads what comes of it.
"""

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from withinpx.data.solids import Camera, Floats, Pose, Solid, middle, stood
from withinpx.errors import InputError

Kind = Literal["spheres", "shapes"]
Split = Literal["train", "test"]

KINDS: dict[Kind, tuple[Solid, ...]] = {
    "spheres": (Solid("sphere", "red", "metal"), Solid("sphere", "green", "metal"), Solid("sphere", "blue", "metal")),
    "shapes": (Solid("sphere", "red", "metal"), Solid("cylinder", "blue", "rubber"), Solid("cube", "green", "rubber")),
}
SPLITS: tuple[Split, ...] = get_args(Split)

REACH = 3.0  # solids stand within this of the middle along both axes, as in CLEVR
MIDWAY = 10.5  # from the camera; a sphere that far off has the middle of the sizes
MARGIN = 4.0  # px, at least, from a solid to the border
GAP = 3.0  # px, at least, from the box of one solid to that of another: none touches or hides another
SMALLEST = 3.0  # px; less is no shape
TRIES = 1000  # to place all solids of a picture


@dataclass(frozen=True)
class Scene:
    """What one picture shows. Positions are in px, and (0, 0) is the first pixel's top-left corner."""

    poses: tuple[Pose, ...]
    boxes: Floats  # (solids, 4): centre x, y, width, height of each solid's silhouette
    middles: Floats  # (solids, 2): where the solid's middle is seen; perspective moves the box's centre away from it


@dataclass(frozen=True)
class ClevrSet:
    """Three solids in every picture, at random places, with sizes between two bounds by perspective alone."""

    kind: Kind
    smallest: float  # larger side of the bounding box, px
    largest: float
    train: int = 150  # pictures
    test: int = 50
    seed: int = 0
    camera: Camera = field(default_factory=Camera)

    def __post_init__(self) -> None:
        if not SMALLEST <= self.smallest < self.largest < math.inf:
            raise InputError(
                f"Sizes of {self.smallest:g} to {self.largest:g} px cannot be: give the smaller one first, at least "
                f"{SMALLEST:g} px, then the larger one."
            )
        if self.train < 0 or self.test < 0 or self.train + self.test == 0:
            raise InputError(f"{self.train} and {self.test} pictures were asked for: give at least one to make.")
        if self.seed < 0:
            raise InputError(f"The seed is {self.seed}: give 0 or more.")

    @property
    def name(self) -> str:
        """As the command line has it."""
        return f"{self.kind}-{self.smallest:02g}-{self.largest:02g}"

    @property
    def solids(self) -> tuple[Solid, ...]:
        """Object 0, object 1, ... of every picture."""
        return KINDS[self.kind]

    @property
    def radius(self) -> float:
        """Of every solid, so that the sizes lie around the middle of their range. For the paper's: 0.29 to 0.80."""
        focal = self.camera.pixels * self.camera.lens_mm / self.camera.sensor_mm
        return math.sqrt(self.smallest * self.largest) * MIDWAY / (2 * focal)

    def count(self, split: Split) -> int:
        """Pictures of a split."""
        return self.train if split == "train" else self.test

    def scenes(self, split: Split) -> Iterator[Scene]:
        """What the pictures of a split show, one after the other."""
        return (self.scene(split, number) for number in range(self.count(split)))

    def scene(self, split: Split, number: int) -> Scene:
        """What one picture shows: any arrangement that fits is as likely as any other, whatever other pictures show."""
        random = np.random.default_rng((self.seed, SPLITS.index(split), number, zlib.crc32(self.name.encode())))
        for _ in range(TRIES):
            scene = self._arranged(random)
            if scene is not None:
                return scene
        raise InputError(
            f"No picture of {self.camera.pixels} px was found that shows {len(self.solids)} {self.kind} of "
            f"{self.smallest:g} to {self.largest:g} px apart from each other: ask for smaller ones, or a wider range."
        )

    def _arranged(self, random: np.random.Generator) -> Scene | None:
        """Every solid somewhere on the ground; nothing if one has the wrong size, is cut off or too near another."""
        places = random.uniform((-REACH, -REACH, 0), (REACH, REACH, 2 * np.pi), (len(self.solids), 3))
        poses = tuple(Pose(*place) for place in places.tolist())
        boxes = np.empty((len(poses), 4))
        for number, (solid, pose) in enumerate(zip(self.solids, poses, strict=True)):
            boxes[number] = self.camera.box(stood(solid.shape, self.radius, pose))
            if not self._fits(boxes[number]) or any(gap(boxes[number], other) < GAP for other in boxes[:number]):
                return None
        middles = [middle(solid.shape, self.radius, pose) for solid, pose in zip(self.solids, poses, strict=True)]
        return Scene(poses, boxes, self.camera.seen(np.array(middles)))

    def _fits(self, box: Floats) -> bool:
        """Of the right size, and whole in the picture."""
        inside = np.abs(box[:2] - self.camera.pixels / 2) + box[2:] / 2 <= self.camera.pixels / 2 - MARGIN
        return bool(inside.all()) and self.smallest <= box[2:].max() <= self.largest


def gap(one: Floats, other: Floats) -> float:
    """How far apart two boxes are along the axis that tells them apart best, px; negative if they overlap."""
    return float((np.abs(one[:2] - other[:2]) - (one[2:] + other[2:]) / 2).max())


DATASETS = {
    made.name: made
    for made in (
        *(ClevrSet("spheres", *sizes) for sizes in ((6, 10), (9, 14), (11, 17), (13, 19), (15, 24), (17, 27))),
        ClevrSet("shapes", 9, 19),
    )
}


def named_datasets(name: str, sizes: tuple[float, float] | None = None) -> tuple[ClevrSet, ...]:
    """One of the paper's seven, ``all`` of them, or ``spheres`` or ``shapes`` of sizes of one's own."""
    if sizes is not None:
        if name not in KINDS:
            raise InputError(f"{name} has its sizes already: sizes of your own are for {' or '.join(KINDS)}.")
        return (ClevrSet("spheres" if name == "spheres" else "shapes", *sizes),)
    if name in KINDS:
        raise InputError(f"How large are the {name}? Give --sizes SMALLEST LARGEST in px, or name {_known(name)}.")
    if name == "all":
        return tuple(DATASETS.values())
    if name not in DATASETS:
        raise InputError(f"There is no dataset {name}: there are {_known()}, and all.")
    return (DATASETS[name],)


def _known(beginning: str = "") -> str:
    return ", ".join(name for name in DATASETS if name.startswith(beginning))
