"""Recordings of any length: memory does not grow with it, and every frame has its row."""

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.faults.processes import finish
from tests.faults.torture import Torture
from withinpx.certificate.calibration import Shift
from withinpx.certificate.certificate import Certificate, Limits, ObjectCertificate
from withinpx.data.recording import open_recording
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel
from withinpx.model.autoencoder import NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.tracking.detect import OVERLAY, Chunk, detect
from withinpx.tracking.detector import Detector
from withinpx.tracking.tracks import TRACKS

ROW = "long recording"
WIDTH, HEIGHT, SIDE = 32, 24, 5
LIMIT_MB = 200
SECOND_HALF_LIMIT_MB = 20  # when everything is loaded


def a_detector() -> Detector:
    """Untrained: its positions are wrong, but it processes frames as a trained one does."""
    network = NetworkConfig(
        HEIGHT,
        WIDTH,
        encoder_rf=5,
        decoder_rf=7,
        sigma=0.8,
        support=1.6,
        colours=1,
        channels=2,
        background=BackgroundMode.LAYERED,
    )
    background = BackgroundModel(
        np.full((1, HEIGHT, WIDTH, 1), 0.25, np.float32), np.full((HEIGHT, WIDTH), 0.1, np.float32)
    )
    objects = (ObjectCertificate(0, (SIDE, SIDE), 4.0, (0, 0), Limits(1.0), ()),)
    certificate = Certificate("made up", 10, 2, 7, 7, 0.8, 1.6, 1.0, objects)
    shift = (Shift.constant(np.zeros(2)),)
    return Detector(new_network(network, 0).eval(), background, Selection(), (WIDTH, HEIGHT), shift, certificate)


def write_video(path: Path, frames: int) -> None:
    """A square that moves left and right."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=25, options={"preset": "ultrafast", "crf": "12"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "gray"
        for number in range(frames):
            pixels = np.full((HEIGHT, WIDTH), 64, np.uint8)
            left = 3 + abs(number % 40 - 20)
            pixels[8 : 8 + SIDE, left : left + SIDE] = 220
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="gray")))
        container.mux(stream.encode())


def memory_mb(what: str) -> float:
    """Memory of this process: VmRSS is the current amount, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(what))
    return int(line.split()[1]) / 1024


def detect_and_measure(folder: Path, overlay: bool) -> None:
    """Detect in a separate process, and record its memory before, after each chunk, and at its peak."""
    detector, measured = a_detector(), [memory_mb("VmRSS")]

    def measure(chunk: Chunk) -> None:
        measured.append(memory_mb("VmRSS"))

    detect(detector, open_recording(folder / "long.mp4"), folder / "out", overlay=overlay, on_chunk=measure)
    (folder / "memory.json").write_text(json.dumps([*measured, memory_mb("VmHWM")]))


def decoded(path: Path) -> int:
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc/self/status exists on Linux only")
@pytest.mark.parametrize("overlay", [False, True], ids=["table", "table and overlay"])
def test_memory_does_not_grow_with_the_recording(tmp_path: Path, torture: Torture, overlay: bool) -> None:
    frames = torture.of(300, 3_000) if overlay else torture.of(3_000, 100_000)
    write_video(tmp_path / "long.mp4", frames)
    finish(partial(detect_and_measure, overlay=overlay), tmp_path, limit_s=600)
    before, *measured, peak = json.loads((tmp_path / "memory.json").read_text())
    grown, later = max(peak, *measured) - before, max(measured) - max(measured[: len(measured) // 2])
    assert grown < LIMIT_MB
    assert later < SECOND_HALF_LIMIT_MB
    with (tmp_path / "out" / TRACKS).open(newline="", encoding="utf-8") as file:
        rows = [int(row["frame"]) for row in csv.DictReader(file)]
    assert rows == list(range(frames))
    assert decoded(tmp_path / "long.mp4") == frames
    assert not overlay or decoded(tmp_path / "out" / OVERLAY) == frames
    name = "with_overlay" if overlay else "table_alone"
    torture.count(ROW, frames=frames, rows=len(rows))
    torture.fact(ROW, **{f"{name}_grown_mb": round(grown, 1), f"{name}_grown_later_mb": round(later, 1)})
