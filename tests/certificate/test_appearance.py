"""Templates measured on frames: the noise is all that they leave, whatever lies behind the object."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from tests.inference.rendered import SIDE, Array, blob, draw
from withinpx.certificate.appearance import LARGEST_PX, Appearance, measure_appearance
from withinpx.certificate.floor import position_floor
from withinpx.certificate.planting import PlantingStage
from withinpx.discovery.background import BackgroundModel, ByteImages, FloatImages
from withinpx.inference.template import FLAT, Size

NOISE = 0.01
BOX = np.array([9.0, 9.0])


def textured(seed: int = 0) -> FloatImages:
    rough = np.random.default_rng(seed).normal(0, 1, (SIDE, SIDE, 1))
    smooth = ndimage.gaussian_filter(rough, (1.5, 1.5, 0))
    return np.asarray(0.4 + 0.06 * smooth / smooth.std(), np.float32)[None]


def recorded(positions: Array, background: FloatImages, seed: int = 0, size: Size = FLAT) -> ByteImages:
    """The object at positions (f, 2) before a background, with noise, as bytes."""
    random, images, template = np.random.default_rng(seed), [], replace(blob(), size=size)
    for position in positions:
        image = background[0].astype(np.float64)
        draw(image, template.scaled(float(template.size_at(position))), position)
        images.append(image + random.normal(0, NOISE, image.shape))
    return np.asarray((np.stack(images).clip(0, 1) * 255).round(), np.uint8)


@pytest.fixture(scope="module")
def positions() -> Array:
    return np.random.default_rng(1).uniform(14, SIDE - 14, (60, 2))


@pytest.fixture(scope="module")
def appearance(positions: Array) -> Appearance:
    background = textured()
    off = np.random.default_rng(2).normal(0, 0.15, positions.shape)  # as a network's positions are
    return measure_appearance(recorded(positions, background), background, positions + off - off.mean(axis=0), BOX)


def both_drawn(template: Appearance, fraction: NDArray[np.float64], background: float) -> tuple[Array, Array]:
    """The object as it is and as it was measured, before an even background; the middle of both."""
    rendered = []
    for one in (blob(), template.recorded):
        opacity, colour = one.render(fraction)
        half_x, half_y = one.half
        added = (colour - opacity[..., None] * background)[..., 0]
        rendered.append(added[half_y - 5 : half_y + 6, half_x - 5 : half_x + 6])
    return rendered[0], rendered[1]


@pytest.mark.parametrize("fraction", [(0.1, 0.2), (0.5, 0.5), (0.85, 0.3)])
def test_it_is_what_was_recorded_at_every_fraction_of_a_pixel(
    appearance: Appearance, fraction: tuple[float, float]
) -> None:
    truth, measured = both_drawn(appearance, np.array(fraction), 0.4)
    assert np.abs(truth).max() > 0.2
    assert np.sqrt(np.mean((truth - measured) ** 2)) < 0.01


def test_what_is_behind_the_object_is_told_from_the_object(appearance: Appearance) -> None:
    """Before a background that was never behind it, it is as opaque as it is."""
    truth, measured = both_drawn(appearance, np.array([0.5, 0.5]), 0.55)
    assert np.sqrt(np.mean((truth - measured) ** 2)) < 0.04


def test_positions_that_are_off_do_not_blur_it(positions: Array) -> None:
    background = textured()
    frames = recorded(positions, background)
    exact = measure_appearance(frames, background, positions, BOX)
    off = np.random.default_rng(3).normal(0, 0.3, positions.shape)
    fitted = measure_appearance(frames, background, positions + off - off.mean(axis=0), BOX)
    truth, by_exact = both_drawn(exact, np.array([0.5, 0.5]), 0.4)
    _, by_fitted = both_drawn(fitted, np.array([0.5, 0.5]), 0.4)
    errors = [float(np.sqrt(np.mean((truth - rendered) ** 2))) for rendered in (by_exact, by_fitted)]
    assert errors[1] < 1.5 * errors[0]


def test_an_object_near_the_border_is_measured_from_what_is_in_the_frame() -> None:
    random, background = np.random.default_rng(4), textured()
    positions = np.stack([random.uniform(14, SIDE - 14, 40), random.uniform(6.0, 7.5, 40)], axis=1)
    appearance = measure_appearance(recorded(positions, background), background, positions, BOX)
    truth, measured = both_drawn(appearance, np.array([0.5, 0.5]), 0.4)
    assert np.sqrt(np.mean((truth - measured)[2:] ** 2)) < 0.03


def test_large_objects_are_measured_in_means_of_pixels(positions: Array) -> None:
    background = textured()
    double = [np.repeat(np.repeat(images, 2, 1), 2, 2) for images in (recorded(positions, background), background)]
    box = np.array([LARGEST_PX + 1, 18.0])
    appearance = measure_appearance(double[0], double[1], 2 * positions, box)
    assert appearance.smooth.pool == appearance.recorded.pool == 2
    truth, measured = both_drawn(appearance, np.array([0.5, 0.5]), 0.4)
    assert np.sqrt(np.mean((truth - measured) ** 2)) < 0.02


PERSPECTIVE = (0.6, 0.0, 0.8 / SIDE)  # as large again at the bottom of the frame as at its top


def test_the_size_of_an_object_in_perspective_is_measured_with_its_appearance(positions: Array) -> None:
    background = textured()
    frames = recorded(positions, background, size=PERSPECTIVE)
    found = measure_appearance(frames, background, positions, BOX).smooth
    sizes, truth = found.size_at(positions), PERSPECTIVE[0] + positions[:, 1] * PERSPECTIVE[2]
    assert np.ptp(truth) > 0.4
    np.testing.assert_allclose(sizes / np.median(sizes), truth / np.median(truth), atol=0.03)


def test_an_object_that_keeps_its_size_is_rendered_at_one(appearance: Appearance) -> None:
    assert appearance.smooth.size == appearance.recorded.size == FLAT


def test_what_other_objects_hold_of_a_frame_is_not_the_object_s(positions: Array) -> None:
    background = textured()
    frames = recorded(positions, background)
    others = []
    for frame, (x, y) in zip(frames, positions, strict=True):
        left, top = int(x) + 6, int(y) - 3
        frame[top : top + 8, left : left + 4] = 255
        others.append(np.array([[left, top, left + 4, top + 8]]))
    added = []
    for known in (others, ()):
        template = measure_appearance(frames, background, positions, BOX, known).recorded
        opacity, colour = template.render(np.array([0.5, 0.5]))
        half_x, half_y = template.half
        added.append(float((colour[..., 0] - 0.4 * opacity)[half_y, half_x + 7]))
    assert abs(added[0]) < 0.05
    assert added[1] > 0.3


def test_the_floor_is_the_noise_over_the_slope_of_the_drawing(appearance: Appearance, positions: Array) -> None:
    """Twice the noise allows half the precision."""
    background = textured()
    floors = []
    for factor in (1.0, 2.0):
        noise = np.random.default_rng(5).normal(0, factor * NOISE, (20, SIDE, SIDE, 1))
        images = np.asarray(((background + noise).clip(0, 1) * 255).round(), np.uint8)
        model = BackgroundModel(background, np.full((SIDE, SIDE), 0.5, np.float32))
        stage = PlantingStage.of(images, model, np.arange(20))
        floor = position_floor(appearance.smooth, stage, positions)
        assert floor is not None
        floors.append(floor)
    assert 0.001 < floors[0] < 0.05
    assert floors[1] == pytest.approx(2 * floors[0], rel=0.15)
