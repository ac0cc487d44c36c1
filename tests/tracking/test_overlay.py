"""The overlay has the recording's frames and times, and marks the tracks' positions."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tracking.scenes import HEIGHT, WIDTH, made_up
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError
from withinpx.palette import ALARM, REFUSED, colour_of, rgb
from withinpx.tracking import overlay
from withinpx.tracking.detect import Chunk
from withinpx.tracking.mp4 import enlarged
from withinpx.tracking.overlay import Mark, Marks, OverlayWriter, draw_marks
from withinpx.tracking.tracks import Tracks

GREY = 70
FACTOR = 14  # 14 * 48 px is the first multiple of at least 640 px


def written(path: Path, tracks: Tracks, colours: int = 3, selection: Selection = EVERYTHING) -> Path:
    with OverlayWriter(path, tracks.objects, selection) as writer:
        for row in range(len(tracks)):
            writer.add(selection.apply(np.full((HEIGHT, WIDTH, colours), GREY, np.uint8)), tracks, row)
    return path


def images(path: Path) -> Iterator[NDArray[np.int64]]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24").astype(np.int64)


def times(path: Path) -> list[float]:
    with av.open(str(path)) as container:
        return [float(frame.time or 0) for frame in container.decode(video=0)]


def near(pixel: NDArray[np.int64], colour: tuple[int, int, int]) -> bool:
    return bool(abs(pixel - np.array(colour)).max() <= 40)  # lossy, and colours at half resolution


@pytest.mark.parametrize("colours", [1, 3])
def test_there_are_as_many_frames_as_tracks_at_their_own_times(tmp_path: Path, colours: int) -> None:
    tracks = made_up(12)
    path = written(tmp_path / "overlay.mp4", tracks, colours)
    with av.open(str(path)) as container:
        stream: Any = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        end = float(stream.duration * stream.time_base)
    np.testing.assert_allclose(times(path), tracks.times_s - tracks.times_s[0], atol=1 / 90_000)
    last = np.diff(tracks.times_s)[-1]
    assert end == pytest.approx(times(path)[-1] + last, abs=1e-4)  # the last frame is shown as long as the one before


def test_two_frames_with_the_same_time_are_both_there(tmp_path: Path) -> None:
    same = replace(made_up(4), times_s=np.array([0.0, 0.1, 0.1, 0.2]))
    assert len(list(images(written(tmp_path / "overlay.mp4", same)))) == 4


def test_frames_without_times_follow_each_other_steadily(tmp_path: Path) -> None:
    without_clock = replace(made_up(4), times_s=np.full(4, np.nan))
    assert times(written(tmp_path / "video.mp4", without_clock)) == pytest.approx([0, 0.04, 0.08, 0.12], abs=1e-4)
    unordered = replace(without_clock, unordered=True)
    assert times(written(tmp_path / "images.mp4", unordered)) == pytest.approx([0, 1, 2, 3], abs=1e-4)


def test_the_frame_is_enlarged_and_has_even_sides(tmp_path: Path) -> None:
    height, width, _ = next(images(written(tmp_path / "overlay.mp4", made_up(1)))).shape
    assert width == FACTOR * WIDTH
    assert height > FACTOR * HEIGHT
    assert height % 2 == 0
    crop = Selection(crop=(0, 0, 47, 35))
    sides = next(images(written(tmp_path / "odd.mp4", made_up(1), selection=crop))).shape[:2]
    assert all(side % 2 == 0 for side in sides)


def test_a_cross_marks_the_calibrated_position(tmp_path: Path) -> None:
    tracks = made_up()
    for row, image in enumerate(images(written(tmp_path / "overlay.mp4", tracks))):
        for index in range(tracks.objects):
            x, y = np.floor(tracks.positions[row, index] * FACTOR).astype(int)
            colour = rgb(colour_of(index) if tracks.certified[row, index] else REFUSED)
            if tracks.present[row, index]:
                assert near(image[y, x], colour)
            else:
                assert near(image[y, x], (GREY, GREY, GREY))


def test_chunks_of_frames_get_the_colours_of_their_objects(tmp_path: Path) -> None:
    tracks, colours = made_up(2), ["#FF5D4B", "#5F65F6", "#A18B0F"]
    pixels = np.full((HEIGHT, WIDTH, 3), GREY, np.uint8)
    frames = [Frame(pixels, 0.1 * row, row, (WIDTH, HEIGHT)) for row in range(2)]
    with OverlayWriter(tmp_path / "overlay.mp4", 3, colours=colours) as writer:
        writer.add_chunk(Chunk(tracks, frames, np.full_like(tracks.positions, np.nan)))
    for row, image in enumerate(images(tmp_path / "overlay.mp4")):
        x, y = np.floor(tracks.positions[row, 0] * FACTOR).astype(int)
        assert near(image[y, x], rgb(colours[0]))


def test_the_bound_is_a_square_around_the_position_where_it_is_certified(tmp_path: Path) -> None:
    tracks = made_up()
    for row, image in enumerate(images(written(tmp_path / "overlay.mp4", tracks))):
        bound = 4.5  # where it is certified
        x, y = ((tracks.positions[row, 1] + np.array([1.5, bound])) * FACTOR).astype(int)  # beside the cross
        edge = image[y - 4 : y + 4, x - 1 : x + 1].reshape(-1, 3)
        contrast = abs(edge - GREY).max()
        assert contrast > 60 if tracks.certified[row, 1] else contrast < 25


def test_a_refused_frame_has_a_red_bar_below_it(tmp_path: Path) -> None:
    tracks = made_up()
    for row, image in enumerate(images(written(tmp_path / "overlay.mp4", tracks))):
        red = near(image[FACTOR * HEIGHT + 1, WIDTH], rgb(ALARM))
        assert red == bool((tracks.present[row] & ~tracks.certified[row]).any())


def test_a_crop_and_a_scale_move_the_cross_with_the_frame(tmp_path: Path) -> None:
    selection = Selection(crop=(4, 6, 40, 28), scale=0.5)
    tracks = made_up(1)
    image = next(images(written(tmp_path / "overlay.mp4", tracks, selection=selection)))
    x, y = ((tracks.positions[0, 0] - [4, 6]) * 0.5 * 32).astype(int)
    assert near(image[y, x], rgb(colour_of(0)))


def test_the_overlay_is_complete_or_not_there(tmp_path: Path) -> None:
    tracks = made_up()
    with pytest.raises(KeyboardInterrupt), OverlayWriter(tmp_path / "overlay.mp4", 3) as writer:
        for row in range(len(tracks)):
            writer.add(np.zeros((HEIGHT, WIDTH, 3), np.uint8), tracks, row)
        raise KeyboardInterrupt
    assert {file.name for file in tmp_path.iterdir()} <= {".overlay.mp4.part"}
    with pytest.raises(InputError, match="has no frame"), OverlayWriter(tmp_path / "overlay.mp4", 3):
        pass
    assert not (tmp_path / "overlay.mp4").exists()


def test_frames_and_tracks_that_do_not_match_are_refused(tmp_path: Path) -> None:
    tracks = made_up()
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    with pytest.raises(InputError, match="begun for 2 objects"), OverlayWriter(tmp_path / "a.mp4", 2) as writer:
        writer.add(pixels, tracks, 0)
    with pytest.raises(InputError, match="changes its size"), OverlayWriter(tmp_path / "a.mp4", 3) as writer:
        writer.add(pixels, tracks, 0)
        writer.add(pixels[:20], tracks, 1)


def random_trail(rng: np.random.Generator, width: int, height: int) -> list[Marks]:
    """Objects in, at and beyond the border, some certified, one that has left."""
    trail: list[Marks] = [{} for _ in range(8)]
    for index in range(6):
        path = rng.uniform(-20, (width + 20, height + 20)) + np.cumsum(rng.normal(0, 6, (8, 2)), axis=0)
        certified, label = bool(rng.integers(2)), str(10 ** int(rng.integers(4))) + "?"
        for marks, (x, y) in zip(trail[: 5 if index == 5 else 8], path.tolist(), strict=False):
            marks[index] = Mark(label, (x, y), float(rng.uniform(0, 60)), certified, rgb(colour_of(index)))
    return trail


@pytest.mark.parametrize("size", [(301, 200), (2100, 400)])
def test_nothing_is_drawn_outside_the_parts_that_are_blended(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    width, height = size
    for seed in range(4):
        trail = random_trail(np.random.default_rng(seed), width, height)
        in_parts, at_once = (np.full((height, width, 3), GREY, np.uint8) for _ in range(2))
        draw_marks(in_parts, trail)
        with monkeypatch.context() as patch:
            patch.setattr(overlay, "_extent", lambda *_: (0, 0, height, width))
            draw_marks(at_once, trail)
        np.testing.assert_array_equal(in_parts, at_once)
        assert (in_parts != GREY).any()


def test_a_frame_without_marks_is_left_as_it_is() -> None:
    image = np.full((20, 30, 3), GREY, np.uint8)
    draw_marks(image, [{}, {}])
    assert (image == GREY).all()


@pytest.mark.parametrize("factor", [1, 3, 7, 14])
@pytest.mark.parametrize("colours", [1, 3])
def test_every_pixel_is_enlarged_to_a_block_of_its_colour(factor: int, colours: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, colours), np.uint8)
    blocks = np.broadcast_to(pixels, (HEIGHT, WIDTH, 3)).repeat(factor, axis=0).repeat(factor, axis=1)
    np.testing.assert_array_equal(enlarged(pixels, factor), blocks)
    assert not np.shares_memory(enlarged(pixels, factor), pixels)  # marks are written into it
