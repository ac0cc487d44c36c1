"""Runs: their options, their frames, what moves in them, and their end."""

import io
import re
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.studio.studio_server import Json, client, is_sentence, state_of, until
from tests.tracked_clip import FRAMES, HEIGHT, WIDTH, small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.data.video import stream_video
from withinpx.files import write_json
from withinpx.studio import frame_times as index
from withinpx.studio import looking, reading
from withinpx.studio.frame_times import frame_times
from withinpx.studio.frames import OpenClips
from withinpx.studio.looking import OutdatedError, look_at, look_closely, what_matters
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import LOOKING, WANTED, Options
from withinpx.theory import Gaussian, SizeRange, error_bound


def picture_in(content: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def test_options_are_changed_one_by_one(studio: TestClient, run: Json) -> None:
    path = f"/api/runs/{run['id']}/options"
    assert studio.put(path, json={"objects": 3}).json()["options"]["objects"] == 3
    assert studio.put(path, json={"crop": [0, 0, 40, 30]}).json()["options"]["objects"] == 3
    answer = studio.put(path, json={"objects": None, "quick": True})
    assert answer.json()["options"] == {
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
        {"seed": -1},
        {"seed": 10**12},
        {"other": 1},
        ["objects"],
    ],
)
def test_options_that_cannot_be_are_refused(studio: TestClient, run: Json, options: object) -> None:
    answer = studio.put(f"/api/runs/{run['id']}/options", json=options)
    assert answer.status_code == 422
    assert is_sentence(answer)
    assert studio.get(f"/api/runs/{run['id']}").json()["options"] == run["options"]


def test_frames_are_those_of_the_clip_in_any_order(studio: TestClient, run: Json) -> None:
    made = small_stage().render().clip.frames
    for number in (0, 20, 3, 4, 5, 23, 22, 0):
        answer = studio.get(f"/api/runs/{run['id']}/frames/{number}")
        assert answer.headers["content-type"] == "image/jpeg"
        shown = picture_in(answer.content)
        differences = [np.abs(shown.astype(int) - frame).mean() for frame in made]
        assert int(np.argmin(differences)) == number


def test_a_frame_is_cropped_and_made_smaller(studio: TestClient, run: Json) -> None:
    path = f"/api/runs/{run['id']}"
    studio.put(f"{path}/options", json={"crop": [10, 5, 30, 20]})
    assert picture_in(studio.get(f"{path}/frames/0?crop=1&of=10,5,30,20").content).shape == (20, 30, 3)
    assert picture_in(studio.get(f"{path}/frames/0?crop=0").content).shape == (HEIGHT, WIDTH, 3)
    assert max(picture_in(studio.get(f"{path}/frames/0?max=32").content).shape) == 32


@pytest.mark.parametrize(("number", "status"), [("24", 404), ("-1", 404), ("one", 422), ("99999999999999999999", 404)])
def test_there_are_no_other_frames(studio: TestClient, run: Json, number: str, status: int) -> None:
    answer = studio.get(f"/api/runs/{run['id']}/frames/{number}")
    assert answer.status_code == status
    assert is_sentence(answer)


def test_a_long_video_is_indexed_once_and_never_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "LARGE", 0)
    path = tmp_path / "clip.mp4"
    write_clip_video(path, small_stage().render().clip)
    times = frame_times(path)
    assert len(times) == FRAMES
    assert (tmp_path / index.INDEX).exists()
    monkeypatch.setattr(index, "_measured_times", None)  # not asked again
    assert OpenClips().frame(path, 7).shape == (HEIGHT, WIDTH, 3)


def broken_video(path: Path) -> Path:
    """Its eighth frame cannot be decoded; every frame stands alone in it."""
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


def test_a_frame_that_cannot_be_decoded_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, clips = broken_video(tmp_path / "clip.mov"), OpenClips()
    assert clips.frame(path, 3).shape == (HEIGHT, WIDTH, 3)  # before anybody has read it
    told: list[Json] = []
    monkeypatch.setattr(reading, "EVERY_S", 0.0)
    monkeypatch.setattr(looking, "write_json", lambda _, what: told.append(what))
    write_json(tmp_path / WANTED, what_matters(Options()))
    look_closely(path, FRAMES, Options(), tmp_path)
    shown = list(stream_video(path))
    assert len(shown) == FRAMES - 1
    assert told[:-1] == [{"done": done, "of": FRAMES, "again": False} for done in range(FRAMES)]
    for number in (6, 7, 8, 22, 3):
        assert np.array_equal(clips.frame(path, number), shown[number].pixels)
    with pytest.raises(Refusal, match="no frame 23"):
        clips.frame(path, FRAMES - 1)


def test_a_reading_ends_when_other_options_are_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "clip.mp4"
    write_clip_video(path, small_stage().render().clip)
    write_json(tmp_path / WANTED, what_matters(Options(objects=2)))
    with pytest.raises(OutdatedError):
        look_closely(path, FRAMES, Options(), tmp_path)
    assert not (tmp_path / LOOKING).exists()


def test_a_clip_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "clip.mp4"
    made = small_stage().render()
    write_clip_video(path, made.clip)
    crop = (0, 0, WIDTH, 36)  # without the triangle
    seen, part = look_at(path, FRAMES, Options()), look_at(path, FRAMES, Options(crop=crop, objects=1))
    assert len(seen["movers"]) == 3
    assert len(part["movers"]) == 2
    for mover in seen["movers"]:
        for place in mover["places"]:
            left, top, width, height = place["box"]
            x, y = left + width / 2, top + height / 2
            nearest = np.abs(made.truth[place["frame"]] - (x, y)).max(axis=-1).min()
            assert nearest < 3
    assert f"{seen['bound_px']:.1f} px" in seen["sentence"]
    assert any("followed" in warning for warning in part["warnings"])
    assert set(seen["network"]) >= {"encoder_rf", "decoder_rf", "sigma", "support"}


def test_what_was_seen_is_told_and_remembered(studio: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}/inspection"
    first = studio.get(path)
    assert first.status_code == 200, first.text
    assert len(first.json()["movers"]) == 3
    assert str(home) not in first.text
    (home / "runs" / run["id"] / "clip" / run["name"]).unlink()
    assert studio.get(path).json() == first.json()
    studio.put(f"/api/runs/{run['id']}/options", json={"objects": 2})
    answer = studio.get(path)  # other options: it would have to look again, and cannot
    assert answer.status_code == 422
    assert is_sentence(answer)


def test_a_run_is_deleted_with_all_its_files(studio: TestClient, run: Json, home: Path) -> None:
    studio.get(f"/api/runs/{run['id']}/frames/0")
    answer = studio.delete(f"/api/runs/{run['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert list((home / "runs").iterdir()) == []
    assert studio.delete(f"/api/runs/{run['id']}").status_code == 404


def test_a_run_that_is_being_trained_is_neither_deleted_nor_changed(studio: TestClient, run: Json, home: Path) -> None:
    path = f"/api/runs/{run['id']}"
    assert studio.post(f"{path}/start").status_code == 202
    for answer in (
        studio.delete(path),
        studio.put(f"{path}/options", json={"objects": 1}),
        studio.post(f"{path}/start"),
    ):
        assert answer.status_code == 409
        assert is_sentence(answer)
    assert (home / "runs" / run["id"] / "clip" / run["name"]).exists()
    studio.post(f"{path}/stop")
    until(lambda: state_of(studio, run["id"]) == "stopped")
    assert studio.delete(path).status_code == 204


def test_the_demo_stays_as_it_is(studio: TestClient) -> None:
    demo = studio.get("/api/state").json()["demo"]
    for answer in (
        studio.delete(f"/api/runs/{demo}"),
        studio.put(f"/api/runs/{demo}/options", json={"objects": 1}),
        studio.post(f"/api/runs/{demo}/start"),
    ):
        assert answer.status_code == 403
        assert is_sentence(answer)


def test_a_copy_of_the_demo_is_ready_to_be_trained(studio: TestClient) -> None:
    demo = studio.get("/api/state").json()["demo"]
    answer = studio.post("/api/demo/copy")
    run = answer.json()
    assert (answer.status_code, run["state"], run["demo"]) == (201, "ready", False)
    assert run["clip"] == studio.get(f"/api/runs/{demo}").json()["clip"]
    of_both = [studio.get(f"/api/runs/{each}/frames/40").content for each in (demo, run["id"])]
    assert of_both[0] == of_both[1]


def test_runs_are_there_after_a_restart(home: Path, video: bytes) -> None:
    with client(home) as asking:
        run = asking.post("/api/runs?name=a.mp4", content=video).json()
        asking.put(f"/api/runs/{run['id']}/options", json={"crop": [0, 0, 40, 30]})
        before = asking.get("/api/state").json()
    (home / "runs" / "0123456789abcdef").mkdir()  # not a run
    (home / "runs" / "0123456789abcdee").mkdir()
    (home / "runs" / "0123456789abcdee" / "run.json").write_text("{")  # a broken one
    with client(home) as asking:
        assert asking.get("/api/state").json() == before


def test_the_bound_is_the_theorems(studio: TestClient) -> None:
    query = "encoder_rf=9&decoder_rf=25&size_min=9&size_max=9&sigma=0.8&support="
    answer = studio.get(f"/api/bound?{query}").json()
    found = error_bound(9, 25, SizeRange(9, 9), Gaussian(0.8))
    assert (answer["bound"], answer["limiting"]) == (found.bound, found.limiting)
    assert f"{found.bound:g} px" in answer["sentence"]
    curves = answer["curves"]
    assert set(curves) == {"encoder_rf", "decoder_rf", "object_size", "sigma"}
    for curve in curves.values():
        assert set(curve) == {"x", "mean", "n1", "n2", "n3", "n4"}
        assert len({len(values) for values in curve.values()}) == 1
    sizes = curves["object_size"]
    at_nine = int(np.abs(np.array(sizes["x"]) - 9).argmin())
    assert sizes["n2"][at_nine] == pytest.approx(found.bound)


def test_with_a_support_the_bound_is_certain(studio: TestClient) -> None:
    answer = studio.get("/api/bound?encoder_rf=9&decoder_rf=25&size_min=6&size_max=10&sigma=0.8&support=3.2").json()
    assert answer["deterministic"]
    assert answer["reach"] == 3.2
    assert "always" in answer["sentence"]
    assert "support" in answer["curves"]["sigma"]


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
def test_a_bound_that_cannot_be_is_a_sentence(studio: TestClient, query: str) -> None:
    answer = studio.get(f"/api/bound?{query}")
    assert answer.status_code == 422
    assert is_sentence(answer)
