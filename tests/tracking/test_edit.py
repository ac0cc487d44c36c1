"""Objects are rendered along their new trajectories, and nothing else changes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.tracking.scenes import made_up
from withinpx.certificate.calibration import Shift, shifts_at
from withinpx.certificate.certificate import Certificate, Limits, ObjectCertificate
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel
from withinpx.errors import InputError
from withinpx.model.autoencoder import NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.tracking.detector import Detector
from withinpx.tracking.edit import (
    codes_in,
    edited_frames,
    empty_frame,
    interpolate,
    parse_appearances,
    parse_path,
    parse_paths,
    superimpose,
    write_edit,
    write_superimposed,
    z_along,
)

WIDTH, HEIGHT, SUPPORT, DECODER_RF = 61, 47, 3.2, 9
REACH = SUPPORT + DECODER_RF // 2 + 1  # px around z that the decoder can touch


@pytest.fixture(scope="module")
def detector() -> Detector:
    return untrained()


def untrained(appearance: int = 0) -> Detector:
    """Objects have a random appearance, but they are rendered at their positions."""
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
        appearance=appearance,
    )
    model = new_network(config, 0).eval()
    last: Any = model.decoder[-1]
    last.bias.data[0] = 0.0  # half opaque, so that its colours show
    last.weight.data *= 4
    still = np.random.default_rng(0).uniform(0.3, 0.6, (1, HEIGHT, WIDTH, 3)).astype(np.float32)
    objects = tuple(ObjectCertificate(index, (5, 5), 4.0, (0, 0), Limits(1.0), ()) for index in range(2))
    certificate = Certificate("made up", 10, 2, 9, DECODER_RF, 0.8, SUPPORT, 1.0, objects, unused=(2,))
    background = BackgroundModel(still, np.full((HEIGHT, WIDTH), 0.05, np.float32))
    return Detector(model, background, Selection(), (WIDTH, HEIGHT), (Shift.constant(np.zeros(2)),) * 3, certificate)


def at(detector: Detector, obj: int, x: float, y: float) -> NDArray[np.uint8]:
    (frame,) = edited_frames(detector, {obj: np.array([[x, y]])}, 1)
    return frame


def changed(frame: NDArray[np.uint8], detector: Detector) -> NDArray[np.bool_]:
    return np.asarray((frame != empty_frame(detector)).any(axis=-1))


def near(x: float, y: float) -> NDArray[np.bool_]:
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.asarray((abs(rows - y) <= REACH) & (abs(columns - x) <= REACH))


@pytest.mark.parametrize("text", ["object=1:40,30:80.5,60", "1:40,30:80.5,60"])
def test_a_path_is_parsed(text: str) -> None:
    assert parse_path(text) == (1, [(40.0, 30.0), (80.5, 60.0)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ball:40,30", "does not begin with an object's number"),
        ("object=:40,30", "does not begin with an object's number"),
        ("-1:40,30", "does not begin with an object's number"),
        ("", "does not begin with an object's number"),
        ("0", "has no point"),
        ("0:40;30", "'40;30' in the path '0:40;30' is no point x,y"),
        ("0:40,30:", "'' in the path '0:40,30:' is no point x,y"),
        ("0:40,30,20", "'40,30,20' in the path"),
        ("0:40,nan", "'40,nan' in the path '0:40,nan' is not finite"),
    ],
)
def test_a_path_with_a_typo_is_reported(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        parse_path(text)
    assert "\n" not in str(error.value)


def test_impossible_paths_are_refused(detector: Detector) -> None:
    with pytest.raises(InputError, match="Object 0 has two paths"):
        parse_paths(["0:1,1", "object=0:2,2"])
    with pytest.raises(InputError, match="There is no path"):
        parse_paths([])
    with pytest.raises(InputError, match="There is no path"):
        edited_frames(detector, {}, 3)
    with pytest.raises(InputError, match="There is no object 2: the detector follows 0, 1"):
        edited_frames(detector, parse_paths(["2:20,20"]), 3)
    with pytest.raises(InputError, match=r"leaves the frame at \(20, 400\): x goes from 0 to 61 px"):
        edited_frames(detector, parse_paths(["0:20,20:20,400"]), 3)
    with pytest.raises(InputError, match="number of frames is 0"):
        edited_frames(detector, parse_paths(["0:20,20"]), 0)


def test_appearances_are_parsed() -> None:
    assert parse_appearances(["120"], [0, 2]) == {0: 120, 2: 120}
    assert parse_appearances(["object=0:7", "2:9"], [0, 2]) == {0: 7, 2: 9}
    assert parse_appearances([], [0]) == {}


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["late"], "'late' is no frame: write it as 120"),
        (["object=:7"], "'object=:7' is no frame"),
        (["object=0:-7"], "is no frame"),
        (["0:7:8"], "is no frame"),
        (["7", "object=0:8"], "Object 0 has two appearances"),
    ],
)
def test_an_appearance_with_a_typo_is_reported(texts: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_appearances(texts, [0])


def test_a_detector_without_a_code_has_one_appearance(detector: Detector) -> None:
    with pytest.raises(InputError, match="has no appearance code"):
        codes_in(detector, made_up(), {0: 10})


def test_an_object_is_rendered_as_it_appears_in_a_frame() -> None:
    detector = untrained(appearance=2)
    codes = np.random.default_rng(0).uniform(-1, 1, (8, 2, 2))
    tracks = replace(made_up(), codes=np.concatenate([codes, codes[:, :1]], axis=1))
    path = {0: np.array([[30.0, 20.0]])}
    usual, first, second = (
        next(edited_frames(detector, path, 1, codes_in(detector, tracks, frames))) for frames in ({}, {0: 10}, {0: 12})
    )
    assert (usual == next(edited_frames(detector, path, 1))).all()
    assert (first != usual).any()
    assert (first != second).any()


def test_every_segment_of_a_path_takes_equally_long() -> None:
    path = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 40.0]])
    assert interpolate(path, 5).tolist() == [[0, 0], [5, 0], [10, 0], [10, 20], [10, 40]]
    assert interpolate(path[:1], 3).tolist() == [[0, 0]] * 3
    assert interpolate(path, 1).tolist() == [[0, 0]]


def test_an_object_changes_the_frame_only_around_its_position(detector: Detector) -> None:
    for obj, x, y in ((0, 20, 20), (1, 44, 30)):
        touched = changed(at(detector, obj, x, y), detector)
        assert touched.any()
        assert not (touched & ~near(x, y)).any()


def test_each_object_follows_its_own_path(detector: Detector) -> None:
    paths = parse_paths(["0:12,12:12,30", "1:48,12:30,34"])
    for frame, first, second in zip(
        edited_frames(detector, paths, 4), interpolate(paths[0], 4), interpolate(paths[1], 4), strict=True
    ):
        touched = changed(frame, detector)
        assert (touched & near(*first)).any()
        assert (touched & near(*second)).any()
        assert not (touched & ~near(*first) & ~near(*second)).any()


def test_an_object_moved_by_whole_pixels_looks_the_same(detector: Detector) -> None:
    even = replace(
        detector, background=replace(detector.background, images=np.full_like(detector.background.images, 0.4))
    )
    moved = np.roll(at(even, 0, 20.25, 20.5), (7, 11), (0, 1))
    assert abs(moved.astype(int) - at(even, 0, 31.25, 27.5)).max() <= 1  # rounding


def test_the_shift_is_subtracted_so_that_the_rendering_is_centred(detector: Detector) -> None:
    moved = replace(detector, shifts=(Shift.constant(np.array([3.0, -2.0])),) * 3)
    assert np.array_equal(at(moved, 1, 33, 18), at(detector, 1, 30, 20))
    random = np.random.default_rng(0)
    shifts = (Shift(random.uniform(0, 60, (20, 2)), random.uniform(-0.4, 0.4, (20, 2)), 8.0),) * 3  # as in perspective
    paths = parse_paths(["1:12,12:48,34"])
    z, present = z_along(replace(detector, shifts=shifts), paths, 9)
    assert present.tolist() == [False, True, False]
    centres = (z + shifts_at(shifts, z))[:, 1]
    np.testing.assert_allclose(centres, interpolate(paths[1], 9), atol=0.01)


def test_paths_are_in_pixels_of_the_recording(detector: Detector) -> None:
    part = replace(detector, selection=Selection(crop=(100, 50, 122, 94), scale=0.5), recording=(640, 480))
    assert np.array_equal(at(part, 0, 100 + 2 * 20, 50 + 2 * 30), at(detector, 0, 20, 30))
    with pytest.raises(InputError, match="x goes from 100 to 222 px, y from 50 to 144 px"):
        at(part, 0, 20, 30)


def test_the_background_of_a_moving_camera_is_its_first_image(detector: Detector) -> None:
    images = np.concatenate([detector.background.images, 1 - detector.background.images])
    moving = replace(detector, background=replace(detector.background, images=images), moving_camera=True)
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
def test_the_figure_has_a_row_per_image(tmp_path: Path, colours: int) -> None:
    image = np.full((20, 40, colours), 90, np.uint8)
    heights = []
    for names in (("training data",), ("training data", "generated 1", "generated 2")):
        path = write_superimposed(tmp_path / "new" / "edit.png", [(name, image) for name in names])
        with Image.open(path) as figure:
            heights.append(figure.height)
    assert heights[1] > 2.5 * heights[0]
