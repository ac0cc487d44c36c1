"""Objects go where they are sent, and nothing else changes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from withinpx.certificate.certificate import Certificate, Limits, ObjectCertificate
from withinpx.certificate.shift import Shift, shifts_at
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel
from withinpx.errors import InputError
from withinpx.model.autoencoder import NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.tracking.detector import Detector
from withinpx.tracking.edit import (
    along,
    draw_superimposed,
    edited_frames,
    empty_picture,
    parse_path,
    parse_paths,
    raw_positions,
    superimpose,
    write_edit,
)

WIDTH, HEIGHT, SUPPORT, DECODER_RF = 61, 47, 3.2, 9
REACH = SUPPORT + DECODER_RF // 2 + 1  # px around z that the decoder can touch


@pytest.fixture(scope="module")
def detector() -> Detector:
    """Untrained: what is drawn is anything, but it is drawn at its place."""
    config = NetworkConfig(
        HEIGHT,
        WIDTH,
        encoder_rf=7,
        decoder_rf=DECODER_RF,
        sigma=0.8,
        support=SUPPORT,
        objects=3,
        colours=3,
        channels=8,
        background=BackgroundMode.LAYERED,
    )
    model = new_network(config, 0).eval()
    last: Any = model.decoder[-1]
    last.bias.data[0] = 0.0  # half opaque, so that its colours can be seen
    last.weight.data *= 4
    still = np.random.default_rng(0).uniform(0.3, 0.6, (1, HEIGHT, WIDTH, 3)).astype(np.float32)
    objects = tuple(ObjectCertificate(each, (5, 5), 4.0, (0, 0), Limits(1.0), ()) for each in range(2))
    certificate = Certificate("made up", 10, 2, 9, DECODER_RF, 0.8, SUPPORT, 1.0, objects, unused=(2,))
    backdrop = BackgroundModel(still, np.full((HEIGHT, WIDTH), 0.05, np.float32))
    return Detector(model, backdrop, Selection(), (WIDTH, HEIGHT), (Shift.everywhere(np.zeros(2)),) * 3, certificate)


def at(detector: Detector, each: int, x: float, y: float) -> NDArray[np.uint8]:
    (picture,) = edited_frames(detector, {each: np.array([[x, y]])}, 1)
    return picture


def changed(picture: NDArray[np.uint8], detector: Detector) -> NDArray[np.bool_]:
    return np.asarray((picture != empty_picture(detector)).any(axis=-1))


def near(x: float, y: float) -> NDArray[np.bool_]:
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.asarray((abs(rows - y) <= REACH) & (abs(columns - x) <= REACH))


@pytest.mark.parametrize("text", ["object=1:40,30:80.5,60", "1:40,30:80.5,60"])
def test_a_path_is_read_as_it_is_typed(text: str) -> None:
    assert parse_path(text) == (1, [(40.0, 30.0), (80.5, 60.0)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ball:40,30", "does not begin with an object's number"),
        ("object=:40,30", "does not begin with an object's number"),
        ("-1:40,30", "does not begin with an object's number"),
        ("", "does not begin with an object's number"),
        ("0", "goes nowhere"),
        ("0:40;30", "'40;30' in the path '0:40;30' is no point x,y"),
        ("0:40,30:", "'' in the path '0:40,30:' is no point x,y"),
        ("0:40,30,20", "'40,30,20' in the path"),
        ("0:40,nan", "'40,nan' in the path '0:40,nan' lies nowhere"),
    ],
)
def test_a_path_with_a_typo_has_its_sentence(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        parse_path(text)
    assert "\n" not in str(error.value)


def test_paths_that_cannot_be_gone_are_refused(detector: Detector) -> None:
    with pytest.raises(InputError, match="Object 0 has two paths"):
        parse_paths(["0:1,1", "object=0:2,2"])
    with pytest.raises(InputError, match="There is no path"):
        parse_paths([])
    with pytest.raises(InputError, match="There is no path"):
        edited_frames(detector, {}, 3)
    with pytest.raises(InputError, match="There is no object 2: the detector follows 0, 1"):
        edited_frames(detector, parse_paths(["2:20,20"]), 3)
    with pytest.raises(InputError, match=r"leaves the picture at \(20, 400\): x goes from 0 to 61 px"):
        edited_frames(detector, parse_paths(["0:20,20:20,400"]), 3)
    with pytest.raises(InputError, match="0 frames were asked for"):
        edited_frames(detector, parse_paths(["0:20,20"]), 0)


def test_every_stretch_of_a_path_takes_equally_long() -> None:
    way = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 40.0]])
    assert along(way, 5).tolist() == [[0, 0], [5, 0], [10, 0], [10, 20], [10, 40]]
    assert along(way[:1], 3).tolist() == [[0, 0]] * 3
    assert along(way, 1).tolist() == [[0, 0]]


def test_an_object_changes_the_picture_only_where_it_is(detector: Detector) -> None:
    for each, x, y in ((0, 20, 20), (1, 44, 30)):
        touched = changed(at(detector, each, x, y), detector)
        assert touched.any()
        assert not (touched & ~near(x, y)).any()


def test_each_object_goes_its_own_way(detector: Detector) -> None:
    paths = parse_paths(["0:12,12:12,30", "1:48,12:30,34"])
    for picture, first, second in zip(
        edited_frames(detector, paths, 4), along(paths[0], 4), along(paths[1], 4), strict=True
    ):
        touched = changed(picture, detector)
        assert (touched & near(*first)).any()
        assert (touched & near(*second)).any()
        assert not (touched & ~near(*first) & ~near(*second)).any()


def test_what_is_moved_by_whole_pixels_is_the_same_thing(detector: Detector) -> None:
    even = replace(
        detector, background=replace(detector.background, images=np.full_like(detector.background.images, 0.4))
    )
    moved = np.roll(at(even, 0, 20.25, 20.5), (7, 11), (0, 1))
    assert abs(moved.astype(int) - at(even, 0, 31.25, 27.5)).max() <= 1  # rounding


def test_the_shift_is_taken_off_so_that_the_drawing_is_centred(detector: Detector) -> None:
    moved = replace(detector, shift=(Shift.everywhere(np.array([3.0, -2.0])),) * 3)
    assert np.array_equal(at(moved, 1, 33, 18), at(detector, 1, 30, 20))
    draw = np.random.default_rng(0)
    shift = (Shift(draw.uniform(0, 60, (20, 2)), draw.uniform(-0.4, 0.4, (20, 2)), 8.0),) * 3  # as of a perspective
    paths = parse_paths(["1:12,12:48,34"])
    raw, present = raw_positions(replace(detector, shift=shift), paths, 9)
    assert present.tolist() == [False, True, False]
    reached = (raw + shifts_at(shift, raw))[:, 1]
    np.testing.assert_allclose(reached, along(paths[1], 9), atol=0.01)


def test_places_are_the_recordings_own(detector: Detector) -> None:
    part = replace(detector, selection=Selection(crop=(100, 50, 122, 94), scale=0.5), recording=(640, 480))
    assert np.array_equal(at(part, 0, 100 + 2 * 20, 50 + 2 * 30), at(detector, 0, 20, 30))
    with pytest.raises(InputError, match="x goes from 100 to 222 px, y from 50 to 144 px"):
        at(part, 0, 20, 30)


def test_a_moving_cameras_background_is_its_first_picture(detector: Detector) -> None:
    pictures = np.concatenate([detector.background.images, 1 - detector.background.images])
    moving = replace(detector, background=replace(detector.background, images=pictures), moving_camera=True)
    assert np.array_equal(at(moving, 0, 20, 20), at(detector, 0, 20, 20))


def test_the_video_has_all_frames_and_even_sides(detector: Detector, tmp_path: Path) -> None:
    path = write_edit(tmp_path / "new" / "edit.mp4", detector, parse_paths(["0:12,12:48,34"]), 7)
    with av.open(str(path)) as container:
        stream: Any = container.streams.video[0]
        frames = list(container.decode(stream))
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
    assert [frame.time for frame in frames] == pytest.approx([number / 25 for number in range(7)], abs=1e-4)
    assert (frames[0].width, frames[0].height) == (11 * WIDTH + 1, 11 * HEIGHT + 1)
    assert [file.name for file in path.parent.iterdir()] == ["edit.mp4"]


def test_superimposed_frames_show_every_position(detector: Detector) -> None:
    background = np.full((20, 30, 3), 90, np.uint8)
    frames = np.repeat(background[None], 3, axis=0)
    frames[0, 2:6, 3:7], frames[1, 8:12, 12:16], frames[2, 14:18, 22:26] = (250, 90, 90), (90, 0, 90), (90, 90, 240)
    shown = superimpose(frames, background)
    assert np.array_equal(shown[2:6, 3:7], frames[0, 2:6, 3:7])
    assert np.array_equal(shown[8:12, 12:16], frames[1, 8:12, 12:16])
    assert np.array_equal(shown[14:18, 22:26], frames[2, 14:18, 22:26])
    assert (shown != background).any(axis=-1).sum() == 3 * 16


def test_superimposed_noise_is_background() -> None:
    background = np.full((20, 30, 1), 90, np.uint8)
    noisy = np.random.default_rng(0).integers(86, 95, (6, 20, 30, 1)).astype(np.uint8)
    noisy[2, 5, 5] = 200
    assert (superimpose(noisy, background) != background).mean() > 0.5
    quiet = superimpose(noisy, background, np.full((20, 30), 5 / 255, np.float32))
    assert np.argwhere(quiet != background).tolist() == [[5, 5, 0]]
    assert quiet.dtype == np.uint8


@pytest.mark.parametrize("colours", [1, 3])
def test_the_figure_has_a_row_per_picture(tmp_path: Path, colours: int) -> None:
    picture = np.full((20, 40, colours), 90, np.uint8)
    sizes = []
    for names in (("training data",), ("training data", "generated 1", "generated 2")):
        with Image.open(draw_superimposed(tmp_path / "new" / "edit.png", [(name, picture) for name in names])) as drawn:
            sizes.append(drawn.height)
    assert sizes[1] > 2.5 * sizes[0]
