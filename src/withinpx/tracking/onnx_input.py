"""Crop, scale and light of a detector's frames, as modules of operations that ONNX has."""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from withinpx.discovery.background import FloatImages
from withinpx.discovery.exposure import LARGEST_GAIN, grid_lines, usual_levels, well_exposed
from withinpx.tracking.detector import Detector


class NetworkInput(nn.Module):
    """From frames of the recording to the levels that the network sees, as ``Detector.observe`` prepares them."""

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        left, top, width, height = detector.watched.crop or (0, 0, *detector.recording)
        self._rows, self._columns = slice(top, top + height), slice(left, left + width)
        watched = _Scaling((height, width), detector.watched.scale)
        to_network = _Scaling(watched.size, detector.scale / detector.watched.scale)
        own = detector.background.images if detector.sharp is None else detector.sharp
        light = [_Light(own)] if detector.background.light_varies else []
        self._steps = nn.Sequential(watched, *light, to_network)

    def forward(self, frames: UInt8[Tensor, "b h w c"]) -> Float[Tensor, "b c H W"]:
        levels: Tensor = self._steps(frames[:, self._rows, self._columns].permute(0, 3, 1, 2).float())
        return levels


class _Scaling(nn.Module):
    """To whole levels, as ``Selection.apply`` scales."""

    def __init__(self, size: tuple[int, int], scale: float) -> None:
        super().__init__()
        self._scale = scale
        self._rows, self._columns = (torch.from_numpy(resampling(side, scale)) for side in size)
        self.size = len(self._rows), len(self._columns)

    def forward(self, levels: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c H W"]:
        if self._scale == 1:
            return levels
        return _rounded(self._rows @ _rounded(levels @ self._columns.T))


class _Light(nn.Module):
    """As ``in_light_of``: the frames in the light of the background."""

    def __init__(self, background: FloatImages) -> None:
        super().__init__()
        rows, columns = grid_lines((background.shape[1], background.shape[2]))
        self._rows, self._columns = torch.from_numpy(rows), torch.from_numpy(columns)
        usual = usual_levels(background)
        self._usual = [_Usual(good, usual[good, colour]) for colour, good in enumerate(well_exposed(usual))]

    def forward(self, levels: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        grid = levels[:, :, self._rows][..., self._columns].flatten(start_dim=2).double()
        gains = [usual.gain(grid[:, colour]) for colour, usual in enumerate(self._usual)]
        gain = torch.stack(gains, dim=1).clamp(1 / LARGEST_GAIN, LARGEST_GAIN)
        return (levels.double() / gain[..., None, None]).round().clamp(0, 255).float()


class _Usual:
    """One colour's levels in the light of the background, at the pixels that show it."""

    def __init__(self, pixels: NDArray[np.intp], levels: NDArray[np.float64]) -> None:
        self._pixels, self._levels = torch.from_numpy(pixels), torch.from_numpy(levels)
        self._middle = (len(pixels) - 1) // 2, len(pixels) // 2

    def gain(self, grid: Float[Tensor, "b k"]) -> Float[Tensor, " b"]:
        """The median ratio to them, of an even number the mean of the two in the middle; one if there are none."""
        lower, upper = self._middle
        if lower < 0:
            return torch.ones_like(grid[:, 0])
        smallest = (grid[:, self._pixels] / self._levels).topk(upper + 1, largest=False).values
        return (smallest[:, lower] + smallest[:, upper]) / 2


def resampling(length: int, scale: float) -> NDArray[np.float32]:
    """The weight of each of ``length`` lines in each line of the scaled image, as ``Selection.apply`` scales."""
    kept = max(1, int(length * scale + 1e-6))
    method = Image.Resampling.BOX if scale < 1 else Image.Resampling.BICUBIC
    lines = Image.fromarray(np.eye(length, dtype=np.float32))
    part = (0, 0, length, min(kept / scale, length))
    return np.array(lines.resize((length, kept), method, box=part), np.float32)


def _rounded(levels: Tensor) -> Tensor:
    """To whole levels, halves up."""
    return (levels + (0.5 + 1e-4)).floor()
