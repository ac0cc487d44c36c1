"""A folder of images as a Clip."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from withinpx.data.clip import Clip
from withinpx.data.images import read_images
from withinpx.errors import InputError


def save(path: Path, value: int = 0, size: tuple[int, int] = (12, 8), mode: str = "RGB") -> None:
    Image.new(mode, size, value if mode in ("L", "I;16") else (value,) * len(mode)).save(path)


def test_frames_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        save(tmp_path / f"frame_{number}.png", number)
    clip = read_images(tmp_path, frame_rate=2)
    assert clip.frames[:, 0, 0, 0].tolist() == [1, 9, 10]
    assert clip.times_s.tolist() == [0, 0.5, 1]
    assert (len(clip), clip.height, clip.width, clip.colours) == (3, 8, 12, 3)


def test_grey_stays_grey_and_joins_colour_where_there_is_some(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 7, mode="L")
    assert read_images(tmp_path).colours == 1
    save(tmp_path / "b.png", 9)
    assert read_images(tmp_path).frames[:, 0, 0].tolist() == [[7, 7, 7], [9, 9, 9]]


def test_sixteen_bits_are_scaled_to_eight(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 65535], [32768, 257]], np.uint16)).save(tmp_path / "a.png")
    assert read_images(tmp_path).frames[0, :, :, 0].tolist() == [[0, 255], [128, 1]]


def test_transparency_is_dropped_and_other_files_are_left_alone(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 5, mode="RGBA")
    (tmp_path / "notes.txt").write_text("not a picture")
    assert read_images(tmp_path).frames.shape == (1, 8, 12, 3)


def test_each_mistake_has_its_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no folder"):
        read_images(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no images"):
        read_images(tmp_path)
    save(tmp_path / "a.png")
    with pytest.raises(InputError, match="is a file"):
        read_images(tmp_path / "a.png")
    save(tmp_path / "b.png", size=(12, 9))
    with pytest.raises(InputError, match=r"b\.png is 12x9 px and a\.png is 12x8 px"):
        read_images(tmp_path)
    (tmp_path / "b.png").write_text("no picture at all")
    with pytest.raises(InputError, match=r"b\.png cannot be read"):
        read_images(tmp_path)


def test_a_clip_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="holds no frames"):
        Clip(np.zeros((0, 4, 4, 3), np.uint8), np.zeros(0), "nothing")
    with pytest.raises(InputError, match="2 frames but 1 times"):
        Clip(np.zeros((2, 4, 4, 3), np.uint8), np.zeros(1), "something")
