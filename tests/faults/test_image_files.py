"""Images that are odd or broken: the right picture, or a sentence."""

import io
import resource
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.faults.apart import Apart, apart
from tests.faults.torture import Torture
from withinpx.cli import main
from withinpx.data.images import read_image, read_images
from withinpx.errors import InputError

ROW = "images"
Pixels = NDArray[np.uint8]
RED = np.array([200, 20, 30], np.uint8)
COLOURS = np.random.default_rng(0).integers(0, 256, (12, 9, 3), dtype=np.uint8)  # no two corners are alike
GREY = COLOURS[..., :1]
BOMB = 20_000  # px along each side
UPRIGHT: dict[int, Callable[[Pixels], Pixels]] = {  # how a camera stores a picture, by the tag that says so
    1: lambda pixels: pixels,
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.transpose(1, 0, 2),
    6: np.rot90,
    7: lambda pixels: pixels[::-1, ::-1].transpose(1, 0, 2),
    8: lambda pixels: np.rot90(pixels, -1),
}


@pytest.fixture(scope="module")
def aside() -> Iterator[Apart]:
    with apart() as process:
        yield process


def saved(path: Path, picture: Image.Image, **how: Any) -> Path:
    picture.save(path, **how)
    return path


def refusal(path: Path) -> str:
    """The sentence in which a picture is refused, by itself and in its folder; and the command's."""
    with pytest.raises(InputError) as alone:
        read_image(path)
    with pytest.raises(InputError):
        read_images(path.parent)
    said = str(alone.value)
    assert path.name in said and "\n" not in said and said.endswith(".")
    return said


def check_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2 and one sentence, no traceback."""
    with pytest.raises(SystemExit) as stopped:
        main(["inspect", str(folder)])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert said.startswith("withinpx: ") and said.count("\n") == 1 and "Traceback" not in said


def png(width: int, height: int, depth: int, colour: int, data: bytes) -> bytes:
    """A PNG file, made by hand."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", data) + chunk(b"IEND", b"")


# --- the right picture ----------------------------------------------------------------------------------------------


PALETTE = Image.fromarray(COLOURS).quantize(256)
BLACK_OR_WHITE = (GREY > 127).astype(np.uint8) * 255
KINDS: dict[str, tuple[Image.Image, Pixels, int]] = {  # the picture, what it shows, and how far rounding takes it
    "grey.png": (Image.fromarray(GREY[..., 0]), GREY, 0),
    "clear grey.png": (Image.fromarray(GREY[..., 0]).convert("LA"), GREY, 0),
    "one bit.tif": (Image.fromarray(BLACK_OR_WHITE[..., 0]).convert("1"), BLACK_OR_WHITE, 0),
    "palette.png": (PALETTE, np.asarray(PALETTE.convert("RGB")), 0),
    "colour.bmp": (Image.fromarray(COLOURS), COLOURS, 0),
    "clear.png": (Image.fromarray(np.concatenate([COLOURS, GREY], axis=2)), COLOURS, 0),
    "inks.tif": (Image.fromarray(COLOURS).convert("CMYK"), COLOURS, 2),
    "television.tif": (Image.fromarray(COLOURS).convert("YCbCr"), COLOURS, 4),
    "sixteen bits.png": (Image.fromarray(GREY[..., 0].astype(np.uint16) * 257), GREY, 0),
    "sixteen bits.tif": (Image.fromarray(GREY[..., 0].astype(np.uint16) * 257), GREY, 0),
    "real numbers.tif": (Image.fromarray(GREY[..., 0].astype(np.float32) / 255), GREY, 0),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_pixel(tmp_path: Path, name: str, torture: Torture) -> None:
    picture, expected, off = KINDS[name]
    shown = read_image(saved(tmp_path / name, picture))
    assert shown.dtype == np.uint8 and shown.shape == expected.shape
    assert np.abs(shown.astype(int) - expected).max() <= off
    assert np.array_equal(read_images(tmp_path).frames[0], shown)
    torture.count(ROW, right_pictures=1)


def test_a_jpeg_of_printing_inks(tmp_path: Path, torture: Torture) -> None:
    flat = Image.fromarray(np.broadcast_to(RED, (16, 16, 3)).copy())
    shown = read_image(saved(tmp_path / "a.jpg", flat.convert("CMYK"), quality=95))
    assert np.abs(shown.astype(int) - RED).max() < 8
    torture.count(ROW, right_pictures=1)


@pytest.mark.parametrize("level", [0, 1, 2, 300, 65535])
def test_a_constant_of_sixteen_bits_is_as_dark_as_it_says(tmp_path: Path, level: int, torture: Torture) -> None:
    shown = read_image(saved(tmp_path / "a.png", Image.fromarray(np.full((5, 7), level, np.uint16))))
    assert shown.shape == (5, 7, 1)
    assert set(shown.ravel().tolist()) == {round(level / 257)}
    torture.count(ROW, right_pictures=1)


def test_sixteen_bits_of_colour(tmp_path: Path, torture: Torture) -> None:
    deep = COLOURS.astype(">u2") * 257
    lines = b"".join(b"\0" + line.tobytes() for line in deep)
    (tmp_path / "a.png").write_bytes(png(9, 12, 16, 2, zlib.compress(lines)))
    assert np.array_equal(read_image(tmp_path / "a.png"), COLOURS)
    torture.count(ROW, right_pictures=1)


@pytest.mark.parametrize("ending", ["png", "tif", "webp", "jpg"])
@pytest.mark.parametrize("tag", UPRIGHT)
def test_a_camera_that_was_turned(tmp_path: Path, ending: str, tag: int, torture: Torture) -> None:
    large = np.kron(COLOURS[:4, :3], np.ones((16, 16, 1), np.uint8))  # blocks, for those that lose detail
    exif = Image.Exif()
    exif[0x112] = tag
    stored = Image.fromarray(np.ascontiguousarray(UPRIGHT[tag](large)))
    shown = read_image(saved(tmp_path / f"a.{ending}", stored, exif=exif, quality=98))
    assert shown.shape == large.shape
    assert np.abs(shown.astype(int) - large).mean() < 5
    torture.count(ROW, right_pictures=1)


def test_sixteen_bits_are_turned_too(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x112] = 6
    stored = Image.fromarray(np.ascontiguousarray(np.rot90(GREY)[..., 0]).astype(np.uint16) * 257)
    assert np.array_equal(read_image(saved(tmp_path / "a.png", stored, exif=exif)), GREY)


def test_the_smallest_and_the_emptiest(tmp_path: Path, capsys: pytest.CaptureFixture[str], torture: Torture) -> None:
    """They can be read; that nothing can be found in them is said."""
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


def test_names_with_other_digits(tmp_path: Path) -> None:
    for name in ("²", "²1", "٣", "10", "9", "frame②"):
        Image.new("L", (4, 4), 7).save(tmp_path / f"{name}.png")
    assert len(read_images(tmp_path)) == 6


# --- a sentence -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -0.5, 1.5, 255.0, 1e30])
def test_numbers_that_are_no_brightness(
    tmp_path: Path, wrong: float, capsys: pytest.CaptureFixture[str], torture: Torture
) -> None:
    pixels = np.full((6, 5), 0.5, np.float32)
    pixels[2, 3] = wrong
    said = refusal(saved(tmp_path / "a.tif", Image.fromarray(pixels)))
    assert ("no numbers" in said) == (not np.isfinite(wrong))
    check_command(tmp_path, capsys)
    torture.count(ROW, refused=1)


@pytest.mark.parametrize("wrong", [-1, 65536, 2**31 - 1])
def test_thirty_two_bits_that_are_not_sixteen(tmp_path: Path, wrong: int, torture: Torture) -> None:
    pixels = np.zeros((6, 5), np.int32)
    pixels[2, 3] = wrong
    assert "scale them" in refusal(saved(tmp_path / "a.tif", Image.fromarray(pixels)))
    torture.count(ROW, refused=1)


def test_a_text_by_the_name_of_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str], torture: Torture) -> None:
    for content in (b"", b"no picture at all\n", b"<svg></svg>", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", bytes(5000)):
        (tmp_path / "a.png").write_bytes(content)
        refusal(tmp_path / "a.png")
        torture.count(ROW, refused=1)
    check_command(tmp_path, capsys)


def test_a_program_by_the_name_of_an_image_is_not_run(tmp_path: Path) -> None:
    """Pillow has others run what is PostScript."""
    made = saved(tmp_path / "a.eps", Image.fromarray(COLOURS)).read_bytes()
    (tmp_path / "a.png").write_bytes(made)
    assert "cannot identify" in refusal(tmp_path / "a.png")


@pytest.mark.parametrize("ending", ["gif", "png", "webp", "tif"])
def test_several_pictures_in_one_file(
    tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str], torture: Torture
) -> None:
    """All but the first would be lost."""
    first, *others = (Image.new("RGB", (8, 6), (level, 0, 99)) for level in (10, 90, 200))
    content = io.BytesIO()
    first.save(content, {"tif": "TIFF"}.get(ending, ending.upper()), save_all=True, append_images=others)
    path = tmp_path / {"gif": "a.png"}.get(ending, f"a.{ending}")
    path.write_bytes(content.getvalue())
    said = refusal(path)
    assert ending == "gif" or "several pictures" in said
    check_command(tmp_path, capsys)
    torture.count(ROW, refused=1)


def tried(path: Path) -> tuple[str, float]:
    """The sentence, if it is refused, and by how many MB the process grew."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        read_image(path)
        said = ""
    except InputError as error:
        said = str(error)
    return said, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def emptiness() -> bytes:
    """400 million black pixels, in a few kB."""
    packed, line = zlib.compressobj(1), bytes(BOMB // 8 + 1)
    return b"".join([*(packed.compress(line) for _ in range(BOMB)), packed.flush()])


@pytest.mark.parametrize("size", [(BOMB, BOMB), (2**31 - 1, 2**31 - 1), (10_001, 10_000), (12_000, 12_000)])
def test_a_bomb_is_refused_and_takes_no_memory(
    aside: Apart, tmp_path: Path, size: tuple[int, int], torture: Torture
) -> None:
    (tmp_path / "a.png").write_bytes(
        png(*size, 1, 0, emptiness() if size == (BOMB, BOMB) else zlib.compress(bytes(99)))
    )
    assert (tmp_path / "a.png").stat().st_size < 1_000_000
    said, grew_mb = aside(tried, tmp_path / "a.png")
    assert "too large" in said or "exceeds limit" in said
    assert "\n" not in said and grew_mb < 50
    torture.count(ROW, bombs=1)
    torture.fact(ROW, longest_s=round(aside.longest_s, 1))


@pytest.mark.parametrize(("ending", "kind"), [("tif", "TIFF"), ("bmp", "BMP"), ("webp", "WEBP"), ("jpg", "JPEG")])
def test_bombs_of_other_kinds(aside: Apart, tmp_path: Path, ending: str, kind: str, torture: Torture) -> None:
    """The header of a small picture, with another size in it."""
    content, small = io.BytesIO(), 123
    Image.new("L", (small, small), 9).save(content, kind)
    places = {"TIFF": "<H", "BMP": "<i", "WEBP": "<H", "JPEG": ">H"}
    before = struct.pack(places[kind], small)
    after = struct.pack(places[kind], 16_000)
    (tmp_path / f"a.{ending}").write_bytes(content.getvalue().replace(before, after))
    said, grew_mb = aside(tried, tmp_path / f"a.{ending}")
    assert said and "\n" not in said
    assert grew_mb < 50
    torture.count(ROW, bombs=1)


def test_a_bomb_in_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of which there is nothing but the header."""
    (tmp_path / "a.png").write_bytes(png(BOMB, BOMB, 1, 0, zlib.compress(bytes(99))))
    check_command(tmp_path, capsys)


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "tif", "webp"])
@pytest.mark.filterwarnings("ignore")  # Pillow's own, of tags that are cut
def test_cut_anywhere(
    aside: Apart, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str], torture: Torture
) -> None:
    path = saved(tmp_path / f"a.{ending}", Image.fromarray(COLOURS))
    content, whole = path.read_bytes(), read_image(path)
    places = np.unique(np.linspace(0, len(content) - 1, torture.of(40, 1000)).astype(int)).tolist()
    refused = 0
    for place in places:
        path.write_bytes(content[:place])
        said, shown = aside(shown_or_refused, path)
        assert said or np.array_equal(shown, whole), f"cut at {place} of {len(content)}"
        assert "\n" not in said
        refused += bool(said)
    assert refused > 0.9 * len(places)
    path.write_bytes(content[: len(content) // 2])
    check_command(tmp_path, capsys)
    torture.count(ROW, cut=len(places), refused=refused)


def shown_or_refused(path: Path) -> tuple[str, Pixels | None]:
    try:
        return "", read_image(path)
    except InputError as error:
        return str(error), None


@pytest.mark.parametrize("kind", ["a.png", "palette.png", "a.jpg", "a.bmp", "a.tif", "lzw.tif", "float.tif", "a.webp"])
def test_flipped_anywhere(aside: Apart, tmp_path: Path, kind: str, torture: Torture) -> None:
    """Some formats have no checksums: a picture may come out. It is a picture, or a sentence; never anything else."""
    made = {
        "palette.png": Image.fromarray(COLOURS).quantize(16),
        "float.tif": Image.fromarray(GREY[..., 0] / np.float32(255)),
    }
    how: dict[str, Any] = {"lzw.tif": {"compression": "tiff_lzw"}}.get(kind, {})
    exif = Image.Exif()
    exif[0x112], exif[0x10F] = 6, "a camera"
    content = saved(tmp_path / kind, made.get(kind, Image.fromarray(COLOURS)), exif=exif, **how).read_bytes()
    count, refused = torture.of(60, 1500), 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        changed = np.frombuffer(content, np.uint8).copy()
        reach = len(changed) if seed % 2 else min(len(changed), 300)  # headers break in more ways
        changed[random.integers(reach, size=random.integers(1, 6))] ^= np.uint8(1 << random.integers(8))
        (tmp_path / kind).write_bytes(changed.tobytes())
        said, shown = aside(shown_or_refused, tmp_path / kind)
        assert said.endswith(".") and "\n" not in said if said else shown.dtype == np.uint8 and shown.ndim == 3
        refused += bool(said)
    assert refused > 0
    torture.count(ROW, flipped=count, refused=refused)
