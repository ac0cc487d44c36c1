"""Tracks in the formats of other tools: COCO results, MOTChallenge, DeepLabCut.

Our positions count from the top-left *corner* of the first pixel; each format says where it differs. All of them have
one confidence: 1 where the position is certified, 0.5 where the object is present but the position is refused. None but
COCO has a place for bounds and reasons: ``verdicts.csv`` beside them has both, for every frame and object.
"""

import json
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from pycocotools import mask as coco_mask

from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically, write_json
from withinpx.tracking.detector import Detector
from withinpx.tracking.masks import Mask, object_mask
from withinpx.tracking.options import Format
from withinpx.tracking.tracks import Tracks

COCO_RESULTS = "coco_results.json"
COCO_IMAGES = "coco_images.json"
MOT = "mot.txt"
DLC = "dlc.csv"
VERDICTS = "verdicts.csv"


def export(tracks: Tracks, folder: Path, formats: Sequence[Format], detector: Detector | None = None) -> list[Path]:
    """Write the tracks in each format; returns the files. With the tracks' detector, COCO results get masks."""
    for name in formats:
        if name not in get_args(Format):
            raise InputError(f"The tracks cannot be written as {name!r}: choose one of {', '.join(get_args(Format))}.")
    writable_folder(folder)
    written: list[Path] = []
    if "coco" in formats:
        written += write_coco(tracks, folder, detector)
    if "mot" in formats:
        written.append(write_mot(tracks, folder / MOT))
    if "dlc" in formats:
        written.append(write_dlc(tracks, folder / DLC))
    if {"mot", "dlc"} & set(formats):
        written.append(write_verdicts(tracks, folder / VERDICTS))
    return written


def write_coco(tracks: Tracks, folder: Path, detector: Detector | None = None) -> list[Path]:
    """COCO results, and the data set without annotations that ``COCO().loadRes`` needs beside them.

    The image id is the frame's number in the recording, the category id the object's number plus one. COCO counts
    pixels as we do. ``certified``, ``bound_px``, ``reason`` and ``identity_certified`` are ours; its tools keep what
    they do not know.
    """
    if detector is not None and detector.recording != (tracks.width, tracks.height):
        made_for, given = "x".join(map(str, detector.recording)), f"{tracks.width}x{tracks.height}"
        raise InputError(f"The detector was made for {made_for} px, the tracks are of {given} px: masks need its own.")
    lines = ",\n".join(json.dumps(result, allow_nan=False) for result in _coco_results(tracks, detector))
    write_atomically(folder / COCO_RESULTS, f"[\n{lines}\n]\n".encode())
    images = [
        {"id": frame, "file_name": f"frame_{frame:06d}.png", "width": tracks.width, "height": tracks.height}
        for frame in tracks.frames.tolist()
    ]
    categories = [{"id": index + 1, "name": f"object {index}"} for index in range(tracks.objects)]
    info = {"description": "Frames of the recording that withinpx tracked; the results hold the boxes."}
    dataset = {"info": info, "images": images, "categories": categories, "annotations": []}
    write_json(folder / COCO_IMAGES, dataset)
    return [folder / COCO_RESULTS, folder / COCO_IMAGES]


def _coco_results(tracks: Tracks, detector: Detector | None) -> Iterator[dict[str, Any]]:
    boxes, scores, bounds = tracks.boxes.round(4), tracks.scores, tracks.bounds.round(4)
    identity = tracks.identity_certified
    for row, index in np.argwhere(tracks.present).tolist():
        result = {
            "image_id": int(tracks.frames[row]),
            "category_id": index + 1,
            "bbox": boxes[row, index].tolist(),
            "score": float(scores[row, index]),
            "certified": bool(tracks.certified[row, index]),
            "bound_px": float(bounds[row, index]) if np.isfinite(bounds[row, index]) else None,
            "reason": str(tracks.reasons[row, index]),
            "identity_certified": None if np.isnan(identity[row, index]) else bool(identity[row, index]),
        }
        if detector is not None:
            result["segmentation"] = run_lengths(object_mask(detector, tracks, row, index))
        yield result


def run_lengths(mask: Mask) -> dict[str, Any]:
    """A mask in COCO's compressed form, as JSON values."""
    encoded = coco_mask.encode(np.asfortranarray(mask, np.uint8))
    return {"size": list(mask.shape), "counts": encoded["counts"].decode()}


def write_mot(tracks: Tracks, path: Path) -> Path:
    """MOTChallenge's text: one line per object that is present.

    Frames, objects and pixels count from 1 there: the corner of the first pixel is at (1, 1).
    """
    rows, objects = np.nonzero(tracks.present)
    boxes = tracks.boxes[rows, objects] + [1, 1, 0, 0]
    table = np.column_stack([tracks.frames[rows] + 1, objects + 1, boxes, tracks.scores[rows, objects]])
    text = StringIO()
    np.savetxt(text, table, fmt="%d,%d,%.4f,%.4f,%.4f,%.4f,%g,-1,-1,-1")
    write_atomically(path, text.getvalue().encode())
    return path


def write_dlc(tracks: Tracks, path: Path) -> Path:
    """DeepLabCut's table for several animals: one body part, ``centre``, per object; the score is the likelihood.

    DeepLabCut puts (0, 0) at the *centre* of the first pixel: every position is half a pixel less than ours, and empty
    where the object is absent. There is one row per tracked frame, which begins with the frame's number.
    """
    columns, scores = {}, tracks.scores
    for index in range(tracks.objects):
        present = tracks.present[:, index]
        x, y = (np.where(present, np.char.mod("%.4f", axis), "") for axis in tracks.positions[:, index].T - 0.5)
        likelihood = np.char.mod("%g", scores[:, index])
        for coordinate, values in (("x", x), ("y", y), ("likelihood", likelihood)):
            columns["withinpx", f"object{index}", "centre", coordinate] = values
    table = pd.DataFrame(columns, index=tracks.frames)
    table.columns = table.columns.set_names(["scorer", "individuals", "bodyparts", "coords"])
    write_atomically(path, table.to_csv(lineterminator="\n").encode())
    return path


def write_verdicts(tracks: Tracks, path: Path) -> Path:
    """What is proved of every object in every frame; frames and objects count from 0, as in ``tracks.csv``."""
    names = ["frame", "object", "present", "certified", "bound_px", "reason", "identity_certified", "identity_p"]
    table = tracks.to_dataframe()[names]
    flags = {name: table[name].astype("Int8") for name in ("present", "certified", "identity_certified")}
    write_atomically(path, table.assign(**flags, bound_px=table.bound_px.round(4)).to_csv(index=False).encode())
    return path
