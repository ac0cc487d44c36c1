"""Feasible sets against brute force, on networks whose renderings are planted in frames."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.inference.planted import GREY, planted_network, rendered_frames, residuals, search_for
from withinpx.certificate.planting import centroid_at
from withinpx.inference.feasible import find_feasible
from withinpx.inference.observation import Feasible, Frames
from withinpx.inference.rendering import object_difference
from withinpx.inference.template import PHASES, make_template

POSITIONS = np.array([[[20.3, 24.8]], [[25.0, 22.5]], [[23.71, 26.06]]])


def found(frames: Frames, z: np.ndarray, eps: float, seed: int = 0) -> Feasible:
    search = search_for(planted_network(seed=seed), eps=eps)
    return find_feasible([search], frames, z, np.zeros_like(z), np.ones(z.shape[:2], np.bool_))


@pytest.mark.parametrize("seed", range(3))
def test_a_template_is_what_the_network_renders_at_every_fraction_of_a_pixel(seed: int) -> None:
    model = planted_network(seed=seed)
    template = make_template(model, 0, torch.tensor([GREY]))
    for row, column in ((0, 0), (3, 7), (PHASES, 2)):
        z = torch.tensor([[[20 + column / PHASES, 24 + row / PHASES]]])
        rendered = object_difference(model, z, torch.tensor([0]))[0, 0]
        own = (template.colour - template.opacity * GREY)[row, column, 0]
        left, top = 20 + template.left, 24 + template.top
        part = rendered[top : top + template.height, left : left + template.width]
        torch.testing.assert_close(own.float(), part, atol=1e-5, rtol=0)
        rest = rendered.clone()
        rest[top : top + template.height, left : left + template.width] = 0
        assert rest.abs().max() <= 0.011 * rendered.abs().max()  # what was cut off


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_planted_object_lies_inside_its_set(seed: int, noise: float) -> None:
    model = planted_network(seed=seed)
    frames = rendered_frames(model, POSITIONS, noise)
    at = np.array([1.0, -2.0])  # z is off by this much, as the theorem allows
    smallest = found(frames, POSITIONS + at, np.inf, seed).residual
    sets = found(frames, POSITIONS + at, 1.1 * float(smallest.max()) + 0.02, seed)
    template = make_template(model, 0, torch.tensor([GREY]))
    for frame, (position,) in enumerate(POSITIONS):
        truth = centroid_at(template, position)
        assert (sets.low[frame, 0] <= truth + 1e-3).all()
        assert (sets.high[frame, 0] >= truth - 1e-3).all()
        assert np.abs(sets.best[frame, 0] - truth).max() < 0.2


@pytest.mark.parametrize("seed", range(4))
def test_every_rendering_with_a_small_residual_lies_inside_the_set(seed: int) -> None:
    """Completeness, against many renderings by the network itself: what the search excludes leaves more than eps."""
    model = planted_network(seed=seed)
    frames = rendered_frames(model, POSITIONS[:1], noise=0.02)
    z = np.random.default_rng(seed).uniform(-4.0, 4.0, (4000, 2)) + POSITIONS[0, 0]
    by_hand = residuals(model, frames, z)
    template = make_template(model, 0, torch.tensor([GREY]))
    outside_window = by_hand.min() / 2  # noise of pixels that the search does not look at lowers no residual
    for eps in (1.05 * by_hand.min(), np.quantile(by_hand, 0.02), np.quantile(by_hand, 0.2)):
        sets = found(frames, POSITIONS[:1], float(eps), seed)
        low, high = sets.low[0, 0] - 0.01, sets.high[0, 0] + 0.01
        for position in z[by_hand <= eps]:
            centre = centroid_at(template, position)
            assert (low <= centre).all()
            assert (centre <= high).all()
    assert outside_window >= 0


def test_a_smaller_eps_gives_a_smaller_set() -> None:
    frames = rendered_frames(planted_network(), POSITIONS, noise=0.02)
    smallest = float(found(frames, POSITIONS, np.inf).residual.max())
    widths = []
    for factor in (1.05, 1.5, 3.0):
        sets = found(frames, POSITIONS, factor * smallest)
        widths.append((sets.high - sets.low).max())
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_a_frame_that_shows_something_else_has_no_feasible_set() -> None:
    frames = rendered_frames(planted_network(), POSITIONS)
    eps = 1.25 * float(found(frames, POSITIONS, np.inf).residual.max()) + 0.02
    covered = frames.images.clone()
    covered[0, :, 20:29, 16:21] = 255  # half of the object is hidden
    sets = found(replace(frames, images=covered), POSITIONS, eps)
    assert np.isnan(sets.low[0]).all()
    assert np.isfinite(sets.low[1:]).all()


def test_what_looks_the_same_at_two_places_is_covered_by_one_set() -> None:
    """Two copies of the object within reach: the set must reach from one to the other."""
    model = planted_network()
    frames = rendered_frames(model, np.array([[[20.0, 24.0]]]))
    one = frames.images[0].double() / 255 - GREY
    twice = ((one + torch.roll(one, 4, -1) + GREY).clamp(0, 1) * 255).round().to(torch.uint8)
    z = np.array([[[22.0, 24.0]]])
    eps = 1.3 * float(found(replace(frames, images=twice[None]), z, np.inf).residual.max())
    sets = found(replace(frames, images=twice[None]), z, eps)
    assert (sets.high - sets.low)[0, 0, 0] >= 4.0


def test_pixels_that_another_object_may_cover_do_not_count() -> None:
    model = planted_network(objects=2)
    z = np.array([[[18.0, 24.0], [29.0, 24.0]]])
    frames = rendered_frames(model, z)
    searches = [search_for(model, index) for index in (0, 1)]
    present = np.ones((1, 2), np.bool_)
    apart = find_feasible(searches, frames, z, np.zeros_like(z), present).residual
    alone = find_feasible([searches[0], None], frames, z, np.zeros_like(z), present).residual
    assert apart[0, 0] < 0.25 * alone[0, 0]  # by itself the other object would be unexplained


def test_an_absent_object_is_not_searched_for() -> None:
    frames = rendered_frames(planted_network(), POSITIONS)
    present = np.array([[True], [False], [True]])
    sets = find_feasible([search_for(planted_network())], frames, POSITIONS, np.zeros_like(POSITIONS), present)
    assert np.isnan(sets.residual[1]).all()
    assert np.isfinite(sets.residual[[0, 2]]).all()
