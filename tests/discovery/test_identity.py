"""Look-alikes are followed, touching ones shared out, and identities proved only where one link is possible."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.discovery.identity import PATIENCE, Detections, Links, link, usual_step

WIDTH, HEIGHT, SIZE = 200, 160, 10.0


def detections(*paths: NDArray[np.float64], bound: float = 0.5, refused: frozenset[int] = frozenset()) -> Detections:
    """One detection per object and frame; a path is (frames, 2), NaN where it is not seen."""
    frames, positions = [], []
    for frame in range(max(map(len, paths))):
        for path in paths:
            if frame < len(path) and np.isfinite(path[frame]).all():
                frames.append(frame)
                positions.append(path[frame])
    places = np.array(positions)
    bounds = np.where(np.isin(frames, list(refused)), np.nan, bound)
    boxes = np.concatenate([places - SIZE / 2, places + SIZE / 2], axis=1)
    count = len(places)
    nothing = [np.zeros((0, 2))] * count
    several, one = np.zeros(count, np.bool_), np.isfinite(bounds)
    return Detections(np.array(frames), places, bounds, boxes, several, one, nothing, SIZE**2)


def straight(start: tuple[float, float], step: tuple[float, float], frames: int = 20) -> NDArray[np.float64]:
    return np.asarray(np.array(start, np.float64) + np.arange(frames)[:, None] * np.array(step))


def track_of(links: Links, found: Detections, path: NDArray[np.float64]) -> list[int]:
    """The number that an object has in each frame."""
    numbers = []
    for frame, place in enumerate(path):
        rows = [row for row in range(len(links.object)) if found.frame[links.detection[row]] == frame]
        nearest = min(rows, key=lambda row: np.abs(links.position[row] - place).max())
        numbers.append(int(links.object[nearest]))
    return numbers


def test_objects_that_stay_apart_keep_their_numbers_and_every_link_is_proved() -> None:
    one, two = straight((60, 50), (2, 0)), straight((60, 100), (2, 1))
    found = detections(one, two)
    links = link(found, WIDTH, HEIGHT, 4.0)
    assert links.objects == 2
    for path in (one, two):
        assert len(set(track_of(links, found, path))) == 1
    assert np.isnan(links.proved[found.frame[links.detection] == 0]).all()
    assert (links.proved[found.frame[links.detection] > 0] == 1).all()
    assert np.isnan(links.probability[links.proved == 1]).all()


def test_where_two_pass_within_reach_nothing_is_proved_but_a_guess_is_made() -> None:
    one, two = straight((60, 78), (3, 0)), straight((117, 82), (-3, 0))
    found = detections(one, two)
    links = link(found, WIDTH, HEIGHT, 4.5)
    assert len(set(track_of(links, found, one))) == len(set(track_of(links, found, two))) == 1  # they go straight on
    meeting = found.frame[links.detection] == 10
    assert (links.proved[meeting] == 0).all()
    assert ((links.probability[meeting] > 0) & (links.probability[meeting] <= 1)).all()
    assert (links.proved[found.frame[links.detection] == 3] == 1).all()


def test_a_refused_detection_in_reach_leaves_its_neighbours_open() -> None:
    one, two = straight((60, 50), (1, 0)), straight((60, 64), (1, 0))
    sure = link(detections(one, two), WIDTH, HEIGHT, 4.0)
    assert (sure.proved[~np.isnan(sure.proved)] == 1).all()
    found = detections(one, two)
    bounds = np.where(np.abs(found.position[:, 1] - 64) < 1, np.nan, found.bound)
    doubtful = replace(found, bound=bounds, one=np.isfinite(bounds))
    links = link(doubtful, WIDTH, HEIGHT, 6.0)  # the other's region begins 9 px away, and 6 + 0.5 px are in reach
    assert (links.proved[~np.isnan(links.proved)] == 1).sum() == 19  # only the certified one's
    near = link(doubtful, WIDTH, HEIGHT, 9.0)
    assert (near.proved[~np.isnan(near.proved)] == 0).all()


def test_one_that_enters_is_new_and_at_the_border_nothing_is_proved() -> None:
    one, two = straight((60, 50), (1, 0), 30), straight((1, 100), (2, 0), 30)
    two[:10] = np.nan
    two[10:] = straight((1, 100), (2, 0), 20)
    found = detections(one, two)
    links = link(found, WIDTH, HEIGHT, 3.0)
    assert links.objects == 2
    own = links.object == 1
    at = found.frame[links.detection]
    assert np.isnan(links.proved[own & (at == 10)]).all()
    assert (links.proved[own & (at == 11)] == 0).all()  # it could have left, and another entered
    assert (links.proved[own & (at == 20)] == 1).all()


def test_where_something_vanishes_away_from_the_border_nothing_is_proved_nearby() -> None:
    one, two = straight((60, 50), (1, 0), 30), straight((100, 100), (0.5, 0), 30)
    two[12:16] = np.nan  # behind a post
    found = detections(one, two)
    links = link(found, WIDTH, HEIGHT, 3.0)
    at = found.frame[links.detection]
    beyond = np.abs(links.position[:, 1] - 100) < 1
    assert links.objects == 2  # it is guessed to be the same
    assert (links.proved[beyond & (at == 16)] == 0).all()
    assert (links.proved[~beyond & (at > 0)] == 1).all()


def test_two_that_touch_share_the_region_and_part_with_their_numbers() -> None:
    one, two = straight((60, 80), (2, 0), 21), straight((100, 80), (-2, 0.4), 21)
    apart = np.abs(one - two).max(axis=1) > SIZE
    alone = detections(np.where(apart[:, None], one, np.nan), np.where(apart[:, None], two, np.nan))
    grid = np.stack(np.meshgrid(np.arange(10), np.arange(10)), axis=-1).reshape(-1, 2) - 4.5
    frames = np.flatnonzero(~apart)
    pixels = [np.concatenate([grid + one[frame], grid + two[frame]]) for frame in frames]
    boxes = np.array([np.concatenate([own.min(axis=0) - 0.5, own.max(axis=0) + 0.5]) for own in pixels])
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    order = np.argsort(np.concatenate([alone.frame, frames]), kind="stable")
    shared: list[NDArray[np.float64]] = [*alone.pixels, *pixels]
    found = Detections(
        np.concatenate([alone.frame, frames])[order],
        np.concatenate([alone.position, middle])[order],
        np.concatenate([alone.bound, np.full(len(frames), np.nan)])[order],
        np.concatenate([alone.box, boxes])[order],
        np.concatenate([alone.several, np.ones(len(frames), np.bool_)])[order],
        np.concatenate([alone.one, np.zeros(len(frames), np.bool_)])[order],
        [shared[index] for index in order],
        SIZE**2,
    )
    links = link(found, WIDTH, HEIGHT, 3.0)
    assert links.objects == 2
    at, touching = found.frame[links.detection], found.several[links.detection]
    assert (np.bincount(at[touching])[frames] == 2).all()  # each has a place in the region
    assert (links.proved[touching] != 1).all()
    first, last = (track_of(links, found, path) for path in (one, two))
    assert first[0] == first[-1]
    assert last[0] == last[-1]


def test_the_step_is_a_multiple_of_those_seen() -> None:
    one, two = straight((60, 50), (2, 0)), straight((60, 120), (1, 1))
    assert usual_step(detections(one, two)) == pytest.approx(3.0)
    assert usual_step(detections(one[:1], two[:1])) == 0.0


def test_a_region_that_may_hide_another_object_is_not_proved_to_be_one() -> None:
    """Two move together; one passes under the other and comes out again."""
    one, two = straight((60, 50), (1, 0), 30), straight((60, 59), (1, 0), 30)
    two[10:16] = np.nan
    far = straight((60, 120), (1, 0), 30)
    found = detections(one, two, far)
    links = link(found, WIDTH, HEIGHT, 10.0)
    at, above = found.frame[links.detection], links.position[:, 1] < 55
    hiding = (at >= 11) & (at < 16)
    assert (links.proved[above & hiding] == 0).all()
    assert (links.proved[(links.position[:, 1] > 100) & hiding] == 1).all()


def test_the_theorem_alone_proves_no_identity() -> None:
    found = detections(straight((60, 50), (1, 0)))
    assert (link(found, WIDTH, HEIGHT, 4.0).proved[1:] == 1).all()
    unsure = replace(found, one=np.zeros(len(found), np.bool_))
    assert (link(unsure, WIDTH, HEIGHT, 4.0).proved[1:] == 0).all()


def test_where_something_appears_later_nothing_is_proved_before() -> None:
    """There may be an occluder: one can have gone behind it as another came out."""
    one, two = straight((80, 100), (2, 0), 30), np.full((30, 2), np.nan)
    two[25:] = straight((100, 103), (0, 1), 5)
    found = detections(one, two)
    links = link(found, WIDTH, HEIGHT, 3.0)
    at = found.frame[links.detection]
    own = links.object == 0
    assert (links.proved[own & (at >= 9) & (at <= 11)] == 0).all()  # it passes at (100, 100)
    assert (links.proved[own & ((at == 4) | (at == 16))] == 1).all()


def test_one_that_vanished_is_sought_until_it_is_seen_again_or_long_enough() -> None:
    """Its neighbour may hide it. Nothing begins away from the border, so what begins there is it, wherever it is."""
    rests, vanishes = straight((60, 80), (0, 0), 60), straight((64, 80), (0, 0), 60)
    vanishes[5:] = np.nan
    found = detections(rests, vanishes)
    hides = link(found, WIDTH, HEIGHT, 4.0).hides[found.position[:, 0] == 60]
    assert not hides[:5].any()
    assert hides[5 : 5 + PATIENCE].all()
    assert not hides[5 + PATIENCE :].any()
    back = np.full((60, 2), np.nan)
    back[9:] = (150, 60)
    found = detections(rests, vanishes, back)
    hides = link(found, WIDTH, HEIGHT, 4.0).hides[found.position[:, 0] == 60]
    assert hides[5:9].all()
    assert not hides[9:].any()


def test_one_that_was_never_seen_by_itself_is_not_sought() -> None:
    path = straight((60, 80), (0, 0), 20)
    found = detections(path)
    pixels = np.stack(np.meshgrid(np.arange(54, 74), np.arange(75, 85)), axis=-1).reshape(-1, 2) + 0.5
    first = found.frame == 0
    pixels_of = [np.asarray(pixels if own else np.zeros((0, 2)), np.float64) for own in first]
    several = replace(found, several=first, one=found.one & ~first, pixels=pixels_of)
    links = link(several, WIDTH, HEIGHT, 4.0)
    assert links.objects == 2  # as many as the region has room for
    assert not links.hides.any()
