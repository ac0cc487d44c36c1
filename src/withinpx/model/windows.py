"""Windows in a batch of maps: where an image differs from the background."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

Box = tuple[int, int, int, int]  # top, left, bottom, right; the last two not included
MOST_SHAPES = 6  # windows of more different sizes than this are rounded up to coarser ones
GRAIN = 8  # px
TILE = 16  # px


@dataclass(frozen=True)
class Windows:
    """Windows of one size, each in an image of the batch. They may extend over the border."""

    image: Int[Tensor, " m"]  # index of the image
    top: Int[Tensor, " m"]
    left: Int[Tensor, " m"]
    height: int
    width: int

    def __len__(self) -> int:
        return len(self.image)

    def grown(self, by: int) -> "Windows":
        """Larger by ``by`` px on every side."""
        return Windows(self.image, self.top - by, self.left - by, self.height + 2 * by, self.width + 2 * by)

    def moved(self, by: int) -> "Windows":
        """Moved down and right by ``by`` px."""
        return replace(self, top=self.top + by, left=self.left + by)

    def only(self, chosen: Int[Tensor, " k"]) -> "Windows":
        return replace(self, image=self.image[chosen], top=self.top[chosen], left=self.left[chosen])

    def in_images(self, image: Int[Tensor, " m"]) -> "Windows":
        """The same positions in other images."""
        return replace(self, image=image)

    @property
    def on_gpu(self) -> bool:
        """Reading a value back from a GPU would block until it has finished: shortcuts are for a CPU only."""
        return self.top.device.type != "cpu"

    def lie_within(self, top: int, left: int, bottom: int, right: int) -> Bool[Tensor, " m"]:
        vertically = (self.top >= top) & (self.top + self.height <= bottom)
        return vertically & (self.left >= left) & (self.left + self.width <= right)

    def rows(self) -> Int[Tensor, "m h"]:
        return self.top[:, None] + torch.arange(self.height, device=self.top.device)

    def columns(self) -> Int[Tensor, "m w"]:
        return self.left[:, None] + torch.arange(self.width, device=self.left.device)

    def inside(self, size: tuple[int, int]) -> Bool[Tensor, "m 1 h w"] | None:
        """Which of their pixels lie in an image of this size; None if all do, which saves a multiplication."""
        if not self.on_gpu and self.lie_within(0, 0, *size).all():
            return None
        return self.pixels_inside(size)

    def pixels_inside(self, size: tuple[int, int]) -> Bool[Tensor, "m 1 h w"]:
        height, width = size
        rows, columns = self.rows(), self.columns()
        in_rows, in_columns = (rows >= 0) & (rows < height), (columns >= 0) & (columns < width)
        return (in_rows[:, :, None] & in_columns[:, None, :]).unsqueeze(1)

    def clamped(self, size: tuple[int, int]) -> tuple[Int[Tensor, "m h 1"], Int[Tensor, "m 1 w"]]:
        """Their rows and columns, clamped to an image of this size."""
        rows, columns = self.rows().clamp(0, size[0] - 1), self.columns().clamp(0, size[1] - 1)
        return rows[:, :, None], columns[:, None, :]


def cut(maps: Float[Tensor, "1 c H W"], windows: Windows) -> Float[Tensor, "m c h w"]:
    """One shared map in each window; pixels outside it are replicated from its border."""
    return cut_at(maps, *windows.clamped((maps.shape[-2], maps.shape[-1])))


def cut_at(
    maps: Float[Tensor, "1 c H W"], rows: Int[Tensor, "m h 1"], columns: Int[Tensor, "m 1 w"]
) -> Float[Tensor, "m c h w"]:
    height, width = maps.shape[-2:]
    index = rows * width + columns
    pixels = maps[0].permute(1, 2, 0).reshape(height * width, -1)
    return F.embedding(index, pixels).permute(0, 3, 1, 2)  # its gradient is the fastest scatter there is


def crop_images(images: Shaped[Tensor, "b c H W"], windows: Windows) -> Shaped[Tensor, "m c h w"]:
    """Each window's own image in the window. No gradient flows back."""
    rows, columns = windows.clamped((images.shape[-2], images.shape[-1]))
    return images.permute(0, 2, 3, 1)[windows.image[:, None, None], rows, columns].permute(0, 3, 1, 2)


def changed_boxes(changed: Bool[Tensor, "h w"]) -> list[Box]:
    """The bounding box of each connected component of the changed pixels."""
    return [
        (top + box[0], left + box[1], top + box[2], left + box[3])
        for top, left, tile in _tiles_with_change(changed.cpu().numpy())
        for box in _connected(tile)
    ]


def _tiles_with_change(changed: NDArray[np.bool_]) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
    """Parts of an image, with their corners, such that no connected component extends from one into another."""
    height, width = changed.shape
    tiles = np.zeros((-(-height // TILE), -(-width // TILE)), np.bool_)
    whole, rest = width // TILE * TILE, width % TILE
    rows = np.logical_or.reduceat(changed, np.arange(0, height, TILE), axis=0)
    tiles[:, : whole // TILE] = rows[:, :whole].reshape(len(rows), -1, TILE).any(axis=2)
    if rest:
        tiles[:, -1] = rows[:, whole:].any(axis=1)
    for top, left, bottom, right in _connected(tiles):
        yield top * TILE, left * TILE, changed[top * TILE : bottom * TILE, left * TILE : right * TILE]


def _connected(flags: NDArray[np.bool_]) -> list[Box]:
    labels, _ = ndimage.label(flags, structure=np.ones((3, 3)))
    return [(rows.start, columns.start, rows.stop, columns.stop) for rows, columns in ndimage.find_objects(labels)]


def joined(boxes: list[Box], gap: int) -> list[Box]:
    """The boxes with those ``gap`` px or less apart merged, until none are."""
    boxes = list(boxes)
    index = 0
    while index < len(boxes):
        later = boxes[index + 1 :]
        near = [other for other in later if _distance(boxes[index], other) <= gap]
        if near:
            tops, lefts, bottoms, rights = zip(boxes[index], *near, strict=True)
            boxes[index] = min(tops), min(lefts), max(bottoms), max(rights)
            boxes = [*boxes[: index + 1], *(other for other in later if other not in near)]
            index = 0  # a larger box may be near others
        else:
            index += 1
    return boxes


def _distance(one: Box, other: Box) -> int:
    vertically = max(one[0] - other[2], other[0] - one[2])
    horizontally = max(one[1] - other[3], other[1] - one[3])
    return max(vertically, horizontally)


def group_windows(boxes: list[list[Box]], gap: int, device: torch.device) -> list[Windows]:
    """The boxes of each image as windows of a few sizes, no two of an image ``gap`` px or less apart."""
    boxes = [joined(image, gap) for image in boxes]
    if len({_shape(box) for image in boxes for box in image}) > MOST_SHAPES:
        boxes = [_coarser(image, gap) for image in boxes]
    shapes: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for index, image in enumerate(boxes):
        for box in image:
            shapes.setdefault(_shape(box), []).append((index, box[0], box[1]))
    grouped = []
    for (height, width), corners in sorted(shapes.items()):
        image_index, top, left = torch.tensor(corners, device=device).T.contiguous()
        grouped.append(Windows(image_index, top, left, height, width))
    return grouped


def _coarser(boxes: list[Box], gap: int) -> list[Box]:
    """Rounded up to multiples of GRAIN, and merged again where that brought them too near."""
    rounded = [
        (top, left, top + -(-(bottom - top) // GRAIN) * GRAIN, left + -(-(right - left) // GRAIN) * GRAIN)
        for top, left, bottom, right in boxes
    ]
    again = joined(rounded, gap)
    return again if again == boxes else _coarser(again, gap)


def _shape(box: Box) -> tuple[int, int]:
    return box[2] - box[0], box[3] - box[1]
