"""Rendering datasets, picture by picture, so that an interrupted one goes on where it stopped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from withinpx import __version__
from withinpx.data.blender import COLOURS, FINER, SAMPLES, VERSION, BlenderStage, Pixels, Rendered
from withinpx.data.clevr import SPLITS, ClevrSet, Scene, Split
from withinpx.data.clevr_folder import (
    ABOUT,
    BACKGROUND,
    MASKS,
    TRUTH,
    mask_path,
    picture_path,
    png,
    read_pixels,
    silhouette_boxes,
    truth_table,
)
from withinpx.data.solids import Floats, Pose
from withinpx.errors import InputError
from withinpx.files import holds_only_partials, locked_folder, read_json, writable_folder, write_atomically, write_json
from withinpx.jobs.job import Job, JobCallback, Row

ASKED = ("name", "seed", "train", "test", "camera")  # of dataset.json: what makes two datasets the same
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


def blender_stage(dataset: ClevrSet) -> Stage:
    """The scene of a dataset in Blender."""
    return BlenderStage(dataset.camera, dataset.solids, dataset.radius)


def render_datasets(
    asked: Mapping[Path, ClevrSet], stage_of: StageOf = blender_stage, callback: JobCallback | None = None
) -> list[dict[str, Any]]:
    """Render what the folders do not hold yet; what was then measured of each dataset."""
    callback = JobCallback() if callback is None else callback
    stage_of = lru_cache(maxsize=1)(stage_of)  # Blender holds one scene at a time
    works = [_Work(folder, dataset, stage_of) for folder, dataset in asked.items()]
    for work in works:
        _ = work.scenes  # an impossible one is refused before anything is made
    with ExitStack() as held:
        for work in works:
            held.enter_context(locked_folder(work.folder))
            work.check_is_same()
        unfinished = [work for work in works if any(work.jobs())]
        if unfinished:
            stage_of(unfinished[0].dataset)  # before anything is written: there may be no Blender
        for work in works:
            work.claim()
        jobs = [job for work in unfinished for job in work.jobs()]
        callback.on_start(jobs)
        for job in jobs:
            job()
            callback.on_job(job)
        return [work.finished() for work in works]


@dataclass(frozen=True)
class _Work:
    """A dataset, its folder, and what renders it."""

    folder: Path
    dataset: ClevrSet
    stage_of: StageOf

    @cached_property
    def scenes(self) -> dict[Split, list[Scene]]:
        return {split: list(self.dataset.scenes(split)) for split in SPLITS if self.dataset.count(split)}

    def check_is_same(self) -> None:
        """Pictures of two datasets must never come together in one folder."""
        if not (self.folder / ABOUT).exists():
            if not holds_only_partials(self.folder):
                raise InputError(f"{self.folder} holds other things and no {ABOUT}: name another place.")
            return
        held, wanted = read_json(self.folder / ABOUT), _description(self.dataset)
        other = [name for name in ASKED if held.get(name) != wanted[name]]
        if other:
            differences = "; ".join(f"{name} {held.get(name)}, not {wanted[name]}" for name in other)
            raise InputError(f"{self.folder} holds another dataset ({differences}): name another place for this one.")

    def claim(self) -> None:
        """From now on the folder is this dataset's."""
        if not (self.folder / ABOUT).exists():
            write_json(self.folder / ABOUT, _description(self.dataset))

    def jobs(self) -> Iterator[Job]:
        """What is left to render, in parts."""
        if not (self.folder / BACKGROUND).exists():
            yield Job(f"{self.dataset.name}, background", self._render_background)
        for split in self.scenes:
            left = [number for number in range(self.dataset.count(split)) if not self._holds(split, number)]
            for start in range(0, len(left), PART):
                part = left[start : start + PART]
                name = f"{self.dataset.name}, {split} {part[0]} to {part[-1]}"
                yield Job(name, self._render_part, (split, part), runs=len(part))

    def _holds(self, split: Split, number: int) -> bool:
        return all(path_of(self.folder, split, number).exists() for path_of in (picture_path, mask_path))

    def _render_background(self) -> list[Row]:
        background = self.stage_of(self.dataset).background()
        write_atomically(self.folder / BACKGROUND, png(Image.fromarray(background)))
        return []

    def _render_part(self, split: Split, numbers: list[int]) -> list[Row]:
        stage = self.stage_of(self.dataset)
        writable_folder(self.folder / split)
        writable_folder(self.folder / MASKS / split)
        for number in numbers:
            rendered = stage.render(self.scenes[split][number].poses)
            labels = Image.fromarray(rendered.silhouettes)
            labels.putpalette([0, 0, 0, *(share for solid in self.dataset.solids for share in COLOURS[solid.colour])])
            write_atomically(mask_path(self.folder, split, number), png(labels))
            write_atomically(picture_path(self.folder, split, number), png(Image.fromarray(rendered.picture)))
        return []

    def finished(self) -> dict[str, Any]:
        """Check the truth against what was rendered; write it, and what was measured."""
        distances = np.concatenate([self._distances(split) for split in self.scenes])
        sizes = np.concatenate([[scene.boxes[:, 2:].max(axis=1) for scene in made] for made in self.scenes.values()])
        for split, made in self.scenes.items():
            write_atomically(self.folder / split / TRUTH, truth_table(made).encode())
        measured = {
            "smallest_px": round(float(sizes.min()), 3),
            "largest_px": round(float(sizes.max()), 3),
            "silhouette_from_truth_px": {
                "median": round(float(np.median(distances)), 3),
                "largest": round(float(distances.max()), 3),
            },
        }
        write_json(self.folder / ABOUT, {**read_json(self.folder / ABOUT), "measured": measured})
        return measured

    def _distances(self, split: Split) -> Floats:
        """How far the edges of each rendered silhouette are from those of its box, px: (pictures, objects, 4)."""
        distances = []
        for number, scene in enumerate(self.scenes[split]):
            path = mask_path(self.folder, split, number)
            distance = np.abs(_edges(silhouette_boxes(read_pixels(path), len(scene.boxes))) - _edges(scene.boxes))
            if not distance.max() <= NEAR:
                raise InputError(f"{path} does not show what stands there: remove it and its picture, and go on.")
            distances.append(distance)
        return np.array(distances)


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
        "rendered_by": f"withinpx {__version__}, Blender {VERSION} (Cycles, {SAMPLES} samples a pixel, denoised)",
    }


def _edges(boxes: Floats) -> Floats:
    """Left, top, right, bottom."""
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1)
