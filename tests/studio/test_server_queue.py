"""One training at a time: it can be stopped, it goes on, and whoever listens hears of it."""

import json
import signal
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient

from tests.studio.pretended import EPOCHS, crash, fail, pretend
from tests.studio.studio_server import KEY, TOKEN, Json, client, listening, served, state_of, until
from withinpx.studio.app import create_app
from withinpx.studio.progress import read_progress
from withinpx.studio.runs import PROGRESS


def done(asking: TestClient | httpx.Client, each: str) -> int:
    progress = asking.get(f"/api/runs/{each}").json()["progress"]
    return 0 if progress is None else int(progress["done"])


def test_a_run_waits_trains_and_finishes(studio: TestClient, run: Json, video: bytes) -> None:
    other = studio.post("/api/runs?name=b.mp4", content=video).json()["id"]
    first = studio.post(f"/api/runs/{run['id']}/start")
    assert (first.status_code, first.json()["state"]) == (202, "waiting")
    assert studio.post(f"/api/runs/{other}/start").json()["state"] == "waiting"
    until(lambda: state_of(studio, run["id"]) == "training" and done(studio, run["id"]) > 0)
    assert state_of(studio, other) == "waiting"
    until(lambda: state_of(studio, run["id"]) == "finished")
    told = studio.get(f"/api/runs/{run['id']}").json()
    assert told["result"]["sentence"] == "pretended"
    assert told["progress"] is None
    until(lambda: state_of(studio, other) == "training")
    assert studio.post(f"/api/runs/{run['id']}/start").status_code == 409  # there is nothing left to do
    studio.put(f"/api/runs/{run['id']}/options", json={"seed": 1})
    assert studio.post(f"/api/runs/{run['id']}/start").json()["state"] == "waiting"  # but with other options there is


def test_a_stopped_run_goes_on_where_it_was(studio: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}"
    assert studio.post(f"{path}/stop").status_code == 409
    studio.post(f"{path}/start")
    until(lambda: done(studio, run["id"]) >= 3)
    assert studio.post(f"{path}/stop").status_code == 202
    until(lambda: state_of(studio, run["id"]) == "stopped")
    assert 3 <= done(studio, run["id"]) < EPOCHS
    studio.post(f"{path}/start")
    until(lambda: state_of(studio, run["id"]) == "finished")
    lines, _ = read_progress(home / "runs" / run["id"] / PROGRESS)
    assert [line["done"] for line in lines] == list(range(1, EPOCHS + 1))


def test_a_stopped_run_with_other_options_begins_anew(studio: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}"
    studio.post(f"{path}/start")
    until(lambda: done(studio, run["id"]) >= 2)
    studio.post(f"{path}/stop")
    until(lambda: state_of(studio, run["id"]) == "stopped")
    studio.put(f"{path}/options", json={"seed": 5})
    studio.post(f"{path}/start")
    until(lambda: done(studio, run["id"]) >= 1)
    lines, _ = read_progress(home / "runs" / run["id"] / PROGRESS)
    assert {line["seed"] for line in lines} == {5}


def test_a_waiting_run_is_stopped_at_once(studio: TestClient, run: Json, video: bytes) -> None:
    other = studio.post("/api/runs?name=b.mp4", content=video).json()["id"]
    studio.post(f"/api/runs/{run['id']}/start")
    studio.post(f"/api/runs/{other}/start")
    assert studio.post(f"/api/runs/{other}/stop").json()["state"] == "stopped"


def test_a_training_that_fails_says_why(home: Path, video: bytes) -> None:
    with client(home, fail) as asking:
        each = asking.post("/api/runs?name=a.mp4", content=video).json()["id"]
        asking.post(f"/api/runs/{each}/start")
        until(lambda: state_of(asking, each) == "failed")
        assert asking.get(f"/api/runs/{each}").json()["error"] == "Nothing moves in a.mp4."
        assert asking.get(f"/api/runs/{each}/tracks").status_code == 409


def test_a_process_that_ends_without_a_word_is_told_of(home: Path, video: bytes) -> None:
    with client(home, crash) as asking:
        each = asking.post("/api/runs?name=a.mp4", content=video).json()["id"]
        asking.post(f"/api/runs/{each}/start")
        until(lambda: state_of(asking, each) == "failed")
        assert "status 7" in asking.get(f"/api/runs/{each}").json()["error"]


def test_listeners_hear_everything(home: Path, video: bytes) -> None:
    with (
        listening(create_app(home, TOKEN, work=pretend)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=KEY, timeout=30) as asking,
    ):
        each = asking.post("/api/runs?name=a.mp4", content=video).json()["id"]
        asking.post(f"/api/runs/{each}/start")
        until(lambda: done(asking, each) >= 3)
        told: dict[str, list[Json]] = {"run": [], "epoch": [], "preview": []}
        (home / "runs" / each / "preview.png").write_bytes(b"a picture")
        with asking.stream("GET", f"/api/runs/{each}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            name = ""
            for line in answer.iter_lines():
                name = line.removeprefix("event: ") if line.startswith("event: ") else name
                if line.startswith("data: "):
                    told[name].append(json.loads(line.removeprefix("data: ")))
                if told["run"] and told["run"][-1]["state"] == "finished":
                    break
        assert told["run"][0]["state"] == "training"
        assert [epoch["epoch"] for epoch in told["epoch"]] == list(range(1, len(told["epoch"]) + 1))
        assert len(told["epoch"]) >= EPOCHS - 3
        assert set(told["epoch"][0]) == {"epoch", "of", "loss", "accuracy", "seed"}
        assert told["preview"][0]["stamp"] > 0
        assert asking.get(f"/api/runs/{each}/preview?stamp=1").content == b"a picture"


def test_nobody_hears_of_what_is_not_there(studio: TestClient, run: Json) -> None:
    assert studio.get("/api/runs/ffffffffffffffff/events").status_code == 404
    assert studio.get(f"/api/runs/{run['id']}/preview").status_code == 404


def test_a_server_that_ends_leaves_its_training_to_the_next(home: Path, video: bytes) -> None:
    with client(home) as asking:
        each = asking.post("/api/runs?name=a.mp4", content=video).json()["id"]
        asking.post(f"/api/runs/{each}/start")
        until(lambda: done(asking, each) >= 2)
    assert json.loads((home / "runs" / each / "run.json").read_text())["state"] == "training"
    with client(home) as asking:
        until(lambda: state_of(asking, each) == "finished")
    lines, _ = read_progress(home / "runs" / each / PROGRESS)
    assert [line["done"] for line in lines] == list(range(1, EPOCHS + 1))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill here")
def test_a_killed_server_loses_nothing_and_goes_on(home: Path, video: bytes) -> None:
    with served(home) as (process, asking):
        finished = asking.post("/api/runs?name=a.mp4", content=video).json()["id"]
        asking.post(f"/api/runs/{finished}/start")
        until(lambda: asking.get(f"/api/runs/{finished}").json()["state"] == "finished")
        each, waits = (asking.post(f"/api/runs?name={name}.mp4", content=video).json()["id"] for name in "bc")
        for one in (each, waits):
            asking.post(f"/api/runs/{one}/start")
        until(lambda: done(asking, each) >= 4)
        process.kill()
    with served(home) as (_, asking):
        assert asking.get(f"/api/runs/{finished}").json()["state"] == "finished"
        until(lambda: asking.get(f"/api/runs/{each}").json()["state"] == "finished")
        until(lambda: asking.get(f"/api/runs/{waits}").json()["state"] == "finished")
    for one in (each, waits):
        lines, _ = read_progress(home / "runs" / one / PROGRESS)
        assert [line["done"] for line in lines] == list(range(1, EPOCHS + 1))
