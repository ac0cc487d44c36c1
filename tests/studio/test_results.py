"""The results of a finished run, the demo: tracks, certificate, files, and rendered objects."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import av
import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.studio.example import FPS, FRAMES, HEIGHT, REFUSED, WIDTH, certificate, write_results
from tests.studio.studio_server import Json, is_error_sentence, open_client
from withinpx.errors import InputError
from withinpx.studio.app import DEMO
from withinpx.studio.make_demo import DEMO_ID, DEMO_NAME
from withinpx.studio.results import tracks_json
from withinpx.studio.runs import Footage, Run
from withinpx.tracking.detector import Detector

MAX_DEMO = 2_000_000  # bytes
PATH = f"/api/runs/{DEMO_ID}"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with open_client(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def test_the_demo_is_finished_small_and_holds_no_path(client: TestClient) -> None:
    run = client.get(PATH).json()
    assert (run["demo"], run["state"], run["result"]["objects"]) == (True, "finished", 3)
    assert run["result"]["certified_positions"] < run["result"]["positions"]  # the page has a refused frame to show
    files = [path for path in DEMO.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_DEMO
    for name in ("detector.json", "run.json"):
        assert json.loads((DEMO / "out" / name).read_text())["data"] == DEMO_NAME


def test_the_demo_has_its_inspection_and_preview(client: TestClient) -> None:
    inspection = client.get(f"{PATH}/inspection").json()
    assert len(inspection["objects"]) == 3
    assert client.get(f"{PATH}/preview").headers["content-type"] == "image/png"


def test_tracks_are_those_of_the_table(client: TestClient) -> None:
    tracks = client.get(f"{PATH}/tracks").json()
    rows = list(csv.DictReader(io.StringIO(client.get(f"{PATH}/download/tracks.csv").text)))
    clip = client.get(PATH).json()["clip"]
    assert (tracks["width"], tracks["height"]) == (clip["width"], clip["height"])
    assert len(tracks["frames"]) == clip["frames"]
    assert tracks["numbers"] == [0, 1, 2]
    for row in rows:
        index, obj = tracks["frames"].index(int(row["frame"])), int(row["object"])
        for name in ("x", "y", "z_x", "z_y", "bound_px", "theorem_px", "residual_px"):
            assert tracks[name][obj][index] == (float(row[name]) if row[name] else None)
        for name in ("present", "certified"):
            assert tracks[name][obj][index] == bool(int(row[name]))
        assert tracks["reason"][obj][index] == row["reason"]
        assert bool(row["reason"]) != tracks["certified"][obj][index]
        assert (tracks["bound_px"][obj][index] is None) != tracks["certified"][obj][index]


def test_a_refused_position_has_a_reason_and_no_bound(tmp_path: Path) -> None:
    write_results(tmp_path / "out", has_times=False)
    run = Run("0123456789abcdef", "images", "", Footage(WIDTH, HEIGHT, FRAMES, 1.0, images=True))
    tracks = tracks_json(run, tmp_path / "out")
    assert tracks["times_s"] is None  # images have no clock
    assert tracks["reason"][1][REFUSED] == ["reconstruction"] * 10
    for obj in range(tracks["objects"]):
        columns = (tracks[name][obj] for name in ("certified", "bound_px", "reason"))
        for certified, bound, reason in zip(*columns, strict=True):
            assert (bound is not None) == certified == (reason == "")


def test_times_are_those_of_the_recording_after_one_without_a_clock_was_written(tmp_path: Path) -> None:
    run = Run("0123456789abcdef", "clip.mp4", "", Footage(WIDTH, HEIGHT, FRAMES, 1.0))
    for name, has_times in (("images", False), ("video", True)):
        write_results(tmp_path / name, has_times=has_times)
    assert tracks_json(run, tmp_path / "video")["times_s"] == [frame / FPS for frame in range(FRAMES)]


def test_a_table_of_an_older_version_is_an_error_sentence(tmp_path: Path) -> None:
    write_results(tmp_path / "out")
    table = tmp_path / "out" / "tracks.csv"
    table.write_text(table.read_text().replace("reason", "why", 1))
    run = Run("0123456789abcdef", "clip.mp4", "", Footage(WIDTH, HEIGHT, FRAMES, 1.0))
    with pytest.raises(InputError, match="no column reason"):
        tracks_json(run, tmp_path / "out")


def test_the_certificate_is_that_of_the_detector(client: TestClient) -> None:
    certificate = client.get(f"{PATH}/certificate").json()
    assert certificate == json.loads((DEMO / "out" / "certificate.json").read_text())
    assert certificate["source"] == DEMO_NAME


@pytest.mark.parametrize(
    "name",
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
def test_files_are_attached(client: TestClient, name: str) -> None:
    response = client.get(f"{PATH}/download/{name}")
    assert response.status_code == 200
    assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert len(response.content) > 1000


def test_a_part_of_a_file_can_be_requested(client: TestClient) -> None:
    response = client.get(f"{PATH}/download/overlay.mp4", headers={"Range": "bytes=4-11"})
    assert (response.status_code, response.content) == (206, (DEMO / "out" / "overlay.mp4").read_bytes()[4:12])


@pytest.mark.parametrize("name", ["run.json", "..%2frun.json", "model.safetensors", "other"])
def test_other_files_cannot_be_downloaded(client: TestClient, name: str) -> None:
    response = client.get(f"{PATH}/download/{name}")
    assert response.status_code == 404
    assert is_error_sentence(response)


def test_the_certificate_has_what_the_page_shows_of_it(client: TestClient) -> None:
    """The demo is a real run, the example of the page's tests is made up: they must have the same fields."""
    real, example = client.get(f"{PATH}/certificate").json(), certificate()
    assert set(example) <= set(real) | {"certified"}
    for obj in example["objects"]:
        assert set(obj) <= set(real["objects"][0])
        assert all(set(check) <= set(real["objects"][0]["checks"][0]) for check in obj["checks"])


def test_the_downloaded_detector_can_be_loaded(client: TestClient, tmp_path: Path) -> None:
    response = client.get(f"{PATH}/download/detector.zip")
    with ZipFile(io.BytesIO(response.content)) as archive:
        archive.extractall(tmp_path)
    detector = Detector.load(tmp_path / "detector")
    assert len(detector.certificate.objects) == 3


def rendered(client: TestClient, positions: list[object]) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    response = client.post(f"{PATH}/render", json={"positions": positions})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "image/png"
    return np.asarray(Image.open(io.BytesIO(response.content)).convert("RGB"), np.int16)


def test_an_object_is_rendered_at_its_position_and_nowhere_else(client: TestClient) -> None:
    empty, image = rendered(client, [None, None, None]), rendered(client, [None, [40.0, 30.0], None])
    clip = client.get(PATH).json()["clip"]
    assert image.shape == (clip["height"], clip["width"], 3)
    changed = np.abs(image - empty).max(axis=-1) > 25
    rows, columns = np.nonzero(changed)
    assert (columns.min() + columns.max() + 1) / 2 == pytest.approx(40, abs=2)
    assert (rows.min() + rows.max() + 1) / 2 == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    "scene",
    [
        {"positions": [[1, 1]]},
        {"positions": [[-50, 1], None, None]},
        {"positions": [[1, 2, 3], None, None]},
        {"positions": "here"},
        {},
        {"positions": ["first", None, None]},
        {"positions": [[9, 9], None, None], "appearance": [3, None, None]},  # the demo's detector has no code
        {"positions": [[9, 9], None, None], "appearance": [3]},
        {"positions": [[9, 9], None, None], "appearance": ["first", None, None]},
    ],
)
def test_invalid_positions_are_refused(client: TestClient, scene: Json) -> None:
    response = client.post(f"{PATH}/render", json=scene)
    assert response.status_code == 422
    assert is_error_sentence(response)


def test_a_position_that_is_not_a_number_is_refused(client: TestClient) -> None:
    response = client.post(f"{PATH}/render", content='{"positions": [[NaN, 1], null, null]}')
    assert response.status_code == 422


def test_a_video_has_one_frame_per_position(client: TestClient) -> None:
    trajectories = [[[20 + 2 * step, 30], None, [60, 40] if step > 4 else None] for step in range(10)]
    response = client.post(f"{PATH}/video", json={"trajectories": trajectories, "fps": 10})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "video/mp4"
    with av.open(io.BytesIO(response.content), "r") as container:
        decoded = list(container.decode(video=0))
    frames = [frame.to_ndarray(format="rgb24").astype(np.int16) for frame in decoded]
    assert decoded[-1].time == pytest.approx(0.9, abs=0.01)
    assert len(frames) == 10
    assert np.abs(frames[0] - frames[9]).max() > 50


@pytest.mark.parametrize(
    ("order", "status"),
    [
        ({"trajectories": [[None, None, None]] * 3001}, 413),
        ({"trajectories": []}, 422),
        ({"trajectories": [[None]]}, 422),
        ({"trajectories": [[None, None, None]], "fps": 0}, 422),
    ],
)
def test_an_invalid_video_is_refused(client: TestClient, order: Json, status: int) -> None:
    response = client.post(f"{PATH}/video", json=order)
    assert response.status_code == status
    assert is_error_sentence(response)


@pytest.mark.parametrize("path", ["tracks", "certificate", "download/tracks.csv"])
def test_an_unfinished_run_has_no_results(client: TestClient, path: str) -> None:
    run_id = client.post("/api/demo/copy").json()["id"]
    response = client.get(f"/api/runs/{run_id}/{path}")
    assert response.status_code == 409
    assert is_error_sentence(response)
    assert client.post(f"/api/runs/{run_id}/render", json={"positions": []}).status_code == 409
