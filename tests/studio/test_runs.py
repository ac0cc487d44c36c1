"""Runs: options, frames, inspection, deletion, and the bound."""

import io
import re
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from starlette.exceptions import HTTPException

from tests.studio.studio_server import Json, is_error_sentence, open_client, state_of, wait_until
from tests.tracked_clip import FRAMES, HEIGHT, WIDTH, small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.data.video import stream_video
from withinpx.files import write_json
from withinpx.studio import frames, inspection
from withinpx.studio.frames import INDEX, OpenClips, frame_times
from withinpx.studio.inspection import REQUESTED, OutdatedError, inspect_clip, inspect_run, relevant_options
from withinpx.studio.options import Options
from withinpx.studio.runs import INSPECTING
from withinpx.theory import Gaussian, SizeRange, error_bound


def decode(content: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def test_options_are_changed_one_by_one(client: TestClient, run: Json) -> None:
    path = f"/api/runs/{run['id']}/options"
    assert client.put(path, json={"objects": 3}).json()["options"]["objects"] == 3
    assert client.put(path, json={"crop": [0, 0, 40, 30]}).json()["options"]["objects"] == 3
    response = client.put(path, json={"objects": "auto", "quick": True})
    assert response.json()["options"] == {
        **run["options"],
        "crop": [0, 0, 40, 30],
        "quick": True,
    }


@pytest.mark.parametrize(
    "options",
    [
        {"objects": 0},
        {"objects": 2.5},
        {"objects": "many"},
        {"crop": [0, 0, 65, 30]},
        {"crop": [-1, 0, 40, 30]},
        {"crop": [0, 0, 4, 4]},
        {"crop": [0, 0, 40]},
        {"background": "blue"},
        {"target": -1},
        {"frames": [5, 24]},
        {"frames": [-1, 20]},
        {"frames": [9, 9]},
        {"seed": -1},
        {"seed": 10**12},
        {"other": 1},
        ["objects"],
    ],
)
def test_invalid_options_are_refused(client: TestClient, run: Json, options: object) -> None:
    response = client.put(f"/api/runs/{run['id']}/options", json=options)
    assert response.status_code == 422
    assert is_error_sentence(response)
    assert client.get(f"/api/runs/{run['id']}").json()["options"] == run["options"]


def test_frames_can_be_read_in_any_order(client: TestClient, run: Json) -> None:
    rendered = small_stage().render().clip.frames
    for number in (0, 20, 3, 4, 5, 23, 22, 0):
        response = client.get(f"/api/runs/{run['id']}/frames/{number}")
        assert response.headers["content-type"] == "image/jpeg"
        shown = decode(response.content)
        differences = [np.abs(shown.astype(int) - frame).mean() for frame in rendered]
        assert int(np.argmin(differences)) == number


def test_a_frame_is_cropped_and_scaled_down(client: TestClient, run: Json) -> None:
    path = f"/api/runs/{run['id']}"
    client.put(f"{path}/options", json={"crop": [10, 5, 30, 20]})
    assert decode(client.get(f"{path}/frames/0?crop=1&of=10,5,30,20").content).shape == (20, 30, 3)
    assert decode(client.get(f"{path}/frames/0?crop=0").content).shape == (HEIGHT, WIDTH, 3)
    assert max(decode(client.get(f"{path}/frames/0?max=32").content).shape) == 32


@pytest.mark.parametrize(("number", "status"), [("24", 404), ("-1", 404), ("one", 422), ("99999999999999999999", 404)])
def test_other_frame_numbers_are_errors(client: TestClient, run: Json, number: str, status: int) -> None:
    response = client.get(f"/api/runs/{run['id']}/frames/{number}")
    assert response.status_code == status
    assert is_error_sentence(response)


def test_a_large_video_is_indexed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LARGE_FILE", 0)
    path = tmp_path / "clip.mp4"
    write_clip_video(path, small_stage().render().clip)
    times = frame_times(path)
    assert len(times) == FRAMES
    assert (tmp_path / INDEX).exists()
    monkeypatch.setattr(frames, "_packet_times", None)  # not called again
    assert OpenClips().frame(path, 7).shape == (HEIGHT, WIDTH, 3)


def broken_video(path: Path) -> Path:
    """Every frame is coded by itself, and the eighth cannot be decoded."""
    with av.open(str(path), "w", format="mov") as container:
        stream: Any = container.add_stream("png", rate=25)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "rgb24"
        for pixels in small_stage().render().clip.frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    content = bytearray(path.read_bytes())
    starts = [found.start() for found in re.finditer(b"\x89PNG", content)]
    content[starts[7] : starts[7] + 60] = bytes(60)
    path.write_bytes(content)
    return path


def test_frames_that_cannot_be_decoded_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, clips = broken_video(tmp_path / "clip.mov"), OpenClips()
    assert clips.frame(path, 3).shape == (HEIGHT, WIDTH, 3)  # before the clip has been read
    written: list[Json] = []
    monkeypatch.setattr(inspection, "REPORT_EVERY", 1)
    monkeypatch.setattr(inspection, "write_json", lambda _, value: written.append(value))
    write_json(tmp_path / REQUESTED, relevant_options(Options()))
    inspect_run(path, FRAMES, Options(), tmp_path)
    decoded = list(stream_video(path))
    assert len(decoded) == FRAMES - 1
    assert written[:-1] == [{"done": done, "total": FRAMES} for done in range(FRAMES)]
    for number in (6, 7, 8, 22, 3):
        assert np.array_equal(clips.frame(path, number), decoded[number].pixels)
    with pytest.raises(HTTPException, match="no frame 23"):
        clips.frame(path, FRAMES - 1)


def test_an_inspection_is_cancelled_when_the_options_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "clip.mp4"
    write_clip_video(path, small_stage().render().clip)
    write_json(tmp_path / REQUESTED, relevant_options(Options(objects=2)))
    with pytest.raises(OutdatedError):
        inspect_run(path, FRAMES, Options(), tmp_path)
    assert not (tmp_path / INSPECTING).exists()


def test_an_inspection_finds_the_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "clip.mp4"
    generated = small_stage().render()
    write_clip_video(path, generated.clip)
    crop = (0, 0, WIDTH, 36)  # without the triangle
    found = inspect_clip(path, Options())
    cropped = inspect_clip(path, Options(crop=crop, objects=1))
    assert len(found["objects"]) == 3
    assert len(cropped["objects"]) == 1  # of the two that are left
    for obj in found["objects"]:
        for position in obj["positions"]:
            left, top, width, height = position["box"]
            x, y = left + width / 2, top + height / 2
            nearest = np.abs(generated.truth[position["frame"]] - (x, y)).max(axis=-1).min()
            assert nearest < 3
    assert f"{found['bound_px']:.1f} px" in found["message"]
    assert set(found["network"]) >= {"encoder_rf", "decoder_rf", "sigma", "support"}


def test_an_inspection_is_saved(client: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}/inspection"
    first = client.get(path)
    assert first.status_code == 200, first.text
    assert len(first.json()["objects"]) == 3
    assert str(home) not in first.text
    (home / "runs" / run["id"] / "clip" / run["name"]).unlink()
    assert client.get(path).json() == first.json()
    client.put(f"/api/runs/{run['id']}/options", json={"objects": 2})
    response = client.get(path)  # other options need another inspection, and the clip is gone
    assert response.status_code == 422
    assert is_error_sentence(response)


def test_a_run_is_deleted_with_all_its_files(client: TestClient, run: Json, home: Path) -> None:
    client.get(f"/api/runs/{run['id']}/frames/0")
    response = client.delete(f"/api/runs/{run['id']}")
    assert (response.status_code, response.content) == (204, b"")
    assert list((home / "runs").iterdir()) == []
    assert client.delete(f"/api/runs/{run['id']}").status_code == 404


def test_a_run_in_training_can_neither_be_deleted_nor_changed(client: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}"
    assert client.post(f"{path}/start").status_code == 202
    for response in (
        client.delete(path),
        client.put(f"{path}/options", json={"objects": 1}),
        client.post(f"{path}/start"),
    ):
        assert response.status_code == 409
        assert is_error_sentence(response)
    assert (home / "runs" / run["id"] / "clip" / run["name"]).exists()
    client.post(f"{path}/stop")
    wait_until(lambda: state_of(client, run["id"]) == "stopped")
    assert client.delete(path).status_code == 204


def test_the_demo_cannot_be_changed(client: TestClient) -> None:
    demo = client.get("/api/state").json()["demo"]
    for response in (
        client.delete(f"/api/runs/{demo}"),
        client.put(f"/api/runs/{demo}/options", json={"objects": 1}),
        client.post(f"/api/runs/{demo}/start"),
    ):
        assert response.status_code == 403
        assert is_error_sentence(response)


def test_a_copy_of_the_demo_is_ready_to_be_trained(client: TestClient) -> None:
    demo = client.get("/api/state").json()["demo"]
    response = client.post("/api/demo/copy")
    run = response.json()
    assert (response.status_code, run["state"], run["demo"]) == (201, "ready", False)
    assert run["clip"] == client.get(f"/api/runs/{demo}").json()["clip"]
    frames_of_both = [client.get(f"/api/runs/{run_id}/frames/40").content for run_id in (demo, run["id"])]
    assert frames_of_both[0] == frames_of_both[1]


def test_runs_are_kept_over_a_restart(home: Path, video: bytes) -> None:
    with open_client(home) as client:
        run = client.post("/api/runs?name=a.mp4", content=video).json()
        client.put(f"/api/runs/{run['id']}/options", json={"crop": [0, 0, 40, 30]})
        before = client.get("/api/state").json()
    (home / "runs" / "0123456789abcdef").mkdir()  # not a run
    (home / "runs" / "0123456789abcdee").mkdir()
    (home / "runs" / "0123456789abcdee" / "run.json").write_text("{")  # a broken one
    with open_client(home) as client:
        assert client.get("/api/state").json() == before


def test_the_bound_is_that_of_the_theorem(client: TestClient) -> None:
    query = "encoder_rf=9&decoder_rf=25&size_min=9&size_max=9&sigma=0.8&support="
    response = client.get(f"/api/bound?{query}").json()
    found = error_bound(9, 25, SizeRange(9, 9), Gaussian(0.8))
    assert (response["bound"], response["limiting"]) == (found.bound, found.limiting)
    assert f"{found.bound:g} px" in response["message"]
    curves = response["curves"]
    assert set(curves) == {"encoder_rf", "decoder_rf", "object_size", "sigma"}
    for curve in curves.values():
        assert set(curve) == {"x", "mean", "n1", "n2", "n3", "n4"}
        assert len({len(values) for values in curve.values()}) == 1
    sizes = curves["object_size"]
    at_nine = int(np.abs(np.array(sizes["x"]) - 9).argmin())
    assert sizes["n2"][at_nine] == pytest.approx(found.bound)


def test_with_a_compact_support_the_bound_is_deterministic(client: TestClient) -> None:
    response = client.get("/api/bound?encoder_rf=9&decoder_rf=25&size_min=6&size_max=10&sigma=0.8&support=3.2").json()
    assert response["deterministic"]
    assert response["reach"] == 3.2
    assert "always" in response["message"]
    assert "support" in response["curves"]["sigma"]


@pytest.mark.parametrize(
    "query",
    [
        "encoder_rf=8&decoder_rf=25&size_min=9&size_max=9",
        "encoder_rf=9&decoder_rf=7&size_min=9&size_max=9",
        "encoder_rf=9&decoder_rf=25&size_min=9&size_max=3",
        "encoder_rf=9&decoder_rf=25&size_min=9&size_max=9&sigma=-1",
        "encoder_rf=9&decoder_rf=25&size_min=9&size_max=9&sigma=nan",
        "encoder_rf=9&decoder_rf=25&size_min=nan&size_max=9",
        "encoder_rf=9&decoder_rf=25&size_min=9&size_max=9&support=wide",
        "encoder_rf=nine&decoder_rf=25&size_min=9&size_max=9",
        "decoder_rf=25&size_min=9&size_max=9",
    ],
)
def test_an_impossible_bound_is_an_error_sentence(client: TestClient, query: str) -> None:
    response = client.get(f"/api/bound?{query}")
    assert response.status_code == 422
    assert is_error_sentence(response)
