"""A baseline on images: detect, image by image, into a folder; then measure against the truth, if there is one."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from withinpx.baselines.coco_results import read_results
from withinpx.baselines.detections import Found, Images, Pixels, write_coco
from withinpx.baselines.diary import Diary
from withinpx.baselines.hub_sam import HubSam, check_name
from withinpx.baselines.mobilesam import SHA256, MobileSam, check_weights
from withinpx.baselines.mog2 import Mog2
from withinpx.baselines.protocol import Rule, Score, chosen, score, write_errors
from withinpx.baselines.sam import MaskSettings, PromptedModel, exact_device, find_masks
from withinpx.baselines.truth import Truth, read_truth_of
from withinpx.errors import InputError
from withinpx.files import locked_folder, writable_folder
from withinpx.jobs.job import Job, JobCallback

Method = Literal["mobilesam", "sam", "coco", "mog2"]
Look = Callable[[int, Pixels], Found]  # of an image's number and pixels

ERRORS = "errors.csv"
RULES: dict[Method, Rule] = {
    "mobilesam": Rule.AFTER_THE_FIRST,
    "sam": Rule.AFTER_THE_FIRST,
    "coco": Rule.EXACTLY,
    "mog2": Rule.LARGEST,
}


@dataclass(frozen=True)
class Asked:
    """Which method, with what it needs, on which images."""

    method: Method
    images: tuple[Path, ...]  # folders
    truth: tuple[Path, ...] = ()  # a table for each folder
    weights: Path | None = None  # of MobileSAM
    model: str | None = None  # of SAM: a name on the hub, or a folder
    results: Path | None = None  # COCO results
    dataset: Path | None = None  # the COCO data set that the results are of
    least_score: float = 0.0  # of a COCO result
    grid: int = 32  # SAM's points along each side
    device: str = "auto"


@dataclass(frozen=True)
class Outcome:
    """What a run found."""

    names: tuple[str, ...]  # of the images
    found: list[Found]
    score: Score | None  # where there is a truth
    too_few: tuple[str, ...]  # images that show fewer masks than the protocol needs


def run_baseline(asked: Asked, out: Path, callback: JobCallback | None = None) -> Outcome:
    """Detect in all images that the folder does not have yet; write detections.json, and errors.csv with a truth."""
    images = Images.of(asked.images)
    truth = read_truth_of(asked.truth, images.counts) if asked.truth else None
    about, prepare = _prepared(asked, images)
    with locked_folder(writable_folder(out)):
        diary = Diary(out, {"method": asked.method, **about, "images": list(images.names)})
        _look_at_all(images, prepare, diary, JobCallback() if callback is None else callback)
        found = [diary.found[name] for name in images.names]
        write_coco(out, images.names, [diary.sizes[name] for name in images.names], found)
        measured = measure(asked.method, found, truth) if truth is not None else None
        if measured is not None:
            write_errors(out / ERRORS, measured)
    needed = truth.objects + 1 if truth is not None and RULES[asked.method] is Rule.AFTER_THE_FIRST else 0
    few = tuple(name for name, each in zip(images.names, found, strict=True) if len(each.boxes) < needed)
    return Outcome(images.names, found, measured, few)


def measure(method: Method, found: list[Found], truth: Truth) -> Score:
    """The paper's protocol on detections."""
    return score([chosen(each, truth.objects, RULES[method]) for each in found], truth)


def _look_at_all(images: Images, prepare: Callable[[], Look], diary: Diary, callback: JobCallback) -> None:
    left = {
        number: Job(name, list)  # it answers with no rows: what was found goes into the diary
        for number, name in enumerate(images.names)
        if name not in diary.found
    }
    if not left:
        return
    look = prepare()
    callback.on_start(list(left.values()))
    for number, pixels in enumerate(images.read()):
        if number in left:
            diary.add(images.names[number], (pixels.shape[1], pixels.shape[0]), look(number, pixels))
            callback.on_job(left[number])


def _prepared(asked: Asked, images: Images) -> tuple[dict[str, Any], Callable[[], Look]]:
    """What tells this run from others, and what looks: inputs are checked now, models are loaded when needed."""
    if asked.method == "coco":
        return _from_results(asked, images)
    if asked.method == "mog2":
        return {}, partial(_mog2, images)
    settings = MaskSettings(grid=asked.grid)
    if asked.method == "mobilesam":
        weights = check_weights(asked.weights)
        return {"weights": SHA256, "settings": asdict(settings)}, partial(_mobilesam, weights, asked.device, settings)
    name = check_name(asked.model)
    return {"model": name, "settings": asdict(settings)}, partial(_sam, name, asked.device, settings)


def _from_results(asked: Asked, images: Images) -> tuple[dict[str, Any], Callable[[], Look]]:
    if asked.results is None:
        raise InputError("Which boxes? Give --results with the file of COCO results that the detector wrote.")
    found = read_results(asked.results, images.names, asked.dataset, asked.least_score)
    content = hashlib.sha256(asked.results.read_bytes()).hexdigest()
    return {"results": content, "least_score": asked.least_score}, lambda: lambda number, _: found[number]


def _mog2(images: Images) -> Look:
    detector = Mog2(images.read())
    return lambda _, pixels: detector(pixels)


def _mobilesam(weights: Path, device: str, settings: MaskSettings) -> Look:
    return _masks_of(MobileSam(weights, exact_device(device)), settings)


def _sam(name: str, device: str, settings: MaskSettings) -> Look:
    return _masks_of(HubSam(name, exact_device(device)), settings)


def _masks_of(model: PromptedModel, settings: MaskSettings) -> Look:
    return lambda _, pixels: find_masks(model, pixels, settings)
