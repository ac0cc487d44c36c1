"""Many clients at once beside a real training: every request is answered, and no file or process is left over."""

import asyncio
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pytest

from tests.faults.torture import Torture
from tests.studio.small_training import train_small
from tests.studio.studio_server import AUTHORIZATION, served, state_of, video_bytes, wait_until
from withinpx.studio.make_demo import DEMO_ID

ROW = "studio under load"
PROC = Path("/proc")
PAUSE_S = 0.25  # mean time between two requests of a client
LISTENERS = 5  # one client of this many listens to events
MAX_STATUS_MS = 200.0  # at the 99th percentile
DEMO = f"/api/runs/{DEMO_ID}"
FRAMES = 24

pytestmark = pytest.mark.skipif(not (PROC / "self" / "fd").exists(), reason="open files are counted in /proc")


@dataclass
class Log:
    """What all clients received."""

    status_ms: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)  # by kind
    events: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Clients:
    """Clients that behave like pages until the deadline."""

    address: str
    run_id: str  # whose training they watch
    log: Log
    deadline: float

    async def start(self, count: int) -> None:
        """All of them, and one that restarts the training whenever it is over."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._train())
            for number in range(count):
                group.create_task(self._listen() if number % LISTENERS == 0 else self._browse(random.Random(number)))  # noqa: S311

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.address, headers=AUTHORIZATION, timeout=30)

    async def _browse(self, chance: random.Random) -> None:
        async with self._client() as client:
            await asyncio.sleep(chance.uniform(0, 2 * PAUSE_S))
            while time.monotonic() < self.deadline:
                for kind, path in self._requests(chance):
                    await self._get(client, kind, path)
                    await asyncio.sleep(chance.uniform(0, 2 * PAUSE_S))

    def _requests(self, chance: random.Random) -> list[tuple[str, str]]:
        frame = chance.randrange(FRAMES)
        requests = [
            ("status", f"/api/runs/{self.run_id}"),
            ("status", "/api/state"),
            ("frame", f"{DEMO}/frames/{frame}"),
            ("frame", f"/api/runs/{self.run_id}/frames/{frame}?max=240"),
            ("result", f"{DEMO}/tracks"),
            ("result", f"{DEMO}/certificate"),
            ("result", f"{DEMO}/download/{chance.choice(['tracks.csv', 'detector.zip', 'summary.png'])}"),
        ]
        chance.shuffle(requests)
        return requests

    async def _get(self, client: httpx.AsyncClient, kind: str, path: str) -> None:
        started = time.monotonic()
        try:
            response = await client.get(path)
        except httpx.HTTPError as error:
            self.log.errors.append(f"{path}: {error!r}")
            return
        if response.status_code != 200 or not response.content:
            self.log.errors.append(f"{path}: {response.status_code} {response.text[:100]}")
        self.log.answers[kind] += 1
        if kind == "status":
            self.log.status_ms.append(1000 * (time.monotonic() - started))

    async def _listen(self) -> None:
        async with self._client() as client:
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + self.deadline - time.monotonic()):
                    await self._receive(client)
            except TimeoutError:
                return

    async def _receive(self, client: httpx.AsyncClient) -> None:
        while True:
            async with client.stream("GET", f"/api/runs/{self.run_id}/events") as response:
                async for line in response.aiter_lines():
                    if line.startswith("event: "):
                        self.log.events[line.removeprefix("event: ")] += 1

    async def _train(self) -> None:
        async with self._client() as client:
            path, seed = f"/api/runs/{self.run_id}", 0
            while time.monotonic() < self.deadline:
                state = (await client.get(path)).json()["state"]
                if state == "finished":
                    seed += 1
                    self.log.answers["trainings"] += 1
                    await client.put(f"{path}/options", json={"seed": seed})
                    await client.post(f"{path}/start")
                elif state not in ("waiting", "training"):
                    self.log.errors.append(f"the training is {state}")
                    return
                await asyncio.sleep(0.5)


def open_files(process: int) -> list[str]:
    """The open files of a process by their targets, sockets and pipes without their numbers."""
    found = []
    for path in (PROC / str(process) / "fd").iterdir():
        try:
            found.append(str(path.readlink()))
        except FileNotFoundError:
            continue
    return sorted(target.split(":[")[0] for target in found)


def children(process: int) -> int:
    """How many processes have this parent."""
    count = 0
    for path in PROC.glob("[0-9]*/stat"):
        try:
            after_name = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        count += after_name[1] == str(process) and after_name[0] != "Z"
    return count


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def stop(client: httpx.Client, run_id: str) -> None:
    """Stop a training at any stage."""
    if state_of(client, run_id) in ("waiting", "training"):
        client.post(f"/api/runs/{run_id}/stop")
    wait_until(lambda: state_of(client, run_id) in ("stopped", "finished"))


def test_every_request_is_answered_and_nothing_is_left_over(torture: Torture, tmp_path: Path) -> None:
    home, log = tmp_path / "home", Log()
    with served(home, train_small) as (process, client):
        run_id = client.post("/api/runs?name=small.mp4", content=video_bytes(tmp_path)).json()["id"]
        client.put(f"/api/runs/{run_id}/options", json={"quick": True})
        load_lazily(client)
        before = open_files(process.pid), children(process.pid)
        client.post(f"/api/runs/{run_id}/start").raise_for_status()
        count, seconds = torture.of(15, 50), torture.of(8, 300)
        asyncio.run(Clients(str(client.base_url), run_id, log, time.monotonic() + seconds).start(count))
        stop(client, run_id)
        assert json.dumps(log.errors) == "[]"
        assert [name for name in files_of(home) if "/." in name] == []  # no unfinished file
        client.delete(f"/api/runs/{run_id}").raise_for_status()
        assert files_of(home) == ["runs"]
        wait_until(lambda: (open_files(process.pid), children(process.pid)) == before)
    if torture.full:  # a short load may be over before a busy machine reports progress
        assert log.events["run"] > 1 + count // LISTENERS  # more than the first event of each listener
    worst = report(torture, log, count, seconds)
    assert not torture.full or worst < MAX_STATUS_MS


def load_lazily(client: httpx.Client) -> None:
    """Load what the server loads at the first request."""
    client.post(f"{DEMO}/render", json={"positions": [None, None, None]}).raise_for_status()
    for path in (f"{DEMO}/frames/0", f"{DEMO}/tracks"):
        client.get(path).raise_for_status()


def report(torture: Torture, log: Log, count: int, seconds: int) -> float:
    """The 99th percentile of the time of a status request, ms."""
    median, worst = np.quantile(log.status_ms, [0.5, 0.99])
    counts: dict[str, Any] = {**log.answers, "events": log.events.total(), "errors": len(log.errors)}
    torture.count(ROW, **counts)
    torture.fact(
        ROW,
        clients=count,
        seconds_of_load=seconds,
        status_median_ms=round(median),
        status_99th_percentile_ms=round(worst),
        status_largest_ms=round(max(log.status_ms)),
    )
    return float(worst)
