"""A studio in a process of its own: ``python -m tests.studio.serve_alone HOME TOKEN WORK`` prints its port."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import uvicorn

from tests.studio.pretended import pretend
from tests.studio.small_training import train_small
from tests.studio.studio_server import KEY, TOKEN, until
from withinpx.studio.app import create_app
from withinpx.studio.process import Work
from withinpx.studio.serving import listen

WORKS: dict[str, Work] = {work.__name__: work for work in (pretend, train_small)}


@contextmanager
def served(home: Path, work: Work = pretend) -> Iterator[tuple["subprocess.Popen[str]", httpx.Client]]:
    """The server's process, and who asks it."""
    command = [sys.executable, "-m", "tests.studio.serve_alone", str(home), TOKEN, work.__name__]
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
    try:
        return asking.get("/api/state").status_code == 200
    except httpx.TransportError:
        return False


def main() -> None:
    home, token, work = sys.argv[1:]
    listening = listen("127.0.0.1", 0)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(create_app(Path(home), token, work=WORKS[work]), log_level="error")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
