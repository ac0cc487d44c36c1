"""One training at a time, which can be stopped and resumed, and its events."""

import json
import signal
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient

from tests.studio.fake_training import EPOCHS, count_epochs, crash, fail
from tests.studio.studio_server import AUTHORIZATION, TOKEN, Json, listening, open_client, served, state_of, wait_until
from withinpx.studio.app import create_app
from withinpx.studio.runs import PROGRESS, read_progress


def done(client: TestClient | httpx.Client, run_id: str) -> int:
    progress = client.get(f"/api/runs/{run_id}").json()["progress"]
    return 0 if progress is None else int(progress["done"])


def test_a_run_waits_trains_and_finishes(client: TestClient, run: Json, video: bytes) -> None:
    other = client.post("/api/runs?name=b.mp4", content=video).json()["id"]
    first = client.post(f"/api/runs/{run['id']}/start")
    assert (first.status_code, first.json()["state"]) == (202, "waiting")
    assert client.post(f"/api/runs/{other}/start").json()["state"] == "waiting"
    wait_until(lambda: state_of(client, run["id"]) == "training" and done(client, run["id"]) > 0)
    assert state_of(client, other) == "waiting"
    wait_until(lambda: state_of(client, run["id"]) == "finished")
    finished = client.get(f"/api/runs/{run['id']}").json()
    assert finished["result"]["message"] == "counted"
    assert finished["progress"] is None
    wait_until(lambda: state_of(client, other) == "training")
    assert client.post(f"/api/runs/{run['id']}/start").status_code == 409  # nothing has changed
    client.put(f"/api/runs/{run['id']}/options", json={"seed": 1})
    assert client.post(f"/api/runs/{run['id']}/start").json()["state"] == "waiting"


def test_a_stopped_run_is_resumed(client: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}"
    assert client.post(f"{path}/stop").status_code == 409
    client.post(f"{path}/start")
    wait_until(lambda: done(client, run["id"]) >= 3)
    assert client.post(f"{path}/stop").status_code == 202
    wait_until(lambda: state_of(client, run["id"]) == "stopped")
    assert 3 <= done(client, run["id"]) < EPOCHS
    client.post(f"{path}/start")
    wait_until(lambda: state_of(client, run["id"]) == "finished")
    lines, _ = read_progress(home / "runs" / run["id"] / PROGRESS)
    assert [line["done"] for line in lines] == list(range(1, EPOCHS + 1))


def test_a_stopped_run_with_other_options_starts_from_scratch(client: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}"
    client.post(f"{path}/start")
    wait_until(lambda: done(client, run["id"]) >= 2)
    client.post(f"{path}/stop")
    wait_until(lambda: state_of(client, run["id"]) == "stopped")
    client.put(f"{path}/options", json={"seed": 5})
    client.post(f"{path}/start")
    wait_until(lambda: done(client, run["id"]) >= 1)
    lines, _ = read_progress(home / "runs" / run["id"] / PROGRESS)
    assert {line["seed"] for line in lines} == {5}


def test_a_waiting_run_is_stopped_at_once(client: TestClient, run: Json, video: bytes) -> None:
    other = client.post("/api/runs?name=b.mp4", content=video).json()["id"]
    client.post(f"/api/runs/{run['id']}/start")
    client.post(f"/api/runs/{other}/start")
    assert client.post(f"/api/runs/{other}/stop").json()["state"] == "stopped"


def test_the_error_of_a_failed_training_is_shown(home: Path, video: bytes) -> None:
    with open_client(home, fail) as client:
        run_id = client.post("/api/runs?name=a.mp4", content=video).json()["id"]
        client.post(f"/api/runs/{run_id}/start")
        wait_until(lambda: state_of(client, run_id) == "failed")
        assert client.get(f"/api/runs/{run_id}").json()["error"] == "Nothing moves in a.mp4."
        assert client.get(f"/api/runs/{run_id}/tracks").status_code == 409


def test_a_crashed_process_is_reported(home: Path, video: bytes) -> None:
    with open_client(home, crash) as client:
        run_id = client.post("/api/runs?name=a.mp4", content=video).json()["id"]
        client.post(f"/api/runs/{run_id}/start")
        wait_until(lambda: state_of(client, run_id) == "failed")
        assert "status 7" in client.get(f"/api/runs/{run_id}").json()["error"]


def test_all_events_are_sent(home: Path, video: bytes) -> None:
    with (
        listening(create_app(home, TOKEN, work=count_epochs)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=AUTHORIZATION, timeout=30) as client,
    ):
        run_id = client.post("/api/runs?name=a.mp4", content=video).json()["id"]
        client.post(f"/api/runs/{run_id}/start")
        wait_until(lambda: done(client, run_id) >= 3)
        events: dict[str, list[Json]] = {"run": [], "epoch": [], "preview": []}
        (home / "runs" / run_id / "preview.png").write_bytes(b"an image")
        with client.stream("GET", f"/api/runs/{run_id}/events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            name = ""
            for line in response.iter_lines():
                name = line.removeprefix("event: ") if line.startswith("event: ") else name
                if line.startswith("data: "):
                    events[name].append(json.loads(line.removeprefix("data: ")))
                if events["run"] and events["run"][-1]["state"] == "finished":
                    break
        assert events["run"][0]["state"] == "training"
        assert [epoch["epoch"] for epoch in events["epoch"]] == list(range(1, len(events["epoch"]) + 1))
        assert len(events["epoch"]) >= EPOCHS - 3
        assert set(events["epoch"][0]) == {"epoch", "total", "loss", "accuracy", "seed"}
        assert events["preview"][0]["stamp"] > 0
        assert client.get(f"/api/runs/{run_id}/preview?stamp=1").content == b"an image"


def test_there_are_no_events_of_a_missing_run_and_no_preview_before_training(client: TestClient, run: Json) -> None:
    assert client.get("/api/runs/ffffffffffffffff/events").status_code == 404
    assert client.get(f"/api/runs/{run['id']}/preview").status_code == 404


def test_the_next_server_resumes_a_training(home: Path, video: bytes) -> None:
    with open_client(home) as client:
        run_id = client.post("/api/runs?name=a.mp4", content=video).json()["id"]
        client.post(f"/api/runs/{run_id}/start")
        wait_until(lambda: done(client, run_id) >= 2)
    assert json.loads((home / "runs" / run_id / "run.json").read_text())["state"] == "training"
    with open_client(home) as client:
        wait_until(lambda: state_of(client, run_id) == "finished")
    lines, _ = read_progress(home / "runs" / run_id / PROGRESS)
    assert [line["done"] for line in lines] == list(range(1, EPOCHS + 1))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_killed_server_loses_nothing(home: Path, video: bytes) -> None:
    with served(home) as (process, client):
        finished = client.post("/api/runs?name=a.mp4", content=video).json()["id"]
        client.post(f"/api/runs/{finished}/start")
        wait_until(lambda: client.get(f"/api/runs/{finished}").json()["state"] == "finished")
        run_id, waiting = (client.post(f"/api/runs?name={name}.mp4", content=video).json()["id"] for name in "bc")
        for queued in (run_id, waiting):
            client.post(f"/api/runs/{queued}/start")
        wait_until(lambda: done(client, run_id) >= 4)
        process.kill()
    with served(home) as (_, client):
        assert client.get(f"/api/runs/{finished}").json()["state"] == "finished"
        wait_until(lambda: client.get(f"/api/runs/{run_id}").json()["state"] == "finished")
        wait_until(lambda: client.get(f"/api/runs/{waiting}").json()["state"] == "finished")
    for queued in (run_id, waiting):
        lines, _ = read_progress(home / "runs" / queued / PROGRESS)
        assert [line["done"] for line in lines] == list(range(1, EPOCHS + 1))
