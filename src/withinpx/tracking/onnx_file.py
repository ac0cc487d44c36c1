"""A detector as one ONNX file: frames in, positions with verdicts out, for programs that have no PyTorch.

For each frame and heatmap the graph says what ``withinpx detect --certificate theorem`` says: position, z, whether the
object is present, whether its position is certified, and theorem 4.1's bound around it. It holds crop, scale and light,
the foreground, the encoder, the softargmax, the calibrated shift, the decoder, the registration and every limit of the
certificate. A heatmap that follows no object is never present.

Not in the graph: the search for feasible sets, which makes bounds smaller and refuses a ``mismatch``. Whether frames
show the detector's scene at all is for the caller to judge, by the share that ``changed``. Their colours must be as
many as the network's. The file's metadata has the names of the ``reasons``.
"""

import json
import warnings
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from withinpx.discovery.background import ByteImages
from withinpx.errors import InputError
from withinpx.files import write_atomically
from withinpx.model.field import Base, Field, Patch
from withinpx.model.windows import Windows
from withinpx.tracking.detector import Detector
from withinpx.tracking.onnx_graph import DetectorGraph, Heatmaps, Verdicts, reason_names

OPSET = 18
NAME = "detector.onnx"
INPUT, HEATMAPS, REASONS = "frames", "heatmaps", "reasons"


def write_onnx(path: Path, detector: Detector) -> Path:
    """Frames of the recording (b, height, width, colours) in; ``Verdicts`` of b frames out."""
    write_atomically(path, onnx_bytes(detector))
    return path


class OnnxHeatmaps:
    """The encoder, run by onnxruntime."""

    def __init__(self, detector: Detector) -> None:
        runtime = _needed("onnxruntime")
        _check_rigid(detector)
        network = detector.model.config
        content = _exported(Heatmaps(detector), (network.width, network.height), network.colours, (HEATMAPS,))
        self._session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])

    def __call__(self, images: ByteImages) -> Field:
        """The heatmaps of images (b, h, w, c) of the network's size."""
        (maps,) = self._session.run([HEATMAPS], {INPUT: np.ascontiguousarray(images)})
        corner = torch.zeros(len(images), dtype=torch.long)
        windows = Windows(torch.arange(len(images)), corner, corner, *maps.shape[-2:])
        return Field(len(images), Base.whole(torch.zeros(1, *maps.shape[1:])), [Patch(windows, torch.from_numpy(maps))])


def onnx_bytes(detector: Detector) -> bytes:
    """The graph for frames of the detector's recording."""
    if detector.moving_camera:
        raise InputError(
            "This detector's camera moves: its background is estimated from frames before and after, and an ONNX graph "
            "sees one frame at a time."
        )
    if detector.classes is not None:
        raise InputError(
            "This detector's objects look alike: it examines them one by one, and an ONNX graph sees whole frames. Use "
            "withinpx detect."
        )
    _check_rigid(detector)
    content = _exported(DetectorGraph(detector), detector.recording, detector.model.config.colours, Verdicts._fields)
    onnx = _needed("onnx")
    file = onnx.load_from_string(content)
    onnx.helper.set_model_props(file, {REASONS: json.dumps(reason_names(detector.certificate))})
    return bytes(file.SerializeToString())


def _exported(module: nn.Module, size: tuple[int, int], colours: int, outputs: tuple[str, ...]) -> bytes:
    """A module of frames of this width and height, in any number."""
    _needed("onnx")
    width, height = size
    content: Any = BytesIO()  # annotated as a path in PyTorch
    with warnings.catch_warnings():
        # this exporter is deprecated; the newer one needs one more package, onnxscript
        warnings.simplefilter("ignore", DeprecationWarning)
        # sizes of images and windows become constants, as they are; the number of frames does not
        warnings.filterwarnings("ignore", "Converting a tensor to a Python boolean")
        torch.onnx.export(
            module.eval(),
            (torch.zeros(1, height, width, colours, dtype=torch.uint8),),
            content,
            dynamo=False,
            opset_version=OPSET,
            input_names=[INPUT],
            output_names=list(outputs),
            dynamic_axes={name: {0: "batch"} for name in (INPUT, *outputs)},
        )
    return bytes(content.getvalue())


def _check_rigid(detector: Detector) -> None:
    if detector.model.config.appearance:
        raise InputError(
            "This detector has an appearance code, which an ONNX graph does not hold: use  withinpx detect  with "
            "--backend torch."
        )


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"This needs the package {name}: pip install 'withinpx[onnx]'.") from None
