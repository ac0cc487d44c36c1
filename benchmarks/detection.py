"""The cost of detection: against dense PyTorch, against other tools, and with the size of the frame.

    pip install "withinpx[bench]"
    python benchmarks/detection.py

Three objects of about 20 px move over a textured background. One detector is trained on small frames; the network is
exactly equivariant, so the same weights detect in frames of any size. All times are of one run on one machine: compare
the ratios.
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
from withinpx.data.recording import open_recording
from withinpx.data.scenes import BLUE, RED, YELLOW, write_clip_video
from withinpx.data.stage import Camera, GeneratedClip, SceneObject, Stage
from withinpx.discovery.fixed_camera import fixed_background
from withinpx.discovery.inspection import inspect
from withinpx.model.autoencoder import new_network
from withinpx.tracking.attempt import Setup, attempt
from withinpx.tracking.detect import detect
from withinpx.tracking.detector import Detector
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.plan import make_plan
from withinpx.training.device import denormals_as_zero
from withinpx.training.fit import FitSettings

SMALL, COMMON, LARGE = (320, 180), (640, 480), (1920, 1080)
TRAINED_AT = (160, 120)
MARGIN = 14  # px between the objects and the border
FRAMES = 96
OURS = "withinpx detect, from the video to tracks.csv"


def generate(size: tuple[int, int], frames: int, seed: int, count: int = 3) -> GeneratedClip:
    """A red disc, a blue square and a yellow triangle of about 20 px, or the first of them."""
    first, second, third = smooth_paths(3, frames, size, MARGIN, seed)
    objects = (
        SceneObject("disc", RED, 20, first),
        SceneObject("square", BLUE, 18, second),
        SceneObject("triangle", YELLOW, 20, third),
    )
    return Stage(objects[:count], *size, seed=seed, camera=Camera(0.01)).render()


def train_detector() -> Detector:
    """A detector for small frames."""
    made = generate(TRAINED_AT, 40, 3)
    inspection = inspect(made.clip)
    return attempt(Setup(inspection, make_plan(inspection, TrackOptions())), 0, FitSettings()).detector


def resized(detector: Detector, made: GeneratedClip) -> Detector:
    """The same weights for frames of another size."""
    background = fixed_background(made.clip.frames[:: max(1, len(made.clip) // 32)])
    config = replace(detector.model.config, width=made.clip.width, height=made.clip.height)
    model = new_network(config, 0)
    still = torch.from_numpy(background.images[0]).permute(2, 0, 1)
    model.load_state_dict({**detector.model.state_dict(), "background.still": still})
    return replace(detector, model=model.eval(), background=background, recording=(made.clip.width, made.clip.height))


def milliseconds(work: Callable[[], object], frames: int, times: int = 3) -> float:
    """Per frame, median of several."""
    return 1000 * median_seconds(work, times) / frames


def observation_ms(small: Detector, size: tuple[int, int], count: int = 3) -> float:
    """Positions and verdicts of frames in memory, per frame."""
    made = generate(size, FRAMES // 3, 4, count)
    detector, frames = resized(small, made), made.clip.frames
    return milliseconds(lambda: detector.observe(frames), len(frames))


def detection_ms(detector: Detector, video: Path, frames: int, times: int) -> float:
    """From the video to tracks.csv, per frame."""
    return milliseconds(lambda: detect(detector, open_recording(video), video.parent, overlay=False), frames, times)


@torch.no_grad()
def detect_densely(detector: Detector, frames: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
    """Positions and reconstructions by plain PyTorch, without verdicts."""
    images = torch.from_numpy(frames).permute(0, 3, 1, 2) / 255
    model = detector.model
    for image in images.split(1):
        changed = torch.from_numpy(detector.background.changed(image.permute(0, 2, 3, 1).numpy()))
        model.decode(model.encode((image + 1) * changed.unsqueeze(1)))


def decode_video(path: Path) -> None:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            frame.to_ndarray(format="rgb24")


@dataclass(frozen=True)
class Detection:
    """The cost of detection."""

    detector: Path | None = None  # a folder to keep the trained detector in; one that exists is used

    def run(self) -> None:
        with denormals_as_zero(), tempfile.TemporaryDirectory() as folder:
            detector = self._detector()
            taken = {}
            for size in (SMALL, COMMON, LARGE):
                taken[size] = observation_ms(detector, size)
                rate = f"{taken[size]:.1f} ms a frame, positions and verdicts ({1000 / taken[size]:.0f} a second)"
                print(f"{size[0]}x{size[1]}: {rate}")
            print(f"time per frame, {LARGE} against {SMALL} px: {taken[LARGE] / taken[SMALL]:.2f} times")
            self._growth(detector, Path(folder))
            self._tools(detector, Path(folder), taken[COMMON])

    def _detector(self) -> Detector:
        if self.detector is not None and self.detector.exists():
            return Detector.load(self.detector)
        made = train_detector()
        if self.detector is not None:
            self.detector.mkdir(parents=True)
            made.save(self.detector)
        return made

    def _growth(self, small: Detector, folder: Path) -> None:
        """With the number of objects, and with the length of the clip."""
        one, two, three = (observation_ms(small, COMMON, count) for count in (1, 2, 3))
        print(f"two and three objects against one: {two / one:.2f} and {three / one:.2f} times the time")
        per_frame = []
        for frames in (FRAMES, 4 * FRAMES):
            made, video = generate(SMALL, frames, 4), folder / f"{frames}.mp4"
            write_clip_video(video, made.clip)
            per_frame.append(detection_ms(resized(small, made), video, frames, 1))
        ratio = per_frame[1] / per_frame[0]
        print(f"{4 * FRAMES} frames against {FRAMES}: {ratio:.2f} times the time per frame", flush=True)

    def _tools(self, small: Detector, folder: Path, observation: float) -> None:
        made, video = generate(COMMON, FRAMES, 4), folder / "film.mp4"
        detector, frames, count = resized(small, made), made.clip.frames, FRAMES
        write_clip_video(video, made.clip)
        times = {
            "withinpx, positions and verdicts": observation,
            OURS: detection_ms(detector, video, count, 3),
            "the same network, dense PyTorch, positions alone": milliseconds(
                lambda: detect_densely(detector, frames[:2]), 2, 1
            ),
            "OpenCV MOG2 and contours": milliseconds(lambda: mog2_blobs(frames, 20.0), 2 * count),  # two passes
            "trackpy locate": milliseconds(lambda: trackpy_blobs(frames[:24], 20.0), 24, 1),
            "PyAV decoding alone": milliseconds(lambda: decode_video(video), count),
        }
        columns = "ms a frame | frames a second | times withinpx detect"
        print(f"\n{COMMON[0]}x{COMMON[1]}, three objects of 20 px | {columns}")
        for name, taken in times.items():
            print(f"{name} | {taken:.1f} | {1000 / taken:.0f} | {taken / times[OURS]:.2f}", flush=True)


if __name__ == "__main__":
    tyro.cli(Detection, description=__doc__).run()
