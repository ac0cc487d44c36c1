"""The dataset of appendix C.1."""

import numpy as np
import pytest

from withinpx.data.squares import Squares
from withinpx.errors import InputError


@pytest.mark.parametrize(
    ("encoder_rf", "decoder_rf", "size", "count"), [(9, 25, 9, 24), (9, 11, 7, 54), (31, 25, 9, 12), (9, 25, 1, 32)]
)
def test_every_position_of_the_paper_s_range_is_there_once(
    encoder_rf: int, decoder_rf: int, size: int, count: int
) -> None:
    data = Squares.for_network(size, encoder_rf, decoder_rf)
    padding = max(encoder_rf, decoder_rf) - 1
    along = np.arange(padding + size / 2, 80 - padding - size / 2 + 1)
    assert len(along) == count
    expected = {(x, y) for x in along for y in along}
    train, test = data.train(), data.test()
    found = [tuple(position) for position in np.concatenate([train.positions, test.positions])]
    assert len(found) == len(set(found)) == count**2
    assert set(found) == expected


def test_three_quadrants_train_and_the_fourth_tests() -> None:
    data = Squares.for_network(9, 9, 25)
    train, test = data.train(), data.test()
    assert len(train) == 3 * len(test)
    assert (test.positions > 40).all()
    assert not (train.positions > 40).all(axis=1).any()


def test_an_image_is_a_white_square_at_its_position() -> None:
    test = Squares.for_network(7, 9, 11).test()
    assert test.images.shape[1:] == (1, 80, 80)
    for image, (x, y) in zip(test.images[::97], test.positions[::97], strict=True):
        rows, columns = np.nonzero(image[0])
        assert image.sum() == 49
        assert (columns.mean() + 0.5, rows.mean() + 0.5) == (x, y)


def test_no_square_comes_closer_to_the_border_than_the_padding() -> None:
    data = Squares.for_network(9, 9, 25)
    everything = np.concatenate([data.train().images, data.test().images]).max(axis=(0, 1))
    rows, columns = np.nonzero(everything)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (24, 80 - 24 - 1, 24, 80 - 24 - 1)


def test_an_image_without_room_is_refused() -> None:
    with pytest.raises(InputError, match="no two positions"):
        Squares.for_network(31, 31, 31)


def test_more_images_than_fit_into_memory_are_refused() -> None:
    with pytest.raises(InputError, match=r"891,136 positions .* 3,320 GiB in all, and 8 GiB is the limit"):
        Squares.for_network(9, 9, 25, image_size=1000)
