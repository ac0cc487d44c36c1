"""Objects at positions never seen: new ways for what was found, drawn by the decoder over the still background."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from withinpx.certificate.shift import shifts_at
from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically
from withinpx.inference.observation import reconstruct
from withinpx.tracking.detector import Detector
from withinpx.tracking.mp4 import Mp4Writer, Pixels, enlarged, enlargement, even_sided
from withinpx.tracking.tracks import in_picture

EXAMPLE = "object=0:40,30:80,60 (object 0 goes from (40, 30) to (80, 60), px)"
NO_PATH = f"There is no path: give one, as in {EXAMPLE}."
FRAMES_PER_SECOND = 25
STEPS = 3  # from a calibrated position to its z: the shift hardly changes from place to place, so these are plenty
WIDTH = 6.4  # inches
Way = NDArray[np.float64]  # (points, 2): calibrated (x, y) in the recording's own pixels
STYLE: Any = {"font.size": 9, "savefig.dpi": 200, "savefig.bbox": "tight"}


def parse_path(text: str) -> tuple[int, list[tuple[float, float]]]:
    """``object=INDEX:x,y:x,y:...`` as people type it: the object, and the points that it goes by."""
    number, *points = text.removeprefix("object=").split(":")
    if not number.strip().isdecimal():
        raise InputError(f"The path {text!r} does not begin with an object's number: write it as {EXAMPLE}.")
    if not points:
        raise InputError(f"The path {text!r} goes nowhere: write it as {EXAMPLE}.")
    return int(number), [_point(each, text) for each in points]


def _point(text: str, path: str) -> tuple[float, float]:
    try:
        x, y = (float(value) for value in text.split(","))
    except ValueError:
        raise InputError(f"{text!r} in the path {path!r} is no point x,y: write it as {EXAMPLE}.") from None
    if not math.isfinite(x + y):
        raise InputError(f"{text!r} in the path {path!r} lies nowhere: give its place in px.")
    return x, y


def parse_paths(texts: Iterable[str]) -> dict[int, Way]:
    """Several paths, one per object."""
    ways: dict[int, Way] = {}
    for text in texts:
        each, points = parse_path(text)
        if each in ways:
            raise InputError(f"Object {each} has two paths: give all its points in one, as in {EXAMPLE}.")
        ways[each] = np.array(points)
    if not ways:
        raise InputError(NO_PATH)
    return ways


def along(way: Way, frames: int) -> Way:
    """Positions at evenly spaced times, first and last point included; every stretch takes equally long."""
    times = np.linspace(0, len(way) - 1, frames)
    return np.stack([np.interp(times, np.arange(len(way)), way[:, axis]) for axis in range(2)], axis=-1)


def edited_frames(detector: Detector, paths: Mapping[int, Way], frames: int) -> Iterator[Pixels]:
    """The named objects along their paths over the still background, in the network's pixels; others are not drawn."""
    if frames < 1:
        raise InputError(f"{frames} frames were asked for: give one at least.")
    if not paths:
        raise InputError(NO_PATH)
    for each, way in paths.items():
        _check(detector, each, way)
    raw, present = raw_positions(detector, paths, frames)
    return (_draw(detector, places, present) for places in raw)


def raw_positions(
    detector: Detector, paths: Mapping[int, Way], frames: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """z of every object (frames, objects, 2), such that what is drawn for it is centred on the path."""
    count = detector.model.config.objects
    present = np.zeros(count, np.bool_)
    wanted = np.zeros((frames, count, 2))
    for each, way in paths.items():
        present[each] = True
        wanted[:, each] = in_picture(along(way, frames), detector.selection)
    wanted[:, ~present] = wanted[:, [next(iter(paths))]]  # not drawn; beside one that is, they cost nothing
    raw = wanted
    for _ in range(STEPS):
        raw = wanted - shifts_at(detector.shift, raw)
    return raw, present


def write_edit(
    path: Path, detector: Detector, paths: Mapping[int, Way], frames: int, fps: float = FRAMES_PER_SECOND
) -> Path:
    """The edited frames as an .mp4, enlarged by a whole factor if they are small."""
    pictures = edited_frames(detector, paths, frames)
    with Mp4Writer(path, "edited video") as video:
        for number, picture in enumerate(pictures):
            video.add(even_sided(enlarged(picture, enlargement(picture))), number / fps)
    return path


def empty_picture(detector: Detector) -> Pixels:
    """What is drawn with no object at all: what edited frames are superimposed on."""
    count = detector.model.config.objects
    return _draw(detector, np.zeros((count, 2)), np.zeros(count, np.bool_))


def superimpose(images: NDArray[np.uint8], background: Pixels, noise: NDArray[np.float32] | float = 0.0) -> Pixels:
    """Figs. 10 and 11: all frames (f, h, w, c) in one picture, each pixel as it is furthest from the background.

    ``noise`` (from 0 to 1, one number or (h, w)) is what counts as background: else noisy frames show their worst.
    """
    away = np.abs(images.astype(np.int16) - background.astype(np.int16)).max(axis=-1)
    furthest = away.argmax(axis=0)[None, ..., None]
    shown = np.take_along_axis(images, furthest, axis=0)[0]
    return np.where((away.max(axis=0) > 255 * np.asarray(noise))[..., None], shown, background)


def draw_superimposed(path: Path, rows: Sequence[tuple[str, Pixels]]) -> Path:
    """A figure with one labelled row per picture: the training data, then what was generated."""
    with matplotlib.rc_context(STYLE):
        heights = [WIDTH * pixels.shape[0] / pixels.shape[1] for _, pixels in rows]
        figure = Figure(figsize=(WIDTH, sum(heights) + 0.3 * len(rows)), layout="constrained")
        cells = figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
        for number, (axes, (label, pixels)) in enumerate(zip(cells, rows, strict=True)):
            axes.imshow(np.broadcast_to(pixels, (*pixels.shape[:2], 3)), interpolation="nearest")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(color="0.6", linewidth=0.6)
            axes.set_xlabel(f"({chr(ord('a') + number)}) {label}", labelpad=5)
        drawing = BytesIO()
        figure.savefig(drawing, format="png")
    write_atomically(writable_folder(path.parent) / path.name, drawing.getvalue())
    return path


def _check(detector: Detector, each: int, way: Way) -> None:
    followed = [one.object for one in detector.certificate.objects]
    if each not in followed:
        raise InputError(f"There is no object {each}: the detector follows {', '.join(map(str, followed)) or 'none'}.")
    config, inside = detector.model.config, in_picture(way, detector.selection)
    lost = ((inside < 0) | (inside > np.array([config.width, config.height]))).any(axis=-1)
    if lost.any():
        x, y = way[int(lost.argmax())]
        corners = detector.selection.to_recording(np.array([[0.0, 0.0], [config.width, config.height]]))
        (left, top), (right, bottom) = corners.round().tolist()
        raise InputError(
            f"The path of object {each} leaves the picture at ({x:g}, {y:g}): x goes from {left:g} to {right:g} px, "
            f"y from {top:g} to {bottom:g} px."
        )


@torch.no_grad()
def _draw(detector: Detector, raw: NDArray[np.float64], present: NDArray[np.bool_]) -> Pixels:
    """One picture, with the objects that are present; a moving camera's background is its first picture."""
    device = next(detector.model.parameters()).device
    still = np.ascontiguousarray(detector.background.images[0].transpose(2, 0, 1), dtype=np.float32)
    drawn = reconstruct(
        detector.model,
        torch.tensor(raw[None], dtype=torch.float32, device=device),
        torch.tensor(present[None], device=device),
        torch.from_numpy(still)[None].to(device),
    )
    pixels = drawn[0].clamp(0, 1).permute(1, 2, 0).cpu().numpy() * 255
    return np.asarray(pixels.round().astype(np.uint8))
