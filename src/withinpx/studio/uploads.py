"""Clips that come in: straight to the disk, no larger than allowed, and what they say they are."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from PIL import Image
from starlette.requests import ClientDisconnect, Request

from withinpx.data.images import ENDINGS
from withinpx.errors import InputError
from withinpx.studio.frames import MOST_PIXELS, picture_footage, video_footage
from withinpx.studio.names import check_name
from withinpx.studio.picture_parts import PictureParts
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import CLIP, Footage, Run, Runs, new_id, now

HEAD = 400  # bytes that tell what a file is
COURTESY, COURTESY_S = 8_000_000, 0.5  # bytes of a refused upload that are still taken in, and for how long
IMAGE_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")
Stream = AsyncIterator[bytes]


@dataclass(frozen=True)
class Body:
    """What a request brings, and what it says of it."""

    stream: Stream
    length: int | None  # bytes
    kind: str  # its content type

    @classmethod
    def of(cls, request: Request) -> "Body":
        """Not yet read."""
        length = request.headers.get("content-length", "")
        kind = request.headers.get("content-type", "")
        return cls(request.stream(), int(length) if length.isdecimal() else None, kind)


async def receive_video(runs: Runs, name: str, body: Body, limit: int) -> Run:
    """A video as a new run."""
    async with _courtesy(body.stream):
        _check(name, body, limit)
        each = new_id()
        with _gathered(runs, each) as folder:
            path = folder / CLIP / name
            await _store(body.stream, path, limit)
            footage = await asyncio.to_thread(_checked, path, video_footage)
            return runs.add(Run(each, name, now(), footage), folder)


async def receive_pictures(runs: Runs, name: str, body: Body, limit: int) -> Run:
    """A folder of images as a new run."""
    async with _courtesy(body.stream):
        _check(name, body, limit)
        each = new_id()
        with _gathered(runs, each) as folder:
            into = folder / CLIP / name
            into.mkdir()
            names = await _store_pictures(body, into, limit)
            footage = await asyncio.to_thread(_checked_pictures, into, names)
            return runs.add(Run(each, name, now(), footage), folder)


def copy_of_demo(runs: Runs) -> Run:
    """The demo's clip as a new run, ready to be trained."""
    each = new_id()
    with _gathered(runs, each) as folder:
        demo = runs[runs.demo]
        shutil.copyfile(runs.clip(demo.id), folder / CLIP / demo.name)
        return runs.add(Run(each, demo.name, now(), demo.clip), folder)


def is_video(head: bytes) -> bool:
    """Does a file begin as a video does? What refers to other files, as playlists do, is none."""
    return (
        head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")  # MP4, MOV
        or head.startswith((b"\x1aE\xdf\xa3", b"FLV", b"OggS", b"GIF8", b"YUV4MPEG2"))  # Matroska and WebM first
        or head.startswith((b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3", b"0&\xb2u"))  # MPEG, MPEG, ASF
        or (head.startswith(b"RIFF") and head[8:12] == b"AVI ")
        or any(len(head) > at + 188 and head[at] == head[at + 188] == 0x47 for at in (0, 4))  # MPEG-TS
    )


def too_large(limit: int) -> Refusal:
    """For what is over the limit."""
    megabytes = f"{limit / 1e6:.0f} MB"
    return Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The clip is larger than {megabytes}: shorten it, or start withinpx studio with a larger --upload-limit-mb.",
    )


def not_a_video(name: str, why: str = "its content is none that can be read") -> Refusal:
    """For what is no video, whatever its name and type say."""
    return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"{name} is not a video: {why}.")


@contextmanager
def _gathered(runs: Runs, each: str) -> Iterator[Path]:
    """A folder for what arrives. Whatever goes wrong, it is gone afterwards."""
    folder = runs.arriving(each)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # after success it has another name


def _check(name: str, body: Body, limit: int) -> None:
    """What can be refused before anything has come."""
    check_name(name)
    if body.length is not None and body.length > limit:
        raise too_large(limit)


async def _store(body: Stream, path: Path, limit: int) -> None:
    head = b""
    with path.open("wb") as file:
        async for piece in _no_more_than(body, limit):
            if len(head) < HEAD:
                head += piece[:HEAD]
                if len(head) >= HEAD and not is_video(head):
                    raise not_a_video(path.name)
            await asyncio.to_thread(file.write, piece)
    if not is_video(head):
        raise not_a_video(path.name, "it is empty" if not head else "its content is none that can be read")


async def _store_pictures(body: Body, into: Path, limit: int) -> list[str]:
    parts = PictureParts(body.kind, into)
    try:
        async for piece in _no_more_than(body.stream, limit):
            await asyncio.to_thread(parts.take, piece)
    finally:
        parts.close()
    return parts.names


@asynccontextmanager
async def _courtesy(body: Stream) -> AsyncIterator[None]:
    """A little of what is refused is still taken in: a browser reads the answer only when it is done sending."""
    try:
        yield
    except Refusal:
        size = 0
        with suppress(ClientDisconnect, TimeoutError):
            async with asyncio.timeout(COURTESY_S):
                async for piece in body:
                    size += len(piece)
                    if size > COURTESY:
                        break
        raise


async def _no_more_than(body: Stream, limit: int) -> Stream:
    size = 0
    async for piece in body:
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        yield piece


def _checked(path: Path, footage_of: Callable[[Path], Footage]) -> Footage:
    try:
        return footage_of(path)
    except InputError as error:
        said = str(error).replace(str(path), path.name)
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, said) from None


def _checked_pictures(into: Path, names: list[str]) -> Footage:
    if len(names) < 2:
        raise Refusal(HTTPStatus.BAD_REQUEST, "One picture is no clip: choose two at least.")
    sizes: dict[tuple[int, int], str] = {}
    for name in names:
        sizes.setdefault(_picture_size(into / name), name)
    if len(sizes) > 1:
        (one, other), (first, second) = list(sizes)[:2], list(sizes.values())[:2]
        raise Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"{first} is {one[0]}x{one[1]} px and {second} is {other[0]}x{other[1]} px: all must be of one size.",
        )
    return _checked(into, picture_footage)


def _picture_size(path: Path) -> tuple[int, int]:
    """By its content; a name that says otherwise, or nothing that is known, is refused."""
    try:
        with Image.open(path, formats=IMAGE_FORMATS) as picture:
            size = picture.size
            picture.verify()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        size = (0, 0)
    if not 0 < size[0] * size[1] <= MOST_PIXELS or path.suffix.lower() not in ENDINGS:
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"{path.name} is not a picture that can be read.")
    return size
