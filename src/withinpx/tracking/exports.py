"""The tracks in the formats other tools read: COCO results, MOTChallenge, DeepLabCut, supervision.

A position of ours is measured from the top-left *corner* of the first pixel. Each format says where it differs.
All of them hold one confidence where we hold a verdict: 1 where the position is certified, 0.5 where the object is
present but the bound is refused.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically, write_json
from withinpx.tracking.tracks import Tracks

Format = Literal["coco", "mot", "dlc"]
MaskOf = Callable[[int, int], NDArray[np.bool_] | None]  # (row of the tracks, object) -> (height, width)

COCO_RESULTS = "coco_results.json"
COCO_IMAGES = "coco_images.json"
MOT = "mot.txt"
DLC = "dlc.csv"


def export(tracks: Tracks, folder: Path, formats: Sequence[Format], mask_of: MaskOf | None = None) -> list[Path]:
    """Write the tracks in each format; which files those are."""
    for name in formats:
        if name not in get_args(Format):
            raise InputError(f"The tracks cannot be written as {name!r}: choose of {', '.join(get_args(Format))}.")
    writable_folder(folder)
    written: list[Path] = []
    if "coco" in formats:
        written += write_coco(tracks, folder, mask_of)
    if "mot" in formats:
        written.append(write_mot(tracks, folder / MOT))
    if "dlc" in formats:
        written.append(write_dlc(tracks, folder / DLC))
    return written


def scores(tracks: Tracks) -> NDArray[np.float64]:
    """(f, n): 1 certified, 0.5 present but not certified, 0 absent."""
    return np.where(tracks.present, np.where(tracks.certified, 1.0, 0.5), 0.0)


def write_coco(tracks: Tracks, folder: Path, mask_of: MaskOf | None = None) -> list[Path]:
    """COCO results, and the data set without annotations that ``COCO().loadRes`` wants beside them.

    The image id is the frame's number in the recording, the category id the object's number plus one. COCO measures
    from the corner of the first pixel, as we do.
    """
    lines = ",\n".join(json.dumps(result, allow_nan=False) for result in _coco_results(tracks, mask_of))
    write_atomically(folder / COCO_RESULTS, f"[\n{lines}\n]\n".encode())
    images = [
        {"id": frame, "file_name": f"frame_{frame:06d}.png", "width": tracks.width, "height": tracks.height}
        for frame in tracks.frames.tolist()
    ]
    categories = [{"id": each + 1, "name": f"object {each}"} for each in range(tracks.objects)]
    info = {"description": "Frames of the recording that withinpx tracked; the results hold the boxes."}
    dataset = {"info": info, "images": images, "categories": categories, "annotations": []}
    write_json(folder / COCO_IMAGES, dataset)
    return [folder / COCO_RESULTS, folder / COCO_IMAGES]


def _coco_results(tracks: Tracks, mask_of: MaskOf | None) -> Iterator[dict[str, Any]]:
    boxes, score = tracks.boxes.round(4), scores(tracks)
    for row, each in np.argwhere(tracks.present).tolist():
        result = {
            "image_id": int(tracks.frames[row]),
            "category_id": each + 1,
            "bbox": boxes[row, each].tolist(),
            "score": float(score[row, each]),
        }
        mask = mask_of(row, each) if mask_of is not None else None
        if mask is not None:
            if mask.shape != (tracks.height, tracks.width):
                found, wanted = f"{mask.shape[1]}x{mask.shape[0]}", f"{tracks.width}x{tracks.height}"
                raise InputError(f"The mask of object {each} is {found} px where the picture is {wanted} px.")
            result["segmentation"] = coco_rle(mask)
        yield result


def coco_rle(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """COCO's run lengths of a mask (height, width), in the ASCII form that pycocotools reads."""
    down_the_columns = mask.ravel(order="F")
    changes = np.flatnonzero(down_the_columns[1:] != down_the_columns[:-1]) + 1
    lengths = np.diff(changes, prepend=0, append=down_the_columns.size)
    runs = lengths.tolist()
    if down_the_columns[0]:
        runs.insert(0, 0)  # the first run is of pixels outside
    differences = [run - runs[place - 2] if place > 2 else run for place, run in enumerate(runs)]
    return {"size": list(mask.shape), "counts": "".join(map(_ascii, differences))}


def _ascii(number: int) -> str:
    """Five bits a character, lowest first; the sixth says that more follow. The last one's top bit is the sign."""
    text = ""
    while True:
        bits, number = number & 31, number >> 5
        finished = number == (-1 if bits & 16 else 0)
        text += chr(48 + bits + (0 if finished else 32))
        if finished:
            return text


def write_mot(tracks: Tracks, path: Path) -> Path:
    """MOTChallenge's text: a line per object that is present.

    Frames and objects count from 1 there, and so do pixels: the corner of the first pixel is at (1, 1).
    """
    lines = []
    boxes, score = tracks.boxes, scores(tracks)
    for row, each in np.argwhere(tracks.present).tolist():
        left, top, width, height = boxes[row, each].tolist()
        box = f"{left + 1:.4f},{top + 1:.4f},{width:.4f},{height:.4f}"
        lines.append(f"{tracks.frames[row] + 1},{each + 1},{box},{score[row, each]:g},-1,-1,-1\n")
    write_atomically(path, "".join(lines).encode())
    return path


def write_dlc(tracks: Tracks, path: Path) -> Path:
    """DeepLabCut's table for several animals: one body part, ``centre``, per object; the score is the likelihood.

    DeepLabCut puts (0, 0) at the *centre* of the first pixel, so every position is half a pixel less than ours. The
    place is empty where the object is absent. There is a row per tracked frame, headed by the frame's number.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    coords = ("x", "y", "likelihood")
    names = [f"object{each}" for each in range(tracks.objects) for _ in coords]
    writer.writerow(["scorer", *["withinpx"] * len(names)])
    writer.writerow(["individuals", *names])
    writer.writerow(["bodyparts", *["centre"] * len(names)])
    writer.writerow(["coords", *coords * tracks.objects])
    score = scores(tracks)
    for row, frame in enumerate(tracks.frames.tolist()):
        cells: list[str] = []
        for each in range(tracks.objects):
            place = [f"{value:.4f}" for value in (tracks.positions[row, each] - 0.5).tolist()]
            cells += place if tracks.present[row, each] else ["", ""]
            cells.append(f"{score[row, each]:g}")
        writer.writerow([frame, *cells])
    write_atomically(path, text.getvalue().encode())
    return path


def to_supervision(tracks: Tracks, row: int) -> Any:
    """The objects present in one frame as ``supervision.Detections``; ``row`` counts the tracked frames from 0.

    ``tracker_id`` and ``class_id`` are the object's number; ``data`` holds the columns of the table that supervision
    has no field for.
    """
    try:
        supervision = import_module("supervision")
    except ImportError:
        raise InputError("supervision is not installed: pip install 'withinpx[supervision]'.") from None
    here = np.flatnonzero(tracks.present[row])
    corner, size = np.split(tracks.boxes[row, here], 2, axis=-1)
    return supervision.Detections(
        xyxy=np.concatenate([corner, corner + size], axis=-1),
        confidence=scores(tracks)[row, here],
        class_id=here,
        tracker_id=here,
        data={
            "position": tracks.positions[row, here],
            "z": tracks.z[row, here],
            "bound_px": tracks.bound_px[row, here],
            "residual_px": tracks.residual_px[row, here],
            "certified": tracks.certified[row, here],
        },
    )
