"""Studios to test, in this process or another, and clients of them."""

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

from tests.studio.fake_training import count_epochs
from tests.tracked_clip import small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.studio.app import create_app
from withinpx.studio.queue import Work
from withinpx.studio.server import bind

TOKEN = "a token for tests"  # noqa: S105
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}
ADDRESS = "http://127.0.0.1:8765"
UPLOAD_LIMIT = 200_000  # bytes
Json = dict[str, Any]


@cache
def video_bytes(folder: Path) -> bytes:
    """A video of three objects, 24 frames of 64x54 px."""
    path = folder / "small.mp4"
    write_clip_video(path, small_stage().render().clip)
    return path.read_bytes()


@contextmanager
def open_client(home: Path, work: Work = count_epochs) -> Iterator[TestClient]:
    """A client of a studio in this process."""
    app = create_app(home, TOKEN, upload_limit=UPLOAD_LIMIT, work=work)
    with TestClient(app, base_url=ADDRESS, headers=AUTHORIZATION, follow_redirects=False) as client:
        yield client


@contextmanager
def listening(app: FastAPI) -> Iterator[int]:
    """Serve an app from a thread; yields the port."""
    bound_socket = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound_socket]})
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield int(bound_socket.getsockname()[1])
    finally:
        app.state.studio.closing.set()  # ends event streams
        server.should_exit = True
        thread.join()
        bound_socket.close()


@contextmanager
def served(home: Path, work: Work = count_epochs) -> Iterator[tuple["subprocess.Popen[str]", httpx.Client]]:
    """A studio in its own process, and a client."""
    command = [sys.executable, "-m", "tests.studio.serve", str(home), TOKEN, work.__module__, work.__name__]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            address = f"http://127.0.0.1:{int(process.stdout.readline())}"
            with httpx.Client(base_url=address, headers=AUTHORIZATION, timeout=30) as client:
                wait_until(lambda: responds(client))
                yield process, client
        finally:
            process.kill()


def responds(client: httpx.Client) -> bool:
    try:
        return client.get("/api/state").status_code == 200
    except httpx.TransportError:
        return False


def wait_until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.05)


def state_of(client: TestClient | httpx.Client, run_id: str) -> str:
    return str(client.get(f"/api/runs/{run_id}").json()["state"])


def is_error_sentence(response: Any) -> bool:
    """The form of every error: one line that ends with a full stop and holds no path."""
    message = response.json()["error"]
    return (
        set(response.json()) == {"error"}
        and message.endswith(".")
        and "\n" not in message
        and tempfile.gettempdir() not in message
    )


def send_raw(port: int, request: bytes) -> socket.socket:
    """An open connection on which these bytes were sent."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(request)
    return connection
