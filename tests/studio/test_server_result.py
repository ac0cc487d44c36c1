"""A finished run, the shipped demo: where everything is, what is promised, its files, and its objects elsewhere."""

import csv
import io
import json
from pathlib import Path
from zipfile import ZipFile

import av
import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.studio.studio_server import Json, client, is_sentence
from withinpx.studio.app import DEMO
from withinpx.studio.shipped import DEMO_ID, DEMO_NAME
from withinpx.tracking.detector import load_clip_detector

LARGEST_DEMO = 2_000_000  # bytes
PATH = f"/api/runs/{DEMO_ID}"


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> "TestClient":  # type: ignore[misc]
    with client(tmp_path_factory.mktemp("home")) as found:
        yield found


def test_the_demo_is_finished_small_and_tells_no_path(asking: TestClient) -> None:
    run = asking.get(PATH).json()
    assert (run["demo"], run["state"], run["result"]["objects"]) == (True, "finished", 3)
    assert run["result"]["certified_positions"] < run["result"]["positions"]  # there is a refused frame to jump to
    files = [path for path in DEMO.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST_DEMO
    for name in ("detector.json", "run.json"):
        assert json.loads((DEMO / "out" / name).read_text())["data"] == DEMO_NAME


def test_the_demo_can_be_looked_at_at_once(asking: TestClient) -> None:
    seen = asking.get(f"{PATH}/inspection").json()
    assert len(seen["movers"]) == 3
    assert asking.get(f"{PATH}/preview").headers["content-type"] == "image/png"


def test_tracks_are_those_of_the_table(asking: TestClient) -> None:
    tracks = asking.get(f"{PATH}/tracks").json()
    rows = list(csv.DictReader(io.StringIO(asking.get(f"{PATH}/download/tracks.csv").text)))
    clip = asking.get(PATH).json()["clip"]
    assert (tracks["width"], tracks["height"]) == (clip["width"], clip["height"])
    assert len(tracks["frames"]) == clip["frames"]
    assert tracks["numbers"] == [0, 1, 2]
    for row in rows:
        place, each = tracks["frames"].index(int(row["frame"])), int(row["object"])
        for name in ("x", "y", "z_x", "z_y", "bound_px", "residual_px"):
            assert tracks[name][each][place] == (float(row[name]) if row[name] else None)
        for name in ("present", "certified"):
            assert tracks[name][each][place] == bool(int(row[name]))
        assert bool(tracks["reason"][each][place]) != tracks["certified"][each][place]


def test_the_certificate_is_the_detectors(asking: TestClient) -> None:
    told = asking.get(f"{PATH}/certificate").json()
    assert told == json.loads((DEMO / "out" / "certificate.json").read_text())
    assert told["source"] == DEMO_NAME


@pytest.mark.parametrize(
    "what",
    [
        "tracks.csv",
        "coco.json",
        "coco_images.json",
        "mot.txt",
        "dlc.csv",
        "overlay.mp4",
        "certificate.html",
        "summary.png",
    ],
)
def test_files_are_attached(asking: TestClient, what: str) -> None:
    answer = asking.get(f"{PATH}/download/{what}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{what}"'
    assert len(answer.content) > 1000


@pytest.mark.parametrize("what", ["run.json", "..%2frun.json", "model.safetensors", "other"])
def test_other_files_are_not(asking: TestClient, what: str) -> None:
    answer = asking.get(f"{PATH}/download/{what}")
    assert answer.status_code == 404
    assert is_sentence(answer)


def test_the_detector_can_be_taken_along(asking: TestClient, tmp_path: Path) -> None:
    answer = asking.get(f"{PATH}/download/detector.zip")
    with ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path)
    detector, _ = load_clip_detector(tmp_path / "detector")
    assert len(detector.certificate.objects) == 3


def drawn(asking: TestClient, positions: list[object]) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    answer = asking.post(f"{PATH}/draw", json={"frame": 0, "positions": positions})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/png"
    return np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"), np.int16)


def test_an_object_is_drawn_where_it_is_dropped_and_nowhere_else(asking: TestClient) -> None:
    empty, there = drawn(asking, [None, None, None]), drawn(asking, [None, [40.0, 30.0], None])
    clip = asking.get(PATH).json()["clip"]
    assert there.shape == (clip["height"], clip["width"], 3)
    changed = np.abs(there - empty).max(axis=-1) > 25
    rows, columns = np.nonzero(changed)
    assert (columns.min() + columns.max() + 1) / 2 == pytest.approx(40, abs=2)
    assert (rows.min() + rows.max() + 1) / 2 == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    "order",
    [
        {"frame": 0, "positions": [[1, 1]]},
        {"frame": 0, "positions": [[-50, 1], None, None]},
        {"frame": 0, "positions": [[1, 2, 3], None, None]},
        {"frame": 0, "positions": "here"},
        {"frame": 0},
        {"frame": "first", "positions": [None, None, None]},
    ],
)
def test_a_place_that_is_none_is_refused(asking: TestClient, order: Json) -> None:
    answer = asking.post(f"{PATH}/draw", json=order)
    assert answer.status_code == 422
    assert is_sentence(answer)


def test_a_place_that_is_no_number_is_refused(asking: TestClient) -> None:
    answer = asking.post(f"{PATH}/draw", content='{"frame": 0, "positions": [[NaN, 1], null, null]}')
    assert answer.status_code == 422


def test_a_film_has_a_frame_for_each_place(asking: TestClient) -> None:
    paths = [[[20 + 2 * step, 30], None, [60, 40] if step > 4 else None] for step in range(10)]
    answer = asking.post(f"{PATH}/film", json={"paths": paths, "fps": 10})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "video/mp4"
    with av.open(io.BytesIO(answer.content), "r") as film:
        decoded = list(film.decode(video=0))
    frames = [frame.to_ndarray(format="rgb24").astype(np.int16) for frame in decoded]
    assert decoded[-1].time == pytest.approx(0.9, abs=0.01)
    assert len(frames) == 10
    assert np.abs(frames[0] - frames[9]).max() > 50


@pytest.mark.parametrize(
    ("order", "status"),
    [
        ({"paths": [[None, None, None]] * 3001}, 413),
        ({"paths": []}, 422),
        ({"paths": [[None]]}, 422),
        ({"paths": [[None, None, None]], "fps": 0}, 422),
    ],
)
def test_a_film_that_cannot_be_made_is_refused(asking: TestClient, order: Json, status: int) -> None:
    answer = asking.post(f"{PATH}/film", json=order)
    assert answer.status_code == status
    assert is_sentence(answer)


@pytest.mark.parametrize("what", ["tracks", "certificate", "download/tracks.csv"])
def test_what_is_not_finished_has_nothing_to_show(asking: TestClient, what: str) -> None:
    each = asking.post("/api/demo/copy").json()["id"]
    answer = asking.get(f"/api/runs/{each}/{what}")
    assert answer.status_code == 409
    assert is_sentence(answer)
    assert asking.post(f"/api/runs/{each}/draw", json={"frame": 0, "positions": []}).status_code == 409
