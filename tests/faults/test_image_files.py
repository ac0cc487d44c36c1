"""Images that are unusual or broken: the right pixels, or a one-line message."""

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.faults.small import is_one_line, refused_command
from tests.faults.torture import Torture
from tests.faults.worker import Worker
from withinpx.data.images import read_image, read_images
from withinpx.errors import InputError

ROW = "images"
Pixels = NDArray[np.uint8]
RED = np.array([200, 20, 30], np.uint8)
COLOURS = np.random.default_rng(0).integers(0, 256, (12, 9, 3), dtype=np.uint8)  # all corners differ
GREY = COLOURS[..., :1]
BOMB = 20_000  # px along each side
MEMORY_MB = 50
ORIENTATION = 0x112  # EXIF tag
STORED: dict[int, Callable[[Pixels], Pixels]] = {  # how a camera stores an upright image, by its orientation tag
    1: lambda pixels: pixels,
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.transpose(1, 0, 2),
    6: np.rot90,
    7: lambda pixels: pixels[::-1, ::-1].transpose(1, 0, 2),
    8: lambda pixels: np.rot90(pixels, -1),
}


def saved(path: Path, image: Image.Image, **options: Any) -> Path:
    image.save(path, **options)
    return path


def distance(one: Pixels, other: Pixels) -> NDArray[np.int64]:
    return np.abs(one.astype(int) - other)


def refusal(path: Path) -> str:
    """The message with which an image is refused; its folder is refused as well."""
    with pytest.raises(InputError) as alone:
        read_image(path)
    with pytest.raises(InputError):
        read_images(path.parent)
    message = str(alone.value)
    assert path.name in message and is_one_line(message)
    return message


def check_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(refused_command(capsys, "inspect", folder)) == 1


def png(width: int, height: int, depth: int, colour: int, data: bytes) -> bytes:
    """A PNG file with any header."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", data) + chunk(b"IEND", b"")


# --- the right pixels -----------------------------------------------------------------------------------------------


PALETTE = Image.fromarray(COLOURS).quantize(256)
BLACK_OR_WHITE = (GREY > 127).astype(np.uint8) * 255
KINDS: dict[str, tuple[Image.Image, Pixels, int]] = {  # the image, its pixels, and the largest rounding error
    "grey.png": (Image.fromarray(GREY[..., 0]), GREY, 0),
    "clear grey.png": (Image.fromarray(GREY[..., 0]).convert("LA"), GREY, 0),
    "one bit.tif": (Image.fromarray(BLACK_OR_WHITE[..., 0]).convert("1"), BLACK_OR_WHITE, 0),
    "palette.png": (PALETTE, np.asarray(PALETTE.convert("RGB")), 0),
    "colour.bmp": (Image.fromarray(COLOURS), COLOURS, 0),
    "clear.png": (Image.fromarray(np.concatenate([COLOURS, GREY], axis=2)), COLOURS, 0),
    "cmyk.tif": (Image.fromarray(COLOURS).convert("CMYK"), COLOURS, 2),
    "ycbcr.tif": (Image.fromarray(COLOURS).convert("YCbCr"), COLOURS, 4),
    "sixteen bits.png": (Image.fromarray(GREY[..., 0].astype(np.uint16) * 257), GREY, 0),
    "sixteen bits.tif": (Image.fromarray(GREY[..., 0].astype(np.uint16) * 257), GREY, 0),
    "real numbers.tif": (Image.fromarray(GREY[..., 0].astype(np.float32) / 255), GREY, 0),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_pixel_format(tmp_path: Path, name: str, torture: Torture) -> None:
    image, expected, rounding = KINDS[name]
    pixels = read_image(saved(tmp_path / name, image))
    assert pixels.dtype == np.uint8 and pixels.shape == expected.shape
    assert distance(pixels, expected).max() <= rounding
    assert np.array_equal(read_images(tmp_path).frames[0], pixels)
    torture.count(ROW, right_pictures=1)


def test_a_cmyk_jpeg(tmp_path: Path, torture: Torture) -> None:
    flat = Image.fromarray(np.broadcast_to(RED, (16, 16, 3)).copy())
    pixels = read_image(saved(tmp_path / "a.jpg", flat.convert("CMYK"), quality=95))
    assert distance(pixels, RED).max() < 8
    torture.count(ROW, right_pictures=1)


@pytest.mark.parametrize("level", [0, 1, 2, 300, 65535])
def test_a_constant_of_sixteen_bits_keeps_its_brightness(tmp_path: Path, level: int, torture: Torture) -> None:
    pixels = read_image(saved(tmp_path / "a.png", Image.fromarray(np.full((5, 7), level, np.uint16))))
    assert pixels.shape == (5, 7, 1)
    assert set(pixels.ravel().tolist()) == {round(level / 257)}
    torture.count(ROW, right_pictures=1)


def test_sixteen_bits_of_colour(tmp_path: Path, torture: Torture) -> None:
    deep = COLOURS.astype(">u2") * 257
    lines = b"".join(b"\0" + line.tobytes() for line in deep)
    (tmp_path / "a.png").write_bytes(png(9, 12, 16, 2, zlib.compress(lines)))
    assert np.array_equal(read_image(tmp_path / "a.png"), COLOURS)
    torture.count(ROW, right_pictures=1)


@pytest.mark.parametrize("ending", ["png", "tif", "webp", "jpg"])
@pytest.mark.parametrize("tag", STORED)
def test_an_orientation_tag_is_applied(tmp_path: Path, ending: str, tag: int, torture: Torture) -> None:
    large = np.kron(COLOURS[:4, :3], np.ones((16, 16, 1), np.uint8))  # blocks, for lossy formats
    exif = Image.Exif()
    exif[ORIENTATION] = tag
    stored = Image.fromarray(np.ascontiguousarray(STORED[tag](large)))
    pixels = read_image(saved(tmp_path / f"a.{ending}", stored, exif=exif, quality=98))
    assert pixels.shape == large.shape
    assert distance(pixels, large).mean() < 5
    torture.count(ROW, right_pictures=1)


def test_an_orientation_tag_is_applied_to_sixteen_bits(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    stored = Image.fromarray(np.ascontiguousarray(np.rot90(GREY)[..., 0]).astype(np.uint16) * 257)
    assert np.array_equal(read_image(saved(tmp_path / "a.png", stored, exif=exif)), GREY)


def test_tiny_and_constant_images(tmp_path: Path, capsys: pytest.CaptureFixture[str], torture: Torture) -> None:
    """They can be read; a message says that nothing moves in them."""
    for name, size in (("one", (1, 1)), ("line", (40, 1)), ("constant", (30, 20))):
        folder = tmp_path / name
        folder.mkdir()
        for number in range(6):
            Image.new("RGB", size, (90, 20, 30)).save(folder / f"{number}.png")
        clip = read_images(folder)
        assert clip.frames.shape == (6, size[1], size[0], 3)
        assert set(map(tuple, clip.frames.reshape(-1, 3).tolist())) == {(90, 20, 30)}
        check_command(folder, capsys)
        torture.count(ROW, right_pictures=6)


def test_names_with_unusual_digits(tmp_path: Path) -> None:
    for name in ("²", "²1", "٣", "10", "9", "frame②"):
        Image.new("L", (4, 4), 7).save(tmp_path / f"{name}.png")
    assert len(read_images(tmp_path)) == 6


# --- a message ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -0.5, 1.5, 255.0, 1e30])
def test_floats_outside_the_range_of_brightness(
    tmp_path: Path, wrong: float, capsys: pytest.CaptureFixture[str], torture: Torture
) -> None:
    pixels = np.full((6, 5), 0.5, np.float32)
    pixels[2, 3] = wrong
    message = refusal(saved(tmp_path / "a.tif", Image.fromarray(pixels)))
    assert ("not finite" in message) == (not np.isfinite(wrong))
    check_command(tmp_path, capsys)
    torture.count(ROW, refused=1)


@pytest.mark.parametrize("wrong", [-1, 65536, 2**31 - 1])
def test_integers_beyond_sixteen_bits(tmp_path: Path, wrong: int, torture: Torture) -> None:
    pixels = np.zeros((6, 5), np.int32)
    pixels[2, 3] = wrong
    assert "scale them" in refusal(saved(tmp_path / "a.tif", Image.fromarray(pixels)))
    torture.count(ROW, refused=1)


def test_other_content_with_an_image_name(tmp_path: Path, capsys: pytest.CaptureFixture[str], torture: Torture) -> None:
    for content in (b"", b"no image at all\n", b"<svg></svg>", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", bytes(5000)):
        (tmp_path / "a.png").write_bytes(content)
        refusal(tmp_path / "a.png")
        torture.count(ROW, refused=1)
    check_command(tmp_path, capsys)


def test_postscript_with_an_image_name_is_not_run(tmp_path: Path) -> None:
    """Pillow would start an interpreter for it."""
    made = saved(tmp_path / "a.eps", Image.fromarray(COLOURS)).read_bytes()
    (tmp_path / "a.png").write_bytes(made)
    assert "cannot identify" in refusal(tmp_path / "a.png")


@pytest.mark.parametrize("ending", ["gif", "png", "webp", "tif"])
def test_several_images_in_one_file(
    tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str], torture: Torture
) -> None:
    """All but the first would be lost."""
    first, *others = (Image.new("RGB", (8, 6), (level, 0, 99)) for level in (10, 90, 200))
    content = io.BytesIO()
    first.save(content, {"tif": "TIFF"}.get(ending, ending.upper()), save_all=True, append_images=others)
    path = tmp_path / {"gif": "a.png"}.get(ending, f"a.{ending}")
    path.write_bytes(content.getvalue())
    message = refusal(path)
    assert ending == "gif" or "several images" in message
    check_command(tmp_path, capsys)
    torture.count(ROW, refused=1)


def black_pixels() -> bytes:
    """400 million of them, in a few kB."""
    packed, line = zlib.compressobj(1), bytes(BOMB // 8 + 1)
    return b"".join([*(packed.compress(line) for _ in range(BOMB)), packed.flush()])


@pytest.mark.parametrize("size", [(BOMB, BOMB), (2**31 - 1, 2**31 - 1), (10_001, 10_000), (12_000, 12_000)])
def test_a_decompression_bomb_is_refused_and_takes_no_memory(
    worker: Worker, tmp_path: Path, size: tuple[int, int], torture: Torture
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png(*size, 1, 0, black_pixels() if size == (BOMB, BOMB) else zlib.compress(bytes(99))))
    assert path.stat().st_size < 1_000_000
    message, grown_mb = worker.refusal_and_growth_mb(read_image, path)
    assert "too large" in message or "exceeds limit" in message
    assert "\n" not in message and grown_mb < MEMORY_MB
    torture.count(ROW, bombs=1)
    torture.fact(ROW, longest_s=round(worker.longest_s, 1))


@pytest.mark.parametrize(("ending", "layout"), [("tif", "<H"), ("bmp", "<i"), ("webp", "<H"), ("jpg", ">H")])
def test_bombs_in_other_formats(worker: Worker, tmp_path: Path, ending: str, layout: str, torture: Torture) -> None:
    """The header of a small image, with another size in it."""
    path, small = tmp_path / f"a.{ending}", 123
    content = saved(path, Image.new("L", (small, small), 9)).read_bytes()
    path.write_bytes(content.replace(struct.pack(layout, small), struct.pack(layout, 16_000)))
    message, grown_mb = worker.refusal_and_growth_mb(read_image, path)
    assert message and "\n" not in message
    assert grown_mb < MEMORY_MB
    torture.count(ROW, bombs=1)


def test_a_bomb_in_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only its header is present."""
    (tmp_path / "a.png").write_bytes(png(BOMB, BOMB, 1, 0, zlib.compress(bytes(99))))
    check_command(tmp_path, capsys)


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "tif", "webp"])
@pytest.mark.filterwarnings("ignore")  # Pillow's own, about truncated tags
def test_cut_anywhere(
    worker: Worker, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str], torture: Torture
) -> None:
    path = saved(tmp_path / f"a.{ending}", Image.fromarray(COLOURS))
    content, whole = path.read_bytes(), read_image(path)
    cuts = np.unique(np.linspace(0, len(content) - 1, torture.of(40, 1000)).astype(int)).tolist()
    refused = 0
    for cut in cuts:
        path.write_bytes(content[:cut])
        message, pixels = worker(message_or_pixels, path)
        assert message or np.array_equal(pixels, whole), f"cut at {cut} of {len(content)}"
        assert "\n" not in message
        refused += bool(message)
    assert refused > 0.9 * len(cuts)
    path.write_bytes(content[: len(content) // 2])
    check_command(tmp_path, capsys)
    torture.count(ROW, cut=len(cuts), refused=refused)


def message_or_pixels(path: Path) -> tuple[str, Pixels | None]:
    try:
        return "", read_image(path)
    except InputError as error:
        return str(error), None


@pytest.mark.parametrize("kind", ["a.png", "palette.png", "a.jpg", "a.bmp", "a.tif", "lzw.tif", "float.tif", "a.webp"])
def test_corrupted_anywhere(worker: Worker, tmp_path: Path, kind: str, torture: Torture) -> None:
    """Some formats have no checksums, so wrong pixels may result; it is always an image or a message."""
    made = {
        "palette.png": Image.fromarray(COLOURS).quantize(16),
        "float.tif": Image.fromarray(GREY[..., 0] / np.float32(255)),
    }
    options: dict[str, Any] = {"lzw.tif": {"compression": "tiff_lzw"}}.get(kind, {})
    exif = Image.Exif()
    exif[ORIENTATION], exif[0x10F] = 6, "a camera"
    path = saved(tmp_path / kind, made.get(kind, Image.fromarray(COLOURS)), exif=exif, **options)
    content, count, refused = path.read_bytes(), torture.of(60, 1500), 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        changed = np.frombuffer(content, np.uint8).copy()
        end = len(changed) if seed % 2 else min(len(changed), 300)  # headers can break in more ways
        changed[random.integers(end, size=random.integers(1, 6))] ^= np.uint8(1 << random.integers(8))
        path.write_bytes(changed.tobytes())
        message, pixels = worker(message_or_pixels, path)
        assert is_one_line(message) if message else pixels.dtype == np.uint8 and pixels.ndim == 3
        refused += bool(message)
    assert refused > 0
    torture.count(ROW, flipped=count, refused=refused)
