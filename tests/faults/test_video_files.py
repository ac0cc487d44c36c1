"""Videos that are cut, flipped, empty or odd: every frame that can be decoded is kept, what is lost is said."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from tests.faults.apart import Apart, apart
from tests.faults.torture import Torture
from tests.faults.videos import (
    FRAMES,
    HEIGHT,
    KINDS,
    RATE,
    WIDTH,
    Kind,
    Seen,
    hashed,
    is_listed,
    levels_in_the_middle,
    pictures,
    read,
    read_plainly,
    write,
)

ROW = "video files"
KNOWS_ITS_LENGTH = ("first.mp4", "h264.mkv", "vp9.webm", "mjpeg.avi", "ffv1.mkv")
UNSAID = "ffv1.mkv"  # its decoder sees that a part is broken, does not tell, and shows what was in memory there
LOSSLESS = Kind("a.mkv", "ffv1", "bgr0")
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
LEVELS = (0, 64, 128, 255)  # of grey
by_name = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def aside() -> Iterator[Apart]:
    with apart() as process:
        yield process


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One whole video of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    for kind in KINDS:
        write(folder / kind.name, kind)
    return folder


@pytest.fixture(autouse=True)
def counted(aside: Apart, torture: Torture) -> Iterator[None]:
    yield
    torture.fact(ROW, longest_s=round(aside.longest_s, 1))


def is_sentence(said: str) -> bool:
    return bool(said) and "\n" not in said and said.endswith(".")


def check(seen: Seen, plain: Seen, packets: tuple[float, ...]) -> None:
    """Whatever is broken: nothing that plain PyAV decodes is missing, and what nobody decodes is listed."""
    if len(set(plain.sizes)) > 1:
        return check_sizes(seen, plain)
    if seen.refused:
        assert is_sentence(seen.refused) and not plain.times_s
        return
    later = iter(seen.times_s)
    assert all(time_s in later for time_s in plain.times_s), "one after the other, in the same order"
    owed = {time_s for time_s in packets if time_s not in seen.times_s}
    assert all(is_listed(time_s, seen.lost) for time_s in owed), (owed, seen.lost)


def check_sizes(seen: Seen, plain: Seen) -> None:
    """A size that changes for good is refused; a frame that alone has another is left out."""
    assert is_sentence(seen.refused) or len(set(seen.sizes)) == 1
    left_out = [time_s for time_s in plain.times_s if time_s not in seen.times_s]
    assert seen.refused or all(is_listed(time_s, seen.lost) for time_s in left_out)


@by_name
def test_a_whole_one_is_whole(aside: Apart, whole: Path, kind: Kind) -> None:
    seen, (plain, _) = aside(read, whole / kind.name), aside(read_plainly, whole / kind.name)
    assert len(seen.times_s) == FRAMES
    assert (seen.times_s, seen.pixels, seen.lost) == (plain.times_s, plain.pixels, ())


@by_name
def test_cut_anywhere(aside: Apart, whole: Path, kind: Kind, tmp_path: Path, torture: Torture) -> None:
    content, there = (whole / kind.name).read_bytes(), aside(read, whole / kind.name)
    pixels = dict(zip(there.times_s, there.pixels, strict=True))
    places, kept = torture.of(20, 200), 0
    cut = tmp_path / kind.name
    for place in range(1, places + 1):
        cut.write_bytes(content[: len(content) * place // (places + 1)])
        seen, (plain, packets) = aside(read, cut), aside(read_plainly, cut)
        check(seen, plain, packets)
        changed = [time_s for time_s, its in zip(seen.times_s, seen.pixels, strict=True) if its != pixels[time_s]]
        assert len(changed) <= 1, "only the frame that is cut itself may look different"
        if kind.name in KNOWS_ITS_LENGTH and not seen.refused:
            missing = set(there.times_s) - set(seen.times_s)
            assert all(is_listed(time_s, seen.lost) for time_s in missing), (place, missing, seen.lost)
        kept += len(seen.times_s)
    torture.count(ROW, cut=places, frames_kept=kept)


@by_name
def test_one_byte_of_a_thousand_is_flipped(
    aside: Apart, whole: Path, kind: Kind, tmp_path: Path, torture: Torture
) -> None:
    content = np.frombuffer((whole / kind.name).read_bytes(), np.uint8)
    seeds, kept, refused, listed = torture.of(10, 250), 0, 0, 0
    broken = tmp_path / kind.name
    for seed in range(seeds):
        broken.write_bytes(flipped(content, seed).tobytes())
        seen, (plain, packets) = aside(read, broken), aside(read_plainly, broken)
        check(seen, plain, packets)
        assert kind.name == UNSAID or aside(read, broken) == seen, "the same file is the same clip"
        kept += len(seen.times_s)
        listed += len(seen.lost)
        refused += bool(seen.refused)
    torture.count(ROW, flipped=seeds, frames_kept=kept, refused=refused, losses_listed=listed)


def flipped(content: Bytes, seed: int) -> Bytes:
    random = np.random.default_rng(seed)
    count = max(1, len(content) // 1000)
    places = random.choice(len(content), count, replace=False)
    changed = content.copy()
    changed[places] ^= (1 << random.integers(0, 8, count)).astype(np.uint8)
    return changed


def packets_of(path: Path) -> list[tuple[int, int]]:
    """Place and size of each."""
    with av.open(str(path)) as container:
        return [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.pos is not None]


def test_frames_whose_bytes_are_whole_come_out_as_they_were(
    aside: Apart, whole: Path, tmp_path: Path, torture: Torture
) -> None:
    path = whole / "mjpeg.avi"  # each frame stands for itself
    before, packets, content = aside(read, path), packets_of(path), bytearray(path.read_bytes())
    broken = tmp_path / path.name
    for seed in range(torture.of(5, 100)):
        random, changed = np.random.default_rng(seed), bytearray(content)
        hit = set(random.choice(FRAMES, 6, replace=False).tolist())
        for each in hit:
            place, size = packets[each]
            changed[place + random.integers(size)] ^= 0xFF
        broken.write_bytes(changed)
        seen = dict(zip(*(getattr(aside(read, broken), name) for name in ("times_s", "pixels")), strict=True))
        for each in set(range(FRAMES)) - hit:
            assert seen[before.times_s[each]] == before.pixels[each]


def test_a_stretch_that_nobody_reports_is_seen_by_the_clock(aside: Apart, whole: Path, tmp_path: Path) -> None:
    content, packets = bytearray((whole / "ffv1.mkv").read_bytes()), packets_of(whole / "ffv1.mkv")
    first, last = packets[15][0], packets[21][0]
    content[first - 4 : last - 4] = bytes(last - first)
    (tmp_path / "a.mkv").write_bytes(content)
    before, seen = aside(read, whole / "ffv1.mkv"), aside(read, tmp_path / "a.mkv")
    missing = set(before.times_s) - set(seen.times_s)
    assert len(missing) >= 6
    assert all(is_listed(time_s, seen.lost) for time_s in missing)


def test_no_index(aside: Apart, whole: Path, tmp_path: Path, torture: Torture) -> None:
    content = (whole / "last.mp4").read_bytes()
    (tmp_path / "a.mp4").write_bytes(content.replace(b"moov", b"lost"))
    (tmp_path / "b.mp4").write_bytes(content[: content.index(b"moov") - 4])
    for name in ("a.mp4", "b.mp4"):
        said = aside(read, tmp_path / name).refused
        assert is_sentence(said) and "cannot be read as a video" in said
    torture.count(ROW, without_index=2)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi"])
def test_no_frames(aside: Apart, tmp_path: Path, name: str, torture: Torture) -> None:
    with av.open(str(tmp_path / name), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=RATE)
        stream.height, stream.width, stream.pix_fmt = HEIGHT, WIDTH, "yuv420p"
        container.start_encoding()
    assert is_sentence(aside(read, tmp_path / name).refused)
    torture.count(ROW, without_frames=1)


def test_an_empty_file(aside: Apart, tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"")
    assert is_sentence(aside(read, tmp_path / "a.mp4").refused)


@pytest.mark.parametrize("cover", [False, True], ids=["alone", "with a cover"])
def test_sound_only(aside: Apart, tmp_path: Path, cover: bool, torture: Torture) -> None:
    with av.open(str(tmp_path / "a.m4a"), "w", format="mp4") as container:
        sound: Any = container.add_stream("aac", rate=8000, layout="mono")
        picture: Any = container.add_stream("mjpeg", rate=1) if cover else None
        if picture is not None:
            picture.height, picture.width, picture.pix_fmt = HEIGHT, WIDTH, "yuvj420p"
            picture.disposition = av.stream.Disposition.attached_pic
            container.mux(picture.encode(av.VideoFrame.from_ndarray(pictures(1)[0], format="rgb24")))
            container.mux(picture.encode())
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.float32), "fltp", "mono")
        silence.sample_rate = 8000
        container.mux(sound.encode(silence))
        container.mux(sound.encode())
    assert "no video stream" in aside(read, tmp_path / "a.m4a").refused
    torture.count(ROW, sound_only=1)


def test_a_size_that_changes(aside: Apart, tmp_path: Path, torture: Torture) -> None:
    def of_sizes(name: str, *widths: int) -> Seen:
        with (tmp_path / name).open("wb") as file:
            for width in widths:
                Image.new("RGB", (width, 32), (width, 90, 30)).save(file, format="JPEG")
        seen = aside(read, tmp_path / name)
        assert isinstance(seen, Seen)
        return seen

    said = of_sizes("for_good.mjpeg", 48, 48, 48, 64, 64, 64).refused
    assert is_sentence(said) and "changes its picture size at 0.120 s from 48x32 to 64x32 px" in said
    once = of_sizes("once.mjpeg", 48, 48, 48, 64, 48, 48)
    assert once.times_s == pytest.approx((0, 0.04, 0.08, 0.16, 0.2))
    assert len(once.lost) == 1 and is_listed(0.12, once.lost)
    torture.count(ROW, changing_size=2)


@pytest.mark.parametrize(("codec", "form"), [("ffv1", "yuv444p10le"), ("ffv1", "gray10le"), ("prores", "yuv422p10le")])
def test_ten_bits(aside: Apart, tmp_path: Path, codec: str, form: str, torture: Torture) -> None:
    grey = [np.full((HEIGHT, WIDTH, 3), level, np.uint8) for level in LEVELS]
    path = write(tmp_path / "a.mov" if codec == "prores" else tmp_path / "a.mkv", Kind("", codec, form), grey)
    with av.open(str(path)) as container:
        assert {frame.format.components[0].bits for frame in container.decode(video=0)} == {10}
    assert np.abs(np.array(aside(levels_in_the_middle, path)) - LEVELS).max() <= 2
    torture.count(ROW, ten_bits=1)


@pytest.mark.parametrize(("height", "width"), [(33, 47), (31, 64), (64, 31), (1, 1)])
def test_odd_sizes(aside: Apart, tmp_path: Path, height: int, width: int, torture: Torture) -> None:
    shown = [frame[:height, :width].copy() for frame in pictures(5)]
    seen = aside(read, write(tmp_path / "a.mkv", LOSSLESS, shown))
    assert seen.pixels == tuple(map(hashed, shown))
    torture.count(ROW, odd_sizes=1)


@pytest.mark.parametrize(("matrix", "turns"), [((0, 1, -1, 0), -1), ((-1, 0, 0, -1), 2), ((0, -1, 1, 0), 1)])
def test_held_sideways(
    aside: Apart, tmp_path: Path, matrix: tuple[int, int, int, int], turns: int, torture: Torture
) -> None:
    path = write(tmp_path / "a.mp4", Kind("", "libx264rgb", "rgb24", (("qp", "0"),)), pictures(5))
    content = bytearray(path.read_bytes())
    a, b, c, d = (value << 16 for value in matrix)
    upright = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    place = content.index(upright, content.index(b"tkhd"))
    content[place : place + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(content)
    assert aside(read, path).pixels == tuple(hashed(np.rot90(frame, turns)) for frame in pictures(5))
    torture.count(ROW, rotated=1)


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4"])
def test_a_variable_rate(aside: Apart, tmp_path: Path, name: str, torture: Torture) -> None:
    times_ms = np.cumsum(np.random.default_rng(0).choice([17, 33, 40, 250, 1000], FRAMES)).tolist()
    kind = LOSSLESS if name == "a.mkv" else KINDS[1]
    seen = aside(read, write(tmp_path / name, kind, times_ms=times_ms))
    assert seen.times_s == pytest.approx([time / 1000 for time in times_ms], abs=0.001)
    assert seen.lost == ()
    torture.count(ROW, variable_rate=1)


def test_a_title_in_any_alphabet(aside: Apart, whole: Path, tmp_path: Path) -> None:
    content = (whole / "h264.mkv").read_bytes()
    assert b"Lavf" in content  # the program that wrote it
    (tmp_path / "a.mkv").write_bytes(content.replace(b"Lavf", b"L\xe4vf"))
    assert len(aside(read, tmp_path / "a.mkv").times_s) == FRAMES


def test_what_vp8_hides_is_not_lost(aside: Apart, tmp_path: Path) -> None:
    path = write(tmp_path / "a.webm", Kind("", "libvpx", options=(("deadline", "realtime"),)))
    content = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        hidden = bytes(list(container.demux(video=0))[3])
    content[content.index(hidden)] &= ~0x10 & 0xFF
    path.write_bytes(content)
    seen = aside(read, path)
    assert len(seen.times_s) == FRAMES - 1
