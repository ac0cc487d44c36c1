"""A rendered dataset as a folder: made picture by picture, so that it can go on where it stopped, and read again.

``dataset.json``, ``background.png``, and for each split ``train/000000.png``, ..., ``train/truth.csv`` and
``masks/train/000000.png``, ...
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from withinpx import __version__
from withinpx.data.blender import COLOURS, FINER, BlenderStage, Pixels, Rendered
from withinpx.data.clevr import SPLITS, ClevrSet, Split
from withinpx.data.clip import Clip
from withinpx.data.images import image_paths, read_images
from withinpx.data.solids import Floats, Pose
from withinpx.engines.job import Job, JobWatcher, Row
from withinpx.errors import InputError
from withinpx.files import alone_in, folder_for, read_json, write_atomically, write_json

ABOUT, BACKGROUND, TRUTH, MASKS = "dataset.json", "background.png", "truth.csv", "masks"
COLUMNS = ("frame", "object", "x", "y", "w", "h", "full", "middle_x", "middle_y")
PART = 10  # pictures between two signs of life
NEAR = 0.3  # px between an edge of a silhouette as rendered and as computed; more is a mistake
POSITIONS = "px; (0, 0) is the top-left corner of the first pixel, whose centre is (0.5, 0.5); x right, y down"


class Stage(Protocol):
    """Renders pictures."""

    def background(self) -> Pixels:
        """Without solids: (height, width, 3)."""

    def render(self, poses: Sequence[Pose]) -> Rendered:
        """With every solid in its place."""


StageOf = Callable[[ClevrSet], Stage]


def blender_stage(asked: ClevrSet) -> Stage:
    """The scene of a dataset in Blender."""
    return BlenderStage(asked.camera, asked.solids, asked.radius)


def render_datasets(
    asked: Mapping[Path, ClevrSet], stage_of: StageOf = blender_stage, watcher: JobWatcher | None = None
) -> list[dict[str, Any]]:
    """Render what the folders do not hold yet; what each dataset.json then says was measured."""
    watcher = JobWatcher() if watcher is None else watcher
    stage_once = lru_cache(maxsize=1)(stage_of)  # Blender holds one scene at a time
    with ExitStack() as held:
        for folder, dataset in asked.items():
            held.enter_context(alone_in(folder))
            _check_is_same(folder, dataset)
        jobs = [job for folder, dataset in asked.items() for job in _missing(folder, dataset, stage_once)]
        if jobs:
            stage_once(next(iter(asked.values())))  # before anything is written: there may be no Blender
        for folder, dataset in asked.items():
            if not (folder / ABOUT).exists():
                write_json(folder / ABOUT, _description(dataset))
        watcher.begin(jobs)
        for job in jobs:
            job()
            watcher.finished(job)
        return [_finished(folder, dataset) for folder, dataset in asked.items()]


def _missing(folder: Path, dataset: ClevrSet, stage_of: StageOf) -> Iterator[Job]:
    """What is left to render, in parts."""
    if not (folder / BACKGROUND).exists():
        yield Job(f"{dataset.name}, background", _render_background, (folder, dataset, stage_of))
    for split in SPLITS:
        left = [number for number in range(dataset.count(split)) if not _picture(folder, split, number).exists()]
        for start in range(0, len(left), PART):
            part = left[start : start + PART]
            name = f"{dataset.name}, {split} {part[0]} to {part[-1]}"
            yield Job(name, _render_part, (folder, dataset, stage_of, split, part), runs=len(part))


def _render_background(folder: Path, dataset: ClevrSet, stage_of: StageOf) -> list[Row]:
    write_atomically(folder / BACKGROUND, _png(Image.fromarray(stage_of(dataset).background())))
    return []


def _render_part(folder: Path, dataset: ClevrSet, stage_of: StageOf, split: Split, numbers: list[int]) -> list[Row]:
    stage = stage_of(dataset)
    folder_for(folder / split)
    folder_for(folder / MASKS / split)
    for number in numbers:
        rendered = stage.render(dataset.scene(split, number).poses)
        labels = Image.fromarray(rendered.silhouettes)
        labels.putpalette([0, 0, 0, *(share for solid in dataset.solids for share in COLOURS[solid.colour])])
        write_atomically(_mask(folder, split, number), _png(labels))
        write_atomically(_picture(folder, split, number), _png(Image.fromarray(rendered.picture)))  # now it is there
    return []


def _check_is_same(folder: Path, dataset: ClevrSet) -> None:
    """Pictures of two datasets must never come together in one folder."""
    if not (folder / ABOUT).exists():
        if any(folder.iterdir()):
            raise InputError(f"{folder} holds other things and no {ABOUT}: name another place, nothing was written.")
        return
    held = read_json(folder / ABOUT)
    wanted = _description(dataset)
    other = [name for name in ("name", "seed", "train", "test", "camera") if held.get(name) != wanted[name]]
    if other:
        differences = "; ".join(f"{name} {held.get(name)} instead of {wanted[name]}" for name in other)
        raise InputError(f"{folder} holds another dataset ({differences}): name another place for this one.")


def _description(dataset: ClevrSet) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "seed": dataset.seed,
        "train": dataset.train,
        "test": dataset.test,
        "sizes_px": [dataset.smallest, dataset.largest],
        "objects": [solid.name for solid in dataset.solids],
        "radius": dataset.radius,
        "camera": {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(dataset.camera).items()},
        "positions": POSITIONS,
        "masks": f"{FINER} times finer than the pictures; 0 for none, else the object's number + 1",
        "version": __version__,
    }


def _finished(folder: Path, dataset: ClevrSet) -> dict[str, Any]:
    """Write the truth and what was measured of it; check it against what was rendered."""
    sizes, distances = [], []
    for split in SPLITS:
        scenes = list(dataset.scenes(split))
        if not scenes:
            continue
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(COLUMNS)
        for frame, scene in enumerate(scenes):
            distances.append(_distance(_mask(folder, split, frame), scene.boxes))
            sizes.append(scene.boxes[:, 2:].max(axis=1))
            for number, (box, middle) in enumerate(zip(scene.boxes, scene.middles, strict=True)):
                rows.writerow([frame, number, *(f"{v:.4f}" for v in box), 1, *(f"{v:.4f}" for v in middle)])
        write_atomically(folder / split / TRUTH, text.getvalue().encode())
    measured = {
        "smallest_px": round(float(np.min(sizes)), 3),
        "largest_px": round(float(np.max(sizes)), 3),
        "silhouette_from_truth_px": {
            "median": round(float(np.median(distances)), 3),
            "largest": round(float(np.max(distances)), 3),
        },
    }
    write_json(folder / ABOUT, {**read_json(folder / ABOUT), "measured": measured})
    return measured


def _distance(path: Path, boxes: Floats) -> Floats:
    """How far the edges of the rendered silhouettes are from those of the boxes, px: (objects, 4)."""
    found = silhouette_boxes(_labels(path), len(boxes))
    centres, sides = (found - boxes)[:, :2], (found - boxes)[:, 2:] / 2
    distance = np.abs(np.concatenate([centres - sides, centres + sides], axis=1))
    if not distance.max() <= NEAR:
        raise InputError(f"{path} does not show what was placed there: remove it and its picture, and go on.")
    return np.asarray(distance)


def silhouette_boxes(labels: Pixels, objects: int) -> Floats:
    """The boxes of the silhouettes of a mask, in the picture's px: (objects, 4); not numbers where there is none."""
    boxes = np.full((objects, 4), np.nan)
    for number in range(objects):
        y, x = np.nonzero(labels == number + 1)
        if len(x):
            low, high = np.array([x.min(), y.min()]), np.array([x.max(), y.max()]) + 1
            boxes[number] = [*(low + high) / 2, *(high - low)]
    return boxes / FINER


@dataclass(frozen=True)
class RenderedSplit:
    """The training or test pictures of a dataset, and all that is known of them."""

    folder: Path
    split: Split
    objects: tuple[str, ...]  # in words
    clip: Clip
    background: Pixels  # (height, width, 3): the scene without solids
    boxes: Floats  # (pictures, objects, 4): centre x, y, width, height, px
    middles: Floats  # (pictures, objects, 2): where the solids' middles are seen, px

    @property
    def positions(self) -> Floats:
        """(pictures, objects, 2): the centres of the boxes."""
        return self.boxes[..., :2]

    @cached_property
    def coverage(self) -> Floats:
        """(pictures, objects, height, width): which share of each pixel an object covers."""
        numbers = np.arange(1, len(self.objects) + 1)[:, None, None]
        masks = [_labels(path) == numbers for path in image_paths(self.folder / MASKS / self.split)]
        return np.stack([_averaged(mask) for mask in masks])


def read_split(folder: Path, split: Split) -> RenderedSplit:
    """A split of a dataset that was rendered to its end."""
    if not (folder / ABOUT).exists():
        raise InputError(f"{folder} is no rendered dataset, it has no {ABOUT}: name what `withinpx data` made.")
    about = read_json(folder / ABOUT)
    if "measured" not in about:
        raise InputError(f"{folder} is not rendered to its end: `withinpx data clevr` with the same options goes on.")
    if not about[split]:
        raise InputError(f"{folder} has no {split} pictures.")
    with (folder / split / TRUTH).open(encoding="utf-8", newline="") as file:
        rows = [[float(row[name]) for name in COLUMNS] for row in csv.DictReader(file)]
    table = np.array(rows).reshape(about[split], len(about["objects"]), len(COLUMNS))
    clip = read_images(folder / split)
    with Image.open(folder / BACKGROUND) as picture:
        background = np.asarray(picture)
    return RenderedSplit(folder, split, tuple(about["objects"]), clip, background, table[..., 2:6], table[..., 7:])


def _labels(path: Path) -> Pixels:
    with Image.open(path) as labels:
        return np.asarray(labels)


def _averaged(mask: Any) -> Floats:
    objects, height, width = mask.shape
    return np.asarray(mask.reshape(objects, height // FINER, FINER, width // FINER, FINER).mean(axis=(2, 4)))


def _picture(folder: Path, split: Split, number: int) -> Path:
    return folder / split / f"{number:06d}.png"


def _mask(folder: Path, split: Split, number: int) -> Path:
    return folder / MASKS / split / f"{number:06d}.png"


def _png(image: Image.Image) -> bytes:
    """The pixels and nothing else: Blender's own files hold the time of rendering."""
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    return content.getvalue()
