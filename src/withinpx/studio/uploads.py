"""Clips that come in: straight to the disk, no larger than allowed, and what they say they are."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

from PIL import Image
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from withinpx.data.images import ENDINGS
from withinpx.data.scenes import DEMO_NAME, demo_clip_path
from withinpx.errors import InputError
from withinpx.studio.frames import MOST_PIXELS, picture_footage, video_footage
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import CLIP, Footage, Run, Runs, new_id, now

LONGEST_NAME = 120  # bytes
HEAD = 400  # bytes that tell what a file is
COURTESY = 8_000_000  # bytes of a refused upload that are still taken in, so that a browser reads the answer
MOST_PICTURES = 5000
PIECE = 1 << 20  # bytes
IMAGE_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")
Stream = AsyncIterator[bytes]


async def receive_video(runs: Runs, name: str, body: Stream, length: int | None, limit: int) -> Run:
    """A video as a new run."""
    try:
        check_name(name)
        if length is not None and length > limit:
            raise too_large(limit)
    except Refusal:
        await _take_in(body)
        raise
    each = new_id()
    with _gathered(runs, each) as folder:
        path = folder / CLIP / name
        await _store(body, path, limit)
        footage = await asyncio.to_thread(_checked, path, video_footage)
        return runs.add(Run(each, name, now(), footage), folder)


async def receive_pictures(runs: Runs, name: str, headers: Headers, body: Stream, limit: int) -> Run:
    """A folder of images as a new run."""
    check_name(name)
    each = new_id()
    parser = MultiPartParser(headers, _no_more_than(body, limit), max_files=MOST_PICTURES)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"The pictures cannot be read: {error.message}") from None
    try:
        pictures = [value for value in form.getlist("pictures") if isinstance(value, UploadFile)]
        with _gathered(runs, each) as folder:
            into = folder / CLIP / name
            into.mkdir()
            footage = await asyncio.to_thread(_store_pictures, pictures, into)
            return runs.add(Run(each, name, now(), footage), folder)
    finally:
        await form.close()


def copy_of_demo(runs: Runs) -> Run:
    """The demo's clip as a new run, ready to be trained."""
    each = new_id()
    with _gathered(runs, each) as folder:
        shutil.copyfile(demo_clip_path(), folder / CLIP / DEMO_NAME)
        footage = runs[runs.demo].clip
        return runs.add(Run(each, DEMO_NAME, now(), footage), folder)


def check_name(name: str) -> None:
    """A plain name of a file: it must not lead anywhere."""
    leads = any(part in name for part in ("/", "\\", ":", "\0")) or name.startswith(".")
    if not name or leads or not name.isprintable() or len(name.encode()) > LONGEST_NAME or name != name.strip():
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            f"That is no name for a clip: give a plain file name, without folders, of at most {LONGEST_NAME} letters.",
        )


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


async def _store(body: Stream, path: Path, limit: int) -> None:
    head, size = b"", 0
    with path.open("wb") as file:
        async for piece in body:
            size += len(piece)
            if size > limit:
                await _take_in(body)
                raise too_large(limit)
            if len(head) < HEAD:
                head += piece[:HEAD]
                if len(head) >= HEAD and not is_video(head):
                    await _take_in(body)
                    raise not_a_video(path.name)
            await asyncio.to_thread(file.write, piece)
    if not is_video(head):
        raise not_a_video(path.name, "it is empty" if not head else "its content is none that can be read")


async def _take_in(body: Stream) -> None:
    """A little of what nobody wants: a browser reads the answer only when it is done sending."""
    size = 0
    with suppress(ClientDisconnect):
        async for piece in body:
            size += len(piece)
            if size > COURTESY:
                return


async def _no_more_than(body: Stream, limit: int) -> AsyncGenerator[bytes, None]:
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


def _store_pictures(pictures: list[UploadFile], into: Path) -> Footage:
    if len(pictures) < 2:
        raise Refusal(HTTPStatus.BAD_REQUEST, "One picture is no clip: choose two at least.")
    sizes: dict[tuple[int, int], str] = {}
    for picture in pictures:
        name = picture.filename or ""
        check_name(name)
        path = into / name
        if path.exists():
            raise Refusal(HTTPStatus.BAD_REQUEST, f"Two pictures are called {name}: give each a name of its own.")
        with path.open("wb") as file:
            shutil.copyfileobj(picture.file, file, PIECE)
        sizes.setdefault(_picture_size(path), name)
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
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        size = (0, 0)
    if not 0 < size[0] * size[1] <= MOST_PIXELS or path.suffix.lower() not in ENDINGS:
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"{path.name} is not a picture that can be read.")
    return size
