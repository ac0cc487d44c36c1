"""One small clip, tracked once by the command line, for all tests that need a real detector."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from PIL import Image

from withinpx.cli import main
from withinpx.data.clip import Clip
from withinpx.data.scenes import BLUE, RED, YELLOW
from withinpx.data.stage import Camera, GeneratedClip, SceneObject, Stage
from withinpx.tracking import attempt
from withinpx.tracking.detector import Detector
from withinpx.training.recipe import CLIP

FRAMES, WIDTH, HEIGHT = 24, 64, 54
STEPS, WARM_START_STEPS, BATCH = 150, 50, 6  # enough for a clip as small as this
COMMAND = "--objects 4 --channels 12 --budget 1 --device cpu --export coco mot dlc"  # three objects, one spare heatmap


@dataclass(frozen=True)
class TrackedClip:
    """The generated clip, its frames as images, and the folder of its run."""

    made: GeneratedClip
    images: Path
    folder: Path

    @property
    def detector(self) -> Detector:
        """Loaded anew each time, so that a test may change it."""
        return Detector.load(self.folder)


def small_stage(seed: int = 0) -> Stage:
    """Three objects of about 8 px that differ in colour, each with a trajectory over the whole width."""
    share = np.linspace(0, 1, FRAMES)
    across, wave = 9 + (WIDTH - 18) * share, 2 * np.sin(2 * np.pi * share)
    things = (
        SceneObject("disc", RED, 9, np.stack([across, 9.3 + wave], axis=1)),
        SceneObject("square", BLUE, 7, np.stack([WIDTH - across, 26.6 - wave], axis=1)),
        SceneObject("triangle", YELLOW, 9, np.stack([WIDTH / 2 + 22 * np.sin(2 * np.pi * share), 43.1 + wave], axis=1)),
    )
    return Stage(things, WIDTH, HEIGHT, camera=Camera(0.005), seed=seed)


def write_images(folder: Path, clip: Clip) -> Path:
    folder.mkdir(parents=True)
    for number, pixels in enumerate(clip.frames):
        Image.fromarray(pixels).save(folder / f"{number:03d}.png")
    return folder


@contextmanager
def one_thread() -> Iterator[None]:
    """Frames this small are faster on one core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@contextmanager
def small_training(steps: int = STEPS, warm_start_steps: int = WARM_START_STEPS) -> Iterator[None]:
    """Fewer steps, on one core: enough for a clip as small as this."""
    recipe = replace(CLIP, warm_start_steps=warm_start_steps, batch_size=BATCH)
    with one_thread(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "STEPS", steps)
        patch.setattr(attempt, "CLIP", recipe)
        yield


def brief_training() -> AbstractContextManager[None]:
    """For tests of what happens around a training, whatever is learned."""
    return small_training(8, 8)


@cache
def track_once(temporary: Path) -> TrackedClip:
    """Another process that wants it meanwhile waits for it."""
    made, folder = small_stage().render(), temporary / "tracked"
    images, out, complete = folder / "clip", folder / "out", folder / "complete"
    with FileLock(temporary / "tracked.lock"):
        if not complete.exists():
            write_images(images, made.clip)
            with small_training():
                main(["track", str(images), "--out", str(out), *COMMAND.split()])
            complete.touch()
    return TrackedClip(made, images, out)
