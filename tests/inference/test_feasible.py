"""Feasible sets against brute force, on templates that are rendered in frames."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.certificate.observed import seen_at
from tests.inference.rendered import GREY, SIDE, Array, blob, frames_with, observed, smooth
from withinpx.inference.feasible import BESIDE_PX, PARTS, Search, find_feasible
from withinpx.inference.observation import Feasible, Observations, Pixels
from withinpx.inference.outline import Outline
from withinpx.inference.template import FLAT, KERNEL_PX, PHASES, Template, smoothed

POSITIONS = np.array([[[26.3, 31.8]], [[32.0, 29.5]], [[30.71, 33.06]]])


def found(pixels: Pixels, seen: Observations, eps: float, seed: int = 0, reach: float = 5.0) -> Feasible:
    return find_feasible([Search(smooth(blob(seed)), reach, eps)], pixels, seen)


def residuals(template: Template, pixels: Pixels, middle: Array, positions: Array) -> Array:
    """By brute force: how much the first frame differs from the template at each position (k, 2).

    Compared are the pixels of the template at ``middle``, and BESIDE_PX around.
    """
    image, background = (
        smoothed(values.double(), 1)[0].permute(1, 2, 0).numpy()
        for values in (pixels.images / 255, pixels.backgrounds.expand(1, *pixels.images.shape[1:]))
    )
    counted = np.zeros(image.shape[:2], np.bool_)
    half_x, half_y = np.array(template.half) + BESIDE_PX
    x, y = np.floor(middle).astype(int) - KERNEL_PX
    counted[y - half_y : y + half_y + 1, x - half_x : x + half_x + 1] = True
    half_x, half_y = template.half
    left = []
    for position in positions:
        rendered, whole = background.copy(), np.floor(position).astype(int)
        opacity, colour = template.render(position - whole)
        x, y = whole - KERNEL_PX
        part = rendered[y - half_y : y + half_y + 1, x - half_x : x + half_x + 1]
        part += colour - opacity[..., None] * part
        left.append(float(np.linalg.norm((image - rendered)[counted])))
    return np.array(left)


def test_a_template_at_the_next_pixel_is_drawn_one_pixel_further() -> None:
    template = blob(colours=3)
    for before, after in zip(template.render(np.array([0.0, 0.4])), template.render(np.array([1.0, 0.4])), strict=True):
        np.testing.assert_allclose(after[:, 1:], before[:, :-1], atol=1e-12)


def test_between_two_phases_a_template_is_drawn_as_their_mean() -> None:
    template = blob()
    opacity, colour = (values.numpy() for values in template.phases)
    own_opacity, own_colour = template.render(np.array([2.5, 3.5]) / PHASES)
    np.testing.assert_allclose(own_opacity, opacity[3:5, 2:4, 0].mean(axis=(0, 1)), atol=1e-12)
    np.testing.assert_allclose(np.moveaxis(own_colour, -1, 0), colour[3:5, 2:4].mean(axis=(0, 1)), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_drawn_object_lies_inside_its_set(seed: int, noise: float) -> None:
    pixels = frames_with([(blob(seed), POSITIONS[:, 0])], noise, seed)
    seen = observed(POSITIONS, np.array([1.0, -2.0]))  # z is off by as much as the theorem allows
    smallest = found(pixels, seen, np.inf, seed).residual
    sets = found(pixels, seen, 1.1 * float(smallest.max()), seed)
    assert (sets.low <= POSITIONS).all()
    assert (sets.high >= POSITIONS).all()
    assert np.abs(sets.best - POSITIONS).max() < (0.15 if noise else 0.02)


@pytest.mark.parametrize("off", [4.6, -4.6])
def test_an_object_at_the_end_of_the_reach_lies_inside_its_set(off: float) -> None:
    """z is off by nearly all that the theorem allows, which is 5 px."""
    pixels = frames_with([(blob(), POSITIONS[:, 0])], noise=0.01)
    eps = 1.1 * float(found(pixels, observed(POSITIONS), np.inf).residual.max())
    sets = found(pixels, observed(POSITIONS, np.array([off, -off])), eps)
    assert (sets.low <= POSITIONS).all()
    assert (sets.high >= POSITIONS).all()


@pytest.mark.parametrize("seed", range(4))
def test_an_object_in_perspective_lies_inside_the_set_of_a_template_that_grows(seed: int) -> None:
    """A template of one size leaves several times the residual."""
    growing = replace(smooth(blob(seed)), size=(0.4, 0.0, 0.02))
    sizes = growing.size_at(POSITIONS[:, 0])
    frames = [
        frames_with([(blob(seed).scaled(float(size)), at)], 0.005, seed)
        for size, at in zip(sizes, POSITIONS, strict=True)
    ]
    pixels = Pixels(torch.cat([one.images for one in frames]), frames[0].backgrounds)
    seen = observed(POSITIONS, np.array([1.0, -2.0]))
    smallest = find_feasible([Search(growing, 5.0)], pixels, seen)
    np.testing.assert_allclose(smallest.size[:, 0], sizes)
    assert np.ptp(sizes) > 0.05
    sets = find_feasible([Search(growing, 5.0, 1.1 * float(smallest.residual.max()))], pixels, seen)
    assert (sets.low <= POSITIONS).all()
    assert (sets.high >= POSITIONS).all()
    assert np.abs(sets.best - POSITIONS).max() < 0.1
    of_one_size = find_feasible([Search(replace(growing, size=FLAT).scaled(1.3), 5.0)], pixels, seen)
    assert of_one_size.residual.min() > 2 * smallest.residual.max()


@pytest.mark.parametrize("seed", range(4))
def test_every_drawing_with_a_small_residual_lies_inside_the_set(seed: int) -> None:
    """Completeness: what the search excludes leaves more than eps."""
    pixels = frames_with([(blob(seed), POSITIONS[:1, 0])], noise=0.02)
    positions = np.random.default_rng(seed).uniform(-4.0, 4.0, (2000, 2)) + POSITIONS[0, 0]
    by_hand = residuals(smooth(blob(seed)), pixels, POSITIONS[0, 0], positions)
    for eps in (1.05 * by_hand.min(), np.quantile(by_hand, 0.02), np.quantile(by_hand, 0.2)):
        sets = found(pixels, observed(POSITIONS[:1]), float(eps), seed)
        feasible = positions[by_hand <= eps]
        assert len(feasible)
        assert (sets.low[0, 0] <= feasible).all()
        assert (sets.high[0, 0] >= feasible).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_set_ends_where_the_residual_exceeds_eps(seed: int) -> None:
    """To within a part of a cell, where the set ends in one place; no feasible position is left out."""
    template, middle = smooth(blob(seed)), POSITIONS[0, 0]
    pixels = frames_with([(blob(seed), POSITIONS[:1, 0])], noise=0.02)
    smallest = float(found(pixels, observed(POSITIONS[:1]), np.inf, seed).residual[0, 0])
    places = middle + 0.01 * (np.stack(np.meshgrid(np.arange(-60, 61), np.arange(-60, 61)), axis=-1).reshape(-1, 2))
    by_hand = residuals(template, pixels, middle, places)
    for factor in (1.05, 1.3, 2.0):
        sets = found(pixels, observed(POSITIONS[:1]), factor * smallest, seed)
        feasible = places[by_hand <= factor * smallest]
        beyond = np.stack([feasible.min(axis=0) - sets.low[0, 0], sets.high[0, 0] - feasible.max(axis=0)])
        assert beyond.min() >= 0
        assert beyond.max() <= 1.5 / (PARTS * PHASES) + 0.01


@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_residual_is_that_of_the_best_drawing(seed: int) -> None:
    pixels = frames_with([(blob(seed), POSITIONS[:1, 0])], noise=0.02)
    sets = found(pixels, observed(POSITIONS[:1]), np.inf, seed)
    by_hand = residuals(smooth(blob(seed)), pixels, POSITIONS[0, 0], sets.best[0])
    assert sets.residual[0, 0] == pytest.approx(by_hand[0], rel=0.01)


def test_a_smaller_eps_gives_a_smaller_set() -> None:
    pixels = frames_with([(blob(), POSITIONS[:, 0])], noise=0.02)
    smallest = float(found(pixels, observed(POSITIONS), np.inf).residual.max())
    widths = []
    for factor in (1.05, 1.5, 3.0):
        sets = found(pixels, observed(POSITIONS), factor * smallest)
        widths.append(float((sets.high - sets.low).max()))
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


@pytest.mark.parametrize("change", ["hidden", "blurred", "brighter", "saturated", "turned"])
def test_a_frame_that_shows_the_object_otherwise_has_no_feasible_set(change: str) -> None:
    pixels = frames_with([(blob(), POSITIONS[:, 0])])
    eps = 1.25 * float(found(pixels, observed(POSITIONS), np.inf).residual.max()) + 0.02
    images = pixels.images.clone()
    part = images[0, :, 26:38, 20:33].double()
    if change == "hidden":
        images[0, :, 26:38, 20:26] = 255
    elif change == "blurred":
        images[0] = (torch.roll(images[0], 3, -1) / 2 + torch.roll(images[0], -3, -1) / 2).to(torch.uint8)
    elif change == "brighter":
        images[0, :, 26:38, 20:33] = (part + 0.5 * (part - 102)).clamp(0, 255).to(torch.uint8)
    elif change == "saturated":
        images[0, :, 26:38, 20:33] = torch.where(part > 110, 255.0, part).to(torch.uint8)
    else:
        images[0, :, 26:38, 20:32] = torch.rot90(images[0, :, 26:38, 20:32], 1, (1, 2))
    sets = found(replace(pixels, images=images), observed(POSITIONS), eps)
    assert np.isnan(sets.low[0]).all()
    assert np.isfinite(sets.low[1:]).all()


def test_no_set_is_left_by_a_residual_that_is_larger_than_eps_everywhere() -> None:
    """The lower bound of a cell may be smaller than eps where no rendering is: the frame has no set all the same."""
    pixels = frames_with([(blob(), POSITIONS[:, 0])], noise=0.02)
    smallest = found(pixels, observed(POSITIONS), np.inf).residual[:, 0]
    sets = found(pixels, observed(POSITIONS), 0.999 * float(smallest.max()))
    assert np.isnan(sets.low[smallest.argmax()]).all()


def test_what_looks_the_same_at_two_places_is_covered_by_one_set() -> None:
    """Two copies within reach, between which the network sees the object: the set reaches from one to the other."""
    at = np.array([[[26.0, 32.0]]])
    pixels = frames_with([(blob(half=4), at[:, 0]), (blob(half=4), at[:, 0] + np.array([9.0, 0.0]))])
    search = Search(smooth(blob(half=4)), 6.0)
    seen = observed(at + np.array([4.5, 0.0]))
    eps = 1.3 * float(find_feasible([search], pixels, seen).residual.max())
    sets = find_feasible([replace(search, eps=eps)], pixels, seen)
    assert (sets.high - sets.low)[0, 0, 0] >= 9.0


def test_pixels_in_another_object_s_box_do_not_count() -> None:
    positions = np.array([[[26.0, 32.0], [38.0, 32.0]]])
    pixels = frames_with([(blob(0), positions[:, 0]), (blob(1), positions[:, 1])])
    searches = [Search(smooth(blob(0)), 3.0), None]
    both = find_feasible(searches, pixels, observed(positions)).residual
    seen = observed(positions)
    seen.present[:, 1] = False  # as if the network did not know the other one
    assert both[0, 0] < 0.25 * find_feasible(searches, pixels, seen).residual[0, 0]


@pytest.mark.parametrize(("beside", "known"), [(0.0, False), (14.0, False), (19.0, True)])
def test_an_object_most_of_which_another_one_hides_has_no_set(beside: float, known: bool) -> None:
    """It contradicts nothing that the frame shows, wherever it is. Where half of it is seen, that says where it is."""
    positions = np.array([[[30.0, 32.0], [30.0 + beside, 32.0]]])
    pixels = frames_with([(blob(1), positions[:, 1]), (blob(0), positions[:, 0])])
    seen = observed(positions)
    seen.box[:, 1] = 24.0
    sets = find_feasible([Search(smooth(blob(0)), 3.0, eps=0.2), None], pixels, seen)
    assert np.isfinite(sets.low[0, 0]).all() == known
    if known:
        assert (sets.low[0, 0] <= positions[0, 0]).all()
        assert (sets.high[0, 0] >= positions[0, 0]).all()


def test_a_frame_without_the_object_has_no_set_even_if_any_residual_is_allowed() -> None:
    """Beside the pixels that are compared, a template leaves what they show, and explains nothing of it."""
    positions = np.array([[[30.0, 32.0]]])
    seen, careless = observed(positions), Search(smooth(blob(0)), 20.0, eps=1e3)
    with_object, without = (frames_with([(blob(0), positions[:, 0] + away)], 0.02) for away in (0.0, 20.0))
    assert np.isfinite(find_feasible([careless], with_object, seen).low).all()
    assert np.isnan(find_feasible([careless], without, seen).low).all()


@pytest.mark.parametrize(("off", "known"), [(0.0, True), (2.0, True), (6.0, False)])
def test_an_outline_that_disagrees_with_what_is_rendered_says_nothing(off: float, known: bool) -> None:
    """It may be that of more than the object. Where the two agree, both are in the range."""
    square = np.full((1, 1, SIDE, SIDE), GREY)
    square[..., 20:44, 22:46] = 0.9
    pixels = Pixels(torch.from_numpy((255 * square).round().astype(np.uint8)), torch.full((1, 1, SIDE, SIDE), GREY))
    rendered = np.array([[[34.0 + off, 32.0]]])
    found = find_feasible([Outline(0.5, 0.03, 4.0)], pixels, seen_at(rendered, size=22.0))
    assert np.isfinite(found.low).all() == known
    if known:
        for centre in (rendered[0, 0], np.array([34.0, 32.0])):
            assert (found.low[0, 0] <= centre).all()
            assert (centre <= found.high[0, 0]).all()
        assert found.size[0, 0] == pytest.approx(24, abs=0.6)


@pytest.mark.parametrize(
    ("top", "limb", "reaches", "known"),
    [(2, False, True, True), (0, False, True, False), (16, True, True, False), (16, True, False, True)],
    ids=["beside the border", "cut off", "a limb is cut off", "a limb that is not rendered is cut off"],
)
def test_where_the_rendering_reaches_the_border_the_frame_must_show_background_around_the_object(
    top: int, limb: bool, reaches: bool, known: bool
) -> None:
    """At a quarter of the frame's scale, 2 px from the border are half a px."""
    square = np.full((1, 1, SIDE, SIDE), GREY)
    square[..., top : top + 24, 20:44] = 0.9
    if limb:
        square[..., :top, 31:33] = 0.9
    pixels = Pixels(torch.from_numpy((255 * square).round().astype(np.uint8)), torch.full((1, 1, SIDE, SIDE), GREY))
    seen = seen_at(np.array([[[32.0, top + 12.0]]]) / 4, size=6.0, at_border=np.array([[reaches]]))
    found = find_feasible([Outline(0.5, 0.03, 1.0)], pixels, seen, zoom=4.0)
    assert np.isfinite(found.low).all() == known


def test_an_absent_object_is_not_searched_for() -> None:
    seen = observed(POSITIONS)
    seen.present[1] = False
    sets = found(frames_with([(blob(), POSITIONS[:, 0])]), seen, np.inf)
    assert np.isnan(sets.residual[1]).all()
    assert np.isfinite(sets.residual[[0, 2]]).all()


def test_large_objects_are_searched_for_in_means_of_pixels() -> None:
    """Frames of twice the size, compared with means of 2 x 2 px: the same sets, of twice the size."""
    pixels = frames_with([(blob(), POSITIONS[:, 0])], noise=0.02)
    large = Pixels(
        *(values.repeat_interleave(2, -1).repeat_interleave(2, -2) for values in (pixels.images, pixels.backgrounds))
    )
    template, seen = smooth(blob()), observed(POSITIONS)
    eps = 1.25 * float(found(pixels, seen, np.inf).residual.max())
    small_sets = found(pixels, seen, eps)
    large_sets = find_feasible([Search(replace(template, pool=2), 5.0, eps)], large, seen, zoom=2.0)
    for name in ("residual", "best", "low", "high"):  # in px of the network's input, as the small ones
        np.testing.assert_allclose(getattr(large_sets, name), getattr(small_sets, name), atol=1e-6)
