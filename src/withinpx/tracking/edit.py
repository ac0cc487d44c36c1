"""Objects at positions where they never were: new trajectories, rendered by the decoder over the background."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from withinpx.certificate.calibration import shifts_at
from withinpx.errors import InputError
from withinpx.figures import STYLE, save_figure
from withinpx.inference.masks import box_centre_and_size, soft_mask
from withinpx.inference.rendering import reconstruct, render_alone, windows_around
from withinpx.tracking.detector import Detector
from withinpx.tracking.mp4 import FRAMES_PER_SECOND, Pixels, write_video
from withinpx.tracking.tracks import Tracks

EXAMPLE = "object=0:40,30:80,60 (object 0 moves from (40, 30) to (80, 60), px)"
NO_PATH = f"There is no path: give one, as in {EXAMPLE}."
ITERATIONS = 3  # from a calibrated position to its z; the shift hardly varies, so they converge
WIDTH = 6.4  # inches
Path2D = NDArray[np.float64]  # (points, 2): calibrated (x, y) in px of the recording


def parse_path(text: str) -> tuple[int, list[tuple[float, float]]]:
    """``object=INDEX:x,y:x,y:...`` as an object and the points it moves through."""
    number, *points = text.removeprefix("object=").split(":")
    if not number.strip().isdecimal():
        raise InputError(f"The path {text!r} does not begin with an object's number: write it as {EXAMPLE}.")
    if not points:
        raise InputError(f"The path {text!r} has no point: write it as {EXAMPLE}.")
    return int(number), [_parse_point(point, text) for point in points]


def _parse_point(text: str, path: str) -> tuple[float, float]:
    try:
        x, y = (float(value) for value in text.split(","))
    except ValueError:
        raise InputError(f"{text!r} in the path {path!r} is no point x,y: write it as {EXAMPLE}.") from None
    if not math.isfinite(x + y):
        raise InputError(f"{text!r} in the path {path!r} is not finite: give a position in px.")
    return x, y


def parse_paths(texts: Iterable[str]) -> dict[int, Path2D]:
    """Several paths, one per object."""
    paths: dict[int, Path2D] = {}
    for text in texts:
        obj, points = parse_path(text)
        if obj in paths:
            raise InputError(f"Object {obj} has two paths: give all its points in one, as in {EXAMPLE}.")
        paths[obj] = np.array(points)
    if not paths:
        raise InputError(NO_PATH)
    return paths


def parse_appearances(texts: Iterable[str], objects: Iterable[int]) -> dict[int, int]:
    """``object=INDEX:FRAME``, or ``FRAME`` for all these objects, as the frame that shows how each object appears."""
    frames: dict[int, int] = {}
    for text in texts:
        number, colon, frame = text.removeprefix("object=").rpartition(":")
        if not frame.strip().isdecimal() or (colon and not number.strip().isdecimal()):
            raise InputError(
                f"The appearance {text!r} is no frame: write it as 120, or as object=0:120 for one object."
            )
        for obj in [int(number)] if colon else objects:
            if obj in frames:
                raise InputError(f"Object {obj} has two appearances: give one frame for it.")
            frames[obj] = int(frame)
    return frames


def codes_in(detector: Detector, tracks: Tracks, frames: Mapping[int, int]) -> NDArray[np.float64]:
    """The codes (n, k) of the objects as they appear in these frames of their tracks; of others, the usual one."""
    if not detector.model.config.appearance:
        raise InputError(
            "The detector has no appearance code, so each object has one appearance: track with --appearance 4."
        )
    if tracks.codes.shape[-1] != detector.model.config.appearance:
        raise InputError("The tracks do not hold the detector's appearance codes: use those that were made with it.")
    codes = detector.usual_codes.copy()
    for obj, frame in frames.items():
        column = _numbers(detector).index(_checked_number(detector, obj))
        rows = np.flatnonzero(tracks.frames == frame)
        if not len(rows):
            first, last = tracks.frames[[0, -1]]
            raise InputError(f"Frame {frame} is not tracked: the tracks have frames {first} to {last}.")
        if not tracks.present[rows[0], column]:
            shown = tracks.frames[tracks.present[:, column]]
            nearest = f": {shown[np.abs(shown - frame).argmin()]} is the nearest that does" if len(shown) else ""
            raise InputError(f"Frame {frame} does not show object {obj}{nearest}.")
        codes[obj] = tracks.codes[rows[0], column]
    return codes


def interpolate(path: Path2D, frames: int) -> Path2D:
    """Positions at evenly spaced times, from the first to the last point; every segment takes equally long."""
    times = np.linspace(0, len(path) - 1, frames)
    return np.stack([np.interp(times, np.arange(len(path)), path[:, axis]) for axis in range(2)], axis=-1)


def edited_frames(
    detector: Detector, paths: Mapping[int, Path2D], frames: int, codes: NDArray[np.float64] | None = None
) -> Iterator[Pixels]:
    """The objects that have a path, rendered along it over the background, at the network's resolution.

    An object with an appearance code is rendered with the ``codes`` given (n, k), by default the one it usually shows.
    """
    if frames < 1:
        raise InputError(f"The number of frames is {frames}: give at least 1.")
    if not paths:
        raise InputError(NO_PATH)
    for obj, path in paths.items():
        _check(detector, obj, path)
    codes = detector.usual_codes if codes is None else codes
    z, present = z_along(detector, paths, frames, codes)
    return (_render(detector, positions, present, codes) for positions in z)


def z_along(
    detector: Detector, paths: Mapping[int, Path2D], frames: int, codes: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """z of every object (frames, objects, 2) whose rendering is centred on the path, and which objects have one."""
    count = detector.model.config.objects
    present = np.zeros(count, np.bool_)
    centres = np.zeros((frames, count, 2))
    for obj, path in paths.items():
        present[obj] = True
        centres[:, obj] = detector.selection.from_recording(interpolate(path, frames))
    centres[:, ~present] = centres[:, [next(iter(paths))]]  # not rendered; near one that is, they cost nothing
    if detector.model.config.appearance:
        return centres - _rendered_shifts(detector, detector.usual_codes if codes is None else codes), present
    z = centres
    for _ in range(ITERATIONS):
        z = centres - shifts_at(detector.shifts, z)
    return z, present


def _rendered_shifts(detector: Detector, codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """From z to the centre of what is rendered with these codes, for each object (n, 2)."""
    model = detector.model
    at = np.tile([model.config.width // 2 + 0.5, model.config.height // 2 + 0.5], (model.config.objects, 1))
    rendered = render_alone(model, at, range(model.config.objects), codes)
    windows = windows_around(torch.tensor(at), model)
    corner = torch.stack([windows.left, windows.top], dim=-1).numpy()
    centres, _ = box_centre_and_size(soft_mask(rendered.abs().amax(dim=1)))
    return np.asarray(corner + centres.double().cpu().numpy() - at)


def write_edit(
    path: Path,
    detector: Detector,
    paths: Mapping[int, Path2D],
    frames: int,
    *,
    fps: float = FRAMES_PER_SECOND,
    codes: NDArray[np.float64] | None = None,
) -> Path:
    """The edited frames as an .mp4."""
    return write_video(path, edited_frames(detector, paths, frames, codes), "edited video", fps)


def empty_frame(detector: Detector) -> Pixels:
    """The rendering without any object, over which edited frames are superimposed."""
    count = detector.model.config.objects
    return _render(detector, np.zeros((count, 2)), np.zeros(count, np.bool_), detector.usual_codes)


def superimpose(images: NDArray[np.uint8], background: Pixels, noise: NDArray[np.float32] | float = 0.0) -> Pixels:
    """Figs. 10 and 11: all frames (f, h, w, c) in one image; each pixel from the frame furthest from the background.

    Differences up to ``noise`` (from 0 to 1, one number or (h, w)) count as background.
    """
    difference = np.abs(images.astype(np.int16) - background.astype(np.int16)).max(axis=-1)
    furthest = np.take_along_axis(images, difference.argmax(axis=0)[None, ..., None], axis=0)[0]
    return np.where((difference.max(axis=0) > 255 * np.asarray(noise))[..., None], furthest, background)


def write_superimposed(path: Path, rows: Sequence[tuple[str, Pixels]]) -> Path:
    """A figure with one labelled row per image."""
    heights = [WIDTH * image.shape[0] / image.shape[1] + 0.35 for _, image in rows]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
        cells = figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
        for number, (axes, (label, image)) in enumerate(zip(cells, rows, strict=True)):
            axes.imshow(np.broadcast_to(image, (*image.shape[:2], 3)), interpolation="nearest")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color="0.6", linewidth=0.6)
            axes.set_xlabel(f"({chr(ord('a') + number)}) {label}", labelpad=5)
    return save_figure(figure, path)


def _numbers(detector: Detector) -> list[int]:
    """The objects' numbers, in the order of the tracks' columns."""
    return [certificate.object for certificate in detector.certificate.objects]


def _checked_number(detector: Detector, obj: int) -> int:
    objects = _numbers(detector)
    if obj not in objects:
        raise InputError(f"There is no object {obj}: the detector follows {', '.join(map(str, objects)) or 'none'}.")
    return obj


def _check(detector: Detector, obj: int, path: Path2D) -> None:
    _checked_number(detector, obj)
    config, positions = detector.model.config, detector.selection.from_recording(path)
    outside = ((positions < 0) | (positions > np.array([config.width, config.height]))).any(axis=-1)
    if outside.any():
        x, y = path[int(outside.argmax())]
        corners = detector.selection.to_recording(np.array([[0.0, 0.0], [config.width, config.height]]))
        (left, top), (right, bottom) = corners.round().tolist()
        raise InputError(
            f"The path of object {obj} leaves the frame at ({x:g}, {y:g}): x goes from {left:g} to {right:g} px, "
            f"y from {top:g} to {bottom:g} px."
        )


def _render(
    detector: Detector, z: NDArray[np.float64], present: NDArray[np.bool_], codes: NDArray[np.float64]
) -> Pixels:
    """One frame with the objects that are present; the background of a moving camera is its first image."""
    device = next(detector.model.parameters()).device
    background = torch.from_numpy(detector.background.images[:1]).permute(0, 3, 1, 2).contiguous()
    frame = reconstruct(
        detector.model,
        torch.tensor(z[None], dtype=torch.float32, device=device),
        torch.tensor(present[None], device=device),
        background.to(device),
        codes=torch.tensor(codes[None], dtype=torch.float32, device=device),
    )
    return np.asarray((frame[0].clamp(0, 1).permute(1, 2, 0).cpu().numpy() * 255).round().astype(np.uint8))
