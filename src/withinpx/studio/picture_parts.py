"""Several pictures in one body: each goes straight to its file, one is open at a time, and nothing lies elsewhere."""

from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from withinpx.studio.names import check_name
from withinpx.studio.refusal import Refusal

FIELD = b"pictures"
MOST_PICTURES = 5000


class PictureParts:
    """What a browser sends of a form with files (multipart/form-data), as it comes; other fields are passed over."""

    def __init__(self, content_type: str, into: Path) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise _unreadable("they are not sent as a form with files")
        self.names: list[str] = []
        self._into = into
        self._file: BinaryIO | None = None
        self._header, self._value, self._disposition = b"", b"", b""
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._add_header,
                    "on_header_value": self._add_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._open,
                    "on_part_data": self._write,
                    "on_part_end": self.close,
                },
            )
        except FormParserError:
            raise _unreadable("the form has no beginning") from None

    def take(self, piece: bytes) -> None:
        """Some more of the body."""
        try:
            self._parser.write(piece)
        except FormParserError:
            raise _unreadable("the form is broken") from None

    def close(self) -> None:
        """A picture is complete, or there will be nothing more of it."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _begin(self) -> None:
        self._disposition = b""

    def _add_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def _open(self) -> None:
        _, options = parse_options_header(self._disposition)
        if options.get(b"name") != FIELD or b"filename" not in options:
            return
        name = "\\" if b"\\" in self._disposition else ""  # a path of Windows, which the parser would cut short
        with suppress(UnicodeDecodeError):
            name = name or options[b"filename"].decode()
        check_name(name)
        if len(self.names) >= MOST_PICTURES:
            said = f"There are more than {MOST_PICTURES} pictures: make a video of them, or give fewer."
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, said)
        try:
            self._file = (self._into / name).open("xb")
        except FileExistsError:
            said = f"Two pictures are called {name}: give each a name of its own."
            raise Refusal(HTTPStatus.BAD_REQUEST, said) from None
        self.names.append(name)

    def _write(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])


def _unreadable(why: str) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, f"The pictures cannot be read: {why}.")
