"""Generated clips with ground truth, for tests and demonstrations: three moving objects, and one difficulty at a time.

``python -m withinpx.data.scenes FOLDER`` writes the demo clip.
"""

import colorsys
import io
import sys
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from withinpx.data.clip import Clip
from withinpx.data.motion import Floats, crossing, passing, resting, smooth_paths, still
from withinpx.data.stage import FRAMES_PER_SECOND, Camera, Colour, GeneratedClip, Ground, SceneObject, Shape, Stage
from withinpx.data.truth import COLUMNS
from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically, write_csv

RED, BLUE, YELLOW, VIOLET = (0.86, 0.16, 0.13), (0.16, 0.34, 0.90), (0.93, 0.80, 0.14), (0.62, 0.25, 0.78)
MARGIN = 11  # px; keeps objects of up to 17 px whole, and the three objects also when shaken or enlarged
SHAPES: tuple[Shape, ...] = get_args(Shape)
NOISES = (0.0, 0.005, 0.01, 0.02, 0.04)  # of random scenes
TICKS_PER_S = 12_800  # time base of a written video
CONTAINERS = {".mp4": "mp4", ".mov": "mov", ".mkv": "matroska"}
H264 = {"crf": "16", "mbtree": "0"}  # visually lossless; with mbtree, x264's output is not deterministic
DEMO_NAME, DEMO_TRUTH_NAME, DEMO_SEED = "demo.mp4", "demo_truth.csv", 2


def three_objects(
    frames: int = 60,
    width: int = 128,
    height: int = 96,
    seed: int = 0,
    noise: float = 0.01,
    *,
    perspective: float = 0.0,
    light_drift: float = 0.0,
    shake: float = 0.0,
    whole_pixels: bool = False,
    pan: tuple[float, float] = (0.0, 0.0),
) -> GeneratedClip:
    """A red disc, a blue square and a yellow triangle that wander over the whole image without touching.

    See ``Stage`` for the perspective and ``Camera`` for the other options. Objects stay in view of a panning camera.
    """
    camera = Camera(noise, light_drift, shake, whole_pixels, pan)
    paths = smooth_paths(3, frames, (width, height), MARGIN, seed) + camera.travel(frames)
    return Stage(_trio(paths), width, height, camera=camera, perspective=perspective, seed=seed).render()


# The same objects with one difficulty each.
perspective = partial(three_objects, perspective=0.4)
drifting_light = partial(three_objects, light_drift=0.15)
shaking = partial(three_objects, shake=1.0)
panning = partial(three_objects, pan=(60.0, 15.0))


def twins(frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01) -> GeneratedClip:
    """Two red discs that differ only in position (objects 0 and 1), and a blue square."""
    first, second, third = smooth_paths(3, frames, (width, height), MARGIN, seed)
    disc, square = SceneObject("disc", RED, 13, first), SceneObject("square", BLUE, 11, third)
    objects = disc, replace(disc, path=second), square
    return Stage(objects, width, height, camera=Camera(noise), seed=seed).render()


def with_static(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01
) -> GeneratedClip:
    """The three objects, and a violet ring that never moves (object 3)."""
    fixed = still(frames, _off_centre(width, height, seed))
    paths = smooth_paths(3, frames, (width, height), MARGIN, seed, avoid=[fixed])
    objects = *_trio(paths), SceneObject("ring", VIOLET, 14, fixed)
    return Stage(objects, width, height, camera=Camera(noise), seed=seed).render()


def leaving(frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01) -> GeneratedClip:
    """The three objects, but the triangle (object 2) is out of view in the last third of the clip."""
    exit_path = passing(frames, (width, height), outside=20, seed=seed, enters=-0.12, leaves=0.62)
    paths = smooth_paths(2, frames, (width, height), MARGIN, seed, avoid=[exit_path])
    return Stage(_trio([*paths, exit_path]), width, height, camera=Camera(noise), seed=seed).render()


def occluding(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01
) -> GeneratedClip:
    """The three objects, but the square passes in front of the disc twice."""
    rear, front = crossing(frames, (width, height), MARGIN, seed)
    central = smooth_paths(1, frames, (width, height), 0.4 * min(width, height), seed)  # away from the other two
    return Stage(_trio([rear, front, *central]), width, height, camera=Camera(noise), seed=seed).render()


def slow_object(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01
) -> GeneratedClip:
    """The three objects, but the triangle (object 2) rests for most of the clip and then moves 1.2 of its widths."""
    x, y = _off_centre(width, height, seed)
    late = resting(frames, (x, y), (1.2 * 14 * np.sign(width / 2 - x), 0))
    paths = smooth_paths(2, frames, (width, height), MARGIN, seed, avoid=[late])
    return Stage(_trio([*paths, late]), width, height, camera=Camera(noise), seed=seed).render()


def random_scene(
    seed: int,
    frames: int = 60,
    width: int = 128,
    height: int = 96,
    *,
    count: int | None = None,
    noise: float | None = None,
    alike: bool = False,
) -> GeneratedClip:
    """One to four objects with random shape, size (7 to 17 px), ground and noise.

    Their hues are evenly spaced; with ``alike`` the first two (of at least two) look the same.
    """
    random = np.random.default_rng((seed, 20))
    count = int(random.integers(1, 5)) if count is None else count
    if count < 1 + alike:
        raise InputError(f"The number of objects is {count}: give at least {1 + alike}.")
    paths = smooth_paths(count, frames, (width, height), MARGIN, seed)
    objects = [
        SceneObject(SHAPES[random.integers(len(SHAPES))], colour, random.uniform(7, 17), path)
        for colour, path in zip(far_apart(count, random), paths, strict=True)
    ]
    if alike:
        objects[1] = replace(objects[0], path=objects[1].path)
    ground = Ground(tuple(random.uniform(0.25, 0.6) + random.uniform(-0.04, 0.04, 3)), random.uniform(0.01, 0.07))
    camera = Camera(float(random.choice(NOISES)) if noise is None else noise)
    return Stage(tuple(objects), width, height, ground, camera, seed=seed).render()


def write_clip_video(path: Path, clip: Clip) -> None:
    """Write H.264 in an .mp4, .mov or .mkv with the clip's own times, starting at 0.

    Colours are kept at full resolution (4:4:4): the usual subsampling blurs the colour of objects of ten pixels. Some
    browsers do not play it.
    """
    import av  # noqa: PLC0415  (slow to import)

    if path.suffix not in CONTAINERS:
        raise InputError(f"{path} cannot be written: end its name in {', '.join(CONTAINERS)}.")
    content = io.BytesIO()
    with av.open(content, "w", format=CONTAINERS[path.suffix]) as container:
        stream: Any = container.add_stream("libx264", rate=FRAMES_PER_SECOND, options=H264)
        stream.width, stream.height, stream.pix_fmt = clip.width, clip.height, "yuv444p"
        stream.codec_context.time_base = Fraction(1, TICKS_PER_S)
        for pixels, time_s in zip(clip.frames, clip.times_s - clip.times_s[0], strict=True):
            frame = av.VideoFrame.from_ndarray(np.repeat(pixels, 3 // clip.colours, axis=2), format="rgb24")
            frame.pts, frame.time_base = round(time_s * TICKS_PER_S), Fraction(1, TICKS_PER_S)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    write_atomically(path, content.getvalue())


def write_truth(path: Path, generated: GeneratedClip) -> None:
    """Write ``frame,object,x,y,w,h,full``, with a row for every object that is at least partly visible in a frame.

    x, y is the centre of the whole object's box and w, h are its sides, in px. **(0, 0) is the top-left corner of the
    first pixel**, whose centre is (0.5, 0.5). ``full`` is 0 where the object is cut off or partly occluded.
    """
    rows = []
    for frame, index in np.argwhere(generated.visible > 0):
        box = (f"{value:.3f}" for value in (*generated.truth[frame, index], *generated.sizes[frame, index]))
        rows.append([frame, index, *box, int(generated.visible[frame, index] == 1)])
    write_csv(path, COLUMNS, rows)


def demo_scene() -> GeneratedClip:
    return three_objects(frames=60, width=160, height=120, seed=DEMO_SEED)


def demo_clip_path() -> Path:
    """The demo clip that comes with the package; its truth lies beside it."""
    return Path(__file__).with_name(DEMO_NAME)


def make_demo(folder: Path) -> None:
    """Write the demo clip and its truth."""
    generated = demo_scene()
    write_clip_video(writable_folder(folder) / DEMO_NAME, generated.clip)
    write_truth(folder / DEMO_TRUTH_NAME, generated)


def _trio(paths: Iterable[Floats]) -> tuple[SceneObject, ...]:
    first, second, third = paths
    return (
        SceneObject("disc", RED, 13, first),
        SceneObject("square", BLUE, 11, second),
        SceneObject("triangle", YELLOW, 14, third),
    )


def _off_centre(width: int, height: int, seed: int) -> tuple[float, float]:
    """A position away from the middle, where it would be in the way of all trajectories."""
    random = np.random.default_rng((seed, 21))
    x, y = random.uniform(0.2, 0.32, 2)
    left, up = random.random(2) < 0.5
    return float(width * (x if left else 1 - x)), float(height * (y if up else 1 - y))


def far_apart(count: int, random: np.random.Generator) -> list[Colour]:
    """Bright colours with evenly spaced hues."""
    hues = random.random() + np.arange(count) / count + random.uniform(-0.05, 0.05, count)
    return [colorsys.hsv_to_rgb(hue % 1, random.uniform(0.75, 0.95), random.uniform(0.75, 0.98)) for hue in hues]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name the folder to write to: python -m withinpx.data.scenes FOLDER")
    make_demo(Path(sys.argv[1]))
