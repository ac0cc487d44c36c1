"""Of boxes that overlap, the best one; and torchvision where its own way of doing that is missing."""

import importlib
import sys
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from withinpx.errors import InputError

MISSING = ("nms", "qnms")  # what torchvision cannot be imported without
_registered: list[torch.library.Library] = []  # an operator lives as long as its library


def suppressed(boxes: Tensor, scores: Tensor, overlap: float) -> Tensor:
    """Which boxes (n, 4: left, top, right, bottom) stay, best first: none overlaps a better one that stays by more.

    Overlap is intersection over union.
    """
    order = scores.argsort(descending=True, stable=True)
    ordered = boxes[order]
    beyond = (_overlaps(ordered) > overlap).cpu().numpy()
    gone = np.zeros(len(beyond), np.bool_)
    stays = []
    for place, others in enumerate(beyond):
        if not gone[place]:
            stays.append(place)
            gone |= others
    return order[torch.tensor(stays, dtype=torch.long, device=order.device)]


def _overlaps(boxes: Tensor) -> Tensor:
    """(n, n) intersections over unions."""
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    common = (high - low).clamp(min=0).prod(dim=-1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(dim=-1)
    return common / (areas[:, None] + areas[None, :] - common)


@cache
def torchvision() -> Any:
    """The package, also beside a torch without CUDA.

    PyPI's torchvision is built for CUDA: beside a CPU build of torch its library does not load, and the import stops
    where it looks for its own operators. They are declared here, with ours in their place, and it is imported again.
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
    """Declare the operators that are missing; ``nms`` is ours, the others are only there."""
    library = torch.library.Library(namespace, "FRAGMENT")
    _registered.append(library)
    for name in MISSING:
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.impl("nms", suppressed, "CompositeExplicitAutograd")
