"""Non-maximum suppression, and torchvision beside a torch build that its own operators do not load with."""

import importlib
import sys
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from withinpx.errors import InputError

OPERATORS = ("nms", "qnms")  # torchvision cannot be imported without them
_libraries: list[torch.library.Library] = []  # an operator exists as long as its library object


def nms(boxes: Tensor, scores: Tensor, max_overlap: float) -> Tensor:
    """Indices of the boxes (n, 4: left, top, right, bottom) to keep, best first, as ``torchvision.ops.nms``.

    A box is dropped if its intersection over union with a better kept box is above ``max_overlap``.
    """
    order = scores.argsort(descending=True, stable=True)
    overlapping = (_overlaps(boxes[order]) > max_overlap).cpu().numpy()
    dropped = np.zeros(len(overlapping), np.bool_)
    kept = []
    for rank, others in enumerate(overlapping):
        if not dropped[rank]:
            kept.append(rank)
            dropped |= others
    return order[torch.tensor(kept, dtype=torch.long, device=order.device)]


def _overlaps(boxes: Tensor) -> Tensor:
    """(n, n) intersections over unions."""
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    intersection = (high - low).clamp(min=0).prod(dim=-1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(dim=-1)
    return intersection / (areas[:, None] + areas[None, :] - intersection)


@cache
def import_torchvision() -> Any:
    """Import torchvision, also beside a torch without CUDA.

    PyPI's torchvision is built for CUDA: beside a CPU build of torch its library does not load, and the import fails
    because its operators are missing. They are then declared here, and torchvision is imported again.
    """
    try:
        return importlib.import_module("torchvision")
    except ImportError:
        raise InputError("This needs torchvision: pip install 'withinpx[baselines]'.") from None
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    declare_operators("torchvision")
    return importlib.import_module("torchvision")


def declare_operators(namespace: str) -> None:
    """Declare the missing operators; only ``nms`` is implemented, the others are not called."""
    library = torch.library.Library(namespace, "FRAGMENT")
    _libraries.append(library)
    for name in OPERATORS:
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.impl("nms", nms, "CompositeExplicitAutograd")
