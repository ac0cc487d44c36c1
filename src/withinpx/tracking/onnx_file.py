"""A detector as one ONNX file: frames in, positions out, for programs that have no PyTorch.

What ``track`` made is written out operation by operation: crop and scale, what differs from the backdrop, the encoder
with its batch-norm folded into the filters, the softargmax, the shift. What is left out is what needs the decoder: the
registration against the frame, and with it the verdict. ``withinpx detect --backend onnx`` adds both.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn

from withinpx.certificate.shift import Shift
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.discovery.background import NEIGHBOURS, ByteImages
from withinpx.errors import InputError
from withinpx.files import write_atomically
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Base, Field, Patch
from withinpx.model.windows import Windows
from withinpx.tracking.detector import Detector

OPSET = 18
IR_VERSION = 10
NAME = "detector.onnx"


def write_onnx(path: Path, detector: Detector) -> Path:
    """Frames of the recording (b, height, width, colours) in; ``positions`` and ``raw`` (b, objects, 2) out, px."""
    write_atomically(path, onnx_bytes(detector, detector.selection))
    return path


class OnnxHeatmaps:
    """The encoder, run by onnxruntime."""

    def __init__(self, detector: Detector) -> None:
        runtime = _needed("onnxruntime")
        self._session = runtime.InferenceSession(onnx_bytes(detector, EVERYTHING), providers=["CPUExecutionProvider"])
        self._config = detector.model.config

    def __call__(self, images: ByteImages) -> Field:
        """The heatmaps of pictures as the network sees them (b, h, w, c)."""
        (maps,) = self._session.run(["heatmaps"], {"frames": np.ascontiguousarray(images)})
        height, width = self._config.height, self._config.width
        corner = torch.zeros(len(images), dtype=torch.long)
        whole = Patch(Windows(torch.arange(len(images)), corner, corner, height, width), torch.from_numpy(maps))
        return Field(len(images), Base.whole(torch.zeros(1, *maps.shape[1:])), [whole])


def onnx_bytes(detector: Detector, selection: Selection) -> bytes:
    """The graph from frames of which ``selection`` is what the network sees."""
    onnx = _needed("onnx")
    if detector.moving_camera:
        raise InputError(
            "This detector's camera moves: what lies behind its objects is put together from frames before and after, "
            "and one ONNX graph sees one frame."
        )
    graph = _Graph(onnx)
    config = detector.model.config
    size = (config.height, config.width) if selection == EVERYTHING else detector.recording[::-1]
    picture = graph.picture(size, selection)
    changed = graph.changed(picture, detector.background.images[0], detector.background.threshold)
    seen = graph.add("Mul", graph.add("Add", picture, graph.constant(np.float32(1))), changed)
    heatmaps = graph.add("Identity", graph.cnn(seen, detector.model.encoder), name="heatmaps")
    raw = graph.softargmax(heatmaps, detector.model)
    positions = graph.add("Add", raw, graph.shifts(raw, detector.shift))
    for name, places in (("z", raw), ("positions", positions)):
        graph.to_recording(name, places, selection)
    made = onnx.helper.make_graph(
        graph.nodes,
        "withinpx",
        [graph.value("frames", onnx.TensorProto.UINT8, ["batch", *size, config.colours])],
        [
            graph.value("positions", onnx.TensorProto.FLOAT, ["batch", config.objects, 2]),
            graph.value("z", onnx.TensorProto.FLOAT, ["batch", config.objects, 2]),
            graph.value("heatmaps", onnx.TensorProto.FLOAT, ["batch", config.objects, config.height, config.width]),
        ],
        graph.constants,
    )
    versions = [onnx.helper.make_opsetid("", OPSET)]
    whole = onnx.helper.make_model(made, opset_imports=versions, ir_version=IR_VERSION, producer_name="withinpx")
    onnx.checker.check_model(whole)
    return bytes(whole.SerializeToString())


class _Graph:
    """The nodes of an ONNX graph, added one by one."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operation: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """One node; the answer is the name of its output."""
        output = name or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operation, list(inputs), [output], **attributes))
        return output

    def constant(self, values: NDArray[Any] | np.generic) -> str:
        """Numbers that are known beforehand."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def value(self, name: str, kind: int, shape: list[Any]) -> Any:
        """An input or output of the graph."""
        return self._onnx.helper.make_tensor_value_info(name, kind, shape)

    def picture(self, size: tuple[int, int], selection: Selection) -> str:
        """What the network sees of the frames, from 0 to 1: (b, c, h, w)."""
        levels = self.add("Cast", "frames", to=self._onnx.TensorProto.FLOAT)
        if selection.crop is not None:
            left, top, width, height = selection.crop
            starts, ends, axes = ([top, left], [top + height, left + width], [1, 2])
            levels = self.add("Slice", levels, *(self.constant(np.array(each)) for each in (starts, ends, axes)))
            size = (height, width)
        levels = self.add("Transpose", levels, perm=[0, 3, 1, 2])
        if selection.scale != 1:
            rows, columns = (resampling(length, selection.scale) for length in size)
            levels = self._rounded(self.add("MatMul", levels, self.constant(columns.T.copy())))
            levels = self._rounded(self.add("MatMul", self.constant(rows), levels))
        return self.add("Div", levels, self.constant(np.float32(255)))

    def _rounded(self, levels: str) -> str:
        """To whole levels, halves up."""
        return self.add("Floor", self.add("Add", levels, self.constant(np.float32(0.5 + 1e-4))))

    def changed(self, picture: str, still: NDArray[np.float32], threshold: NDArray[np.float32]) -> str:
        """One where the picture is not the backdrop, zero elsewhere: (b, 1, h, w). As ``BackgroundModel.changed``."""
        behind = self.constant(np.ascontiguousarray(still.transpose(2, 0, 1))[None])
        off = self.add("Abs", self.add("Sub", picture, behind))
        most = self.add("ReduceMax", off, self.constant(np.array([1])), keepdims=1)
        beyond = self._flag(self.add("Greater", most, self.constant(threshold[None, None])))
        nine = self.constant(np.ones((1, 1, 3, 3), np.float32))
        around = self.add("Conv", beyond, nine, pads=[1, 1, 1, 1])
        enough = self._flag(self.add("Greater", around, self.constant(np.float32(NEIGHBOURS - 0.5))))
        return self.add("Mul", beyond, enough)

    def _flag(self, condition: str) -> str:
        return self.add("Cast", condition, to=self._onnx.TensorProto.FLOAT)

    def cnn(self, maps: str, cnn: nn.Sequential) -> str:
        """Convolutions with their batch-norm folded in, and ReLUs."""
        layers = list(cnn)
        for index, layer in enumerate(layers):
            if isinstance(layer, nn.Conv2d):
                norm = layers[index + 1] if index + 1 < len(layers) else None
                weight, bias = folded(layer, norm if isinstance(norm, nn.BatchNorm2d) else None)
                pads = [layer.kernel_size[0] // 2] * 4
                maps = self.add("Conv", maps, self.constant(weight), self.constant(bias), pads=pads)
            elif isinstance(layer, nn.ReLU):
                maps = self.add("Relu", maps)
        return maps

    def softargmax(self, heatmaps: str, model: Autoencoder) -> str:
        """Eq. 5: (b, n, 2), from the middle of the picture and back, which rounds less."""
        config = model.config
        flat = self.add("Reshape", heatmaps, self.constant(np.array([0, config.objects, -1])))
        weights = self.add("Softmax", self.add("Div", flat, self.constant(np.float32(config.temperature))), axis=-1)
        middle = np.array([config.width, config.height], np.float32) / 2
        y, x = np.mgrid[: config.height, : config.width].astype(np.float32) + 0.5
        places = np.stack([x.ravel(), y.ravel()], axis=-1) - middle
        return self.add("Add", self.add("MatMul", weights, self.constant(places)), self.constant(middle))

    def shifts(self, raw: str, shifts: tuple[Shift, ...]) -> str:
        """What ``Shift.at`` gives for each object: (b, n, 2)."""
        parts = []
        for each, shift in enumerate(shifts):
            own = self.add("Gather", raw, self.constant(np.array([each])), axis=1)  # (b, 1, 2)
            away = self.add("Sub", own, self.constant(shift.places.astype(np.float32)[None]))  # (b, k, 2)
            squares = self.add("ReduceSum", self.add("Mul", away, away), self.constant(np.array([2])), keepdims=0)
            nearness = self.add("Div", squares, self.constant(np.float32(-2 * shift.reach**2)))
            steps = self.add("MatMul", self.add("Softmax", nearness, axis=-1), self.constant(_float(shift.steps)))
            parts.append(self.add("Unsqueeze", steps, self.constant(np.array([1]))))
        return self.add("Concat", *parts, axis=1)

    def to_recording(self, name: str, places: str, selection: Selection) -> None:
        """Px of the recording, under this name."""
        left, top = selection.crop[:2] if selection.crop is not None else (0, 0)
        scaled = self.add("Div", places, self.constant(np.float32(selection.scale)))
        self.add("Add", scaled, self.constant(np.array([left, top], np.float32)), name=name)


def folded(conv: nn.Conv2d, norm: nn.BatchNorm2d | None) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight and bias of one convolution that does the work of both."""
    weight = conv.weight.detach().double().cpu()
    bias = torch.zeros(len(weight), dtype=torch.float64) if conv.bias is None else conv.bias.detach().double().cpu()
    if norm is not None and norm.running_mean is not None and norm.running_var is not None:
        scale = norm.weight.detach().double().cpu() * torch.rsqrt(norm.running_var.double().cpu() + norm.eps)
        weight = weight * scale[:, None, None, None]
        bias = (bias - norm.running_mean.double().cpu()) * scale + norm.bias.detach().double().cpu()
    return _float(weight.numpy()), _float(bias.numpy())


def resampling(length: int, scale: float) -> NDArray[np.float32]:
    """How much each of ``length`` lines counts in each line of the scaled picture, as ``Selection.of`` scales."""
    kept = max(1, int(length * scale + 1e-6))
    filter_ = Image.Resampling.BOX if scale < 1 else Image.Resampling.BICUBIC
    lines = Image.fromarray(np.eye(length, dtype=np.float32))
    part = (0, 0, length, min(kept / scale, length))
    return np.asarray(lines.resize((length, kept), filter_, box=part), np.float32)


def _float(values: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, np.float32)


def _needed(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"This needs the package {name}: pip install 'withinpx[onnx]'.") from None
