"""Which objects are rigid, so that their templates tell where their centres are; and whose outlines can be trusted."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.certificate import membership
from withinpx.certificate.case import Case
from withinpx.certificate.certificate import Check, SetMembership
from withinpx.certificate.outlines import (
    JUMPS,
    SMALL_PX,
    SMALLEST_PX,
    Outlined,
    changes_size,
    is_steady,
    moves_within,
    says_enough,
    usual_sizes,
)
from withinpx.certificate.planting import PlantingStage, paste_regions
from withinpx.inference.observation import Feasible
from withinpx.inference.outline import EDGE_PX

RANDOM = np.random.default_rng(0)
BLUR = 1.0


def test_an_object_whose_size_varies_is_not_rigid() -> None:
    steady, turning = 20 + RANDOM.normal(0, 0.3, 60), 20 + 4 * np.sin(np.arange(60))
    assert not changes_size(steady, np.ones(60), BLUR)
    assert changes_size(turning, np.ones(60), BLUR)


def test_growth_in_perspective_is_expected() -> None:
    expected = np.linspace(0.7, 1.4, 60)
    assert not changes_size(20 * expected, expected, BLUR)
    assert changes_size(20 * expected, np.ones(60), BLUR)


def test_a_size_that_is_never_known_does_not_vary() -> None:
    assert not changes_size(np.full(9, np.nan), np.ones(9), BLUR)


def test_the_middle_of_an_object_that_turns_moves_against_its_position() -> None:
    positions = RANDOM.uniform(20, 80, (60, 2))
    angles = np.linspace(0, 12, 60)
    turning = positions + 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    shaded = positions + np.array([3.0, 0.0]) + RANDOM.normal(0, 0.2, (60, 2))  # a shadow moves it once and for all
    assert moves_within(turning, positions, size=13.0, blur=BLUR)
    assert not moves_within(shaded, positions, size=13.0, blur=BLUR)
    assert not moves_within(np.full((60, 2), np.nan), positions, size=13.0, blur=BLUR)


def test_an_outline_that_has_merged_with_another_object_is_not_of_a_usual_size() -> None:
    alone, deforming = RANDOM.uniform(18, 19, 90), RANDOM.uniform(20, 30, 90)
    low, high = usual_sizes(np.concatenate([alone, np.linspace(22, 29, 12), [np.nan]]), BLUR)
    assert low < alone.min()
    assert alone.max() < high < 22
    low, high = usual_sizes(deforming, BLUR)
    assert low < 20
    assert high > 30
    low, high = usual_sizes(np.full(9, 18.5), BLUR)
    assert (low, high) == (17.5, 19.5)


def outlined(sizes: list[float], *, met: bool = True, usual_px: float = 1.0, reach: float = 9.0) -> Outlined:
    check = Check("mismatch", 1.0, 1.0, "share", met, "")
    membership = SetMembership(0.02, (0.0, 0.0), (0.0, 0.0), reach, None, 0.5, (1.0, 99.0))
    return Outlined(0, membership, check, Feasible.nowhere(len(sizes), 1), usual_px, np.array(sizes))


def in_order(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The frames before and after each of so many."""
    places = np.arange(count)
    return places - 1, np.where(places < count - 1, places + 1, -1)


CASE: Any = SimpleNamespace(footage=SimpleNamespace(zoom=2.0), neighbours=lambda _: in_order(5))  # sizes are in px of
# an input of half the resolution


def test_an_edge_that_is_misplaced_for_a_frame_is_a_jump_of_the_size() -> None:
    steady = np.linspace(20, 26, 30)
    jumping = steady.copy()
    jumping[12] += 1.1 * EDGE_PX / JUMPS
    assert is_steady(steady, *in_order(30))
    assert not is_steady(jumping, *in_order(30))
    assert not is_steady(np.full(9, np.nan), *in_order(9))  # nothing is known


class SeenSizes:
    """What a case knows of sizes."""

    def __init__(self, size: NDArray[np.float64]) -> None:
        self.size = size

    def __len__(self) -> int:
        return len(self.size)


def test_views_of_two_animals_are_each_compared_with_their_own() -> None:
    numbers, animal = np.repeat(np.arange(8), 2), np.tile([0, 1], 8)
    positions = np.stack([20.0 + 60 * animal + numbers, np.full(16, 30.0)], axis=-1)
    case: Any = SimpleNamespace(positions=positions[:, None], footage=SimpleNamespace(numbers=numbers))
    case.seen = SeenSizes(np.full((16, 1), 12.0))
    before, after = Case.neighbours(case, 0)
    assert (animal[before[2:]] == animal[2:]).all()
    assert (animal[after[:-2]] == animal[:-2]).all()
    assert (before[:2] == -1).all()
    assert (after[-2:] == -1).all()
    sizes = np.where(animal == 0, 20.0, 26.0)
    assert is_steady(sizes, before, after)
    assert not is_steady(sizes, *in_order(16))


def test_the_outline_of_a_small_object_must_be_steady_and_that_of_a_smaller_one_says_nothing() -> None:
    def sizes(px: float, jump: float = 0.0) -> list[float]:
        return [px / 2, px / 2, (px + jump) / 2, px / 2, px / 2]

    large, small, smallest = SMALL_PX + 1, SMALL_PX - 2, SMALLEST_PX - 1
    assert says_enough(CASE, outlined(sizes(large, jump=5.0)))
    assert says_enough(CASE, outlined(sizes(small)))
    assert not says_enough(CASE, outlined(sizes(small, jump=5.0)))
    assert not says_enough(CASE, outlined(sizes(smallest)))


def test_an_outline_must_pass_the_planted_check_and_say_more_than_the_theorem() -> None:
    sizes = [SMALL_PX] * 5
    assert not says_enough(CASE, outlined(sizes, met=False))
    assert not says_enough(CASE, outlined(sizes, usual_px=9.5))


def test_what_is_pasted_with_an_object_takes_the_background_of_its_new_place() -> None:
    """Only pixels that changed are the object's; those beside them show the background, which is another one there."""
    background = np.repeat(np.linspace(0.2, 0.6, 40, dtype=np.float32)[None, :, None], 30, axis=0)
    frames = np.stack([background, background])
    frames[0, 10:18, 12:20] = 0.95
    images = (255 * frames).round().astype(np.uint8)
    changed = np.abs(frames - background).max(axis=-1) > 0.05
    centres = np.array([[16.0, 14.0], [np.nan, np.nan]])
    planted = paste_regions(PlantingStage(images, background[None], changed), centres, np.full((2, 2), 4.0))
    assert planted is not None
    for image, position in zip(planted.images, planted.positions, strict=True):
        x, y = (position - centres[0]).astype(int)
        own = np.zeros((30, 40), bool)
        own[10 + y : 18 + y, 12 + x : 20 + x] = True
        assert np.abs(image[own] / 255 - 0.95).max() < 0.01
        assert np.abs(image[~own] / 255 - background[~own]).max() < 0.01


def without_template(
    monkeypatch: pytest.MonkeyPatch,
    outline: Outlined | None,
    *,
    template_px: float,
    side: float,
    rigid: bool,
    explained: bool = True,
    coded: bool = True,
    jumps: bool = False,
    alike: bool = False,
) -> dict[int, Outlined | None]:
    """What one object has instead of its template, if that is what is seen of it."""
    obj = SimpleNamespace(object=0, size=(side, side))
    case: Any = SimpleNamespace(certificate=SimpleNamespace(objects=[obj], scale=1.0))
    one: Any = SimpleNamespace(index=0, good=None, centre=SimpleNamespace(tolerance=(0.0, 0.0)))
    monkeypatch.setattr(membership, "usual_bound", lambda *_: template_px)
    monkeypatch.setattr(membership, "measure_outline", lambda *_: outline)
    monkeypatch.setattr(membership, "says_enough", lambda *_: True)
    monkeypatch.setattr(membership, "_explains", lambda *_: explained)
    monkeypatch.setattr(membership, "_may_be_coded", lambda *_: coded)
    monkeypatch.setattr(membership, "steady", lambda *_: not jumps)
    monkeypatch.setattr(membership, "_changes", lambda *_, **__: not rigid)
    known: Any = {0: (None, SimpleNamespace(met=True))}
    return membership._without_template(case, [one], known, Feasible.nowhere(3, 1), alike=alike)


@pytest.mark.parametrize(
    ("template_px", "outline_px", "rigid", "alike", "chosen"),
    [
        (0.8, None, False, False, "template"),  # a tight template needs no outline
        (3.0, None, True, False, "theorem"),  # of one that is not, nothing shows that its object is rigid
        (3.0, 5.0, True, False, "template"),
        (3.0, 2.0, True, False, "outline"),
        (3.0, 2.0, True, True, "template"),  # only templates tell objects apart that touch
        (3.0, 2.0, False, True, "outline"),
        (3.0, 5.0, False, False, "outline"),
    ],
)
def test_a_template_that_is_not_tight_needs_outlines_that_show_a_rigid_object(
    monkeypatch: pytest.MonkeyPatch,
    template_px: float,
    outline_px: float | None,
    *,
    rigid: bool,
    alike: bool,
    chosen: str,
) -> None:
    outline = None if outline_px is None else outlined([SMALL_PX] * 3, usual_px=outline_px)
    others = without_template(monkeypatch, outline, template_px=template_px, side=10.0, rigid=rigid, alike=alike)
    if chosen == "template":
        assert others == {}
    else:
        assert others == {0: outline if chosen == "outline" else None}


@pytest.mark.parametrize(
    ("coded", "explained", "rigid", "chosen"),
    [
        (True, True, True, "template"),
        (True, True, False, "theorem"),  # its template says that it does not change, and its outline that it does
        (True, False, False, "outline"),  # an animal that bends
        (False, True, True, "outline"),
        (False, True, False, "outline"),  # a ball that turns on its string
    ],
)
def test_in_a_video_an_outline_that_jumps_is_trusted_only_if_the_template_shows_that_the_object_changes(
    monkeypatch: pytest.MonkeyPatch, *, coded: bool, explained: bool, rigid: bool, chosen: str
) -> None:
    """Strong compression moves the edges of a rigid object too."""
    outline, seen = outlined([40.0, 44.0, 40.0], usual_px=2.0), {"explained": explained, "coded": coded, "rigid": rigid}
    others = without_template(monkeypatch, outline, template_px=6.0, side=40.0, jumps=True, **seen)
    assert others == {"template": {}, "outline": {0: outline}, "theorem": {0: None}}[chosen]


def test_a_larger_outline_may_jump_by_as_much_of_its_size() -> None:
    """An edge may be off by a twentieth of its side."""
    jumping = np.array([[60.0, 61.8]]).repeat(15, axis=0).ravel()
    assert is_steady(jumping, *in_order(30))
    assert not is_steady(jumping - 40, *in_order(30))
