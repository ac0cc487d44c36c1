"""Clips with known truth to learn on, to test with and to show: three things that move, and one difficulty at a time.

``python -m withinpx.data.scenes FOLDER`` makes the demo clip again.
"""

import colorsys
import csv
import io
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np

from withinpx.data.clip import Clip
from withinpx.data.motion import Floats, crossing, passing, resting, smooth_paths, still
from withinpx.data.stage import FRAMES_PER_SECOND, Camera, Colour, GeneratedClip, Ground, SceneObject, Shape, Stage
from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically

RED, BLUE, YELLOW, VIOLET = (0.86, 0.16, 0.13), (0.16, 0.34, 0.90), (0.93, 0.80, 0.14), (0.62, 0.25, 0.78)
MARGIN = 11  # px; a thing of up to 17 px stays whole this far inside, and a shaken or grown one of the three too
SHAPES: tuple[Shape, ...] = get_args(Shape)
NOISES = (0.0, 0.005, 0.01, 0.02, 0.04)  # of random scenes
TICKS_PER_S = 12_800  # the clock of a written video
CONTAINERS = {".mp4": "mp4", ".mov": "mov", ".mkv": "matroska"}
H264 = {"crf": "16", "mbtree": "0"}  # no loss that an eye finds; with mbtree, x264 writes other bytes each time
DEMO_NAME, DEMO_TRUTH_NAME, DEMO_SEED = "demo.mp4", "demo_truth.csv", 2


def three_things(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01
) -> GeneratedClip:
    """A red disc, a blue square and a yellow triangle that wander over the whole picture and keep apart."""
    return _film(_trio(frames, width, height, seed), width, height, seed, Camera(noise))


def twins(frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01) -> GeneratedClip:
    """Two red discs that only their places tell apart (objects 0 and 1), and a blue square."""
    first, second, third = smooth_paths(3, frames, (width, height), MARGIN, seed)
    things = (
        SceneObject("disc", RED, 13, first),
        SceneObject("disc", RED, 13, second),
        SceneObject("square", BLUE, 11, third),
    )
    return _film(things, width, height, seed, Camera(noise))


def with_static(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01
) -> GeneratedClip:
    """The three things, and a violet ring that never moves (object 3)."""
    place = still(frames, _somewhere(width, height, seed))
    paths = smooth_paths(3, frames, (width, height), MARGIN, seed, avoid=[place])
    return _film((*_trio_on(paths), SceneObject("ring", VIOLET, 14, place)), width, height, seed, Camera(noise))


def leaving(frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01) -> GeneratedClip:
    """The three things, but the triangle (object 2) leaves the view for the last third of the clip."""
    gone = passing(frames, (width, height), outside=20, seed=seed, enters=-0.12, leaves=0.62)
    paths = smooth_paths(2, frames, (width, height), MARGIN, seed, avoid=[gone])
    return _film(_trio_on([*paths, gone]), width, height, seed, Camera(noise))


def occluding(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01
) -> GeneratedClip:
    """The three things, but the square passes twice in front of the disc."""
    behind, before = crossing(frames, (width, height), MARGIN, seed)
    alone = smooth_paths(
        1, frames, (width, height), 0.4 * min(width, height), seed
    )  # in the middle, where they are not
    return _film(_trio_on([behind, before, *alone]), width, height, seed, Camera(noise))


def perspective(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01, *, growth: float = 0.4
) -> GeneratedClip:
    """The three things, larger by the share ``growth`` at the lower border and smaller by it at the upper one."""
    things = _trio(frames, width, height, seed)
    return Stage(things, width, height, camera=Camera(noise), perspective=growth, seed=seed).render()


def shaking(
    frames: int = 60,
    width: int = 128,
    height: int = 96,
    seed: int = 0,
    noise: float = 0.01,
    *,
    shake: float = 1.0,
    whole_pixels: bool = False,
) -> GeneratedClip:
    """The three things from a camera that trembles by ``shake`` px, at most twice that."""
    camera = Camera(noise, shake=shake, whole_pixels=whole_pixels)
    return _film(_trio(frames, width, height, seed), width, height, seed, camera)


def drifting_light(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01, *, drift: float = 0.15
) -> GeneratedClip:
    """The three things in a light that swings slowly by the share ``drift``."""
    return _film(_trio(frames, width, height, seed), width, height, seed, Camera(noise, light_drift=drift))


def panning(
    frames: int = 60,
    width: int = 128,
    height: int = 96,
    seed: int = 0,
    noise: float = 0.01,
    *,
    pan: tuple[float, float] = (60.0, 15.0),
) -> GeneratedClip:
    """The three things wander in the view while the camera travels over the ground by ``pan`` px."""
    camera = Camera(noise, pan=pan)
    paths = smooth_paths(3, frames, (width, height), MARGIN, seed) + camera.travel(frames)
    return _film(_trio_on(paths), width, height, seed, camera)


def slow_mover(
    frames: int = 60, width: int = 128, height: int = 96, seed: int = 0, noise: float = 0.01
) -> GeneratedClip:
    """The three things, but the triangle (object 2) rests for most of the clip and then moves 1.2 of its widths."""
    x, y = _somewhere(width, height, seed)
    late = resting(frames, (x, y), (1.2 * 14 * np.sign(width / 2 - x), 0))
    paths = smooth_paths(2, frames, (width, height), MARGIN, seed, avoid=[late])
    return _film(_trio_on([*paths, late]), width, height, seed, Camera(noise))


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
    """One to four things of any shape, 7 to 17 px, on any ground and with any noise, all drawn from the seed.

    Their colours lie far apart; with ``alike`` the first two (of at least two) are twins.
    """
    random = np.random.default_rng((seed, 20))
    chosen = int(random.integers(1, 5)) if count is None else count
    if chosen < 1 + alike:
        raise InputError(f"{chosen} things were asked for: there must be at least {1 + alike}.")
    paths = smooth_paths(chosen, frames, (width, height), MARGIN, seed)
    things = [
        SceneObject(SHAPES[random.integers(len(SHAPES))], colour, random.uniform(7, 17), path)
        for colour, path in zip(far_apart(chosen, random), paths, strict=True)
    ]
    if alike:
        things[1] = SceneObject(things[0].shape, things[0].colour, things[0].size, things[1].path)
    ground = Ground(tuple(random.uniform(0.25, 0.6) + random.uniform(-0.04, 0.04, 3)), random.uniform(0.01, 0.07))
    camera = Camera(float(random.choice(NOISES)) if noise is None else noise)
    return Stage(tuple(things), width, height, ground, camera, seed=seed).render()


def write_clip_video(path: Path, clip: Clip) -> None:
    """H.264 in an .mp4, .mov or .mkv, with the clip's own times, its first frame at 0.

    Colours are kept at full resolution (4:4:4). The usual halving takes the colour off the edges of things of ten
    pixels; its only merit is that every browser plays it.
    """
    import av  # noqa: PLC0415  (only those who write videos need PyAV)

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
    """A CSV with ``frame,object,x,y,w,h,full``, a row for every thing that a frame shows any part of.

    x, y is the centre of the whole thing's box and w, h are its sides, in px. **(0, 0) is the top-left corner of the
    first pixel**, whose centre is (0.5, 0.5). ``full`` is 0 where the border or another thing hides a part.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["frame", "object", "x", "y", "w", "h", "full"])
    for frame, number in np.argwhere(generated.visible > 0):
        numbers = (*generated.truth[frame, number], *generated.sizes[frame, number])
        full = int(generated.visible[frame, number] == 1)
        rows.writerow([frame, number, *(f"{value:.3f}" for value in numbers), full])
    write_atomically(path, text.getvalue().encode())


def demo_scene() -> GeneratedClip:
    """What the demo clip shows."""
    return three_things(frames=60, width=160, height=120, seed=DEMO_SEED)


def demo_clip_path() -> Path:
    """The demo clip that comes with the package; its truth lies beside it."""
    return Path(__file__).with_name(DEMO_NAME)


def make_demo(folder: Path) -> None:
    """Make the demo clip and its truth again."""
    generated = demo_scene()
    write_clip_video(writable_folder(folder) / DEMO_NAME, generated.clip)
    write_truth(folder / DEMO_TRUTH_NAME, generated)


def _film(things: tuple[SceneObject, ...], width: int, height: int, seed: int, camera: Camera) -> GeneratedClip:
    return Stage(things, width, height, camera=camera, seed=seed).render()


def _trio(frames: int, width: int, height: int, seed: int) -> tuple[SceneObject, ...]:
    return _trio_on(smooth_paths(3, frames, (width, height), MARGIN, seed))


def _trio_on(paths: Floats | list[Floats]) -> tuple[SceneObject, ...]:
    first, second, third = paths
    return (
        SceneObject("disc", RED, 13, first),
        SceneObject("square", BLUE, 11, second),
        SceneObject("triangle", YELLOW, 14, third),
    )


def _somewhere(width: int, height: int, seed: int) -> tuple[float, float]:
    """Off the middle, where it would be in everyone's way."""
    random = np.random.default_rng((seed, 21))
    x, y = random.uniform(0.2, 0.32, 2)
    left, up = random.random(2) < 0.5
    return float(width * (x if left else 1 - x)), float(height * (y if up else 1 - y))


def far_apart(count: int, random: np.random.Generator) -> list[Colour]:
    """Bright colours whose hues share the circle evenly."""
    hues = random.random() + np.arange(count) / count + random.uniform(-0.05, 0.05, count)
    return [colorsys.hsv_to_rgb(hue % 1, random.uniform(0.75, 0.95), random.uniform(0.75, 0.98)) for hue in hues]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name the folder to write to: python -m withinpx.data.scenes FOLDER")
    make_demo(Path(sys.argv[1]))
