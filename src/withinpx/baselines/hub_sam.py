"""Any Segment Anything model through ``transformers``: by its name on the hub, or from a folder that holds it."""

import importlib
from typing import Any

import torch
from torch import Tensor

from withinpx.baselines.detections import Pixels
from withinpx.baselines.suppression import torchvision
from withinpx.errors import InputError


def check_name(name: str | None) -> str:
    """The model's name, if one was given."""
    if not name:
        raise InputError("Which SAM? Give --model with a name on the hub (facebook/sam-vit-huge), or a folder.")
    return name


class HubSam:
    """The model with its weights and what prepares images for it."""

    def __init__(self, name: str, device: torch.device) -> None:
        torchvision()
        try:
            package: Any = importlib.import_module("transformers")
        except ImportError:
            raise InputError("SAM needs the package transformers: pip install 'withinpx[baselines]'.") from None
        try:
            kind = package.AutoConfig.from_pretrained(name).model_type
            if kind != "sam":
                raise ValueError(f"it is a model of the kind {kind}.")
            self._processor = package.SamImageProcessor.from_pretrained(name)
            self._model = package.SamModel.from_pretrained(name).to(device).eval()
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"{name} cannot be loaded as a SAM: {reason}") from None
        self.device = device

    def see(self, image: Pixels) -> None:
        """From now on all points are of this image."""
        prepared = self._processor(images=image, return_tensors="pt")
        self._original, self._reshaped = (
            [int(side) for side in prepared[key][0]] for key in ("original_sizes", "reshaped_input_sizes")
        )
        self._embedding = self._model.get_image_embeddings(prepared["pixel_values"].to(self.device))

    def ask(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (n, 3, height, width) and qualities (n, 3)."""
        scale = [inner / outer for inner, outer in zip(self._reshaped, self._original, strict=True)]
        inside = points * torch.tensor(scale[::-1], device=points.device)
        answer = self._model(
            input_points=inside[None, :, None], image_embeddings=self._embedding, multimask_output=True
        )
        (logits,) = self._processor.post_process_masks(
            answer.pred_masks, [self._original], [self._reshaped], binarize=False
        )
        return logits, answer.iou_scores[0]
