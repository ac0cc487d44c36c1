"""The API of a review: operations with revisions, undo and redo, the table to download."""

import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.studio.example import FPS, FRAMES, HEIGHT, RESULT, WIDTH, write_results
from tests.studio.studio_server import Json, is_error_sentence, open_client
from tests.tracking.scenes import made_up
from withinpx.reviewing.log import REVIEW, ReviewLog
from withinpx.reviewing.operations import parse_operation
from withinpx.reviewing.reviewed import apply
from withinpx.studio.app import DEMO
from withinpx.studio.make_demo import DEMO_ID
from withinpx.studio.reviews import review_json, to_text
from withinpx.studio.runs import OUT, Footage, Runs

CORRECT = {"op": "correct", "frame": 40, "object": 1, "x": 150.5, "y": 120.25}
RENAME = {"op": "rename", "object": 0, "name": "red"}
SWAP = {"op": "swap", "object": 0, "other": 1, "first": 50}


@pytest.fixture
def opened(home: Path) -> Iterator[TestClient]:
    with open_client(home) as client:
        yield client


@pytest.fixture
def path(opened: TestClient, video: bytes, home: Path) -> str:
    """Of a run that is finished, with made-up results."""
    run_id = opened.post("/api/runs?name=small.mp4", content=video).json()["id"]
    runs: Runs = opened.app.state.studio.runs  # type: ignore[attr-defined]
    write_results(runs.folder(run_id) / OUT)
    runs.change(run_id, state="finished", result=RESULT, clip=Footage(WIDTH, HEIGHT, FRAMES, FRAMES / FPS))
    return f"/api/runs/{run_id}"


def post(client: TestClient, path: str, revision: int, operation: Json) -> Json:
    response = client.post(f"{path}/review", json={"revision": revision, "operation": operation})
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


def table(client: TestClient, path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"{path}/download/reviewed.csv").text)))


def test_a_review_begins_empty(opened: TestClient, path: str) -> None:
    review = opened.get(f"{path}/review").json()
    assert (review["revision"], review["undo"], review["redo"], review["changes"]) == (0, None, None, [])
    assert review["names"] == ["object 0", "object 1", "object 2"]
    assert review["sizes"] == [24, 24, 24]
    original = list(csv.DictReader(io.StringIO(opened.get(f"{path}/download/tracks.csv").text)))
    for row, reviewed in zip(original, table(opened, path), strict=True):
        assert reviewed["source"] == ("network" if row["present"] == "1" else "")
        assert [reviewed[name] for name in ("frame", "object", "reason")] == [
            row[name] for name in ("frame", "object", "reason")
        ]


def test_an_answer_holds_what_the_operation_changed(opened: TestClient, path: str) -> None:
    review = post(opened, path, 0, CORRECT)
    (change,) = review["changes"]
    assert (review["revision"], review["undo"]) == (1, "correct object 1 in frame 40")
    assert (change["object"], change["from"]) == (1, 40)
    assert (change["x"], change["y"], change["reason"]) == ([150.5], [120.25], ["person"])
    assert (change["certified"], change["bound_px"], change["z_x"]) == ([False], [None], [None])
    review = post(opened, path, 1, SWAP)
    assert [(change["object"], change["from"], len(change["x"])) for change in review["changes"]] == [
        (0, 50, FRAMES - 50),
        (1, 50, FRAMES - 50),
    ]
    complete = opened.get(f"{path}/review").json()
    assert complete["revision"] == 2
    assert [change["from"] for change in complete["changes"]] == [50, 40]


def test_the_answers_lead_to_the_tracks_of_the_table(opened: TestClient, path: str) -> None:
    shown = opened.get(f"{path}/tracks").json()
    operations = [CORRECT, SWAP, {"op": "split", "object": 0, "first": 60}, {"op": "delete", "object": 2}, RENAME]
    for revision, operation in enumerate(operations):
        review = post(opened, path, revision, operation)
        for change in review["changes"]:
            for name in ("x", "y", "bound_px", "present", "certified", "reason"):
                columns = shown[name]
                columns.extend([None] * FRAMES for _ in range(len(columns), review["objects"]))
                columns[change["object"]][change["from"] : change["from"] + len(change[name])] = change[name]
    for row in table(opened, path):
        number, frame = int(row["object"]), int(row["frame"])
        for name in ("x", "y", "bound_px"):
            expected = (
                pytest.approx(float(row[name]), abs=2e-4) if row[name] else None
            )  # made-up bounds have more digits
            assert shown[name][number][frame] == expected
        for name in ("present", "certified"):
            assert shown[name][number][frame] == bool(int(row[name]))
        assert shown["reason"][number][frame] == row["reason"]


def test_undo_and_redo(opened: TestClient, path: str) -> None:
    before = opened.get(f"{path}/download/reviewed.csv").content
    post(opened, path, 0, CORRECT)
    after = opened.get(f"{path}/download/reviewed.csv").content
    assert after != before
    undone = opened.post(f"{path}/review/undo", json={"revision": 1}).json()
    assert (undone["revision"], undone["undo"], undone["redo"]) == (2, None, "correct object 1 in frame 40")
    assert undone["changes"][0]["reason"] == ["reconstruction"]
    assert opened.get(f"{path}/download/reviewed.csv").content == before
    opened.post(f"{path}/review/redo", json={"revision": 2})
    assert opened.get(f"{path}/download/reviewed.csv").content == after
    refused = opened.post(f"{path}/review/redo", json={"revision": 3})
    assert (refused.status_code, refused.json()["error"]) == (422, "There is nothing to redo.")


def test_a_stale_revision_is_refused_and_changes_nothing(opened: TestClient, path: str) -> None:
    post(opened, path, 0, RENAME)
    for route, body in {"": {"operation": CORRECT}, "/undo": {}, "/redo": {}}.items():
        for revision in (0, 2, -1):
            response = opened.post(f"{path}/review{route}", json={"revision": revision, **body})
            assert response.status_code == 409
            assert "load it again" in response.json()["error"]
            assert is_error_sentence(response)
    assert opened.get(f"{path}/review").json()["revision"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"revision": 0},
        {"revision": "first", "operation": CORRECT},
        {"revision": 0, "operation": []},
        {"revision": 0, "operation": {"op": "undo", "op2": 1}},
        {"revision": 0, "operation": {"op": ["swap"]}},
        {"revision": 0, "operation": {"op": "explode"}},
        {"revision": 0, "operation": {**CORRECT, "frame": FRAMES}},
        {"revision": 0, "operation": {**CORRECT, "object": 3}},
        {"revision": 0, "operation": {**CORRECT, "x": WIDTH + 1}},
        {"revision": 0, "operation": {**CORRECT, "y": HEIGHT + 0.5}},
        {"revision": 0, "operation": {**SWAP, "last": 49}},
        {"revision": 0, "operation": {"op": "merge", "object": 0, "other": 1}},
        {"revision": 0, "operation": {**RENAME, "name": "x" * 300}},
    ],
)
def test_a_bad_operation_is_refused_and_changes_nothing(opened: TestClient, path: str, body: Json) -> None:
    response = opened.post(f"{path}/review", json=body)
    assert response.status_code == 422
    assert is_error_sentence(response)
    assert opened.get(f"{path}/review").json()["revision"] == 0


def test_the_review_is_a_file_beside_the_tracks_that_never_change(opened: TestClient, path: str, home: Path) -> None:
    out = home / "runs" / path.rsplit("/", 1)[1] / OUT
    before = (out / "tracks.csv").read_bytes()
    post(opened, path, 0, CORRECT)
    entries = json.loads((out / REVIEW).read_text())["entries"]
    assert [{name: value for name, value in entry.items() if name != "at"} for entry in entries] == [CORRECT]
    assert (out / "tracks.csv").read_bytes() == before


def test_the_demo_is_reviewed_in_the_studios_home(home: Path) -> None:
    before = sorted(DEMO.rglob("*"))
    with open_client(home) as client:
        post(client, f"/api/runs/{DEMO_ID}", 0, {**CORRECT, "frame": 5, "y": 60.5})
    with open_client(home) as client:  # it is still there
        assert client.get(f"/api/runs/{DEMO_ID}/review").json()["revision"] == 1
    assert sorted(DEMO.rglob("*")) == before


def test_a_review_outlives_the_training_that_it_was_about(opened: TestClient, path: str, home: Path) -> None:
    run_id = path.rsplit("/", 1)[1]
    runs: Runs = opened.app.state.studio.runs  # type: ignore[attr-defined]
    for number in (1, 2):
        post(opened, path, 0, CORRECT)
        kept = runs.folder(run_id) / OUT / REVIEW
        content = kept.read_bytes()
        runs.delete_training(run_id)
        assert not kept.exists()
        assert (runs.folder(run_id) / "earlier reviews" / str(number) / REVIEW).read_bytes() == content
        write_results(runs.folder(run_id) / OUT)
        assert opened.get(f"{path}/review").json()["revision"] == 0


def test_an_unfinished_run_has_no_review(client: TestClient, run: Json) -> None:
    for route in ("review", "download/reviewed.csv"):
        assert client.get(f"/api/runs/{run['id']}/{route}").status_code == 409


def test_a_long_review_of_many_objects_is_quick() -> None:
    """10,000 frames of 20 objects: an answer is computed in a time that does not disturb a person."""
    one = made_up(10_000)
    index = np.arange(20) % 3
    arrays = {name: getattr(one, name)[:, index] for name in MANY}
    tracks = type(one)(**{**{name: getattr(one, name) for name in REST}, **arrays})
    entries = [{"op": "correct", "frame": 10 + 2 * row, "object": row % 20, "x": 5.0, "y": 5.0} for row in range(300)]
    operations = [parse_operation(entry) for entry in entries]
    before = apply(tracks, operations)
    started = time.perf_counter()
    after = apply(tracks, [*operations, parse_operation({**entries[0], "frame": 9010})])
    answer = to_text(review_json(ReviewLog(""), before, after, alike=False))
    assert time.perf_counter() - started < 5
    assert len(answer) < 2000


MANY = (
    *("positions", "sizes", "bounds", "z", "theorem_px", "residual_px", "present", "reasons", "sigma_px", "set_px"),
    "codes",
)
REST = ("frames", "times_s", "width", "height")
