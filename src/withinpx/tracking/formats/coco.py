"""COCO results, which object detectors are evaluated with."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pycocotools import mask as coco_mask

from withinpx.errors import InputError
from withinpx.files import write_atomically, write_json
from withinpx.tracking.formats.run import Run, bounds
from withinpx.tracking.tracks import Tracks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from withinpx.tracking.detector import Detector

RESULTS = "coco_results.json"
IMAGES = "coco_images.json"


def write_coco(run: Run, folder: Path) -> None:
    """COCO results, and the data set without annotations that ``COCO().loadRes`` needs beside them.

    The image id is the frame's number in the recording, the category id the object's number plus one. COCO counts
    pixels as we do. ``certified``, ``bound_px``, ``reason`` and ``identity_certified`` are ours; its tools keep what
    they do not know. Masks need the detector.
    """
    tracks, detector = run.tracks, run.detector
    if detector is not None and detector.recording != (tracks.width, tracks.height):
        made_for, given = "x".join(map(str, detector.recording)), f"{tracks.width}x{tracks.height}"
        raise InputError(f"The detector was made for {made_for} px, the tracks are of {given} px: masks need its own.")
    lines = ",\n".join(json.dumps(result, allow_nan=False) for result in _results(tracks, detector))
    write_atomically(folder / RESULTS, f"[\n{lines}\n]\n".encode())
    images = [
        {"id": frame, "file_name": f"frame_{frame:06d}.png", "width": tracks.width, "height": tracks.height}
        for frame in tracks.frames.tolist()
    ]
    categories = [{"id": index + 1, "name": run.title_of(index)} for index in range(tracks.objects)]
    info = {"description": "Frames of the recording that withinpx tracked; the results hold the boxes."}
    dataset = {"info": info, "images": images, "categories": categories, "annotations": []}
    write_json(folder / IMAGES, dataset)


def _results(tracks: Tracks, detector: "Detector | None") -> Iterator[dict[str, Any]]:
    boxes, scores, bound = tracks.boxes.round(4), tracks.scores, bounds(tracks)
    identity = tracks.identity_certified
    for row, index in np.argwhere(tracks.present).tolist():
        result = {
            "image_id": int(tracks.frames[row]),
            "category_id": index + 1,
            "bbox": boxes[row, index].tolist(),
            "score": float(scores[row, index]),
            "certified": bool(tracks.certified[row, index]),
            "bound_px": float(bound[row, index]) if np.isfinite(bound[row, index]) else None,
            "reason": str(tracks.reasons[row, index]),
            "identity_certified": None if np.isnan(identity[row, index]) else bool(identity[row, index]),
        }
        if detector is not None:
            from withinpx.tracking.masks import object_mask  # noqa: PLC0415  (torch)

            result["segmentation"] = run_lengths(object_mask(detector, tracks, row, index))
        yield result


def run_lengths(mask: "NDArray[np.bool_]") -> dict[str, Any]:
    """A mask in COCO's compressed form, as JSON values."""
    encoded = coco_mask.encode(np.asfortranarray(mask, np.uint8))
    return {"size": list(mask.shape), "counts": encoded["counts"].decode()}
