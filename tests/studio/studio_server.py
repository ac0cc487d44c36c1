"""A studio to test: clips that are small, trainings that only pretend, and a client that may ask."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx2 as httpx
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.studio.pretended import pretend
from tests.tracked_clip import small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.studio.app import create_app
from withinpx.studio.process import Work
from withinpx.studio.serving import listen

TOKEN = "a token for tests"  # noqa: S105
KEY = {"Authorization": f"Bearer {TOKEN}"}
ADDRESS = "http://127.0.0.1:8765"
LIMIT = 200_000  # bytes
Json = dict[str, Any]


@cache
def video_bytes(folder: Path) -> bytes:
    """A small video of three things, 24 frames of 64x54 px."""
    path = folder / "small.mp4"
    write_clip_video(path, small_stage().render().clip)
    return path.read_bytes()


@contextmanager
def client(home: Path, work: Work = pretend, limit: int = LIMIT) -> Iterator[TestClient]:
    """Asks a studio in this process."""
    app = create_app(home, TOKEN, upload_limit=limit, work=work)
    with TestClient(app, base_url=ADDRESS, headers=KEY, follow_redirects=False) as asking:
        yield asking


@contextmanager
def listening(app: FastAPI) -> Iterator[int]:
    """The same behind a real socket; its port."""
    place = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    until(lambda: server.started)
    try:
        yield int(place.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        place.close()


@contextmanager
def served(home: Path, work: Work = pretend) -> Iterator[tuple["subprocess.Popen[str]", httpx.Client]]:
    """A server in a process of its own, and who asks it."""
    command = [sys.executable, "-m", "tests.studio.serve_alone", str(home), TOKEN, work.__module__, work.__name__]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=KEY, timeout=30) as asking:
                until(lambda: answers(asking))
                yield process, asking
        finally:
            process.kill()


def answers(asking: httpx.Client) -> bool:
    """Does it listen?"""
    try:
        return asking.get("/api/state").status_code == 200
    except httpx.TransportError:
        return False


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something; it is an error if it never comes."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def state_of(asking: TestClient, each: str) -> str:
    return str(asking.get(f"/api/runs/{each}").json()["state"])


def is_sentence(answer: Any) -> bool:
    """The one form of every refusal: one line that ends, and tells no path."""
    said = answer.json()["error"]
    return (
        set(answer.json()) == {"error"}
        and said.endswith(".")
        and "\n" not in said
        and tempfile.gettempdir() not in said
    )


def sent(port: int, request: bytes) -> socket.socket:
    """A connection on which something was sent as it is."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(request)
    return connection
