"""Any Segment Anything model through ``transformers``: by its name on the hub, or from a folder."""

import importlib
from typing import Any

import torch
from torch import Tensor

from withinpx.baselines.detections import Pixels
from withinpx.baselines.nms import import_torchvision
from withinpx.baselines.sam import resized_points
from withinpx.errors import InputError


def check_name(name: str | None) -> str:
    if not name:
        raise InputError("SAM needs a model: give --model with a name on the hub (facebook/sam-vit-huge), or a folder.")
    return name


class HubSam:
    def __init__(self, name: str, device: torch.device) -> None:
        import_torchvision()
        try:
            package: Any = importlib.import_module("transformers")
        except ImportError:
            raise InputError("SAM needs the package transformers: pip install 'withinpx[baselines]'.") from None
        try:
            kind = package.AutoConfig.from_pretrained(name).model_type
            if kind != "sam":
                raise ValueError(f"its model type is {kind}.")
            self._processor = package.SamImageProcessor.from_pretrained(name)
            self._model = package.SamModel.from_pretrained(name).to(device).eval()
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"{name} cannot be loaded as a SAM: {reason}") from None
        self.device = device

    def set_image(self, image: Pixels) -> None:
        prepared = self._processor(images=image, return_tensors="pt")
        self._original, self._resized = (
            [int(side) for side in prepared[key][0]] for key in ("original_sizes", "reshaped_input_sizes")
        )
        self._embedding = self._model.get_image_embeddings(prepared["pixel_values"].to(self.device))

    def predict(self, points: Tensor) -> tuple[Tensor, Tensor]:
        inputs = resized_points(points, self._original, self._resized)[None, :, None]
        output = self._model(input_points=inputs, image_embeddings=self._embedding, multimask_output=True)
        (logits,) = self._processor.post_process_masks(
            output.pred_masks, [self._original], [self._resized], binarize=False
        )
        return logits, output.iou_scores[0]
