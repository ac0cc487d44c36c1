"""Attacks on the studio: each one listed here is refused with a sentence, and leaves no file."""

import io
import json
import re
import socket
import struct
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from PIL import Image

from tests.faults.torture import Torture
from tests.studio.fake_training import count_epochs
from tests.studio.studio_server import TOKEN, listening
from withinpx.studio import security
from withinpx.studio.app import DEMO, STATIC, create_app
from withinpx.studio.make_demo import DEMO_ID
from withinpx.studio.security import MAX_JSON
from withinpx.studio.uploads import MAX_IMAGES

ROW = "studio attacks"
UPLOAD_LIMIT = 200_000  # bytes
CHANGING = ("post", "put", "delete", "patch")
# Answers of uvicorn and of Starlette's TrustedHostMiddleware, before a request reaches the app.
PLAIN_TEXTS = (b"Invalid HTTP request received.", b"Invalid host header")
GOOD = {"run_id": DEMO_ID, "number": "0", "name": "tracks.csv"}  # valid values for the parts of a path
HIDDEN = ("/docs", "/openapi.json")  # not in the OpenAPI schema, but behind the token too
VIDEO = b"\x00\x00\x00\x18ftypmp42" + bytes(600)  # has the first bytes of one

PATHS = {  # in place of a run id, a frame number or a file name
    "up": "..",
    "up, encoded": "%2e%2e",
    "up, with slashes": "../../../etc/passwd",
    "up, with encoded slashes": "..%2f..%2f..%2fetc%2fpasswd",
    "up, encoded twice": "%252e%252e%252f%252e%252e%252fetc",
    "up, after a valid id": f"{DEMO_ID}%2f..%2f..%2frun.json",
    "up, in overlong UTF-8": "%c0%ae%c0%ae%c0%af%c0%ae%c0%ae",
    "up, by a parameter": "..;/..;",
    "up, backslash": "..\\..\\run.json",
    "up, encoded backslash": "..%5c..%5crun.json",
    "absolute": "/etc/passwd",
    "absolute, encoded": "%2fetc%2fpasswd",
    "a drive": "C:%5cWindows%5cwin.ini",
    "a share": "%5c%5cevil.example%5cshare",
    "a file's address": "file:%2f%2f%2fetc%2fpasswd",
    "NUL": "%00",
    "NUL and an ending": f"{DEMO_ID}%00.json",
    "line ends": "x%0d%0aX-Injected:%20yes",
    "not UTF-8": "%ff%fe",
    "nothing": "",
    "very long": "a" * 5000,
    "a folder of the studio": ".uploading-0",
    "a star": "*",
    "SQL": "x'%20OR%20'1'='1",
    "a template": "%7b%7b7*7%7d%7d",
}
NAMES = {  # of a clip or an image
    "up": "../evil.mp4",
    "up and out": "../../../../tmp/evil.mp4",
    "absolute": "/tmp/evil.mp4",  # noqa: S108
    "backslash": "..\\..\\evil.mp4",
    "a drive": "C:\\evil.mp4",
    "a share": "\\\\evil.example\\evil.mp4",
    "a stream": "evil.mp4:hidden",
    "a protocol": "http://evil.example/evil.mp4",
    "FFmpeg's own protocol": "concat:a.mp4|b.mp4",
    "NUL": "evil\0.mp4",
    "line ends": "evil\r\nX-Injected: yes\r\n.mp4",
    "right to left": "evil\u202e4pm.exe",
    "hidden": ".frames.npy",
    "here": ".",
    "up alone": "..",
    "nothing": "",
    "blank": " ",
    "too long": "x" * 300,
}
TOKENS = {  # headers
    "missing": "",
    "empty": "Authorization: Bearer \r\n",
    "wrong": "Authorization: Bearer wrong\r\n",
    "a letter short": f"Authorization: Bearer {TOKEN[:-1]}\r\n",
    "a letter long": f"Authorization: Bearer {TOKEN}x\r\n",
    "in capitals": f"Authorization: Bearer {TOKEN.upper()}\r\n",
    "of another scheme": f"Authorization: Basic {TOKEN}\r\n",
    "not UTF-8": "Authorization: Bearer \xff\xfe\r\n",
    "in a wrong cookie": f"Cookie: token={TOKEN}\r\n",
    "an empty cookie": "Cookie: withinpx=\r\n",
    "a wrong cookie": "Cookie: withinpx=wrong\r\n",
    "a broken cookie": 'Cookie: withinpx="; ;;=\r\n',
    "in a header of its own": f"X-Token: {TOKEN}\r\n",
}
HOSTS = {  # DNS rebinding: another site points its name at this machine
    "another name": "evil.example",
    "another name, this port": "evil.example:{port}",
    "this name in front": "127.0.0.1.evil.example",
    "this name behind": "evil.example.localhost",
    "this name as a user": "127.0.0.1@evil.example",
    "another as a user": "evil.example@127.0.0.1",
    "this address as a number": "2130706433",
    "this address in hex": "0x7f.0.0.1",
    "two names": "127.0.0.1, evil.example",
    "half an address": "[::1",
    "no such port": "127.0.0.1:99999999",
    "nothing": "",
}
SITES = {  # headers of a browser that shows another site
    "another page": "Origin: http://evil.example\r\n",
    "no page": "Origin: null\r\n",
    "another port": "Origin: http://127.0.0.1:1\r\n",
    "a longer port": "Origin: http://127.0.0.1:{port}1\r\n",
    "a longer name": "Origin: http://127.0.0.1:{port}.evil.example\r\n",
    "another scheme": "Origin: file://127.0.0.1:{port}\r\n",
    "a user": "Origin: http://evil@127.0.0.1:{port}\r\n",
    "no address at all": "Origin: http://[\r\n",
    "fetched from elsewhere": "Sec-Fetch-Site: cross-site\r\n",
    "fetched from beside": "Sec-Fetch-Site: same-site\r\n",
    "this origin, but fetched from elsewhere": ("Origin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\n"),
}
FORMS = {  # an old browser that posts a form of another site sends the cookie and no origin
    "neither origin nor referrer": "",
    "another referrer": "Referer: http://evil.example/\r\n",
    "this referrer": "Referer: http://127.0.0.1:{port}/\r\n",
}
LENGTHS = {  # headers that do not fit the body
    "minus one": "Content-Length: -1\r\n",
    "no number": "Content-Length: many\r\n",
    "a number of thirty digits": f"Content-Length: {'9' * 30}\r\n",
    "two of them": "Content-Length: 4\r\nContent-Length: 5\r\n",
    "over any limit": "Content-Length: 99999999999\r\n",
    "chunked without chunks": "Transfer-Encoding: chunked\r\n",
    "chunked and compressed": "Transfer-Encoding: gzip, chunked\r\n",
}


@dataclass(frozen=True)
class Answer:
    """The response on a raw connection."""

    status: int
    headers: bytes
    body: bytes

    @property
    def is_refused(self) -> bool:
        """A status of a client error, and one sentence without a path."""
        return 400 <= self.status < 500 and self._is_sentence and b"x-injected" not in self.headers.lower()

    @property
    def _is_sentence(self) -> bool:
        if any(text in self.body for text in PLAIN_TEXTS):
            return True
        error = json.loads(self.body)
        sentence = error["error"]
        return (
            set(error) == {"error"}
            and sentence.endswith(".")
            and "\n" not in sentence
            and "Traceback" not in sentence
            and tempfile.gettempdir() not in sentence
        )


@dataclass(frozen=True)
class Target:
    """A studio under attack."""

    port: int
    routes: list[tuple[str, str, dict[str, Any]]]  # method, path, description

    @property
    def host(self) -> str:
        return f"Host: 127.0.0.1:{self.port}\r\n"

    @property
    def key(self) -> str:
        return f"Authorization: Bearer {TOKEN}\r\n"

    @property
    def cookie(self) -> str:
        return f'Cookie: withinpx="{TOKEN}"\r\n'

    def send(self, method: str, path: str, headers: str, body: bytes = b"", *, length: bool = True) -> Answer:
        """Send a request byte by byte as given; a client library would correct it."""
        if length and (body or method.lower() in CHANGING):
            headers += f"Content-Length: {len(body)}\r\n"
        request = f"{method.upper()} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode("latin-1")
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            try:
                connection.sendall(request + body)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            except (ConnectionResetError, BrokenPipeError):
                answer = b"HTTP/1.1 499 Hung Up\r\n\r\n" + PLAIN_TEXTS[0]
        head, _, content = answer.partition(b"\r\n\r\n")
        return Answer(int(head.split(b" ", 2)[1]), head, content)

    def request(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> Answer:
        """With the token."""
        return self.send(method, path, f"{self.host}{self.key}Content-Type: {kind}\r\n", body)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the studio, its temporary files and its working directory."""
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "temporary").mkdir()
    (folder / "here").mkdir()
    return folder


@pytest.fixture(scope="module")
def target(folders: Path) -> Iterator[Target]:
    """After all attacks the studio answers as before, and no file was added or changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folders / "temporary"))
        patch.setattr(security, "STALLED_AFTER_S", 0.5)
        patch.chdir(folders / "here")
        app = create_app(folders / "home", TOKEN, work=count_epochs, upload_limit=UPLOAD_LIMIT)
        routes = [
            (method, path, known)
            for path, methods in app.openapi()["paths"].items()
            for method, known in methods.items()
        ]
        before = files_of(folders, DEMO, STATIC)
        with listening(app) as port:
            attacked = Target(port, routes)
            yield attacked
            state = attacked.request("GET", "/api/state")
            assert state.status == 200
            assert [run["id"] for run in json.loads(state.body)["runs"]] == [DEMO_ID]
        assert files_of(folders, DEMO, STATIC) == before


def files_of(*folders: Path) -> dict[str, int]:
    """Every file with its modification time."""
    found = (path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {str(path): path.stat().st_mtime_ns if path.is_file() else 0 for path in found}


def filled(path: str, **parts: str) -> str:
    """The path of a route; parts that are not given are valid."""
    return re.sub(r"\{(\w+)\}", lambda found: {**GOOD, **parts}[found[1]], path)


def quoted(name: str) -> str:
    return "".join(f"%{byte:02x}" for byte in name.encode())


def refused(torture: Torture, kind: str, answers: dict[str, Answer]) -> None:
    """Check and count the answers to attacks."""
    accepted = {
        attack: (answer.status, answer.body[:200]) for attack, answer in answers.items() if not answer.is_refused
    }
    assert accepted == {}
    assert answers
    torture.count(ROW, attacks=len(answers), **{kind: len(answers)})


def test_every_route_is_known(target: Target) -> None:
    """The attacks are built from the OpenAPI schema: a route outside of it would not be attacked."""
    assert len(target.routes) >= 18
    parts = {part for _, path, _ in target.routes for part in re.findall(r"\{(\w+)\}", path)}
    assert parts == set(GOOD), "a route has another part in its path: add a valid value to GOOD"


def test_no_path_leads_out_of_the_studio(target: Target, torture: Torture) -> None:
    answers = {}
    for method, path, _ in target.routes:
        for part in re.findall(r"\{(\w+)\}", path):
            for what, attack in PATHS.items():
                address = filled(path, **{part: attack})
                answers[f"{method} {path}, {part}: {what}"] = target.request(method, address, b"{}")
    for what, attack in PATHS.items():
        answers[f"static: {what}"] = target.request("GET", f"/static/{attack}")
        answers[f"root: {what}"] = target.request("GET", f"/{attack}x")
    refused(torture, "paths", answers)


def test_no_name_leads_out_of_the_studio(target: Target, torture: Torture) -> None:
    answers = {}
    named = [(method, path) for method, path, known in target.routes if "name" in parameters(known)]
    assert len(named) == 2
    for what, name in NAMES.items():
        for method, path in named:
            answers[f"{path}: {what}"] = target.request(method, f"{path}?name={quoted(name)}", VIDEO)
        if what != "too long":  # a part's header of that length is refused before its name is read
            answers[f"an image: {what}"] = upload(target, [(name.replace(".mp4", ".png"), image())])
    refused(torture, "names", answers)


def parameters(known: dict[str, Any]) -> set[str]:
    """The query parameters of a route."""
    return {parameter["name"] for parameter in known.get("parameters", []) if parameter["in"] == "query"}


def test_no_parameter_ends_up_in_a_header(target: Target, torture: Torture) -> None:
    attack = "1%0d%0aX-Injected:%20yes%0d%0a%0d%0a<script>"
    answers = {}
    for method, path, known in target.routes:
        for name in parameters(known):
            required = {
                parameter["name"]: "9"
                for parameter in known["parameters"]
                if parameter["in"] == "query" and parameter.get("required") and parameter["name"] != name
            }
            query = "&".join(f"{key}={value}" for key, value in required.items())
            answers[f"{method} {path}, {name}"] = target.request(
                method, f"{filled(path)}?{query}&{name}={attack}", VIDEO
            )
    raw = "GET /api/state HTTP/1.1\r\nX-Injected: yes\r\n\r\nGET /"
    answers["a second request in the first"] = target.send("GET", f"/api/runs/x HTTP/1.1\r\n{raw}", "")
    for header in ("Origin", "Cookie", "Authorization", "Content-Type"):
        bad = f"{target.host}{header}: a\rX-Injected: yes\r\n"
        answers[f"a line end in {header}"] = target.send("GET", "/api/state", bad)
    refused(torture, "header_injections", answers)


def test_every_route_needs_the_token(target: Target, torture: Torture) -> None:
    answers = {}
    for method, path, _ in [*target.routes, *(("get", path, {}) for path in HIDDEN)]:
        for what, headers in TOKENS.items():
            answers[f"{method} {path}: {what}"] = target.send(method, filled(path), target.host + headers)
        in_query = f"{filled(path)}?token={quoted(TOKEN)}"
        answers[f"{method} {path}: in the address"] = target.send(method, in_query, target.host)
    assert {answer.status for answer in answers.values()} == {401}
    refused(torture, "tokens", answers)
    for what, headers in TOKENS.items():  # the page itself explains where the token is
        answer = target.send("GET", "/", target.host + headers)
        assert (answer.status, b"needs its key" in answer.body) == (401, True), what
    torture.count(ROW, attacks=len(TOKENS), tokens=len(TOKENS))


def test_no_other_host_name_is_accepted(target: Target, torture: Torture) -> None:
    answers = {}
    for method, path, _ in [*target.routes, *(("get", path, {}) for path in ("/", *HIDDEN, "/static/app.js"))]:
        for what, host in HOSTS.items():
            named = host.format(port=target.port)
            headers = f"Host: {named}\r\nOrigin: http://{named}\r\n{target.key}"
            answers[f"{method} {path}: {what}"] = target.send(method, filled(path), headers)
    assert {answer.status for answer in answers.values()} == {400}
    answers["no host"] = target.send("GET", "/api/state", target.key)
    answers["two hosts"] = target.send("GET", "/api/state", f"{target.host}Host: evil.example\r\n{target.key}")
    answers["a host in the address"] = target.send("GET", "http://evil.example/api/state", target.host + target.key)
    refused(torture, "hosts", answers)


def test_no_other_page_can_change_anything(target: Target, torture: Torture) -> None:
    answers = {}
    for method, path, _ in target.routes:
        if method not in CHANGING:
            continue
        for what, headers in SITES.items():
            sent = target.host + target.key + headers.format(port=target.port)
            answers[f"{method} {path}: {what}"] = target.send(method, filled(path), sent, b"{}")
        for what, headers in FORMS.items():
            sent = target.host + target.cookie + headers.format(port=target.port)
            answers[f"{method} {path}: {what}"] = target.send(method, filled(path), sent, b"{}")
    assert {answer.status for answer in answers.values()} == {403}
    refused(torture, "cross_site", answers)
    own = f"{target.host}{target.cookie}Origin: http://127.0.0.1:{target.port}\r\n"  # its own page can
    assert target.send("POST", f"/api/runs/{DEMO_ID}/render", own, b"{}").status == 422


def test_methods_that_no_route_has_are_refused(target: Target, torture: Torture) -> None:
    answers = {}
    paths = {path for _, path, _ in target.routes}
    for path in paths:
        known = {method for method, other, _ in target.routes if other == path}
        for method in {"get", "post", "put", "delete", "patch", "options", "trace"} - known:
            answers[f"{method} {path}"] = target.request(method, filled(path))
    refused(torture, "methods", answers)


def image(width: int = 20, height: int = 16) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (width, height)).save(content, "PNG")
    return content.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int, more: bytes = b"") -> bytes:
    """A PNG of a few bytes whose header claims a large size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def form(files: list[tuple[str, bytes]], field: str = "images") -> bytes:
    """A multipart form with names that a browser would have quoted."""
    parts = []
    for name, content in files:
        disposition = f'form-data; name="{field}"; filename="{name}"'.encode()
        parts.append(b"--xx\r\nContent-Disposition: " + disposition + b"\r\n\r\n" + content + b"\r\n")
    return b"".join(parts) + b"--xx--\r\n"


def upload(target: Target, files: list[tuple[str, bytes]], field: str = "images") -> Answer:
    kind = "multipart/form-data; boundary=xx"
    return target.request("POST", "/api/runs/images?name=evil", form(files, field), kind)


def zipped() -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        archive.writestr("../../evil.png", image())
    return content.getvalue()


def test_no_upload_is_a_bomb(target: Target, torture: Torture) -> None:
    video, images = "/api/runs?name=evil.mp4", "/api/runs/images?name=evil"
    good = image()
    gif = b"GIF89a" + struct.pack("<HH", 65535, 65535) + bytes(600)
    text = chunk(b"zTXt", b"bomb\0\0" + zlib.compress(bytes(50_000_000), 9))
    headers = f"{target.host}{target.key}"
    chunked = f"{headers}Transfer-Encoding: chunked\r\n"
    chunks = b"".join(b"4000\r\n" + VIDEO.ljust(0x4000, b"\0") + b"\r\n" for _ in range(20)) + b"0\r\n\r\n"
    smuggled = VIDEO + b"\r\nDELETE /api/runs/x HTTP/1.1\r\n\r\n"
    multipart = "multipart/form-data; boundary=xx"
    answers = {
        "a body over the limit": target.request("POST", video, VIDEO + bytes(UPLOAD_LIMIT)),
        "images over the limit": upload(target, [("a.png", good + bytes(UPLOAD_LIMIT)), ("b.png", good)]),
        "a chunked body over the limit": target.send("POST", video, chunked, chunks, length=False),
        "chunked images over the limit": target.send(
            "POST", images, f"{chunked}Content-Type: {multipart}\r\n", chunks, length=False
        ),
        "more bytes than its length": target.send(
            "POST", video, f"{headers}Content-Length: 612\r\n", smuggled, length=False
        ),
        "a length and chunks": target.send("POST", video, f"{chunked}Content-Length: 4\r\n", chunks, length=False),
        "a chunk of endless length": target.send("POST", video, chunked, b"FFFFFFFFFFFFFFFFFFFFF\r\nx", length=False),
        "too many images": upload(target, [(f"{n}.png", b"") for n in range(MAX_IMAGES + 1)]),
        "an image of 2.5 billion px": upload(target, [("a.png", bomb(50_000, 50_000)), ("b.png", good)]),
        "an image of 100 million px": upload(target, [("a.png", bomb(10_000, 10_000)), ("b.png", good)]),
        "an image of no px": upload(target, [("a.png", bomb(0, 0)), ("b.png", good)]),
        "an image with 50 MB of text": upload(target, [("a.png", bomb(20, 16, text)), ("b.png", good)]),
        "a truncated image": upload(target, [("a.png", good[:40]), ("b.png", good)]),
        "a video of 4 billion px": target.request("POST", video, gif),
        "a zip that is called an image": upload(target, [("a.png", zipped()), ("b.png", good)]),
        "a zip": upload(target, [("a.zip", zipped()), ("b.zip", zipped())]),
        "a zip that is called a video": target.request("POST", video, zipped() + bytes(600)),
        "an SVG with a script": upload(target, [("a.svg", b"<svg onload='alert(1)'/>"), ("b.png", good)]),
        "a page": target.request("POST", video, b"<html><script>alert(1)</script></html>" * 30),
        "a list of other files": target.request("POST", video, b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n" * 30),
        "FFmpeg's list of other files": target.request("POST", video, b"ffconcat version 1.0\nfile /etc/passwd\n" * 30),
        "a program": target.request("POST", video, b"\x7fELF" + bytes(600)),
        "nothing": target.request("POST", video),
        "no image": upload(target, []),
        "images in another field": upload(target, [("a.png", good), ("b.png", good)], "other"),
        "two images of one name": upload(target, [("a.png", good), ("a.png", good)]),
        "a form without a type": target.send("POST", images, headers, form([("a.png", good)])),
        "a form without a boundary": target.request("POST", images, form([("a.png", good)]), "multipart/form-data"),
        "a form with a long boundary": target.request(
            "POST", images, b"x", f"multipart/form-data; boundary={'x' * 2000}"
        ),
        "a malformed form": target.request("POST", images, b"--xx\r\n: \0\r\n", multipart),
        "a form with many headers": target.request("POST", images, b"--xx\r\n" + b"A: b\r\n" * 5000, multipart),
        "a form with a long header": target.request("POST", images, b"--xx\r\nA: " + b"b" * 100_000, multipart),
    }
    for what, length in LENGTHS.items():
        for path in (video, images):
            answers[f"{path}, length: {what}"] = target.send("POST", path, headers + length, b"body", length=False)
    refused(torture, "uploads", answers)


def test_no_json_body_is_too_large_or_malformed(target: Target, torture: Torture) -> None:
    bodies = {
        "over the limit": b'{"positions": [' + b" " * MAX_JSON + b"]}",
        "deep": b"[" * 100_000 + b"]" * 100_000,
        "deep in a field": b'{"positions": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        "not UTF-8": b'{"positions": ["\xff\xfe"]}',
        "no JSON": b"positions=1",
        "nothing": b"",
        "a number of a million digits": b'{"frame": '
        + b"9" * 1_000_000
        + b', "positions": [], "trajectories": [], "objects": 0}',
        "not a number": b'{"positions": [[NaN, NaN]], "trajectories": [[[Infinity, 1]]], "target": NaN}',
        "of another kind": b'{"positions": {"__proto__": 1}, "trajectories": 1, "crop": "x"}',
    }
    answers = {}
    with_body = [(method, path) for method, path, known in target.routes if "requestBody" in known]
    assert len(with_body) >= 7
    for method, path in with_body:
        for what, body in bodies.items():
            answers[f"{path}: {what}"] = target.request(method, filled(path), body)
        headers = f"{target.host}{target.key}Transfer-Encoding: chunked\r\n"
        chunks = (b"FFFFF\r\n" + b" " * 0xFFFFF + b"\r\n") * 5 + b"0\r\n\r\n"
        answers[f"{path}: over the limit in chunks"] = target.send(method, filled(path), headers, chunks, length=False)
        for what, length in LENGTHS.items():
            answers[f"{path}, length: {what}"] = target.send(
                method, filled(path), target.host + target.key + length, b"body", length=False
            )
    video = json.dumps({"trajectories": [[None, None, None]] * 3001}).encode()
    answers["a very long video"] = target.request("POST", f"/api/runs/{DEMO_ID}/video", video)
    far = json.dumps({"positions": [[1e308, -1e308]] * 3}).encode()
    answers["a position far outside"] = target.request("POST", f"/api/runs/{DEMO_ID}/render", far)
    refused(torture, "orders", answers)


def test_an_interrupted_upload_leaves_no_file(target: Target, torture: Torture, folders: Path) -> None:
    for path in ("/api/runs?name=evil.mp4", "/api/runs/images?name=evil"):
        kind = "Content-Type: multipart/form-data; boundary=xx\r\n"
        headers = f"{target.host}{target.key}{kind}Content-Length: 100000\r\nConnection: close\r\n"
        with socket.create_connection(("127.0.0.1", target.port), timeout=10) as connection:
            begun = VIDEO if "mp4" in path else form([("a.png", image())])
            connection.sendall(f"POST {path} HTTP/1.1\r\n{headers}\r\n".encode() + begun)
        torture.count(ROW, attacks=1, uploads=1)
    target.request("GET", "/api/state")
    assert [path.name for path in (folders / "temporary").iterdir()] == []
