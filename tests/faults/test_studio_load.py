"""Many people at once, and a real training beside them: everybody is answered, and nothing is left over."""

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
from tests.studio.studio_server import KEY, served, until, video_bytes
from withinpx.studio.shipped import DEMO_ID

ROW = "studio under load"
PROC = Path("/proc")
PAUSE_S = 0.25  # between two requests of one person, about
LISTENERS = 5  # one person of so many listens to the events
STATUS_MS = 200.0  # at the 99th percentile
DEMO = f"/api/runs/{DEMO_ID}"
FRAMES = 24

pytestmark = pytest.mark.skipif(not (PROC / "self" / "fd").exists(), reason="open files are counted in /proc")


@dataclass
class Told:
    """What all of them were told."""

    status_ms: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)  # of each kind
    events: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class People:
    """So many at once, each with a page of their own, until the time is over."""

    address: str
    run: str  # whose training they watch
    told: Told
    end: float

    async def come(self, count: int) -> None:
        """All of them; one starts the training again whenever it is over."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._train())
            for number in range(count):
                group.create_task(self._listen() if number % LISTENERS == 0 else self._look(random.Random(number)))  # noqa: S311

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.address, headers=KEY, timeout=30)

    async def _look(self, chance: random.Random) -> None:
        async with self._client() as client:
            await asyncio.sleep(chance.uniform(0, 2 * PAUSE_S))
            while time.monotonic() < self.end:
                for kind, path in self._wishes(chance):
                    await self._ask(client, kind, path)
                    await asyncio.sleep(chance.uniform(0, 2 * PAUSE_S))

    def _wishes(self, chance: random.Random) -> list[tuple[str, str]]:
        frame = chance.randrange(FRAMES)
        wishes = [
            ("status", f"/api/runs/{self.run}"),
            ("status", "/api/state"),
            ("frame", f"{DEMO}/frames/{frame}"),
            ("frame", f"/api/runs/{self.run}/frames/{frame}?max=240"),
            ("result", f"{DEMO}/tracks"),
            ("result", f"{DEMO}/certificate"),
            ("result", f"{DEMO}/download/{chance.choice(['tracks.csv', 'detector.zip', 'summary.png'])}"),
        ]
        chance.shuffle(wishes)
        return wishes

    async def _ask(self, client: httpx.AsyncClient, kind: str, path: str) -> None:
        began = time.monotonic()
        try:
            answer = await client.get(path)
        except httpx.HTTPError as error:
            self.told.errors.append(f"{path}: {error!r}")
            return
        if answer.status_code != 200 or not answer.content:
            self.told.errors.append(f"{path}: {answer.status_code} {answer.text[:100]}")
        self.told.answers[kind] += 1
        if kind == "status":
            self.told.status_ms.append(1000 * (time.monotonic() - began))

    async def _listen(self) -> None:
        async with self._client() as client:
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + self.end - time.monotonic()):
                    await self._hear(client)
            except TimeoutError:
                return

    async def _hear(self, client: httpx.AsyncClient) -> None:
        while True:
            async with client.stream("GET", f"/api/runs/{self.run}/events") as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("event: "):
                        self.told.events[line.removeprefix("event: ")] += 1

    async def _train(self) -> None:
        async with self._client() as client:
            path, seed = f"/api/runs/{self.run}", 0
            while time.monotonic() < self.end:
                state = (await client.get(path)).json()["state"]
                if state == "finished":
                    seed += 1
                    self.told.answers["trainings"] += 1
                    await client.put(f"{path}/options", json={"seed": seed})
                    await client.post(f"{path}/start")
                elif state not in ("waiting", "training"):
                    self.told.errors.append(f"the training is {state}")
                    return
                await asyncio.sleep(0.5)


def open_files(process: int) -> list[str]:
    """Of a process, by what they lead to; connections that come and go are left out."""
    found = []
    for path in (PROC / str(process) / "fd").iterdir():
        try:
            found.append(str(path.readlink()))
        except FileNotFoundError:
            continue
    return sorted(each.split(":[")[0] for each in found)


def children(process: int) -> int:
    """Of a process, at this moment."""
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


def state_of(asking: httpx.Client, each: str) -> str:
    return str(asking.get(f"/api/runs/{each}").json()["state"])


def stop(asking: httpx.Client, each: str) -> None:
    """Its training, wherever it is."""
    if state_of(asking, each) in ("waiting", "training"):
        asking.post(f"/api/runs/{each}/stop")
    until(lambda: state_of(asking, each) in ("stopped", "finished"))


def test_everybody_is_answered_and_nothing_is_left(torture: Torture, tmp_path: Path) -> None:
    home, told = tmp_path / "home", Told()
    with served(home, train_small) as (process, asking):
        run = asking.post("/api/runs?name=small.mp4", content=video_bytes(tmp_path)).json()["id"]
        asking.put(f"/api/runs/{run}/options", json={"quick": True})
        draw_once(asking)
        before = open_files(process.pid), children(process.pid)
        asking.post(f"/api/runs/{run}/start").raise_for_status()
        people, seconds = torture.of(15, 50), torture.of(8, 300)
        asyncio.run(People(str(asking.base_url), run, told, time.monotonic() + seconds).come(people))
        stop(asking, run)
        assert json.dumps(told.errors) == "[]"
        assert [name for name in files_of(home) if "/." in name] == []  # nothing half written
        asking.delete(f"/api/runs/{run}").raise_for_status()
        assert files_of(home) == ["runs"]
        until(lambda: (open_files(process.pid), children(process.pid)) == before)
    if torture.full:  # a short load may be over before a loaded machine has news
        assert told.events["run"] > 1 + people // LISTENERS  # listeners hear more than how it began
    worst = report(torture, told, people, seconds)
    assert not torture.full or worst < STATUS_MS


def draw_once(asking: httpx.Client) -> None:
    """So that all is loaded that is loaded once."""
    asking.post(f"{DEMO}/draw", json={"frame": 0, "positions": [None, None, None]}).raise_for_status()
    for path in (f"{DEMO}/frames/0", f"{DEMO}/tracks"):
        asking.get(path).raise_for_status()


def report(torture: Torture, told: Told, people: int, seconds: int) -> float:
    """The 99th percentile of a status, ms."""
    median, worst = np.quantile(told.status_ms, [0.5, 0.99])
    counts: dict[str, Any] = {**told.answers, "events": told.events.total(), "errors": len(told.errors)}
    torture.count(ROW, **counts)
    torture.fact(
        ROW,
        clients=people,
        seconds_of_load=seconds,
        status_median_ms=round(median),
        status_99th_percentile_ms=round(worst),
        status_largest_ms=round(max(told.status_ms)),
    )
    return float(worst)
