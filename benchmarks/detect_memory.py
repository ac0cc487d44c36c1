"""Does the memory of ``withinpx detect`` grow with the length of the video?

    python benchmarks/detect_memory.py --frames 100000

The demo clip is repeated forwards and backwards for so many frames, and the demo's detector runs on it.
"""

import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import tyro
from numpy.typing import NDArray

from withinpx.data.recording import open_recording, read_clip
from withinpx.data.scenes import demo_clip_path
from withinpx.experiments.demo import run_demo
from withinpx.tracking.detect import detect
from withinpx.tracking.detector import Detector
from withinpx.tracking.progress import Event

CODEC = {"crf": "16", "preset": "ultrafast"}
FIRST = 1000  # frames, after which memory should not grow


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def write_video(path: Path, frames: NDArray[np.uint8], count: int) -> None:
    """So many frames, forwards and backwards, without a jump."""
    order = [*range(len(frames)), *range(len(frames) - 2, 0, -1)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(25), options=CODEC)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv444p"
        for number in range(count):
            frame = av.VideoFrame.from_ndarray(frames[order[number % len(order)]], format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


@dataclass(frozen=True)
class DetectMemory:
    """Memory over the length of a video."""

    frames: int = 100_000
    detector: Path | None = None  # a folder of the demo; made if not given

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = self.detector or Path(folder) / "demo"
            if self.detector is None:
                run_demo(made)
            detector = Detector.load(made)
            video = Path(folder) / "long.mp4"
            write_video(video, read_clip(demo_clip_path()).frames, self.frames)
            memory: dict[int, float] = {}
            started = time.monotonic()

            def watch(event: Event) -> None:
                for mark in (FIRST, *range(10_000, self.frames + 1, 10_000)):
                    if event.done >= mark and mark not in memory:
                        memory[mark] = resident_mb()
                        print(f"frame {mark}: {memory[mark]:.0f} MB, {time.monotonic() - started:.0f} s", flush=True)

            counts = detect(detector, open_recording(video), Path(folder), overlay=False, report=watch)
        growth = max(memory.values()) - memory[FIRST]
        print(f"{self.frames} frames: at most {growth:.0f} MB more than at frame {FIRST}; ", end="")
        print(f"{counts.certified / max(1, counts.positions):.1%} of the positions certified")


if __name__ == "__main__":
    tyro.cli(DetectMemory, description=__doc__).run()
