"""Boxes: MOTChallenge's text and COCO's JSON. The position is the middle of the box."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from withinpx.auditing.foreign import COCO, MOT, Table, without_parts
from withinpx.auditing.options import AuditOptions
from withinpx.errors import InputError


def read_mot(path: Path, lines: Sequence[str], options: AuditOptions) -> Table:
    """frame, id, left, top, width, height, and columns that are not used; all count from 1."""
    without_parts(path, options.bodypart)
    rows, numbers = [], []
    for number, line in enumerate(lines, start=1):
        cells = [cell for cell in re.split(r"[,;\t ]+", line.strip()) if cell]
        if not cells:
            continue
        try:
            frame, identity, left, top, width, height = map(float, cells[:6])
        except ValueError:
            raise InputError(
                f"{path} is no MOTChallenge text in line {number}: frame, id, left, top, width and height are needed."
            ) from None
        rows.append((frame, identity, left + width / 2, top + height / 2))
        numbers.append(number)
    table = np.array(rows)
    names = [f"{identity:g}" for identity in table[:, 1].tolist()]
    if set(names) == {"-1"}:
        raise InputError(f"{path} has detections without identities (-1): link them first.")
    return Table(MOT, table[:, 0], names, table[:, 2:], lambda row: f"in line {numbers[row]}")


def read_coco(path: Path, text: str, options: AuditOptions) -> Table:
    """A list of results, or a data set's annotations; the frame is the image's id, the identity the track's."""
    without_parts(path, options.bodypart)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{path} cannot be read as JSON.") from None
    results = content.get("annotations") if isinstance(content, dict) else content
    if not isinstance(results, list) or not results:
        raise InputError(f"{path} has no COCO results: a list with image_id, category_id and bbox is needed.")
    rows = [_box(path, number, result) for number, result in enumerate(results)]
    frames, names, positions = zip(*rows, strict=True)
    return Table(COCO, np.array(frames), names, np.array(positions), lambda row: f"in result {row}")


def _box(path: Path, number: int, result: Any) -> tuple[float, str, tuple[float, float]]:
    """Frame, identity, and middle of the box of one result. Without a track, the category must be the individual."""
    try:
        left, top, width, height = map(float, result["bbox"])
        identity = result.get("track_id", result["category_id"])
        return float(result["image_id"]), str(identity), (left + width / 2, top + height / 2)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path} has no image_id, category_id or bbox of four numbers in result {number}.") from None
