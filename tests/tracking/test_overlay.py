"""The overlay has the recording's frames and times, and marks where the tracks say."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tracking.scenes import HEIGHT, WIDTH, made_up
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.errors import InputError
from withinpx.palette import ALARM, REFUSED, colour_of, rgb
from withinpx.tracking.overlay import OverlayWriter
from withinpx.tracking.tracks import Tracks

GREY = 70
FACTOR = 14  # 14 * 48 px is the first multiple of at least 640 px


def written(path: Path, tracks: Tracks, colours: int = 3, selection: Selection = EVERYTHING) -> Path:
    with OverlayWriter(path, tracks.objects, selection) as writer:
        for row in range(len(tracks)):
            pixels = selection.of(np.full((HEIGHT, WIDTH, colours), GREY, np.uint8))
            writer.add(pixels, tracks, row, {1: "motion"})
    return path


def pictures(path: Path) -> Iterator[NDArray[np.int64]]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24").astype(np.int64)


def near(pixel: NDArray[np.int64], colour: tuple[int, int, int]) -> bool:
    return bool(abs(pixel - np.array(colour)).max() <= 40)  # lossy, and colours at half resolution


@pytest.mark.parametrize("colours", [1, 3])
def test_there_are_as_many_frames_as_tracks_at_their_own_times(tmp_path: Path, colours: int) -> None:
    tracks = made_up(12)
    with av.open(str(written(tmp_path / "overlay.mp4", tracks, colours))) as container:
        stream: Any = container.streams.video[0]
        times = [frame.time for frame in container.decode(stream)]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        ends = float(stream.duration * stream.time_base)
    np.testing.assert_allclose(times, tracks.times_s - tracks.times_s[0], atol=1 / 90_000)
    last = np.diff(tracks.times_s)[-1]
    assert ends == pytest.approx(times[-1] + last, abs=1e-4)  # the last frame is shown as long as the one before


def test_two_frames_at_one_instant_are_both_there(tmp_path: Path) -> None:
    tracks = made_up(4)
    still = replace(tracks, times_s=np.array([0.0, 0.1, 0.1, 0.2]))
    assert len(list(pictures(written(tmp_path / "overlay.mp4", still)))) == 4


def test_the_picture_is_enlarged_and_has_even_sides(tmp_path: Path) -> None:
    height, width, _ = next(pictures(written(tmp_path / "overlay.mp4", made_up(1)))).shape
    assert width == FACTOR * WIDTH
    assert height > FACTOR * HEIGHT
    assert height % 2 == 0
    crop = Selection(crop=(0, 0, 47, 35))
    sides = next(pictures(written(tmp_path / "odd.mp4", made_up(1), selection=crop))).shape[:2]
    assert all(side % 2 == 0 for side in sides)


def test_a_cross_is_drawn_at_the_calibrated_position(tmp_path: Path) -> None:
    tracks = made_up()
    for row, picture in enumerate(pictures(written(tmp_path / "overlay.mp4", tracks))):
        for each in range(tracks.objects):
            x, y = np.floor(tracks.positions[row, each] * FACTOR).astype(int)
            colour = rgb(colour_of(each) if tracks.certified[row, each] else REFUSED)
            if tracks.present[row, each]:
                assert near(picture[y, x], colour)
            else:
                assert near(picture[y, x], (GREY, GREY, GREY))


def test_the_bound_is_drawn_around_z_where_it_is_certified(tmp_path: Path) -> None:
    tracks = made_up()
    for row, picture in enumerate(pictures(written(tmp_path / "overlay.mp4", tracks))):
        z, bound = tracks.z[row, 1], tracks.bound_px[row, 1]
        x, y = ((z + np.array([0, bound])) * FACTOR).astype(int)
        edge = picture[y - 4 : y + 4, x - 1 : x + 1].reshape(-1, 3)
        away = abs(edge - GREY).max()
        assert away > 60 if tracks.certified[row, 1] else away < 25


def test_a_refused_frame_has_a_red_bar_below_the_picture(tmp_path: Path) -> None:
    tracks = made_up()
    for row, picture in enumerate(pictures(written(tmp_path / "overlay.mp4", tracks))):
        red = near(picture[FACTOR * HEIGHT + 1, WIDTH], rgb(ALARM))
        assert red == bool((tracks.present[row] & ~tracks.certified[row]).any())


def test_a_crop_and_a_scale_move_the_cross_with_the_picture(tmp_path: Path) -> None:
    selection = Selection(crop=(4, 6, 40, 28), scale=0.5)
    tracks = made_up(1)
    picture = next(pictures(written(tmp_path / "overlay.mp4", tracks, selection=selection)))
    x, y = ((tracks.positions[0, 0] - [4, 6]) * 0.5 * 32).astype(int)
    assert near(picture[y, x], rgb(colour_of(0)))


def test_the_overlay_is_whole_or_not_there(tmp_path: Path) -> None:
    tracks = made_up()
    with pytest.raises(KeyboardInterrupt), OverlayWriter(tmp_path / "overlay.mp4", 3) as writer:
        for row in range(len(tracks)):
            writer.add(np.zeros((HEIGHT, WIDTH, 3), np.uint8), tracks, row)
        raise KeyboardInterrupt
    assert {file.name for file in tmp_path.iterdir()} <= {".overlay.mp4.part"}
    with pytest.raises(InputError, match="has no frame"), OverlayWriter(tmp_path / "overlay.mp4", 3):
        pass
    assert not (tmp_path / "overlay.mp4").exists()


def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    tracks = made_up()
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    with pytest.raises(InputError, match="begun for 2 objects"), OverlayWriter(tmp_path / "a.mp4", 2) as writer:
        writer.add(pixels, tracks, 0)
    with pytest.raises(InputError, match="changes its size"), OverlayWriter(tmp_path / "a.mp4", 3) as writer:
        writer.add(pixels, tracks, 0)
        writer.add(pixels[:20], tracks, 1)


def test_eighteen_objects_have_eighteen_colours() -> None:
    assert len({colour_of(each) for each in range(18)}) == 18
