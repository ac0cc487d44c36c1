"""A detector as one ONNX file: frames in, positions out, for programs that have no PyTorch.

The graph holds crop and scale, the foreground, the encoder, the softargmax and the calibrated shift. Verdicts need the
decoder and the registration against the frame, which are not in it: ``withinpx detect --backend onnx`` adds both.
"""

import copy
import warnings
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from withinpx.data.selection import EVERYTHING, Selection
from withinpx.discovery.background import NEIGHBOURS, ByteImages
from withinpx.errors import InputError
from withinpx.files import write_atomically
from withinpx.model.field import Base, Field, Patch
from withinpx.model.windows import Windows
from withinpx.tracking.detector import Detector

OPSET = 18
NAME = "detector.onnx"
INPUT, OUTPUTS = "frames", ("positions", "z", "heatmaps")


def write_onnx(path: Path, detector: Detector) -> Path:
    """Frames of the recording (b, height, width, colours) in; ``positions`` and ``z`` (b, objects, 2), px, out."""
    write_atomically(path, onnx_bytes(detector, detector.selection))
    return path


class OnnxHeatmaps:
    """The encoder, run by onnxruntime."""

    def __init__(self, detector: Detector) -> None:
        runtime = _needed("onnxruntime")
        self._session = runtime.InferenceSession(onnx_bytes(detector, EVERYTHING), providers=["CPUExecutionProvider"])

    def __call__(self, images: ByteImages) -> Field:
        """The heatmaps of images (b, h, w, c) of the network's size."""
        (maps,) = self._session.run(["heatmaps"], {INPUT: np.ascontiguousarray(images)})
        corner = torch.zeros(len(images), dtype=torch.long)
        windows = Windows(torch.arange(len(images)), corner, corner, *maps.shape[-2:])
        return Field(len(images), Base.whole(torch.zeros(1, *maps.shape[1:])), [Patch(windows, torch.from_numpy(maps))])


def onnx_bytes(detector: Detector, selection: Selection) -> bytes:
    """The graph for frames of which ``selection`` is the network's input."""
    _needed("onnx")
    if detector.moving_camera:
        raise InputError(
            "This detector's camera moves: its background is estimated from frames before and after, and an ONNX graph "
            "sees one frame at a time."
        )
    config = detector.model.config
    width, height = (config.width, config.height) if selection == EVERYTHING else detector.recording
    frames = torch.zeros(1, height, width, config.colours, dtype=torch.uint8)
    content: Any = BytesIO()  # annotated as a path in PyTorch
    with warnings.catch_warnings():
        # this exporter is deprecated; the newer one needs one more package, onnxscript
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            _Graph(detector, selection, (height, width)).eval(),
            (frames,),
            content,
            dynamo=False,
            opset_version=OPSET,
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "batch"} for name in (INPUT, *OUTPUTS)},
        )
    return bytes(content.getvalue())


class _Graph(nn.Module):
    """The detector up to its positions, on the CPU, in operations that ONNX has."""

    def __init__(self, detector: Detector, selection: Selection, size: tuple[int, int]) -> None:
        super().__init__()
        config = detector.model.config
        self._encoder = nn.Sequential(*copy.deepcopy(detector.model.encoder).cpu())
        self._temperature = config.temperature
        self._background = torch.from_numpy(detector.background.images[0].transpose(2, 0, 1).copy())
        self._threshold = torch.from_numpy(detector.background.threshold)
        self._shifts = [
            (_float32(shift.positions), _float32(shift.shifts), shift.bandwidth) for shift in detector.shifts
        ]
        left, top, width, height = selection.crop or (0, 0, *size[::-1])
        self._rows, self._columns = slice(top, top + height), slice(left, left + width)
        self._scale, self._corner = selection.scale, torch.tensor([left, top])
        if selection.scale != 1:
            self._row_weights, self._column_weights = (
                torch.from_numpy(resampling(side, selection.scale)) for side in (height, width)
            )
        self._middle = torch.tensor([config.width, config.height]) / 2
        y, x = np.mgrid[: config.height, : config.width] + 0.5
        self._centres = _float32(np.stack([x.ravel(), y.ravel()], axis=-1)) - self._middle

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(b, h, w, c) of uint8 to positions, z (b, n, 2) and heatmaps (b, n, h, w)."""
        levels = frames[:, self._rows, self._columns].permute(0, 3, 1, 2).float()
        if self._scale != 1:
            levels = _rounded(self._row_weights @ _rounded(levels @ self._column_weights.T))
        images = levels / 255
        heatmaps = self._encoder((images + 1) * self._changed(images))  # as foreground_only
        weights = (heatmaps.flatten(start_dim=2) / self._temperature).softmax(dim=-1)  # eq. 5
        z = weights @ self._centres + self._middle  # from the middle of the frame: less rounding
        shift = torch.stack([self._shift(z[:, index], index) for index in range(len(self._shifts))], dim=1)
        positions, z = (points / self._scale + self._corner for points in (z + shift, z))
        return positions, z, heatmaps

    def _changed(self, images: Tensor) -> Tensor:
        """As ``BackgroundModel.changed``: (b, 1, h, w), 1 where a pixel changed."""
        beyond = ((images - self._background).abs().amax(dim=1, keepdim=True) > self._threshold).float()
        neighbours = F.conv2d(beyond, torch.ones(1, 1, 3, 3), padding=1)
        return beyond * (neighbours > NEIGHBOURS - 0.5)

    def _shift(self, z: Tensor, index: int) -> Tensor:
        """As ``Shift.at``: (b, 2)."""
        positions, shifts, bandwidth = self._shifts[index]
        exponent = ((z[:, None] - positions) ** 2).sum(dim=-1) / (-2 * bandwidth**2)
        return exponent.softmax(dim=-1) @ shifts


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


def _float32(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"This needs the package {name}: pip install 'withinpx[onnx]'.") from None
