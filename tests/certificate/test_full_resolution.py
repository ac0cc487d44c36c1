"""Object centres are measured in full-resolution frames where the network works on smaller ones."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.certificate.observed import seen_at
from withinpx.certificate.full_resolution import object_centres
from withinpx.data.stage import Ground
from withinpx.discovery.background import FloatImages

WIDTH, HEIGHT, ZOOM = 240, 180, 4.0
RADIUS = 20.0  # px of the recording
SIZE = 2 * RADIUS / ZOOM  # px of the network's input
PLACES = np.array([[[61.3, 58.6]], [[123.75, 97.2]], [[170.5, 120.9]]])  # (f, 1, 2), px of the recording
RED, BLUE = (0.8, 0.2, 0.2), (0.2, 0.3, 0.7)
FINE = 4  # samples per pixel and axis

Colour = tuple[float, float, float]
Points = NDArray[np.float64]


@pytest.fixture(scope="module")
def ground() -> FloatImages:
    """One textured picture (1, h, w, c)."""
    return Ground().render(WIDTH, HEIGHT, (0, 0), 0).astype(np.float32)[None]


def disc(place: Points, radius: float = RADIUS) -> NDArray[np.float32]:
    """How much of each pixel it covers: (h, w, 1)."""
    columns, rows = ((np.arange(FINE * side) + 0.5) / FINE for side in (WIDTH, HEIGHT))
    inside = (columns - place[0]) ** 2 + (rows[:, None] - place[1]) ** 2 < radius**2
    return np.asarray(inside.reshape(HEIGHT, FINE, WIDTH, FINE, 1).mean(axis=(1, 3)), np.float32)


def painted(picture: NDArray[np.float32], where: NDArray[np.float32], colour: Colour) -> NDArray[np.float32]:
    return picture * (1 - where) + where * np.array(colour, np.float32)


def eight_bit(pictures: list[NDArray[np.float32]]) -> NDArray[np.uint8]:
    return np.stack([(255 * picture).round().astype(np.uint8) for picture in pictures])


def rendered(backgrounds: FloatImages, places: Points, colour: Colour = RED) -> NDArray[np.uint8]:
    """A disc at its place in each frame."""
    per_frame = backgrounds if len(backgrounds) > 1 else [backgrounds[0]] * len(places)
    return eight_bit([painted(one, disc(place[0]), colour) for one, place in zip(per_frame, places, strict=True)])


def off(found: Points, places: Points) -> float:
    """The worst error, px of the recording."""
    return float(np.abs(found * ZOOM - places).max())


def test_the_centre_is_found_to_a_fraction_of_a_pixel_although_the_network_is_off(ground: FloatImages) -> None:
    seen = seen_at(PLACES / ZOOM + (0.7, -0.6), SIZE)
    assert off(object_centres(seen, rendered(ground, PLACES), ground, ZOOM), PLACES) < 0.3


def test_the_centre_is_searched_where_the_frame_shows_the_object(ground: FloatImages) -> None:
    wrong = np.array([9.0, -7.0])  # from the rendering to the object in the frame, px of the network's input
    seen = seen_at(PLACES / ZOOM - wrong, SIZE, offset=np.broadcast_to(wrong, PLACES.shape))
    frames = rendered(ground, PLACES)
    assert off(object_centres(seen, frames, ground, ZOOM), PLACES) < 0.3
    elsewhere = object_centres(replace(seen, offset=np.zeros_like(PLACES)), frames, ground, ZOOM)
    assert not off(elsewhere, PLACES) < 5


def test_its_shadow_does_not_count(ground: FloatImages) -> None:
    shaded = [ground[0] * (1 - 0.3 * disc(place[0] + (14, 6))) for place in PLACES]
    frames = eight_bit([painted(one, disc(place[0]), RED) for one, place in zip(shaded, PLACES, strict=True)])
    drawn = seen_at((PLACES + np.array([7, 3])) / ZOOM, SIZE + 3.5)  # with its shadow
    assert off(object_centres(drawn, frames, ground, ZOOM), PLACES) < 0.5


def test_something_smaller_beside_it_does_not_count(ground: FloatImages) -> None:
    frames = rendered(ground, PLACES)
    for frame, (x, y) in zip(frames, PLACES[:, 0].astype(int), strict=True):
        frame[y - 4 : y + 4, x + 26 : x + 34] = (20, 30, 200)
    assert off(object_centres(seen_at(PLACES / ZOOM, SIZE), frames, ground, ZOOM), PLACES) < 0.3


def test_a_narrow_gap_does_not_split_an_object(ground: FloatImages) -> None:
    """The windscreen of a car looks like the road."""
    frames, middle = eight_bit([ground[0]]), np.array([[[120.0, 90.0]]])
    frames[0, 75:105, 80:160] = (204, 51, 51)
    frames[0, 75:105, 140:144] = (255 * ground[0, 75:105, 140:144]).round()
    seen = seen_at(middle / ZOOM, (80 / ZOOM, 30 / ZOOM))
    assert off(object_centres(seen, frames, ground, ZOOM), middle) < 2  # 10 without its bonnet


def test_a_moving_camera_has_a_background_per_frame() -> None:
    backgrounds = np.stack([Ground().render(WIDTH, HEIGHT, (30 * frame, 0), 0) for frame in range(3)]).astype(
        np.float32
    )
    found = object_centres(seen_at(PLACES / ZOOM, SIZE), rendered(backgrounds, PLACES), backgrounds, ZOOM)
    assert off(found, PLACES) < 0.3


def test_an_absent_or_cut_object_has_no_centre(ground: FloatImages) -> None:
    seen = seen_at(PLACES / ZOOM, SIZE)
    seen.present[0] = False
    seen.at_border[1] = True
    found = object_centres(seen, rendered(ground, PLACES), ground, ZOOM)
    assert np.isnan(found[:2]).all()
    assert off(found[2:], PLACES[2:]) < 0.3


def test_overlapping_objects_have_no_centre(ground: FloatImages) -> None:
    beside = PLACES + np.array([30, 10])
    places = np.concatenate([PLACES, beside], axis=1)
    places[2, 1] = (40, 40)  # far away
    frames = rendered(ground, PLACES)
    frames = eight_bit(
        [painted(one / np.float32(255), disc(both[1]), BLUE) for one, both in zip(frames, places, strict=True)]
    )
    seen = seen_at(places / ZOOM, SIZE)
    found = object_centres(seen, frames, ground, ZOOM)
    assert np.isnan(found[:2]).all()
    assert off(found[2:], places[2:]) < 0.3


def test_an_absent_object_overlaps_none(ground: FloatImages) -> None:
    places = np.concatenate([PLACES, PLACES + np.array([10, 10])], axis=1)
    seen = seen_at(places / ZOOM, SIZE)
    seen.present[:, 1] = False
    found = object_centres(seen, rendered(ground, PLACES), ground, ZOOM)
    assert off(found[:, :1], PLACES) < 0.3
    assert np.isnan(found[:, 1]).all()


def test_an_object_near_the_border_is_measured(ground: FloatImages) -> None:
    places = np.array([[[RADIUS + 3.5, RADIUS + 4.25]], [[WIDTH - RADIUS - 4.25, HEIGHT - RADIUS - 3.5]]])
    found = object_centres(seen_at(places / ZOOM, SIZE), rendered(ground, places), ground, ZOOM)
    assert off(found, places) < 0.3
