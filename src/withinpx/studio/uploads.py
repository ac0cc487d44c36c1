"""Incoming clips: streamed to disk and accepted only if their content is a video or a set of images."""

import shutil
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from PIL import Image
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException

from withinpx.data.images import ENDINGS
from withinpx.errors import InputError
from withinpx.studio.frames import MAX_PIXELS, image_footage, video_footage
from withinpx.studio.runs import CLIP, Footage, Run, Runs

HEAD = 400  # bytes that identify a file type
MAX_NAME = 120  # bytes
MAX_IMAGES = 5000
FIELD = b"images"
IMAGE_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")


async def receive_video(runs: Runs, name: str, request: Request) -> Run:
    check_name(name)
    with runs.upload_folder() as folder:
        path = folder / CLIP / name
        await _store_video(request.stream(), path)
        footage = await run_in_threadpool(_checked, video_footage, path)
        return runs.add(folder, name, footage)


async def receive_images(runs: Runs, name: str, request: Request) -> Run:
    check_name(name)
    with runs.upload_folder() as folder:
        images = folder / CLIP / name
        images.mkdir()
        form = ImageForm(request.headers.get("content-type", ""), images)
        try:
            async for chunk in request.stream():
                await run_in_threadpool(form.write, chunk)
        finally:
            form.close()
        footage = await run_in_threadpool(_checked_images, images, form.names)
        return runs.add(folder, name, footage)


def copy_demo(runs: Runs) -> Run:
    """The demo's clip as a new run, ready to be trained."""
    demo = runs[runs.demo]
    with runs.upload_folder() as folder:
        shutil.copyfile(runs.clip(demo.id), folder / CLIP / demo.name)
        return runs.add(folder, demo.name, demo.clip)


def check_name(name: str) -> None:
    """Refuse everything but a plain file name."""
    has_path = any(part in name for part in ("/", "\\", ":", "\0")) or name.startswith(".")
    if not name or has_path or not name.isprintable() or len(name.encode()) > MAX_NAME or name != name.strip():
        raise _bad_request(f"Give the clip a plain file name, without folders, of at most {MAX_NAME} characters.")


def is_video(head: bytes) -> bool:
    """By the first bytes. Playlists and other files that refer to files are not videos."""
    return (
        head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")  # MP4, MOV
        or head.startswith((b"\x1aE\xdf\xa3", b"FLV", b"OggS", b"GIF8", b"YUV4MPEG2"))  # Matroska and WebM first
        or head.startswith((b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3", b"0&\xb2u"))  # MPEG, MPEG, ASF
        or (head.startswith(b"RIFF") and head[8:12] == b"AVI ")
        or any(len(head) > at + 188 and head[at] == head[at + 188] == 0x47 for at in (0, 4))  # MPEG-TS
    )


class ImageForm:
    """A multipart form that streams each image to its file.

    Starlette's ``request.form`` keeps one temporary file open per part: a thousand images exhaust the file handles.
    """

    def __init__(self, content_type: str, folder: Path) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or b"boundary" not in options:
            raise _bad_request("The images cannot be read: they are not sent as multipart/form-data.")
        self.names: list[str] = []
        self._folder = folder
        self._file: BinaryIO | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._name, self._value = b"", b""
        try:
            self._parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._headers.clear,
                    "on_header_field": self._add_name,
                    "on_header_value": self._add_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._open,
                    "on_part_data": self._write,
                    "on_part_end": self.close,
                },
            )
        except FormParserError:
            raise _bad_request("The images cannot be read: the form is malformed.") from None

    def write(self, chunk: bytes) -> None:
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise _bad_request("The images cannot be read: the form is malformed.") from None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None

    def _add_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        self._headers.append((self._name.lower(), self._value))
        self._name, self._value = b"", b""

    def _open(self) -> None:
        _, options = parse_options_header(dict(self._headers).get(b"content-disposition"))
        if options.get(b"name") != FIELD or b"filename" not in options:
            return  # the data of other fields is dropped
        name = options[b"filename"].decode(errors="replace")
        check_name(name)
        if len(self.names) >= MAX_IMAGES:
            message = f"There are more than {MAX_IMAGES} images: make a video of them, or choose fewer."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        try:
            self._file = (self._folder / name).open("xb")
        except FileExistsError:
            raise _bad_request(f"Two images are called {name}: rename one.") from None
        self.names.append(name)

    def _write(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])


async def _store_video(stream: AsyncIterator[bytes], path: Path) -> None:
    head = b""
    with path.open("wb") as file:
        async for chunk in stream:
            if len(head) < HEAD:
                head += chunk[:HEAD]
                if len(head) >= HEAD and not is_video(head):
                    raise _not_a_video(path.name)
            await run_in_threadpool(file.write, chunk)
    if not is_video(head):
        raise _not_a_video(path.name)


def _checked(footage_of: Callable[[Path], Footage], path: Path) -> Footage:
    try:
        return footage_of(path)
    except InputError as error:
        raise _unsupported(str(error).replace(str(path), path.name)) from None


def _checked_images(folder: Path, names: list[str]) -> Footage:
    if len(names) < 2:
        raise _bad_request("One image is not a clip: choose at least two.")
    sizes: dict[tuple[int, int], str] = {}
    for name in names:
        sizes.setdefault(_image_size(folder / name), name)
    if len(sizes) > 1:
        (first_size, first), (other_size, other), *_ = sizes.items()
        raise _unsupported(
            f"{first} is {first_size[0]}x{first_size[1]} px and {other} is {other_size[0]}x{other_size[1]} px: "
            "all images must have one size."
        )
    return _checked(image_footage, folder)


def _image_size(path: Path) -> tuple[int, int]:
    """By the content, which must be a known format of a safe size."""
    try:
        with Image.open(path, formats=IMAGE_FORMATS) as image:
            size = image.size
            image.verify()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        size = (0, 0)
    if not 0 < size[0] * size[1] <= MAX_PIXELS or path.suffix.lower() not in ENDINGS:
        raise _unsupported(f"{path.name} is not an image that can be read.")
    return size


def _bad_request(message: str) -> HTTPException:
    return HTTPException(HTTPStatus.BAD_REQUEST, message)


def _unsupported(message: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)


def _not_a_video(name: str) -> HTTPException:
    return _unsupported(f"{name} is not a video that can be read.")
