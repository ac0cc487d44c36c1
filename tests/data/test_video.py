"""Videos as they come: several formats, clocks and depths, and files that are broken."""

import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from withinpx.data.clip import Clip
from withinpx.data.recording import open_recording
from withinpx.data.selection import Selection
from withinpx.data.video import read_video, stream_video
from withinpx.errors import InputError

SIZE = (32, 48)  # height, width


def pictures(count: int) -> list[NDArray[np.uint8]]:
    """A grey level per frame, a white square that moves."""
    frames = []
    for index in range(count):
        frame = np.full((*SIZE, 3), 20 + 5 * index, np.uint8)
        frame[10:20, 2 + index : 10 + index] = 255
        frames.append(frame)
    return frames


def write(path: Path, codec: str, form: str, times_ms: list[int], frames: list[NDArray[np.uint8]]) -> Path:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=1000)
        stream.height, stream.width, stream.pix_fmt = *frames[0].shape[:2], form
        stream.codec_context.time_base = Fraction(1, 1000)
        for pixels, time_ms in zip(frames, times_ms, strict=True):
            picture = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            picture.pts, picture.time_base = time_ms, Fraction(1, 1000)
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return path


@pytest.fixture
def lossless(tmp_path: Path) -> Path:
    return write(tmp_path / "clip.mkv", "ffv1", "bgr0", [40 * index for index in range(12)], pictures(12))


@pytest.mark.parametrize(
    ("name", "codec", "form"),
    [
        ("a.mp4", "libx264", "yuv420p"),
        ("a.mov", "mpeg4", "yuv420p"),
        ("a.avi", "mjpeg", "yuvj420p"),
        ("a.webm", "libvpx-vp9", "yuv420p"),
        ("a.mkv", "ffv1", "yuv420p10le"),
    ],
)
def test_a_video_of_any_common_kind_has_all_its_frames(tmp_path: Path, name: str, codec: str, form: str) -> None:
    clip = read_video(write(tmp_path / name, codec, form, [40 * index for index in range(12)], pictures(12)))
    assert (len(clip), clip.height, clip.width, clip.colours) == (12, *SIZE, 3)
    assert clip.lost == ()
    for index, frame in enumerate(clip.frames):
        assert abs(frame[2, 2].astype(int) - (20 + 5 * index)).max() <= 16  # lossy, and starved of bits
        assert frame[15, 6 + index].min() > 200


def test_lossless_pixels_and_uneven_times_come_back_exactly(tmp_path: Path) -> None:
    times = [0, 40, 41, 200, 1000]
    clip = read_video(write(tmp_path / "a.mkv", "ffv1", "bgr0", times, pictures(5)))
    assert np.array_equal(clip.frames, np.stack(pictures(5)))
    assert clip.times_s.tolist() == pytest.approx([time / 1000 for time in times])


@pytest.mark.parametrize("form", ["gray", "gray10le", "gray16le"])
def test_grey_of_any_depth_is_one_colour(tmp_path: Path, form: str) -> None:
    clip = read_video(write(tmp_path / "a.mkv", "ffv1", form, [0, 40, 80], pictures(3)))
    assert clip.colours == 1
    assert [abs(int(frame[0, 0, 0]) - expected) <= 1 for frame, expected in zip(clip.frames, (20, 25, 30), strict=True)]
    assert clip.frames[0, 15, 6, 0] >= 254


def test_only_the_stretch_the_frames_and_the_part_asked_for(lossless: Path) -> None:
    clip = read_video(lossless, Selection(start=0.08, end=0.4, every=3, crop=(4, 8, 20, 16), scale=0.5))
    assert clip.times_s.tolist() == pytest.approx([0.08, 0.2, 0.32])
    assert clip.frames.shape == (3, 8, 10, 3)
    assert clip.selection.to_recording(np.array([[5.0, 4.0]])).tolist() == [[14.0, 16.0]]


def test_frames_of_a_span_keep_their_numbers_and_times(lossless: Path, tmp_path: Path) -> None:
    whole, span = read_video(lossless), Selection(frames=(3, 6))
    clip = read_video(lossless, span)
    assert clip.numbers.tolist() == [3, 4, 5, 6]
    assert clip.times_s.tolist() == whole.times_s[3:7].tolist()
    assert np.array_equal(clip.frames, whole.frames[3:7])
    again = open_recording(clip).read(Selection(frames=(5, 9)))  # of a clip in memory that is a part itself
    assert again.numbers.tolist() == [5, 6]
    for number, frame in enumerate(whole.frames):
        Image.fromarray(frame).save(tmp_path / f"{number}.png")
    assert open_recording(tmp_path).read(span).numbers.tolist() == [3, 4, 5, 6]
    with pytest.raises(InputError, match="no frame that can be decoded from 300 to 400: choose frames within it"):
        read_video(lossless, Selection(frames=(300, 400)))


@pytest.mark.parametrize(
    ("matrix", "turns"),
    [((0, 1, -1, 0), -1), ((-1, 0, 0, -1), 2), ((0, -1, 1, 0), 1)],
    ids=["a quarter clockwise", "upside down", "a quarter the other way"],
)
def test_a_recording_held_sideways_is_turned_upright(
    tmp_path: Path, matrix: tuple[int, int, int, int], turns: int
) -> None:
    path = write(tmp_path / "held.mp4", "libx264", "yuv444p", [0, 40], pictures(2))
    as_stored = read_video(path).frames
    content = bytearray(path.read_bytes())
    a, b, c, d = (value << 16 for value in matrix)
    upright = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    place = content.index(upright, content.index(b"tkhd"))  # as a phone writes it: in the track's header
    content[place : place + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(content)
    np.testing.assert_array_equal(read_video(path).frames, np.rot90(as_stored, turns, (1, 2)))


def test_a_gif_is_a_video_too(tmp_path: Path) -> None:
    first, *others = (Image.fromarray(frame) for frame in pictures(3))
    first.save(tmp_path / "a.gif", save_all=True, append_images=others, duration=[100, 100, 300])
    clip = read_video(tmp_path / "a.gif")
    assert len(clip) == 3
    assert clip.times_s.tolist() == pytest.approx([0, 0.1, 0.2], abs=0.02)
    assert abs(clip.frames[:, 0, 0, 0].astype(int) - [20, 25, 30]).max() <= 3


def test_a_picture_size_that_changes_midway_is_said(tmp_path: Path) -> None:
    with (tmp_path / "a.mjpeg").open("wb") as file:
        for width in (48, 48, 48, 64, 64):
            Image.new("RGB", (width, 32), (width, 90, 30)).save(file, format="JPEG")
    with pytest.raises(InputError, match=r"changes its frame size .* from 48x32 to 64x32 px"):
        read_video(tmp_path / "a.mjpeg")


def test_a_truncated_file_keeps_what_can_be_shown(lossless: Path, tmp_path: Path) -> None:
    whole = lossless.read_bytes()
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    clip = read_video(cut)
    assert 3 <= len(clip) < 12
    assert np.array_equal(clip.frames, np.stack(pictures(12))[: len(clip)])


def test_damaged_frames_are_listed_and_the_rest_is_kept(lossless: Path, tmp_path: Path) -> None:
    data = bytearray(lossless.read_bytes())
    with av.open(str(lossless)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.pos is not None]
        sizes = {packet.pos: packet.size for packet in av.open(str(lossless)).demux(video=0) if packet.size}
    data[places[5] + 12 : places[5] + sizes[places[5]] // 2] = b"\x5a" * (sizes[places[5]] // 2 - 12)
    broken = tmp_path / "broken.mkv"
    broken.write_bytes(bytes(data))
    losses: list[str] = []
    kept = list(stream_video(broken, losses=losses))
    assert len(kept) >= 11
    assert len(kept) + len(losses) >= 12


def test_each_mistake_has_its_sentence(tmp_path: Path, lossless: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_video(tmp_path / "nowhere.mp4")
    (tmp_path / "text.mp4").write_text("no video at all")
    with pytest.raises(InputError, match="cannot be read as a video"):
        read_video(tmp_path / "text.mp4")
    with av.open(str(tmp_path / "sound.wav"), "w") as container:
        stream: Any = container.add_stream("pcm_s16le", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
    with pytest.raises(InputError, match="no video stream"):
        read_video(tmp_path / "sound.wav")
    with pytest.raises(InputError, match="no frame"):
        read_video(lossless, Selection(start=100))
    with pytest.raises(InputError, match="reaches outside the frame of 48x32 px"):
        read_video(lossless, Selection(crop=(40, 0, 20, 10)))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"every": 0}, "cannot be kept"),
        ({"scale": 0.0}, "scale is 0"),
        ({"scale": float("nan")}, "scale is nan"),
        ({"start": 2.0, "end": 1.0}, "not before the end"),
        ({"frames": (7, 7)}, "no span"),
        ({"frames": (-1, 7)}, "no span"),
        ({"crop": (0, 0, 0, 5)}, "is empty"),
    ],
)
def test_selections_that_mean_nothing_are_refused(broken: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Selection(**broken)  # type: ignore[arg-type]


def test_a_clip_knows_which_part_it_is() -> None:
    clip = Clip(np.zeros((1, 4, 4, 3), np.uint8), np.zeros(1), "generated", Selection(crop=(10, 20, 4, 4)))
    assert clip.selection.to_recording(np.array([1.5, 2.5])).tolist() == [11.5, 22.5]
