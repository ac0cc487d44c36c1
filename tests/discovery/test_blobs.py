"""Objects that touch only with their faint rims are separated; one object stays one blob."""

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.discovery.background import BackgroundModel, to_uint8
from withinpx.discovery.objects import Blob, MovingObject, find_blobs, find_changes

WIDTH, HEIGHT, RADIUS = 64, 40, 7
THRESHOLD = 0.05  # of full contrast
STRONG, FAINT = 0.6, 0.12
Contrast = NDArray[np.float32]  # (h, w), from 0 to 1: how far each pixel is from the background


def disc(x: float, y: float, radius: float = RADIUS) -> NDArray[np.bool_]:
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.asarray((columns - x) ** 2 + (rows - y) ** 2 < radius**2)


def box(left: int, top: int, right: int, bottom: int) -> NDArray[np.bool_]:
    inside = np.zeros((HEIGHT, WIDTH), np.bool_)
    inside[top:bottom, left:right] = True
    return inside


def contrast(*parts: tuple[NDArray[np.bool_], float]) -> Contrast:
    """Later parts lie over earlier ones."""
    image = np.zeros((HEIGHT, WIDTH), np.float32)
    for inside, strength in parts:
        image[inside] = strength
    return image


def blobs(seen: Contrast) -> list[Blob]:
    """Found in a frame with this contrast to a dark background, from left to right."""
    dark = np.full((1, HEIGHT, WIDTH, 3), 0.1, np.float32)
    model = BackgroundModel(dark, np.full((HEIGHT, WIDTH), THRESHOLD, np.float32))
    changes = find_changes(to_uint8(dark[0] + seen[..., None]), model, frame=3)
    return sorted(find_blobs(changes), key=lambda blob: blob.centre)


def test_two_discs_joined_by_a_faint_bridge_are_two_blobs() -> None:
    seen = contrast((box(18, 18, 44, 22), FAINT), (disc(18, 20), STRONG), (disc(44, 20), STRONG))
    left, right = blobs(seen)
    assert left.centre == pytest.approx((18, 20), abs=1.5)
    assert right.centre == pytest.approx((44, 20), abs=1.5)
    assert left.box[2] == right.box[0] == 31  # the bridge is halved
    assert left.area + right.area == (seen > 0).sum()
    assert left.frame == right.frame == 3


def test_three_discs_in_a_row_are_three_blobs() -> None:
    discs = [(disc(x, 20, 6), STRONG) for x in (10, 31, 52)]
    found = blobs(contrast((box(10, 18, 52, 22), FAINT), *discs))
    assert [round(blob.centre[0]) for blob in found] == pytest.approx([10, 31, 52], abs=1)


def test_a_blob_that_touches_nothing_stays_as_it_is() -> None:
    alone = contrast((disc(12, 32, 5), STRONG))
    joined = contrast((box(18, 7, 44, 13), FAINT), (disc(18, 10), STRONG), (disc(44, 10), STRONG))
    assert len(blobs(joined + alone)) == 3
    (expected,) = blobs(alone)
    assert sum(blob.box == expected.box and blob.area == expected.area for blob in blobs(joined + alone)) == 1


def test_two_such_pairs_are_four_blobs() -> None:
    pairs = [
        contrast((box(18, y - 2, 44, y + 2), FAINT), (disc(18, y), STRONG), (disc(44, y), STRONG)) for y in (10, 30)
    ]
    assert [blob.area for blob in blobs(pairs[0] + pairs[1])] == 4 * [(pairs[0] > 0).sum() / 2]


@pytest.mark.parametrize("strength", [0.07, FAINT, 0.19])
def test_a_disc_with_a_faint_rim_is_one_blob(strength: float) -> None:
    seen = contrast((disc(30, 20, 13), strength), (disc(30, 20), STRONG))
    (blob,) = blobs(seen)
    assert blob.area == (seen > 0).sum()
    assert blob.centre == pytest.approx((30, 20), abs=0.1)


@pytest.mark.parametrize("share", [0.4, 0.5, 0.7])
def test_a_disc_of_a_bright_and_a_less_bright_half_is_one_blob(share: float) -> None:
    seen = contrast((disc(30, 20), STRONG), (disc(30, 20) & box(30, 0, WIDTH, HEIGHT), share * STRONG))
    (blob,) = blobs(seen)
    assert blob.area == disc(30, 20).sum()


def test_a_bar_with_bright_ends_is_one_blob() -> None:
    seen = contrast((box(16, 16, 46, 24), 0.45 * STRONG), (box(16, 16, 26, 24), STRONG), (box(36, 16, 46, 24), STRONG))
    (blob,) = blobs(seen)
    assert blob.box == (16, 16, 46, 24)


def test_a_small_bright_spot_is_no_blob_of_its_own() -> None:
    """Such as a light at the end of an arm."""
    seen = contrast((box(18, 18, 44, 22), FAINT), (disc(18, 20), STRONG), (disc(44, 20, 3), STRONG))
    (blob,) = blobs(seen)
    assert blob.area == (seen > 0).sum()


def test_a_faint_stripe_does_not_split_a_blob() -> None:
    """Its parts are nearer to each other than gaps that are closed."""
    (blob,) = blobs(contrast((disc(30, 20, 9), STRONG), (disc(30, 20, 9) & box(29, 0, 32, HEIGHT), FAINT)))
    assert blob.area == disc(30, 20, 9).sum()


def seen_at(*columns: float, radius: float = RADIUS) -> MovingObject:
    return MovingObject(tuple(blobs(contrast((disc(x, 20, radius), STRONG)))[0] for x in columns))


def test_the_size_is_that_of_the_whole_object_where_the_border_cuts_some_of_it_off() -> None:
    long = [blobs(contrast((box(left, 16, left + 20, 24), STRONG)))[0] for left in range(20, 60, 2)]
    assert [blob.cut_off for blob in long] == [left + 20 >= WIDTH for left in range(20, 60, 2)]
    assert MovingObject(tuple(long)).sizes == (20, 20)
    assert min(blob.size for blob in long) < 10
    assert MovingObject(tuple(long[-3:])).sizes[1] < 20  # never seen whole: what is seen is all that is known


def test_a_size_that_varies_grows_only_if_it_follows_the_position() -> None:
    columns, radii = np.linspace(12, 50, 20), np.linspace(4, 10, 20)
    nearer = MovingObject(tuple(seen_at(x, radius=r).blobs[0] for x, r in zip(columns, radii, strict=True)))
    assert nearer.growth == pytest.approx(2.5, abs=0.4)
    shuffled = np.random.default_rng(0).permutation(radii)
    uneven = MovingObject(tuple(seen_at(x, radius=r).blobs[0] for x, r in zip(columns, shuffled, strict=True)))
    assert uneven.sizes == nearer.sizes
    assert uneven.growth < 1.4
