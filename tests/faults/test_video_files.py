"""Videos that are cut, corrupted, empty or unusual: every decodable frame is kept, every loss is listed."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from tests.faults.small import is_one_line
from tests.faults.torture import Torture
from tests.faults.videos import (
    FRAMES,
    HEIGHT,
    KINDS,
    RATE,
    WIDTH,
    Kind,
    Outcome,
    central_levels,
    hashed,
    is_listed,
    moving_square,
    read,
    read_plainly,
    write,
)
from tests.faults.worker import Worker

ROW = "video files"
STORES_ITS_LENGTH = ("first.mp4", "h264.mkv", "vp9.webm", "mjpeg.avi", "ffv1.mkv")
NOT_DETERMINISTIC = "ffv1.mkv"  # its decoder does not report a broken slice and shows uninitialised memory there
LOSSLESS = Kind("a.mkv", "ffv1", "bgr0")
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
LEVELS = (0, 64, 128, 255)  # of grey
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One intact video of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    for kind in KINDS:
        write(folder / kind.name, kind)
    return folder


@pytest.fixture(autouse=True)
def longest(worker: Worker, torture: Torture) -> Iterator[None]:
    yield
    torture.fact(ROW, longest_s=round(worker.longest_s, 1))


def check(found: Outcome, plain: Outcome, packets: tuple[float, ...]) -> None:
    """Nothing that plain PyAV decodes is missing, and every packet that could not be decoded is listed."""
    if len(set(plain.sizes)) > 1:
        return check_sizes(found, plain)
    if found.refused:
        assert is_one_line(found.refused) and not plain.times_s
        return
    later = iter(found.times_s)
    assert all(time_s in later for time_s in plain.times_s), "in the same order"
    missing = {time_s for time_s in packets if time_s not in found.times_s}
    assert all(is_listed(time_s, found.lost) for time_s in missing), (missing, found.lost)


def check_sizes(found: Outcome, plain: Outcome) -> None:
    """A lasting change of size is refused; a single frame of another size is left out."""
    assert is_one_line(found.refused) or len(set(found.sizes)) == 1
    left_out = [time_s for time_s in plain.times_s if time_s not in found.times_s]
    assert found.refused or all(is_listed(time_s, found.lost) for time_s in left_out)


def check_refused(found: Outcome) -> str:
    assert is_one_line(found.refused)
    return found.refused


@every_kind
def test_an_intact_video_is_read_completely(worker: Worker, whole: Path, kind: Kind) -> None:
    found, (plain, _) = worker(read, whole / kind.name), worker(read_plainly, whole / kind.name)
    assert len(found.times_s) == FRAMES
    assert (found.times_s, found.pixels, found.lost) == (plain.times_s, plain.pixels, ())


@every_kind
def test_cut_anywhere(worker: Worker, whole: Path, kind: Kind, tmp_path: Path, torture: Torture) -> None:
    content, intact = (whole / kind.name).read_bytes(), worker(read, whole / kind.name)
    intact_pixels = dict(zip(intact.times_s, intact.pixels, strict=True))
    cuts, kept = torture.of(20, 200), 0
    path = tmp_path / kind.name
    for cut in range(1, cuts + 1):
        path.write_bytes(content[: len(content) * cut // (cuts + 1)])
        found, (plain, packets) = worker(read, path), worker(read_plainly, path)
        check(found, plain, packets)
        frames = zip(found.times_s, found.pixels, strict=True)
        changed = [time_s for time_s, pixels in frames if pixels != intact_pixels[time_s]]
        assert len(changed) <= 1, "only the frame at the cut may differ"
        if kind.name in STORES_ITS_LENGTH and not found.refused:
            missing = set(intact.times_s) - set(found.times_s)
            assert all(is_listed(time_s, found.lost) for time_s in missing), (cut, missing, found.lost)
        kept += len(found.times_s)
    torture.count(ROW, cut=cuts, frames_kept=kept)


@every_kind
def test_one_byte_in_a_thousand_is_corrupted(
    worker: Worker, whole: Path, kind: Kind, tmp_path: Path, torture: Torture
) -> None:
    content = np.frombuffer((whole / kind.name).read_bytes(), np.uint8)
    seeds, kept, refused, listed = torture.of(10, 250), 0, 0, 0
    path = tmp_path / kind.name
    for seed in range(seeds):
        path.write_bytes(corrupted(content, seed).tobytes())
        found, (plain, packets) = worker(read, path), worker(read_plainly, path)
        check(found, plain, packets)
        assert kind.name == NOT_DETERMINISTIC or worker(read, path) == found, "the same file is the same clip"
        kept += len(found.times_s)
        listed += len(found.lost)
        refused += bool(found.refused)
    torture.count(ROW, flipped=seeds, frames_kept=kept, refused=refused, losses_listed=listed)


def corrupted(content: Bytes, seed: int) -> Bytes:
    random = np.random.default_rng(seed)
    count = max(1, len(content) // 1000)
    indices = random.choice(len(content), count, replace=False)
    changed = content.copy()
    changed[indices] ^= (1 << random.integers(0, 8, count)).astype(np.uint8)
    return changed


def packets_of(path: Path) -> list[tuple[int, int]]:
    """File offset and size of each packet."""
    with av.open(str(path)) as container:
        return [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.pos is not None]


def test_frames_whose_bytes_are_intact_are_unchanged(
    worker: Worker, whole: Path, tmp_path: Path, torture: Torture
) -> None:
    path = whole / "mjpeg.avi"  # frames are coded independently
    before, packets, content = worker(read, path), packets_of(path), bytearray(path.read_bytes())
    broken = tmp_path / path.name
    for seed in range(torture.of(5, 100)):
        random, changed = np.random.default_rng(seed), bytearray(content)
        hit = set(random.choice(FRAMES, 6, replace=False).tolist())
        for index in hit:
            offset, size = packets[index]
            changed[offset + random.integers(size)] ^= 0xFF
        broken.write_bytes(changed)
        found = worker(read, broken)
        pixels = dict(zip(found.times_s, found.pixels, strict=True))
        for index in set(range(FRAMES)) - hit:
            assert pixels[before.times_s[index]] == before.pixels[index]


def test_an_unreported_gap_is_found_by_timestamps(worker: Worker, whole: Path, tmp_path: Path) -> None:
    content, packets = bytearray((whole / "ffv1.mkv").read_bytes()), packets_of(whole / "ffv1.mkv")
    first, last = packets[15][0], packets[21][0]
    content[first - 4 : last - 4] = bytes(last - first)
    (tmp_path / "a.mkv").write_bytes(content)
    before, found = worker(read, whole / "ffv1.mkv"), worker(read, tmp_path / "a.mkv")
    missing = set(before.times_s) - set(found.times_s)
    assert len(missing) >= 6
    assert all(is_listed(time_s, found.lost) for time_s in missing)


def test_no_index(worker: Worker, whole: Path, tmp_path: Path, torture: Torture) -> None:
    content = (whole / "last.mp4").read_bytes()
    (tmp_path / "a.mp4").write_bytes(content.replace(b"moov", b"lost"))
    (tmp_path / "b.mp4").write_bytes(content[: content.index(b"moov") - 4])
    for name in ("a.mp4", "b.mp4"):
        assert "cannot be read as a video" in check_refused(worker(read, tmp_path / name))
    torture.count(ROW, without_index=2)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi"])
def test_no_frames(worker: Worker, tmp_path: Path, name: str, torture: Torture) -> None:
    with av.open(str(tmp_path / name), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=RATE)
        stream.height, stream.width, stream.pix_fmt = HEIGHT, WIDTH, "yuv420p"
        container.start_encoding()
    check_refused(worker(read, tmp_path / name))
    torture.count(ROW, without_frames=1)


def test_an_empty_file(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"")
    check_refused(worker(read, tmp_path / "a.mp4"))


@pytest.mark.parametrize("cover", [False, True], ids=["alone", "with a cover image"])
def test_audio_only(worker: Worker, tmp_path: Path, cover: bool, torture: Torture) -> None:
    with av.open(str(tmp_path / "a.m4a"), "w", format="mp4") as container:
        audio: Any = container.add_stream("aac", rate=8000, layout="mono")
        image: Any = container.add_stream("mjpeg", rate=1) if cover else None
        if image is not None:
            image.height, image.width, image.pix_fmt = HEIGHT, WIDTH, "yuvj420p"
            image.disposition = av.stream.Disposition.attached_pic
            container.mux(image.encode(av.VideoFrame.from_ndarray(moving_square(1)[0], format="rgb24")))
            container.mux(image.encode())
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.float32), "fltp", "mono")
        silence.sample_rate = 8000
        container.mux(audio.encode(silence))
        container.mux(audio.encode())
    assert "no video stream" in worker(read, tmp_path / "a.m4a").refused
    torture.count(ROW, sound_only=1)


def test_a_size_that_changes(worker: Worker, tmp_path: Path, torture: Torture) -> None:
    def of_widths(name: str, *widths: int) -> Outcome:
        with (tmp_path / name).open("wb") as file:
            for width in widths:
                Image.new("RGB", (width, 32), (width, 90, 30)).save(file, format="JPEG")
        found = worker(read, tmp_path / name)
        assert isinstance(found, Outcome)
        return found

    message = check_refused(of_widths("for_good.mjpeg", 48, 48, 48, 64, 64, 64))
    assert "changes its frame size at 0.120 s from 48x32 to 64x32 px" in message
    once = of_widths("once.mjpeg", 48, 48, 48, 64, 48, 48)
    assert once.times_s == pytest.approx((0, 0.04, 0.08, 0.16, 0.2))
    assert len(once.lost) == 1 and is_listed(0.12, once.lost)
    torture.count(ROW, changing_size=2)


@pytest.mark.parametrize(
    ("codec", "pixel_format"), [("ffv1", "yuv444p10le"), ("ffv1", "gray10le"), ("prores", "yuv422p10le")]
)
def test_ten_bits(worker: Worker, tmp_path: Path, codec: str, pixel_format: str, torture: Torture) -> None:
    grey = [np.full((HEIGHT, WIDTH, 3), level, np.uint8) for level in LEVELS]
    name = "a.mov" if codec == "prores" else "a.mkv"
    path = write(tmp_path / name, Kind("", codec, pixel_format), grey)
    with av.open(str(path)) as container:
        assert {frame.format.components[0].bits for frame in container.decode(video=0)} == {10}
    assert np.abs(np.array(worker(central_levels, path)) - LEVELS).max() <= 2
    torture.count(ROW, ten_bits=1)


@pytest.mark.parametrize(("height", "width"), [(33, 47), (31, 64), (64, 31), (1, 1)])
def test_odd_sizes(worker: Worker, tmp_path: Path, height: int, width: int, torture: Torture) -> None:
    frames = [frame[:height, :width].copy() for frame in moving_square(5)]
    found = worker(read, write(tmp_path / "a.mkv", LOSSLESS, frames))
    assert found.pixels == tuple(map(hashed, frames))
    torture.count(ROW, odd_sizes=1)


@pytest.mark.parametrize(("matrix", "turns"), [((0, 1, -1, 0), -1), ((-1, 0, 0, -1), 2), ((0, -1, 1, 0), 1)])
def test_a_rotation_flag_is_applied(
    worker: Worker, tmp_path: Path, matrix: tuple[int, int, int, int], turns: int, torture: Torture
) -> None:
    path = write(tmp_path / "a.mp4", Kind("", "libx264rgb", "rgb24", (("qp", "0"),)), moving_square(5))
    content = bytearray(path.read_bytes())
    a, b, c, d = (value << 16 for value in matrix)
    upright = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    offset = content.index(upright, content.index(b"tkhd"))
    content[offset : offset + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(content)
    assert worker(read, path).pixels == tuple(hashed(np.rot90(frame, turns)) for frame in moving_square(5))
    torture.count(ROW, rotated=1)


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4"])
def test_a_variable_rate(worker: Worker, tmp_path: Path, name: str, torture: Torture) -> None:
    times_ms = np.cumsum(np.random.default_rng(0).choice([17, 33, 40, 250, 1000], FRAMES)).tolist()
    kind = LOSSLESS if name == "a.mkv" else KINDS[1]
    found = worker(read, write(tmp_path / name, kind, times_ms=times_ms))
    assert found.times_s == pytest.approx([time / 1000 for time in times_ms], abs=0.001)
    assert found.lost == ()
    torture.count(ROW, variable_rate=1)


def test_metadata_that_is_not_utf8(worker: Worker, whole: Path, tmp_path: Path) -> None:
    content = (whole / "h264.mkv").read_bytes()
    assert b"Lavf" in content  # the program that wrote it
    (tmp_path / "a.mkv").write_bytes(content.replace(b"Lavf", b"L\xe4vf"))
    assert len(worker(read, tmp_path / "a.mkv").times_s) == FRAMES


def test_a_hidden_vp8_frame_is_not_shown(worker: Worker, tmp_path: Path) -> None:
    path = write(tmp_path / "a.webm", Kind("", "libvpx", options=(("deadline", "realtime"),)))
    content = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        hidden = bytes(list(container.demux(video=0))[3])
    content[content.index(hidden)] &= ~0x10 & 0xFF
    path.write_bytes(content)
    assert len(worker(read, path).times_s) == FRAMES - 1
