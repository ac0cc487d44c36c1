"""Does the memory of ``withinpx detect`` grow with the video? A generated one of any length, looked at to its end.

    python benchmarks/detect_memory.py --frames 100000

The demo's clip is filmed forwards and backwards for as long as asked, and a detector of the demo looks at it.
"""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import tyro
from numpy.typing import NDArray

from withinpx.data.recording import read_clip
from withinpx.data.scenes import demo_clip_path
from withinpx.experiments.demo import run_demo
from withinpx.tracking.detect import detect
from withinpx.tracking.detector import load_clip_detector

CODEC = {"crf": "16", "preset": "ultrafast"}
FIRST = 1000  # frames, after which memory should not grow


def resident_mb() -> float:
    """Memory of this process, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def to_and_fro(frames: NDArray[np.uint8], count: int) -> Iterator[NDArray[np.uint8]]:
    """So many frames, without a jump anywhere."""
    there_and_back = [*range(len(frames)), *range(len(frames) - 2, 0, -1)]
    for number in range(count):
        yield frames[there_and_back[number % len(there_and_back)]]


def write_video(path: Path, frames: Iterator[NDArray[np.uint8]]) -> None:
    """A plain video file."""
    with av.open(str(path), "w") as container:
        stream = None
        for frame in frames:
            if stream is None:
                stream = container.add_stream("libx264", rate=Fraction(25), options=CODEC)
                stream.height, stream.width = frame.shape[:2]
                stream.pix_fmt = "yuv444p"
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        if stream is not None:
            container.mux(stream.encode())


@dataclass(frozen=True)
class DetectMemory:
    """Memory over the length of a video."""

    frames: int = 100_000
    detector: Path | None = None  # a folder of the demo; made when not given

    def run(self) -> None:
        """Film, look, print a line now and then."""
        with tempfile.TemporaryDirectory() as folder:
            made = self.detector or Path(folder) / "demo"
            if self.detector is None:
                run_demo(made, print)
            detector, _ = load_clip_detector(made)
            video = Path(folder) / "long.mp4"
            write_video(video, to_and_fro(read_clip(demo_clip_path()).frames, self.frames))
            seen: dict[int, float] = {}
            started = time.monotonic()

            def watch(done: int, _: str) -> None:
                for mark in (FIRST, *range(10_000, self.frames + 1, 10_000)):
                    if done >= mark and mark not in seen:
                        seen[mark] = resident_mb()
                        print(f"frame {mark}: {seen[mark]:.0f} MB, {time.monotonic() - started:.0f} s", flush=True)

            tracks, _ = detect(detector, video, Path(folder), overlay=False, progress=watch)
        grown = max(seen.values()) - seen[FIRST]
        print(f"{self.frames} frames: at most {grown:.0f} MB more than at frame {FIRST}; ", end="")
        print(f"{tracks.certified.mean():.1%} of the positions certified")


if __name__ == "__main__":
    tyro.cli(DetectMemory, description=__doc__).run()
