"""A sample of a long recording is read without the rest, and its frames are those of a complete reading."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from withinpx.data import images, recording, seeking
from withinpx.data.clip import Clip
from withinpx.data.recording import open_recording
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.data.video import Converter, opened, stream_video

HEIGHT, WIDTH, FRAMES, RATE = 32, 48, 600, 25
MOST = 12
KINDS = {  # name: codec, options of the encoder, of the container
    "short_groups.mp4": ("libx264", {"g": "12", "bf": "3"}, {}),
    "long_groups.mp4": ("libx264", {"g": "250", "bf": "3", "sc_threshold": "0"}, {}),
    "open_groups.mp4": ("libx264", {"g": "12", "bf": "3", "x264-params": "open-gop=1"}, {}),
    "pieces.mp4": ("libx264", {"g": "12"}, {"movflags": "frag_keyframe+empty_moov"}),
    "h264.mkv": ("libx264", {"g": "12", "bf": "3"}, {}),
    "mpeg4.avi": ("mpeg4", {"g": "12"}, {}),
    "b_frames.avi": ("mpeg4", {"g": "12", "bf": "2"}, {}),
    "mpeg2.ts": ("mpeg2video", {"g": "12", "bf": "2"}, {}),
}
SELECTIONS = (
    EVERYTHING,
    Selection(every=3),
    Selection(start=5.1, end=20.02, crop=(4, 2, 40, 30), scale=0.5),
    Selection(start=15, end=15.3),
    Selection(frames=(301, 487), every=2),
)
Pixels = NDArray[np.uint8]


def frame_of(number: int) -> Pixels:
    pixels = np.full((HEIGHT, WIDTH, 3), 40 + number % 50, np.uint8)
    pixels[8:16, number % 40 : number % 40 + 8] = 255
    return pixels


def write(path: Path, frames: int = FRAMES, times: Callable[[int], int] = int) -> Path:
    """A video of the kind that its name says."""
    codec, options, container_options = KINDS[path.name]
    with av.open(str(path), "w", options=container_options) as container:
        stream: Any = container.add_stream(codec, rate=RATE, options=options)
        stream.height, stream.width, stream.pix_fmt = HEIGHT, WIDTH, "yuv420p"
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(frame_of(number), format="rgb24")
            frame.pts, frame.time_base = times(number), Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("videos")
    return {name: write(folder / name) for name in KINDS}


def check(sample: Clip, path: Path, selection: Selection) -> None:
    """The same numbers, times and pixels as in a complete reading."""
    frames = {frame.number: frame for frame in stream_video(path, selection)}
    for number, time_s, pixels in zip(sample.numbers.tolist(), sample.times_s.tolist(), sample.frames, strict=True):
        assert frames[number].time_s == time_s
        assert np.array_equal(frames[number].pixels, pixels), number


@pytest.mark.parametrize(
    "selection", SELECTIONS, ids=["everything", "every third", "a part", "an instant", "a span of frames"]
)
@pytest.mark.parametrize("name", KINDS)
def test_sampled_frames_are_those_of_a_complete_reading(
    videos: dict[str, Path], name: str, selection: Selection
) -> None:
    sample = open_recording(videos[name]).sample(selection, MOST)
    check(sample, videos[name], selection)
    selected = [frame.number for frame in stream_video(videos[name], selection)]
    assert MOST // 2 <= len(sample) <= MOST
    assert sample.complete == (len(selected) <= MOST)
    spacing = len(selected) / len(sample) * selection.every
    gaps = np.diff([selected[0], *sample.numbers, selected[-1]])
    assert gaps.max() <= 2 * spacing
    assert sample.lost == ()


@pytest.mark.parametrize("name", [name for name in KINDS if name != "long_groups.mp4"])
def test_few_frames_are_decoded(videos: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_decode_sample", lambda *_: pytest.fail("the whole video was decoded"))
    open_recording(videos[name]).sample(EVERYTHING, MOST)
    with opened(videos[name]) as (container, stream):
        index = seeking.index_by_reading(container, stream, [])
    numbers = seeking.near_key_frames(index, np.arange(FRAMES), 64)
    assert np.isin(numbers, index.keys).all()


def test_key_frames_are_taken_only_where_they_are_near() -> None:
    index = seeking.FrameIndex(np.arange(1000), np.array([0, 90, 200, 700]))
    numbers = seeking.near_key_frames(index, np.arange(1000), 100)
    assert numbers.tolist() == [0, 90, 200, 300, 400, 500, 600, 700, 800, 900]
    assert index.starts(numbers).tolist() == [0, 90, 200, 200, 200, 200, 200, 700, 700, 700]
    assert index.cost(numbers) == (1 + 1 + 401 + 201) + 4 * seeking.SEEK_COST


def test_frames_at_uneven_times_keep_their_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "h264.mkv", times=lambda number: number + number // 7 + 40 * (number > 300))
    sample = open_recording(path).sample(EVERYTHING, MOST)
    assert len(sample) < FRAMES
    check(sample, path, EVERYTHING)
    losses: list[str] = []
    list(stream_video(path, losses=losses))
    assert sample.lost == tuple(losses)


def test_a_short_video_is_decoded_as_a_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "short_groups.mp4", frames=30)
    assert seeking.sample_by_seeking(path, EVERYTHING, 30) is None
    sample = open_recording(path).sample(EVERYTHING, 30)
    assert sample.complete
    assert sample.numbers.tolist() == list(range(30))
    check(sample, path, EVERYTHING)


@pytest.mark.parametrize("name", ["short_groups.mp4", "h264.mkv"])
def test_where_a_wanted_frame_is_damaged_all_are_decoded(videos: dict[str, Path], tmp_path: Path, name: str) -> None:
    """As without seeking: the frames that are left, and a sentence about the rest."""
    content = bytearray(videos[name].read_bytes())
    with av.open(str(videos[name])) as container:
        keys = [packet for packet in container.demux(video=0) if packet.is_keyframe]
        places = [(bytes(packet), packet.size) for packet in keys]
    for packet, size in places[10:40]:
        offset = content.index(packet)
        content[offset + size // 4 : offset + size] = bytes(size - size // 4)
    (tmp_path / name).write_bytes(content)
    sample = open_recording(tmp_path / name).sample(EVERYTHING, MOST)
    assert sample.lost
    check(sample, tmp_path / name, EVERYTHING)


def test_a_cut_video_is_sampled_up_to_the_cut(videos: dict[str, Path], tmp_path: Path) -> None:
    content = videos["h264.mkv"].read_bytes()
    (tmp_path / "h264.mkv").write_bytes(content[: len(content) // 2])
    sample = open_recording(tmp_path / "h264.mkv").sample(EVERYTHING, MOST)
    check(sample, tmp_path / "h264.mkv", EVERYTHING)
    assert 100 < sample.numbers[-1] < FRAMES


def test_frames_that_are_left_out_are_not_converted(videos: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[int] = []

    def count(self: Converter, frame: Any) -> Pixels:
        converted.append(frame.pts)
        return frame_of(0)

    monkeypatch.setattr(seeking, "sample_by_seeking", lambda *_: None)
    monkeypatch.setattr(Converter, "__call__", count)
    assert len(open_recording(videos["long_groups.mp4"]).sample(EVERYTHING, MOST)) <= MOST
    assert len(converted) < FRAMES / 5


def test_of_a_folder_only_the_sample_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        Image.fromarray(frame_of(number)).save(tmp_path / f"{number}.png")
    read: list[str] = []
    real = images.read_image

    def read_and_record(path: Path) -> Pixels:
        read.append(path.stem)
        return real(path)

    monkeypatch.setattr(images, "read_image", read_and_record)
    sample = open_recording(tmp_path).sample(Selection(start=2, every=2), MOST)
    assert sample.numbers.tolist() == [2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46]
    assert read == list(map(str, sample.numbers))
    assert not sample.complete
    assert np.array_equal(sample.frames[1], frame_of(6))


def test_of_an_array_every_nth_frame_is_taken() -> None:
    array = np.stack([frame_of(number) for number in range(50)])
    seen: list[Frame] = []
    sample = open_recording(array).sample(Selection(end=40), MOST, on_frame=seen.append)
    assert sample.numbers.tolist() == [frame.number for frame in seen] == list(range(0, 41, 4))
    assert np.array_equal(sample.frames, array[:41:4])
    assert open_recording(array[:MOST]).sample(EVERYTHING, MOST).complete
