"""Renders datasets image by image, so that an interrupted run can be resumed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from withinpx import __version__
from withinpx.data.blender import COLOURS, MASK_SCALE, SAMPLES, VERSION, BlenderRenderer, Pixels, Rendered
from withinpx.data.clevr import SPLITS, ClevrSet, Scene, Split
from withinpx.data.clevr_folder import (
    ABOUT,
    BACKGROUND,
    TRUTH,
    image_path,
    mask_path,
    read_pixels,
    silhouette_boxes,
    write_png,
    write_truth,
)
from withinpx.data.solids import Floats, Pose
from withinpx.errors import InputError
from withinpx.files import holds_only_partials, locked_folder, read_json, writable_folder, write_json
from withinpx.jobs.job import Job, JobCallback, Row, run_jobs
from withinpx.jobs.local import LocalEngine

IDENTITY = ("name", "seed", "train", "test", "camera")  # entries of dataset.json that two runs must share
IMAGES_PER_JOB = 10
TOLERANCE = 0.3  # px between the edges of a rendered silhouette and of its computed box
POSITIONS = "px; (0, 0) is the top-left corner of the first pixel, whose centre is (0.5, 0.5); x right, y down"


class Renderer(Protocol):
    def background(self) -> Pixels:
        """The scene without solids: (height, width, 3)."""

    def render(self, poses: Sequence[Pose]) -> Rendered: ...


MakeRenderer = Callable[[ClevrSet], Renderer]


def blender_renderer(dataset: ClevrSet) -> Renderer:
    return BlenderRenderer(dataset.camera, dataset.solids, dataset.radius)


def render_datasets(
    datasets: Mapping[Path, ClevrSet],
    make_renderer: MakeRenderer = blender_renderer,
    callback: JobCallback | None = None,
) -> list[dict[str, Any]]:
    """Render the images that the folders lack, check them, and return the measurements of each dataset."""
    make_renderer = lru_cache(maxsize=1)(make_renderer)  # Blender has one scene at a time
    folders = [_DatasetFolder(folder, dataset, make_renderer) for folder, dataset in datasets.items()]
    for folder in folders:
        _ = folder.scenes  # raises for an impossible dataset before anything is written
    with ExitStack() as locks:
        for folder in folders:
            locks.enter_context(locked_folder(folder.path))
            folder.check()
        unfinished = [folder for folder in folders if any(folder.jobs())]
        if unfinished:
            make_renderer(unfinished[0].dataset)  # raises if there is no Blender, before anything is written
        for folder in folders:
            folder.claim()
        jobs = [job for folder in unfinished for job in folder.jobs()]
        for _ in run_jobs(jobs, LocalEngine(), callback or JobCallback()):
            pass
        return [folder.finish() for folder in folders]


@dataclass(frozen=True)
class _DatasetFolder:
    path: Path
    dataset: ClevrSet
    make_renderer: MakeRenderer

    @cached_property
    def scenes(self) -> dict[Split, list[Scene]]:
        return {split: list(self.dataset.scenes(split)) for split in SPLITS if self.dataset.count(split)}

    def check(self) -> None:
        """Refuse a folder that holds another dataset or other files."""
        if not (self.path / ABOUT).exists():
            if not holds_only_partials(self.path):
                raise InputError(f"{self.path} holds other files and no {ABOUT}: name another folder.")
            return
        found, wanted = read_json(self.path / ABOUT), _description(self.dataset)
        different = [name for name in IDENTITY if found.get(name) != wanted[name]]
        if different:
            differences = "; ".join(f"{name} {found.get(name)}, not {wanted[name]}" for name in different)
            raise InputError(f"{self.path} holds another dataset ({differences}): name another folder for this one.")

    def claim(self) -> None:
        if not (self.path / ABOUT).exists():
            write_json(self.path / ABOUT, _description(self.dataset))

    def jobs(self) -> Iterator[Job]:
        """What is left to render."""
        if not (self.path / BACKGROUND).exists():
            yield Job(f"{self.dataset.name}, background", self._render_background)
        for split in self.scenes:
            missing = [
                index
                for index in range(self.dataset.count(split))
                if not all(path_of(self.path, split, index).exists() for path_of in (image_path, mask_path))
            ]
            for start in range(0, len(missing), IMAGES_PER_JOB):
                part = missing[start : start + IMAGES_PER_JOB]
                name = f"{self.dataset.name}, {split} {part[0]} to {part[-1]}"
                yield Job(name, self._render_images, (split, part), runs=len(part))

    def _render_background(self) -> list[Row]:
        write_png(self.path / BACKGROUND, Image.fromarray(self.make_renderer(self.dataset).background()))
        return []

    def _render_images(self, split: Split, indices: list[int]) -> list[Row]:
        renderer = self.make_renderer(self.dataset)
        for path_of in (image_path, mask_path):
            writable_folder(path_of(self.path, split, 0).parent)
        for index in indices:
            rendered = renderer.render(self.scenes[split][index].poses)
            mask = Image.fromarray(rendered.silhouettes)
            mask.putpalette([0, 0, 0, *(value for solid in self.dataset.solids for value in COLOURS[solid.colour])])
            write_png(mask_path(self.path, split, index), mask)
            write_png(image_path(self.path, split, index), Image.fromarray(rendered.image))
        return []

    def finish(self) -> dict[str, Any]:
        """Check the rendered silhouettes against the truth, then write the truth and the measurements."""
        distances = np.concatenate([self._edge_distances(split) for split in self.scenes])
        sizes = np.concatenate([scene.boxes[:, 2:].max(axis=1) for scenes in self.scenes.values() for scene in scenes])
        for split, scenes in self.scenes.items():
            write_truth(self.path / split / TRUTH, scenes)
        measured = {
            "smallest_px": round(float(sizes.min()), 3),
            "largest_px": round(float(sizes.max()), 3),
            "silhouette_from_truth_px": {
                "median": round(float(np.median(distances)), 3),
                "largest": round(float(distances.max()), 3),
            },
        }
        write_json(self.path / ABOUT, {**read_json(self.path / ABOUT), "measured": measured})
        return measured

    def _edge_distances(self, split: Split) -> Floats:
        """Distances between the edges of rendered silhouettes and of their true boxes, px: (images, objects, 4)."""
        distances = []
        for index, scene in enumerate(self.scenes[split]):
            path = mask_path(self.path, split, index)
            distance = np.abs(_edges(silhouette_boxes(read_pixels(path), len(scene.boxes))) - _edges(scene.boxes))
            if not distance.max() <= TOLERANCE:
                raise InputError(f"{path} does not match the truth: remove it and its image, then run this again.")
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
        "masks": f"{MASK_SCALE} times the resolution of the images; 0 is background, else the object's number + 1",
        "rendered_by": f"withinpx {__version__}, Blender {VERSION} (Cycles, {SAMPLES} samples a pixel, denoised)",
    }


def _edges(boxes: Floats) -> Floats:
    """Left, top, right, bottom."""
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1)
