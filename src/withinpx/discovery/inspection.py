"""Look first: what the theorem's assumptions come to on a clip, before any training."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.discovery.background import LEVEL, NOISE_FACTOR, BackgroundModel, Pictures, fixed_background, to_float
from withinpx.discovery.camera import camera_path, is_moving, nearby_background
from withinpx.discovery.objects import MovingObject, appearance_distance, find_objects, find_tracklets
from withinpx.discovery.unordered import find_unordered_objects, is_unordered, unordered_background
from withinpx.errors import InputError

RESTLESS = 6 * LEVEL  # a fixed camera's pixels do not usually differ from their median by more than this
EVERYTHING_MOVES = 0.5  # of the picture
HOPELESS = 0.08  # of full contrast: what is called background differs from itself by this much
ALIKE = 0.35  # looks nearer than this (one is what tells two things apart when they are followed) may be mixed up
MOST_FRAMES = 240  # that are looked at


@dataclass(frozen=True)
class Inspection:
    """What was seen."""

    clip: Clip
    background: BackgroundModel
    objects: tuple[MovingObject, ...]  # the most prominent first
    stationary: tuple[MovingObject, ...]  # what changes but never leaves its place
    camera: NDArray[np.float64]  # (frames, 2): where the scene lies in each frame, px; zeros for a fixed camera
    unordered: bool = False  # a set of pictures; then a blob is a thing's body, without its shadow

    @property
    def camera_moves(self) -> bool:
        """Is there a picture of the background per frame?"""
        return not self.background.is_still

    @property
    def images(self) -> Pictures:
        return to_float(self.clip.frames)

    def scaled(self, by: float) -> "Inspection":
        return inspect(self.clip.scaled(by)).with_movers_of(self, by)

    def with_movers_of(self, other: "Inspection", scale: float) -> "Inspection":
        """The movers of the same frames at another size, where they are seen better."""
        moving, staying = (tuple(each.scaled(scale) for each in some) for some in (other.objects, other.stationary))
        return replace(self, objects=moving, stationary=staying)

    @property
    def noise(self) -> float:
        """What a pixel of the background usually differs by, in levels of 255."""
        return _restlessness(self.background) / LEVEL

    @property
    def sizes(self) -> tuple[float, float]:
        """The range of sizes of all movers, px."""
        return min(mover.sizes[0] for mover in self.objects), max(mover.sizes[1] for mover in self.objects)

    @property
    def alike(self) -> list[tuple[int, int]]:
        """Pairs of movers that look the same."""
        pairs = combinations(range(len(self.objects)), 2)
        return [
            (i, j)
            for i, j in pairs
            if appearance_distance(self.objects[i].appearance, self.objects[j].appearance) < ALIKE
        ]


def inspect(clip: Clip, background: str = "auto") -> Inspection:
    """Look at a clip (at most a few hundred frames of it, evenly spread)."""
    if len(clip) < 2:
        raise InputError(f"{clip.source} is a single picture: nothing can be seen to move in it.")
    if (clip.frames == clip.frames[0]).all():
        raise InputError(f"Nothing moves: all pictures of {clip.source} are the same.")
    images = to_float(clip.frames)
    backdrop, camera = choose_background(images, background)
    check_background(clip, images, backdrop)
    pieces = find_tracklets(images, backdrop)
    unordered = backdrop.is_still and is_unordered(pieces)
    if unordered:
        backdrop = unordered_background(images)
        movers = find_unordered_objects(images, backdrop)
    else:
        movers = find_objects(pieces, backdrop, len(images))
    moving = tuple(mover for mover in movers if mover.travel >= max(2.0, 0.25 * mover.sizes[0]))
    if not moving and not movers:
        raise InputError(f"Nothing moves in {clip.source}: no pixel changes by more than its noise for long enough.")
    if not moving:
        x, y = movers[0].blobs[0].centre
        raise InputError(
            f"Nothing leaves its place in {clip.source}: what changes at ({x:.0f}, {y:.0f}) stays there, and an object "
            f"must be seen at two places at least."
        )
    staying = tuple(mover for mover in movers if mover not in moving)
    return Inspection(clip, backdrop, moving, staying, camera, unordered)


def choose_background(images: Pictures, background: str) -> tuple[BackgroundModel, NDArray[np.float64]]:
    """One picture for a fixed camera, one per frame for a moving one; and where the camera looks."""
    fixed = np.zeros((len(images), 2))
    if background == "nearby":
        path = camera_path(images)
        return nearby_background(images, path), path
    still = fixed_background(images)
    if background != "auto" or _restlessness(still) < RESTLESS:
        return still, fixed
    path = camera_path(images)
    nearby = nearby_background(images, path)
    calmer = _restlessness(nearby) < 0.5 * _restlessness(still)
    return (nearby, path) if is_moving(path) and calmer else (still, fixed)


def check_background(clip: Clip, images: Pictures, backdrop: BackgroundModel) -> None:
    """A cut, a light switched on, a camera that swings: then there is no background to speak of."""
    if _restlessness(backdrop) > HOPELESS:
        raise InputError(
            f"Everything moves in {clip.source}: half of the picture usually differs from the background by "
            f"{_restlessness(backdrop):.0%} of full contrast. If there is a cut, keep one side of it with --start or "
            f"--end; if the camera moves, try --background nearby."
        )
    share = np.array(
        [backdrop.changed(images[i : i + 1], backdrop.of(np.array([i]))).mean() for i in range(len(images))]
    )
    if np.quantile(share, 0.9) > EVERYTHING_MOVES or (share > EVERYTHING_MOVES).mean() > 0.1:
        frame = int(np.argmax(share > EVERYTHING_MOVES))
        raise InputError(
            f"Everything moves in {clip.source}: in frame {frame} {share[frame]:.0%} of the picture differs from the "
            f"background. If there is a cut, keep one side of it with --start or --end; if the camera moves, try "
            f"--background nearby."
        )


def _restlessness(backdrop: BackgroundModel) -> float:
    return float(np.quantile(backdrop.threshold, 0.5)) / NOISE_FACTOR
