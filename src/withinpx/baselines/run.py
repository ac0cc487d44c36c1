"""Runs a baseline on folders of images, image by image, and evaluates it if there is a ground truth."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from withinpx.baselines.coco_results import read_results
from withinpx.baselines.detections import DetectionLog, Detections, ImageFolders, Pixels
from withinpx.baselines.hub_sam import HubSam, check_name
from withinpx.baselines.mobilesam import SHA256, MobileSam, check_weights
from withinpx.baselines.mog2 import Mog2
from withinpx.baselines.options import BaselineOptions, Method
from withinpx.baselines.protocol import Rule, Score, object_positions, score, write_errors
from withinpx.baselines.sam import MaskSettings, PromptableModel, exact_device, find_masks
from withinpx.baselines.truth import read_truth
from withinpx.errors import InputError
from withinpx.files import locked_folder, writable_folder
from withinpx.jobs.job import Job, JobCallback

Detect = Callable[[int, Pixels], Detections]  # of an image's index and pixels

ERRORS = "errors.csv"
RULES: dict[Method, Rule] = {
    "mobilesam": Rule.AFTER_THE_FIRST,
    "sam": Rule.AFTER_THE_FIRST,
    "coco": Rule.EXACTLY,
    "mog2": Rule.LARGEST,
}


@dataclass(frozen=True)
class BaselineResult:
    names: tuple[str, ...]  # of the images
    detections: list[Detections]
    score: Score | None  # where there is a ground truth
    too_few: tuple[str, ...]  # images with fewer masks than the protocol needs


def run_baseline(options: BaselineOptions, out: Path, callback: JobCallback | None = None) -> BaselineResult:
    """Detect in all images that the folder lacks; write detections.json, and with a ground truth errors.csv."""
    images, rule = ImageFolders(options.images), RULES[options.method]
    truth = read_truth(options.truth, images.counts) if options.truth else None
    about, load = _prepare(options, images)
    with locked_folder(writable_folder(out)):
        log = DetectionLog(out, {"method": options.method, **about, "images": list(images.names)})
        _detect_all(images, load, log, callback or JobCallback())
        log.write_coco(images.names)
        detections = [log.detections[name] for name in images.names]
        result = None
        if truth is not None:
            result = score([object_positions(found, truth.objects, rule) for found in detections], truth)
            write_errors(out / ERRORS, result)
    needed = truth.objects + 1 if truth is not None and rule is Rule.AFTER_THE_FIRST else 0
    too_few = tuple(name for name, found in zip(images.names, detections, strict=True) if len(found.boxes) < needed)
    return BaselineResult(images.names, detections, result, too_few)


def _detect_all(images: ImageFolders, load: Callable[[], Detect], log: DetectionLog, callback: JobCallback) -> None:
    jobs = {name: Job(name, list) for name in images.names if name not in log.detections}  # for the progress only
    if not jobs:
        return
    detect = load()
    callback.on_start(list(jobs.values()))
    for index, (name, pixels) in enumerate(zip(images.names, images.read(), strict=True)):
        if name in jobs:
            log.add(name, (pixels.shape[1], pixels.shape[0]), detect(index, pixels))
            callback.on_job(jobs[name])


def _prepare(options: BaselineOptions, images: ImageFolders) -> tuple[dict[str, Any], Callable[[], Detect]]:
    """What distinguishes this run from others, and the loader of its detector. Inputs are checked before loading."""
    if options.method == "coco":
        return _coco(options, images)
    if options.method == "mog2":
        return {}, lambda: _mog2(images)
    settings = MaskSettings(grid=options.grid)
    about = {"settings": asdict(settings)}
    if options.method == "mobilesam":
        weights = check_weights(options.weights)
        return {"weights": SHA256, **about}, lambda: _sam(MobileSam(weights, exact_device(options.device)), settings)
    name = check_name(options.model)
    return {"model": name, **about}, lambda: _sam(HubSam(name, exact_device(options.device)), settings)


def _coco(options: BaselineOptions, images: ImageFolders) -> tuple[dict[str, Any], Callable[[], Detect]]:
    if options.results is None:
        raise InputError("The boxes are missing: give --results with the file of COCO results of the detector.")
    found = read_results(options.results, images.names, options.dataset, options.least_score)
    content = hashlib.sha256(options.results.read_bytes()).hexdigest()
    return {"results": content, "least_score": options.least_score}, lambda: lambda index, _: found[index]


def _mog2(images: ImageFolders) -> Detect:
    detector = Mog2(images.read())
    return lambda _, pixels: detector(pixels)


def _sam(model: PromptableModel, settings: MaskSettings) -> Detect:
    return lambda _, pixels: find_masks(model, pixels, settings)
