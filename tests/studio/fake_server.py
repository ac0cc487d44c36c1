"""A server that answers the studio's contract without training anything, for the page's tests and for looking at it.

``python -m tests.studio.fake_server 8765`` serves the page at http://127.0.0.1:8765/.
"""

import json
import math
import mimetypes
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

import withinpx
from tests.studio.fake_scene import FRAMES, HEIGHT, WIDTH, FakeScene, make_scene
from withinpx.errors import InputError
from withinpx.theory import CompactSupport, Gaussian, SizeRange, error_bound
from withinpx.theory.bound import theorem

STATIC = Path(withinpx.__file__).parent / "studio" / "static"
DEMO = "0123456789abcdef"
STAGES = ("looking", "warm start", "training", "certifying", "detecting", "writing")
EPOCHS = 40
UPLOAD_LIMIT = 2_000_000
Json = dict[str, Any]


class Refusal(Exception):  # noqa: N818  (not an error of the program)
    """An answer 4xx with a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class FakeStudio:
    """The runs, and a thread for each that only pretends to train."""

    def __init__(self, epoch_s: float = 0.05) -> None:
        self.scene: FakeScene = make_scene()
        self.epoch_s = epoch_s
        self.runs: dict[str, Json] = {}
        self.epochs: dict[str, list[Json]] = {}
        self.stopping: set[str] = set()
        self.drawn = 0  # how often something was drawn
        demo = self._new("three things.mp4", DEMO)
        demo |= {"demo": True, "state": "finished", "result": self._result()}

    def add(self, name: str) -> Json:
        """A new clip."""
        return self._new(name, f"{len(self.runs):016x}")

    def _new(self, name: str, each: str) -> Json:
        options = {"objects": None, "crop": None, "background": "auto", "target": None, "seed": 0, "quick": False}
        self.epochs[each] = []
        self.runs[each] = {
            "id": each,
            "name": name,
            "created": "2026-11-15T12:00:00Z",
            "demo": False,
            "state": "ready",
            "error": None,
            "clip": {"width": WIDTH, "height": HEIGHT, "frames": FRAMES, "seconds": FRAMES / 25, "pictures": False},
            "options": options,
            "progress": None,
            "result": None,
        }
        return self.runs[each]

    def run(self, each: str) -> Json:
        """One run."""
        if each not in self.runs:
            raise Refusal(HTTPStatus.NOT_FOUND, "There is no such run.")
        return self.runs[each]

    def set_options(self, each: str, wanted: Json) -> Json:
        """Some of the options anew."""
        run = self.run(each)
        crop = wanted.get("crop")
        if crop is not None and (crop[0] + crop[2] > WIDTH or crop[1] + crop[3] > HEIGHT):
            sentence = f"The crop {' '.join(map(str, crop))} reaches outside the picture of {WIDTH}x{HEIGHT} px."
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)
        run["options"] |= wanted
        return run

    def inspection(self, each: str) -> Json:
        """What moves."""
        seen = self.scene.inspection(self.run(each)["options"]["crop"])
        if not seen["movers"]:
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Nothing moves in this part of the picture: crop less.")
        return seen

    def start(self, each: str) -> Json:
        """Pretend to train, or to go on."""
        run = self.run(each)
        run |= {"state": "training", "error": None}
        self.stopping.discard(each)
        threading.Thread(target=self._train, args=(each,), daemon=True).start()
        return run

    def stop(self, each: str) -> Json:
        """Let the pretended training end."""
        self.stopping.add(each)
        return self.run(each)

    def _train(self, each: str) -> None:
        run, seen = self.runs[each], self.epochs[each]
        for stage in STAGES:
            steps = range(len(seen), EPOCHS) if stage == "training" else range(2)
            for step in steps:
                if each in self.stopping:
                    run["state"] = "stopped"
                    return
                loss = 0.06 * math.exp(-step / 9) + 0.0012 + 0.0006 * abs(math.sin(2.7 * step))
                if stage == "training":
                    accuracy = 1 - 0.7 * math.exp(-step / 6)
                    seen.append({"epoch": step + 1, "of": EPOCHS, "loss": loss, "accuracy": accuracy, "seed": 0})
                run["progress"] = {
                    "stage": stage,
                    "done": step + 1,
                    "of": EPOCHS if stage == "training" else 2,
                    "loss": seen[-1]["loss"] if seen else None,
                    "accuracy": seen[-1]["accuracy"] if seen else None,
                    "seconds_left": self.epoch_s * (EPOCHS - len(seen)) + 1,
                    "seed": 0,
                }
                time.sleep(self.epoch_s)
        run |= {"state": "finished", "result": self._result()}

    def _result(self) -> Json:
        tracks = self.scene.tracks
        return {
            "certified": False,
            "objects": self.scene.objects,
            "positions": int(np.sum(tracks["present"])),
            "certified_positions": int(np.sum(tracks["certified"])),
            "sentence": "2 of 3 objects certified",
        }


def bound(query: dict[str, str]) -> Json:
    """As ``/api/bound`` answers, by the library's own theorem."""
    encoder, decoder = int(query["encoder_rf"]), int(query["decoder_rf"])
    sizes = SizeRange(float(query["size_min"]), float(query["size_max"]))
    sigma, n_sigma = float(query["sigma"]), float(query.get("n_sigma", 2))
    support = float(query["support"]) if query.get("support") else None
    rendering = CompactSupport(support) if support is not None else Gaussian(sigma, n_sigma)
    found = error_bound(encoder, decoder, sizes, rendering)
    sureness = "always" if found.deterministic else f"at {n_sigma:g} sigma ({found.probability:.1%})"

    def curve(xs: list[float], at: Callable[[float, float], float]) -> Json:
        return {"x": xs, **{"mean" if n == 0 else f"n{n}": [at(x, n) for x in xs] for n in range(5)}}

    odd = [float(x) for x in range(1, 33, 2)]
    steps = [float(x) for x in np.linspace(0, 3, 31)]
    fields = range(int(-(-sizes.largest // 1)) | 1, 33, 2)

    def value(encoder_rf: float, decoder_rf: float, of: SizeRange, reach: float) -> float:
        return theorem(int(encoder_rf), int(decoder_rf), of, CompactSupport(reach)).bound

    return {
        **asdict(found),
        "reach": rendering.reach,
        "sentence": f"Every position is within {found.bound:g} px, {sureness}.",
        "curves": {
            "encoder_rf": curve(odd, lambda x, n: value(x, decoder, sizes, n * sigma)),
            "decoder_rf": curve([float(x) for x in fields], lambda x, n: value(encoder, x, sizes, n * sigma)),
            "object_size": curve(
                [float(x) for x in range(1, decoder + 1)],
                lambda x, n: value(encoder, decoder, SizeRange(x, x), n * sigma),
            ),
            "sigma": curve(steps, lambda x, n: value(encoder, decoder, sizes, n * x)),
        },
    }


class Handler(BaseHTTPRequestHandler):
    """The contract, request by request."""

    protocol_version = "HTTP/1.1"
    server: "FakeServer"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        self._answer()

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        try:
            self._route(address.path, query, body)
        except Refusal as refused:
            self._json({"error": refused.sentence}, refused.status)
        except InputError as refused:
            self._json({"error": str(refused)}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _route(self, path: str, query: dict[str, str], body: bytes) -> None:
        studio = self.server.studio
        if path == "/" or path.startswith("/static/"):
            return self._static("index.html" if path == "/" else path.removeprefix("/static/"))
        if path == "/api/state":
            runs = list(reversed(studio.runs.values()))
            return self._json({"version": "0.0", "upload_limit_bytes": UPLOAD_LIMIT, "demo": DEMO, "runs": runs})
        if path == "/api/bound":
            return self._json(bound(query))
        if path == "/api/demo/copy":
            return self._json(studio.add(studio.runs[DEMO]["name"]), HTTPStatus.CREATED)
        if path in ("/api/runs", "/api/runs/pictures"):
            return self._upload(query, body)
        found = re.fullmatch(r"/api/runs/([0-9a-f]{16})(?:/(\w+)(?:/([\w.]+))?)?", path)
        if found is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "There is no such page.")
        each, what, which = found.groups()
        studio.run(each)
        return self._run(each, what or "", which or "", query, body)

    def _upload(self, query: dict[str, str], body: bytes) -> None:
        if len(body) > UPLOAD_LIMIT:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The clip is larger than 2 MB: make it shorter.")
        if b"ftyp" not in body[:32] and b"Content-Disposition" not in body:
            sentence = f"{query.get('name', 'This')} is not a video: its content is none that can be read."
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence)
        self._json(self.server.studio.add(unquote(query.get("name", "pictures"))), HTTPStatus.CREATED)

    def _run(self, each: str, what: str, which: str, query: dict[str, str], body: bytes) -> None:  # noqa: PLR0911, PLR0912
        studio, scene = self.server.studio, self.server.studio.scene
        run = studio.run(each)
        match what:
            case "" if self.command == "DELETE":
                if run["state"] == "training":
                    raise Refusal(HTTPStatus.CONFLICT, "This run is being trained: stop it first.")
                del studio.runs[each]
                return self._send(b"", "text/plain", HTTPStatus.NO_CONTENT)
            case "":
                return self._json(run)
            case "options":
                return self._json(studio.set_options(each, json.loads(body)))
            case "frames":
                crop = run["options"]["crop"] if query.get("crop") == "1" else None
                return self._send(scene.jpeg(int(which), crop), "image/jpeg")
            case "inspection":
                return self._json(studio.inspection(each))
            case "start":
                return self._json(studio.start(each), HTTPStatus.ACCEPTED)
            case "stop":
                return self._json(studio.stop(each), HTTPStatus.ACCEPTED)
            case "events":
                return self._events(each)
            case "preview":
                return self._send(scene.preview(int(query.get("stamp", "0")) % FRAMES), "image/png")
            case "tracks":
                return self._json(scene.tracks)
            case "certificate":
                return self._json(scene.certificate(run["name"]))
            case "draw":
                return self._draw(json.loads(body)["positions"])
            case "film":
                frames = len(json.loads(body)["paths"])
                return self._send(b"\0\0\0\x18ftypmp42" + bytes(frames), "video/mp4")
            case "download":
                content = scene.csv().encode() if which == "tracks.csv" else b"{}"
                return self._send(content, "application/octet-stream", attachment=which)
        raise Refusal(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _draw(self, positions: list[list[float] | None]) -> None:
        import io  # noqa: PLC0415

        from PIL import Image  # noqa: PLC0415

        self.server.studio.drawn += 1
        content = io.BytesIO()
        Image.fromarray(self.server.studio.scene.drawn(positions)).save(content, "PNG")
        self._send(content.getvalue(), "image/png")

    def _events(self, each: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        studio, told, before = self.server.studio, 0, ""
        while each in studio.runs:
            for epoch in studio.epochs[each][told:]:
                self._event("epoch", epoch)
                told += 1
            now = json.dumps(studio.runs[each])
            if now != before:
                self._event("run", studio.runs[each])
                if studio.runs[each]["state"] == "training":
                    places = studio.scene.generated.truth[told].round(1).tolist()
                    self._event("preview", {"stamp": told, "frame": told, "positions": places})
                before = now
            time.sleep(0.05)

    def _event(self, name: str, data: Json) -> None:
        self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def _static(self, name: str) -> None:
        file = STATIC / name
        if ".." in name or not file.is_file():
            raise Refusal(HTTPStatus.NOT_FOUND, "There is no such file.")
        self._send(file.read_bytes(), mimetypes.guess_type(name)[0] or "application/octet-stream")

    def _json(self, answer: Json, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(answer).encode(), "application/json", status)

    def _send(self, content: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK, attachment: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header(
            "Content-Security-Policy",
            "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; style-src 'self'",
        )
        if attachment:
            self.send_header("Content-Disposition", f'attachment; filename="{attachment}"')
        self.end_headers()
        self.wfile.write(content)


class FakeServer(ThreadingHTTPServer):
    """On a free port of this machine."""

    daemon_threads = True

    def __init__(self, port: int = 0, epoch_s: float = 0.05) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.studio = FakeStudio(epoch_s)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def __enter__(self) -> "FakeServer":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *of: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no error."""


if __name__ == "__main__":
    FakeServer(int(sys.argv[1]), epoch_s=0.4).serve_forever()
