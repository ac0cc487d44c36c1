"""What detection costs: against dense PyTorch, against what a person would pick instead, and as the frame grows.

    pip install "withinpx[bench]"
    python benchmarks/detection.py

Three things of about 20 px move over a textured ground. One detector is trained on small pictures of them; since the
network is exactly equivariant, the same weights are a detector of frames of any size. All times are of one run on one
machine: the ratios are what counts.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np
import torch
import tyro

from blobs import mog2_blobs, trackpy_blobs
from timing import median_seconds
from withinpx.data.motion import smooth_paths
from withinpx.data.scenes import BLUE, RED, YELLOW, write_clip_video
from withinpx.data.stage import Camera, GeneratedClip, SceneObject, Stage
from withinpx.discovery.background import fixed_background, to_float
from withinpx.discovery.inspection import inspect
from withinpx.model.autoencoder import new_network
from withinpx.tracking.attempt import Job, attempt
from withinpx.tracking.detect import detect
from withinpx.tracking.detector import Detector, load_clip_detector, save_clip_detector
from withinpx.tracking.plan import Wishes, make_plan
from withinpx.training.device import denormals_as_zero
from withinpx.training.fit import FitSettings

SMALL, COMMON, LARGE = (320, 180), (640, 480), (1920, 1080)
TRAINED_AT = (160, 120)
MARGIN = 14  # px that the things keep from the border
FRAMES = 96


def film(size: tuple[int, int], frames: int, seed: int, count: int = 3) -> GeneratedClip:
    """A red disc, a blue square and a yellow triangle of about 20 px, or fewer of them."""
    paths = smooth_paths(3, frames, size, MARGIN, seed)
    first, second, third = paths
    things = (
        SceneObject("disc", RED, 20, first),
        SceneObject("square", BLUE, 18, second),
        SceneObject("triangle", YELLOW, 20, third),
    )
    return Stage(things[:count], *size, seed=seed, camera=Camera(0.01)).render()


def trained() -> Detector:
    """A detector of small pictures."""
    made = film(TRAINED_AT, 40, 3)
    inspection = inspect(made.clip)
    plan = make_plan(inspection, Wishes(), 1.0)
    return attempt(Job(inspection, plan, made.clip.selection, TRAINED_AT, "generated"), 0, FitSettings()).detector


def resized(detector: Detector, made: GeneratedClip) -> Detector:
    """The same weights for frames of another size."""
    backdrop = fixed_background(to_float(made.clip.frames[:: max(1, len(made.clip) // 32)]))
    config = replace(detector.model.config, width=made.clip.width, height=made.clip.height)
    model = new_network(config, 0)
    still = torch.from_numpy(backdrop.images[0]).permute(2, 0, 1)
    model.load_state_dict({**detector.model.state_dict(), "background.still": still})
    return replace(detector, model=model.eval(), background=backdrop, recording=(made.clip.width, made.clip.height))


def milliseconds(work: Callable[[], object], frames: int, times: int = 3) -> float:
    """Per frame: the median of several, after one to warm up."""
    return 1000 * median_seconds(work, times) / frames


@torch.no_grad()
def dense(detector: Detector, frames: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
    """Positions and redrawn pictures by plain PyTorch; no verdict."""
    images = torch.from_numpy(frames).permute(0, 3, 1, 2) / 255
    model = detector.model
    for image in images.split(1):
        changed = torch.from_numpy(detector.background.changed(image.permute(0, 2, 3, 1).numpy()))
        model.decode(model.encode((image + 1) * changed.unsqueeze(1)))


def decode(path: Path) -> None:
    """All frames of a video, and nothing else."""
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            frame.to_ndarray(format="rgb24")


@dataclass(frozen=True)
class Detection:
    """What detection costs."""

    detector: Path | None = None  # a folder to keep the trained detector in; one that is there is used

    def run(self) -> None:
        """Print the tables."""
        with denormals_as_zero(), tempfile.TemporaryDirectory() as folder:
            detector = self._detector()
            looked = {size: self._sizes(detector, size) for size in (SMALL, COMMON, LARGE)}
            print(f"time per frame, {LARGE} against {SMALL} px: {looked[LARGE] / looked[SMALL]:.2f} times")
            self._growth(detector, Path(folder))
            self._peers(detector, Path(folder), looked[COMMON])

    def _detector(self) -> Detector:
        if self.detector is not None and self.detector.exists():
            return load_clip_detector(self.detector)[0]
        made = trained()
        if self.detector is not None:
            self.detector.mkdir(parents=True)
            save_clip_detector(self.detector, made, "generated")
        return made

    def _sizes(self, small: Detector, size: tuple[int, int]) -> float:
        made = film(size, FRAMES // 3, 4)
        detector, frames = resized(small, made), made.clip.frames
        taken = milliseconds(lambda: detector.observe(frames, detector.background.images), len(frames))
        print(f"{size[0]}x{size[1]}: {taken:.1f} ms a frame, positions and verdicts ({1000 / taken:.0f} a second)")
        return taken

    def _growth(self, small: Detector, folder: Path) -> None:
        """With the number of things, and with the length of the clip."""
        taken = {}
        for count in (1, 2, 3):
            made = film(COMMON, FRAMES // 3, 4, count)
            detector, frames = resized(small, made), made.clip.frames
            taken[count] = milliseconds(lambda d=detector, f=frames: d.observe(f, d.background.images), len(frames))  # type: ignore[misc]
        print(
            f"two and three things against one: {taken[2] / taken[1]:.2f} and {taken[3] / taken[1]:.2f} times the time"
        )
        per_frame = []
        for frames_ in (FRAMES, 4 * FRAMES):
            made = film(SMALL, frames_, 4)
            detector, video = resized(small, made), folder / f"{frames_}.mp4"
            write_clip_video(video, made.clip)
            per_frame.append(milliseconds(lambda d=detector, v=video: detect(d, v, folder, overlay=False), frames_, 1))  # type: ignore[misc]
        print(
            f"{4 * FRAMES} frames against {FRAMES}: {per_frame[1] / per_frame[0]:.2f} times the time per frame",
            flush=True,
        )

    def _peers(self, small: Detector, folder: Path, looked: float) -> None:
        made = film(COMMON, FRAMES, 4)
        detector, frames = resized(small, made), made.clip.frames
        video = folder / "film.mp4"
        write_clip_video(video, made.clip)
        count = len(frames)
        peers = {
            "withinpx, positions and verdicts": looked,
            "withinpx detect, from the video to tracks.csv": milliseconds(
                lambda: detect(detector, video, folder, overlay=False), count
            ),
            "the same network, dense PyTorch, positions alone": milliseconds(lambda: dense(detector, frames[:2]), 2, 1),
            "OpenCV MOG2 and contours": milliseconds(lambda: mog2_blobs(frames, 20.0), 2 * count),  # looks twice
            "trackpy locate": milliseconds(lambda: trackpy_blobs(frames[:24], 20.0), 24, 1),
            "PyAV decoding alone": milliseconds(lambda: decode(video), count),
        }
        print(
            f"\n{COMMON[0]}x{COMMON[1]}, three things of 20 px | ms a frame | frames a second | times withinpx detect"
        )
        whole = peers["withinpx detect, from the video to tracks.csv"]
        for name, taken in peers.items():
            print(f"{name} | {taken:.1f} | {1000 / taken:.0f} | {taken / whole:.2f}", flush=True)


if __name__ == "__main__":
    tyro.cli(Detection, description=__doc__).run()
