"""Views of one object each: a frame in which every pixel that is nearer to another detection is background.

The encoder sees one object of a class at a time, so the softargmax over the whole map is the one in the object's own
window, and no other object can raise its heatmap there (docs/theory.md, "Objects that look alike").
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from withinpx.inference.observation import Frames, Pixels
from withinpx.model.windows import Box, Windows, changed_boxes, crop_images, group_windows


@dataclass(frozen=True)
class Isolation:
    """Which frame each view is of, and which of its pixels it shows."""

    frame: Int[Tensor, " b"]
    number: Int[Tensor, " b"]  # of the object's cell
    cells: Int[Tensor, "f h w"]

    def in_frames(self, windows: Windows) -> Windows:
        return windows.in_images(self.frame[windows.image])

    def own(self, windows: Windows) -> Bool[Tensor, "m 1 h w"]:
        """Which pixels of each window are the view's own."""
        cells = crop_images(self.cells.unsqueeze(1), self.in_frames(windows))
        return cells == self.number[windows.image][:, None, None, None]


@dataclass(frozen=True)
class IsolatedPixels(Pixels):
    """Frames as views; ``images`` are the frames."""

    isolation: Isolation

    def __len__(self) -> int:
        return len(self.isolation.frame)

    def image(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        shown = super().image(self.isolation.in_frames(windows))
        return torch.where(self.isolation.own(windows), shown, self.background(windows))

    def background(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        return super().background(self.isolation.in_frames(windows))

    def whole(self, index: int) -> NDArray[np.uint8]:
        isolation = self.isolation
        frame = int(isolation.frame[index])
        own = isolation.cells[frame] == isolation.number[index]
        background = (super().background_of(frame) * 255).round().astype(np.uint8)
        return np.where(own.cpu().numpy()[..., None], super().whole(frame), background)

    def background_of(self, index: int) -> NDArray[np.float32]:
        return super().background_of(int(self.isolation.frame[index]))


@dataclass(frozen=True)
class IsolatedFrames(IsolatedPixels, Frames):
    """The same, as a network sees them."""

    def changed_in(self, windows: Windows) -> Bool[Tensor, "m 1 h w"]:
        return super().changed_in(self.isolation.in_frames(windows)) & self.isolation.own(windows)

    def changes(self, gap: int) -> list[Windows]:
        """Windows around what changed in each view. A changed region that several views share is in each of theirs."""
        isolation = self.isolation
        pairs = zip(isolation.frame.tolist(), isolation.number.tolist(), strict=True)
        views = {pair: view for view, pair in enumerate(pairs)}
        boxes: list[list[Box]] = [[] for _ in range(len(self))]
        for frame, mask in enumerate(self.changed):
            cells = isolation.cells[frame]
            for top, left, bottom, right in changed_boxes(mask):
                part = slice(top, bottom), slice(left, right)
                for number in cells[part][mask[part]].unique().tolist():
                    view = views.get((frame, number))
                    if view is not None:
                        boxes[view].append((top, left, bottom, right))
        return group_windows(boxes, gap, self.images.device)
