"""What moves in a clip, and how well it meets the theorem's assumptions, before any training."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.data.selection import Selection
from withinpx.discovery import report
from withinpx.discovery.background import LEVEL, NOISE_FACTOR, BackgroundModel, ByteImages
from withinpx.discovery.camera import camera_path, is_shown_to_move, nearby_background
from withinpx.discovery.exposure import in_light_of, measured_gains, normalised, varies
from withinpx.discovery.fixed_camera import fixed_background
from withinpx.discovery.hypotheses import MOST_HYPOTHESES, OFTEN, Hypothesis, judged, ordered_hypotheses
from withinpx.discovery.objects import Blob, MovingObject, appearance_distance, find_blobs, find_changes
from withinpx.discovery.unordered import (
    blobs_without_shadow,
    chance,
    find_unordered_objects,
    order,
    unordered_background,
)
from withinpx.errors import InputError
from withinpx.palette import RGB, mark_colours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIXED_CAMERA_NOISE = 6 * LEVEL  # more noise than this around the median may be a moving camera
LARGEST_NOISE = 0.08  # of full contrast: with more there is no background to speak of
MOST_CHANGED = 0.5  # of the frame: if more differs from the background, it is another scene
ALIKE = 0.35  # objects whose appearance_distance is below this may be confused
SURELY_IN_ORDER = 0.9  # of an order of 1: then the frames are not tried as unordered images
FEWEST_FRAMES = 6  # in which motion can be told from noise
MOST_FRAMES = 240  # of a recording that are inspected
ONE_SCENE = (
    "If there is a cut, keep one side of it with --start or --end; if the camera moves, try --background nearby."
)

OnProgress = Callable[[int, int], None]  # done, total


def ignore_progress(done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, eq=False)
class Inspection:
    """The background and the moving objects of a clip; ``print`` shows a report.

    >>> frames = np.zeros((30, 48, 64, 1), np.uint8)
    >>> for index, frame in enumerate(frames):
    ...     frame[20:28, index : index + 8] = 200
    >>> inspection = inspect(Clip(frames))
    >>> inspection.objects[0].travel, inspection.sizes
    (29.0, (8.0, 8.0))
    >>> inspection.scaled(0.5)
    Inspection(array: 1 moving object of 8 px, fixed camera)
    """

    clip: Clip
    background: BackgroundModel
    objects: tuple[MovingObject, ...]  # the most prominent first
    stationary: tuple[MovingObject, ...]  # what changes but never leaves its position
    camera: NDArray[np.float64]  # (frames, 2): where the scene lies in each frame, px; zeros for a fixed camera
    unordered: bool = False  # unordered images; then blobs are without their shadows
    hypotheses: tuple[Hypothesis, ...] = ()  # ranked; the fields above are those of the first

    def __repr__(self) -> str:
        return f"Inspection({report.summary(self)})"

    def __str__(self) -> str:
        return report.report_text(self)

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object, in pixels of the recording."""
        return report.report_json(self)

    def plot(self) -> "Figure":
        """A contact sheet: the background, some frames with the objects, and each object over time."""
        from withinpx.discovery.contact_sheet import draw_contact_sheet  # noqa: PLC0415  (matplotlib takes a second)

        return draw_contact_sheet(self)

    @property
    def colours(self) -> list[str]:
        """The colour of each object's marks, #RRGGBB, near its own."""
        own = [_rgb(obj.appearance[:-1]) for obj in self.objects]
        return mark_colours(own, _rgb(self.background.images[0].mean(axis=(0, 1))))

    @property
    def camera_moves(self) -> bool:
        """Has each frame a background of its own?"""
        return not self.background.is_still

    @property
    def noise(self) -> float:
        """The usual difference of a pixel from the background, in levels of 255."""
        return _noise(self.background) / LEVEL

    @property
    def sizes(self) -> tuple[float, float]:
        """The range of the sizes of all objects, px."""
        return min(obj.sizes[0] for obj in self.objects), max(obj.sizes[1] for obj in self.objects)

    @property
    def alike(self) -> list[tuple[int, int]]:
        """Pairs of objects that look the same."""
        appearances = [obj.appearance for obj in self.objects]
        pairs = combinations(range(len(appearances)), 2)
        return [(i, j) for i, j in pairs if appearance_distance(appearances[i], appearances[j]) < ALIKE]

    def under(self, hypothesis: Hypothesis) -> "Inspection":
        """The same clip by another of its hypotheses."""
        return replace(
            self, background=hypothesis.background, objects=hypothesis.objects, unordered=hypothesis.unordered
        )

    def scaled(self, by: float) -> "Inspection":
        """The same objects in smaller frames; only the noise of the background is measured anew."""
        if by == 1:
            return self
        clip, camera = self.clip.scaled(by), self.camera
        if self.camera_moves:  # estimated as in detection, which sees the smaller frames only
            camera = camera_path(clip.frames)
            background = nearby_background(clip.frames, camera)
        else:
            still = np.asarray(Selection(scale=by).apply(cast(Any, self.background.images[0])), np.float32)
            background = (unordered_background if self.unordered else fixed_background)(clip.frames, still[None])
            background = replace(background, light_varies=self.background.light_varies)
        objects, stationary = (tuple(obj.scaled(by) for obj in group) for group in (self.objects, self.stationary))
        return replace(self, clip=clip, background=background, objects=objects, stationary=stationary, camera=camera)


def inspect(
    clip: Clip, background: str = "auto", objects: int | None = None, on_progress: OnProgress = ignore_progress
) -> Inspection:
    """Find the background and the moving objects of a clip; ``background`` is "nearby" for a moving camera.

    ``objects`` is how many there are, if that is known. ``on_progress`` receives the number of frames in which objects
    were searched, 0 while the background is estimated, and that of all frames.

    >>> frames = np.full((20, 48, 64, 3), 90, np.uint8)
    >>> for index, frame in enumerate(frames):
    ...     frame[10:20, 2 * index : 2 * index + 10] = 220, 40, 30
    ...     frame[30:36, 50 - 2 * index : 56 - 2 * index] = 30, 60, 220
    >>> inspect(Clip(frames))
    Inspection(array: 2 moving objects of 6 to 10 px, fixed camera)
    """
    on_progress(0, len(clip))
    check_frames(clip)
    clip, model, camera = in_one_light(clip, background)
    check_noise(clip, model)
    detections = detect(clip, model, on_progress)
    hypotheses, stationary = ordered_hypotheses(detections, model, objects)
    if model.is_still:
        hypotheses = with_unordered(hypotheses, clip, model, detections, objects)
    if not hypotheses:
        raise InputError(_nothing_moves(clip, stationary))
    ranked = tuple(sorted(hypotheses, key=lambda one: -one.score)[:MOST_HYPOTHESES])
    best = ranked[0]
    return Inspection(clip, best.background, best.objects, tuple(stationary), camera, best.unordered, ranked)


def check_frames(clip: Clip) -> None:
    """Refuse a clip in which motion cannot be told from noise."""
    if len(clip) < 2:
        raise InputError(f"{clip.source} is a single image: motion needs two or more.")
    if all(np.array_equal(frame, clip.frames[0]) for frame in clip.frames):
        raise InputError(f"Nothing moves: all frames of {clip.source} are the same.")
    if len(clip) < FEWEST_FRAMES:
        raise InputError(
            f"{clip.source} has {len(clip)} frames: what moves is found by following it, which needs {FEWEST_FRAMES} "
            f"or more. Give more frames, or leave out --every."
        )


def _nothing_moves(clip: Clip, stationary: list[MovingObject]) -> str:
    if not stationary:
        return f"Nothing moves in {clip.source}: no pixel changes by more than its noise for long enough."
    x, y = stationary[0].blobs[0].centre
    return (
        f"Nothing leaves its position in {clip.source}: what changes at ({x:.0f}, {y:.0f}) stays there, and an "
        f"object must be seen at two positions at least."
    )


def in_one_light(clip: Clip, background: str) -> tuple[Clip, BackgroundModel, NDArray[np.float64]]:
    """The clip in the light of its background, where the light varies; the background; and the path of the camera."""
    gains = measured_gains(clip.frames)
    if background == "nearby" or not varies(clip.frames, gains):
        return clip, *choose_background(clip.frames, background)
    model, camera = choose_background(normalised(clip.frames, gains), background)
    model = replace(model, light_varies=model.is_still)
    return replace(clip, frames=in_light_of(model, clip.frames)), model, camera


def detect(clip: Clip, background: BackgroundModel, on_progress: OnProgress) -> list[list[Blob]]:
    """The detections of each frame; a clip of several scenes is refused."""
    detections, share = [], np.zeros(len(clip))
    for frame, image in enumerate(clip.frames):
        changes = find_changes(image, background, frame)
        share[frame] = changes.share
        check_scene(clip, share)
        detections.append(find_blobs(changes))
        on_progress(frame + 1, len(clip))
    return detections


def with_unordered(
    hypotheses: list[Hypothesis],
    clip: Clip,
    background: BackgroundModel,
    detections: list[list[Blob]],
    count: int | None,
) -> list[Hypothesis]:
    """The hypotheses, and the frames as unordered images unless they are surely in order; unlikely ones last."""
    certainty = order(detections)
    in_order = certainty > chance(len(clip))
    alternative = unordered_hypothesis(clip.frames, count) if certainty < SURELY_IN_ORDER else None
    hypotheses = [replace(one, score=one.score - (not in_order)) for one in hypotheses]
    if alternative is not None:
        same_light = replace(alternative.background, light_varies=background.light_varies)
        hypotheses.append(replace(alternative, background=same_light, score=alternative.score - in_order))
    return hypotheses


def unordered_hypothesis(frames: ByteImages, count: int | None = None) -> Hypothesis | None:
    """The hypothesis that frames are unordered images, with ``count`` objects if given."""
    model = unordered_background(frames)
    images = [blobs_without_shadow(image, model, frame) for frame, image in enumerate(frames)]
    roles = judged(find_unordered_objects(images, count), len(frames))
    objects = tuple(one.path for one in roles if one.role == "object" or count is not None)
    total = sum(map(len, images))
    if not objects:
        return None
    explained = sum(len(obj.blobs) for obj in objects) / total
    score = explained - OFTEN * len(frames) * len(objects) / total
    return Hypothesis(
        model, objects, True, explained, score, f"{len(objects)} matched by appearance in unordered images"
    )


def choose_background(frames: ByteImages, background: str) -> tuple[BackgroundModel, NDArray[np.float64]]:
    """One image for a fixed camera, one per frame for a moving one; and the path of the camera."""
    no_motion = np.zeros((len(frames), 2))
    if background != "nearby":
        fixed = fixed_background(frames)
        if background != "auto" or _noise(fixed) < FIXED_CAMERA_NOISE or not is_shown_to_move(frames):
            return fixed, no_motion
    path = camera_path(frames)
    nearby = nearby_background(frames, path)
    if background == "nearby" or _noise(nearby) < 0.5 * _noise(fixed):
        return nearby, path
    return fixed, no_motion


def check_noise(clip: Clip, background: BackgroundModel) -> None:
    """Refuse a swinging camera or a change of the light: then there is no one background."""
    if _noise(background) > LARGEST_NOISE:
        raise InputError(
            f"Everything moves in {clip.source}: half of the pixels usually differ from the background by "
            f"{_noise(background):.0%} of full contrast. {ONE_SCENE}"
        )


def check_scene(clip: Clip, share: NDArray[np.float64]) -> None:
    """Refuse a cut, given the share of each frame that differs from the background; zero if it is not known yet."""
    if np.quantile(share, 0.9) > MOST_CHANGED or (share > MOST_CHANGED).mean() > 0.1:
        first = int(np.argmax(share > MOST_CHANGED))
        raise InputError(
            f"Everything moves in {clip.source}: in frame {clip.numbers[first]} {share[first]:.0%} of the pixels "
            f"differ from the background. {ONE_SCENE}"
        )


def _noise(background: BackgroundModel) -> float:
    """The noise of a usual pixel, of full contrast."""
    return float(np.median(background.threshold)) / NOISE_FACTOR


def _rgb(colour: NDArray[Any]) -> RGB:
    red, green, blue = np.broadcast_to((255 * colour).round().clip(0, 255).astype(int), 3).tolist()
    return red, green, blue
