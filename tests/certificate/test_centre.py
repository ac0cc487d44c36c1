"""Assumption 5: the tolerance of an object's centre, measured on frames with exact truth."""

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.certificate.centre import LUMA, Centre, centre_of, may_be_coded, take_portrait
from withinpx.certificate.ends import MARGIN_PX, ends_along_axes, full_strength
from withinpx.data.zoo import ZooClip, clip_of, zoo_clip, zoo_scene
from withinpx.discovery.inspection import inspect

Outline = Sequence[tuple[float, float]]
FINE = 16  # samples per pixel and axis, of which a pixel is the mean
SQUARE = [(-5, -4), (5, -4), (5, 4), (-5, 4)]
TRIANGLE = [(0, -6), (5, 6), (-5, 6)]
SIDE = 40


def frames_of(
    outline: Outline, centres: NDArray[np.float64], noise: float = 0.0, contrast: float = 120.0
) -> NDArray[np.uint8]:
    """A polygon at these centres, each pixel covered by as much of it as lies within."""
    random = np.random.default_rng(0)
    frames = []
    for centre in centres:
        canvas = np.zeros((SIDE * FINE, SIDE * FINE), np.float32)
        points = ((np.array(outline) + centre) * FINE).round().astype(np.int32)
        cv2.fillPoly(canvas, [points], 1.0)
        covered = canvas.reshape(SIDE, FINE, SIDE, FINE).mean(axis=(1, 3))
        frames.append(
            60 + contrast * covered + random.normal(0, noise, covered.shape) if noise else 60 + contrast * covered
        )
    return np.stack(frames).round().clip(0, 255).astype(np.uint8)[..., None]


def background() -> NDArray[np.float32]:
    return np.full((1, SIDE, SIDE, 1), 60 / 255, np.float32)


def centres(count: int = 60) -> NDArray[np.float64]:
    return np.random.default_rng(1).uniform(15, 25, (count, 2))


def box(outline: Outline) -> NDArray[np.float64]:
    return np.asarray(np.ptp(np.array(outline, np.float64), axis=0))


def measured(outline: Outline, at: NDArray[np.float64], frames: NDArray[np.uint8]) -> Centre:
    found = centre_of(frames, background(), at, box(outline))
    assert found is not None
    return found


def is_within(found: Centre, truth: tuple[float, float]) -> bool:
    return all(abs(true - middle) <= g for true, middle, g in zip(truth, found.middle, found.tolerance, strict=True))


@pytest.mark.parametrize("outline", [SQUARE, TRIANGLE])
@pytest.mark.parametrize("noise", [0.0, 4.0])
def test_the_centre_of_the_box_lies_within_the_tolerance(outline: Outline, noise: float) -> None:
    at = centres()
    found = measured(outline, at, frames_of(outline, at, noise))
    assert is_within(found, (0.0, 0.0))
    assert max(found.tolerance) < 0.6


def blurred(frames: NDArray[np.uint8], lens_px: float) -> NDArray[np.uint8]:
    """As a lens out of focus shows them."""
    return np.stack([cv2.GaussianBlur(frame, (0, 0), lens_px)[..., None] for frame in frames])


SHARP_ANGLE = [(-7.79, 4.81), (7.79, 4.81), (-3.61, -4.81)]  # at its right end
SMALL_TRIANGLE = [(3.29, -3.7), (3.29, 3.7), (-3.29, 0.57)]
LONG_TRIANGLE = [(-5.5, 7.9), (5.5, 7.9), (4.7, -7.9)]


def test_ends_that_are_blurred_alike_hardly_widen_the_tolerance() -> None:
    """Each edge is known to 3 px, and whatever is true of one end is true of the other."""
    at = centres()
    found = measured(SQUARE, at, blurred(frames_of(SQUARE, at), 1.2))
    assert is_within(found, (0.0, 0.0))
    assert found.tolerance[0] < 0.4


@pytest.mark.parametrize(
    ("outline", "lens_px"), [(TRIANGLE, 1.5), (SHARP_ANGLE, 1.5), (SMALL_TRIANGLE, 1.5), (LONG_TRIANGLE, 2.0)]
)
def test_a_blurred_tip_opposite_a_flat_end_is_allowed_for(outline: Outline, lens_px: float) -> None:
    at = centres()
    found = measured(outline, at, blurred(frames_of(outline, at), lens_px))
    assert is_within(found, (0.0, 0.0))


def test_a_blurred_end_that_is_fainter_than_the_other_is_allowed_for() -> None:
    """One end has a third of the other's strength: half of the strength is further inside there."""
    at = centres()
    frames = frames_of(SQUARE, at).astype(np.float64)
    columns = np.arange(SIDE) + 0.5
    for frame, (x, _) in zip(frames, at, strict=True):
        share = np.interp(columns - x, [-1.0, 5.0], [1.0, 1 / 3])
        frame[...] = 60 + (frame - 60) * share[None, :, None]
    found = measured(SQUARE, at, blurred(frames.round().astype(np.uint8), 1.2))
    assert is_within(found, (0.0, 0.0))
    alike = measured(SQUARE, at, blurred(frames_of(SQUARE, at), 1.2))
    assert found.tolerance[0] > 2 * alike.tolerance[0]


def test_of_an_end_that_is_stronger_than_the_object_half_of_its_own_strength_counts() -> None:
    """Half of the object's strength is seen further out there than the end reaches."""
    profile = np.zeros(80)
    profile[25:55] = 1.0
    profile[48:55] = 2.0
    strength = np.tile(ndimage.gaussian_filter1d(profile, 3.0), (60, 1))
    strength[:20] = strength[40:] = 0
    along_x, _ = ends_along_axes(strength, np.array([7.5, 5.0]))
    object_s, end_s = full_strength(strength, np.array([7.5, 5.0])), float(strength[30, 44:60].max())
    assert end_s > 1.2 * object_s
    assert along_x.near_levels[-1] == pytest.approx(object_s / 2, rel=0.02)
    assert along_x.far_levels[-1] == pytest.approx(end_s / 2, rel=0.02)


def test_noise_on_a_blurred_end_is_allowed_for() -> None:
    """Of the many lines across a flat end, the most shows more than it reaches; a tip has few."""
    at, outline = centres(), [(-2.58, -7.19), (3.06, 7.19), (-3.06, 7.19)]
    frames = frames_of(outline, at, contrast=100.0).astype(np.float64)
    rows = np.arange(SIDE) + 0.5
    for frame, (_, y) in zip(frames, at, strict=True):
        frame[...] = 60 + (frame - 60) * np.interp(rows - y, [2.0, 6.0], [0.86, 1.14])[:, None, None]
    seen = blurred(frames.round().clip(0, 255).astype(np.uint8), 1.5).astype(np.float64)
    noise = np.random.default_rng(2).normal(0, 8.0, seen.shape)
    assert is_within(measured(outline, at, (seen + noise).round().clip(0, 255).astype(np.uint8)), (0.0, 0.0))


def frames_alone(made: ZooClip, index: int) -> NDArray[np.intp]:
    """Frames that show all of an object, and no other nearby."""
    distances = np.abs(made.truth - made.truth[:, [index]]).max(axis=-1)
    distances[:, index] = np.inf
    alone = np.where(made.visible > 0, distances, np.inf).min(axis=1) > 40
    return np.flatnonzero((made.visible[:, index] >= 0.999) & alone)


def test_blur_makes_ends_look_more_alike_than_they_are() -> None:
    """A generated object, blurred by a lens."""
    made, index = clip_of(replace(zoo_scene(996), lens_px=1.5)), 1
    frames = frames_alone(made, index)
    images, still = made.clip.frames[frames], inspect(made.clip).background.images
    found = centre_of(images, still, made.truth[frames, index], made.sizes[0, index])
    assert found is not None
    assert is_within(found, (0.0, 0.0))


def test_brightness_does_not_say_where_an_object_ends_in_which_it_is_faint() -> None:
    """A triangle in a video; of its strength a quarter is brightness, and its tip has less."""
    made, index = zoo_clip(21131), 2
    frames = frames_alone(made, index)
    still, size, random = inspect(made.clip).background.images, made.sizes[0, index], np.random.default_rng([21131, 2])
    for _ in range(3):  # positions and boxes as networks report them
        off = random.uniform(-1, 1, 2)
        rendered = size * random.uniform(0.9, 1.2) + random.uniform(0, 3)
        at = made.truth[frames, index] - off + random.normal(0, 0.05, (len(frames), 2))
        found = centre_of(made.clip.frames[frames], still, at, rendered)
        assert found is not None
        assert is_within(found, (off[0], off[1]))


@pytest.mark.parametrize("outline", [SQUARE, SMALL_TRIANGLE])
def test_a_rendered_box_that_is_larger_than_the_object_does_not_matter(outline: Outline) -> None:
    """A small object's rendering reaches a pixel or two further on each side."""
    at = centres()
    frames = frames_of(outline, at, noise=1.0)
    own = measured(outline, at, frames)
    larger = centre_of(frames, background(), at, box(outline) + 4.0)
    assert larger is not None
    assert is_within(larger, (0.0, 0.0))
    assert larger.middle == pytest.approx(own.middle, abs=0.1)
    assert larger.tolerance == pytest.approx(own.tolerance, abs=0.1)


def test_a_position_that_is_off_by_a_constant_is_corrected_by_it() -> None:
    at = centres()
    found = measured(SQUARE, at + np.array([0.6, -0.4]), frames_of(SQUARE, at))
    assert found.middle == pytest.approx((-0.6, 0.4), abs=0.1)
    assert is_within(found, (-0.6, 0.4))


def test_the_hidden_tip_of_a_triangle_is_allowed_for() -> None:
    """The tip is too thin to be seen: the box of what is seen is a quarter of a pixel too low."""
    at = centres()
    found = measured(TRIANGLE, at, frames_of(TRIANGLE, at))
    assert found.middle[1] > 0.1
    assert found.tolerance[1] > found.middle[1]


def test_a_tip_of_half_the_strength_is_allowed_for() -> None:
    """An object's texture may be fainter at its tip: there its edge is followed to where nothing is left."""
    at = centres()
    frames = frames_of(TRIANGLE, at).astype(np.float64)
    top = box(TRIANGLE)[1] / 2
    for frame, (_, y) in zip(frames, at, strict=True):
        upper = max(0, round(y - top) - 2), round(y - top) + 4
        frame[upper[0] : upper[1]] = 60 + (frame[upper[0] : upper[1]] - 60) / 2
    assert is_within(measured(TRIANGLE, at, frames.astype(np.uint8)), (0.0, 0.0))


def test_an_object_that_is_always_at_one_fraction_of_a_pixel_is_known_less_well() -> None:
    moving = centres()
    resting = np.column_stack([moving[:, 0], np.floor(moving[:, 1]) + 0.49])
    everywhere, at_one = (measured(TRIANGLE, at, frames_of(TRIANGLE, at, 1.0)) for at in (moving, resting))
    assert at_one.tolerance[1] > everywhere.tolerance[1] + 0.1
    assert is_within(at_one, (0.0, 0.0))


def test_a_shadow_widens_the_tolerance_but_does_not_move_the_centre() -> None:
    """The shadow is darker than the background to the right of the object, where it could be a part of it."""
    at = centres()
    frames = frames_of(SQUARE, at).astype(np.float64)
    for frame, (x, y) in zip(frames, at, strict=True):
        left, right, top, bottom = round(x + 5), round(x + 9), round(y - 3), round(y + 4)
        frame[top:bottom, left:right] = 0.7 * 60
    plain = measured(SQUARE, at, frames_of(SQUARE, at))
    shaded = centre_of(frames.astype(np.uint8), background(), at, box(SQUARE) + np.array([4, 0]))
    assert shaded is not None
    assert shaded.tolerance[0] > plain.tolerance[0] + 0.5
    assert is_within(shaded, (0.0, 0.0))


def halved(frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Colours (f, h, w, 3) as a video codec keeps them: hues have half the resolution, luma has all of it."""
    luma = frames @ np.array(LUMA)
    hue = frames - luma[..., None]
    pairs = hue.reshape(len(hue), SIDE // 2, 2, SIDE // 2, 2, 3).mean(axis=(2, 4))
    return np.asarray(luma[..., None] + pairs.repeat(2, axis=1).repeat(2, axis=2))


def coloured(*, beside: float, strength: float = 1.0, coded: bool = False) -> Centre:
    """A red square of this strength; to its right, 4 px are ``beside`` times as bright as the grey background."""
    at = centres()
    covered = frames_of(SQUARE, at)[..., 0].astype(np.float64)[..., None] - 60
    frames = 60 + covered / 120 * np.array([130.0, -10.0, -10.0]) * strength
    for frame, part, (x, y) in zip(frames, covered, at, strict=True):
        rows, columns = slice(round(y - 3), round(y + 4)), slice(round(x + 3), round(x + 9))
        share = 1 - part[rows, columns] / 120
        frame[rows, columns] += share * 60 * (beside - 1)
    found = centre_of(
        (halved(frames) if coded else frames).round().clip(0, 255).astype(np.uint8),
        np.full((1, SIDE, SIDE, 3), 60 / 255, np.float32),
        at,
        box(SQUARE) + np.array([4, 0]),
    )
    assert found is not None
    return found


def test_the_shadow_of_an_object_that_is_known_by_its_hue_does_not_widen_the_tolerance() -> None:
    shaded = coloured(beside=0.7)
    assert shaded.tolerance[0] < coloured(beside=1.0).tolerance[0] + 0.25
    assert is_within(shaded, (0.0, 0.0))


def test_a_shadow_widens_the_tolerance_where_hues_have_half_the_resolution() -> None:
    """A hue then ends where a pair of pixels does, up to a pixel from where its object does."""
    assert is_within(coloured(beside=0.7, coded=True), (2.0, 0.0))


@pytest.mark.parametrize("beside", [0.05, 1.4, 2.0])
def test_what_is_no_shadow_is_a_part_of_an_object_of_any_hue(beside: float) -> None:
    """It is grey as the background, but brighter, or darker than a shadow: the object reaches to its end."""
    assert is_within(coloured(beside=beside), (2.0, 0.0))


def test_a_shadow_widens_the_tolerance_where_the_hue_is_as_faint_as_a_shadows() -> None:
    """Its own hue could be one of the shadow's: nothing says where the object ends and its shadow begins."""
    faint = coloured(beside=0.7, strength=0.13)
    assert is_within(faint, (0.0, 0.0))
    assert is_within(faint, (2.0, 0.0))


def test_an_object_as_faint_as_the_noise_has_no_measured_centre() -> None:
    at = centres(12)
    assert centre_of(frames_of(SQUARE, at, noise=12.0, contrast=8.0), background(), at, box(SQUARE)) is None


def test_what_other_objects_hold_of_a_frame_is_left_out() -> None:
    at = centres()
    frames, others = frames_of(SQUARE, at), []
    for frame, (x, y) in zip(frames, at, strict=True):
        left, top = round(x + 6), round(y - 3)
        frame[top : top + 6, left : left + 3] = 200
        others.append(np.array([[left, top, left + 3, top + 6]]))
    plain = measured(SQUARE, at, frames_of(SQUARE, at))
    with_others = centre_of(frames, background(), at, box(SQUARE), others=others)
    assert with_others is not None
    assert with_others.tolerance == pytest.approx(plain.tolerance, abs=0.05)
    assert is_within(with_others, (0.0, 0.0))


def test_a_few_bright_pixels_beside_an_object_do_not_hide_its_edges() -> None:
    """One frame shows them, and is the only one at its fraction of a pixel."""
    at = np.column_stack([np.floor(centres()[:, 0]) + 0.6, np.floor(centres()[:, 1]) + 0.3])
    at = np.concatenate([at, centres(24)])
    frames = frames_of(SQUARE, at, noise=1.0)
    x, y = np.floor(at[-1]).astype(int)
    frames[-1, y - 7, x - 6] = frames[-1, y + 7, x + 2] = 255
    found = measured(SQUARE, at, frames)
    assert is_within(found, (0.0, 0.0))
    assert max(found.tolerance) < 0.6


def test_the_centre_is_measured_at_the_usual_size_of_an_object_in_perspective() -> None:
    at = centres()
    sizes = 0.75 + 0.5 * (at[:, 1] - 15) / 10
    frames = np.concatenate(
        [
            frames_of([(size * x, size * y) for x, y in TRIANGLE], position[None])
            for size, position in zip(sizes, at, strict=True)
        ]
    )
    at_one_size = measured(TRIANGLE, at, frames_of(TRIANGLE, at))
    found = centre_of(frames, background(), at, box(TRIANGLE), sizes=sizes)
    assert found is not None
    assert is_within(found, (0.0, 0.0))
    assert max(found.tolerance) < max(at_one_size.tolerance) + 0.15
    blurred = centre_of(frames, background(), at, 1.25 * box(TRIANGLE))
    assert blurred is None or max(blurred.tolerance) > max(found.tolerance) + 0.15


def test_an_object_near_the_border_is_measured_by_what_is_in_the_frame() -> None:
    at = centres(40)
    at[:, 1] = 5.0 + at[:, 1] % 1.0  # its upper edge is a pixel or two from the border
    found = centre_of(frames_of(SQUARE, at), background(), at, box(SQUARE))
    assert found is not None
    assert is_within(found, (0.0, 0.0))


def part_without_brightness() -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """A square whose right part is as bright as the background, and of another hue."""
    at = centres()
    left, right = [(-5, -4), (2, -4), (2, 4), (-5, 4)], [(2, -4), (5, -4), (5, 4), (2, 4)]
    bright, tinted = ((frames_of(part, at)[..., 0].astype(np.float64) - 60) / 120 for part in (left, right))
    colour = np.array([50.0, -20.0, -28.1])  # no luma
    frames = 60.0 + 130 * bright[..., None] + 0.6 * colour * tinted[..., None]
    return frames.round().clip(0, 255).astype(np.uint8), at


def test_a_part_that_is_as_bright_as_the_background_is_seen_by_its_hue() -> None:
    frames, at = part_without_brightness()
    found = centre_of(frames, np.full((1, SIDE, SIDE, 3), 60 / 255, np.float32), at, box(SQUARE))
    assert found is not None
    assert is_within(found, (0.0, 0.0))


def test_hues_of_half_the_resolution_are_recognised() -> None:
    frames, at = part_without_brightness()
    still = np.full((1, SIDE, SIDE, 3), 60 / 255, np.float32)
    reach = box(SQUARE) / 2 + MARGIN_PX
    sharp = take_portrait(frames, still, at, reach)
    coded = take_portrait(halved(frames.astype(np.float64)).round().clip(0, 255).astype(np.uint8), still, at, reach)
    assert sharp is not None
    assert sharp.paired == (False, False)
    assert coded is not None
    assert coded.paired == (True, True)


def test_frames_of_a_video_and_frames_without_hue_may_be_coded() -> None:
    frames, at = part_without_brightness()
    still = np.full((1, SIDE, SIDE, 3), 60 / 255, np.float32)
    coded = halved(frames.astype(np.float64)).round().clip(0, 255).astype(np.uint8)
    assert not may_be_coded(frames, still, at, box(SQUARE))
    assert may_be_coded(coded, still, at, box(SQUARE))
    assert may_be_coded(frames_of(SQUARE, at), background(), at, box(SQUARE))


def test_the_strength_of_what_only_one_line_shows_is_the_most_of_it() -> None:
    """Beside that line nothing is known, so each of its edges may be on either side."""
    strength = np.zeros((64, 64))
    strength[30:35, 32] = np.arange(1.0, 6.0)
    strength[:, [30, 31, 33, 34]] = np.nan
    assert full_strength(strength, np.array([0.5, 0.5])) == 5.0
