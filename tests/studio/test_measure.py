"""The scale of a run and its motion: what the API stores, refuses and computes, against ``withinpx measure``."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fastapi.testclient import TestClient

from tests.studio.studio_server import Json, is_error_sentence, open_client
from withinpx.cli import main
from withinpx.studio.app import DEMO
from withinpx.studio.make_demo import DEMO_ID
from withinpx.tracking.tracks import MM, read_tracks

PATH = f"/api/runs/{DEMO_ID}"
OUT = DEMO / "out"
POINTS = [[10.0, 20.0], [130.0, 110.0]]  # 150 px apart
UNKNOWN = {"mm_per_px": None, "clicks": None, "interval": None}


def put(client: TestClient, order: Json, path: str = PATH) -> Any:
    return client.put(f"{path}/scale", json=order)


@pytest.fixture
def scaled(client: TestClient) -> TestClient:
    """A studio in which the demo's scale is 0.12 mm per px."""
    assert put(client, {"mm_per_px": 0.12}).status_code == 200
    return client


@pytest.mark.parametrize(("length", "unit"), [(18, "mm"), ("1.8", "cm"), (0.018, "m")])
def test_two_clicks_on_a_known_length_are_a_scale(client: TestClient, length: Any, unit: str) -> None:
    order = {"points": POINTS, "length": length, "unit": unit}
    scale = put(client, order).json()
    assert scale["mm_per_px"] == pytest.approx(18 / 150)
    assert scale["interval"] == pytest.approx([18 / 152, 18 / 148])  # each click a pixel off, along the length
    assert (scale["clicks"]["points"], scale["clicks"]["unit"]) == (POINTS, unit)
    assert client.get(f"{PATH}/scale").json() == scale


def test_clicks_on_a_small_frame_are_less_precise(client: TestClient) -> None:
    scale = put(client, {"points": POINTS, "length": 18, "click_px": 5}).json()
    assert scale["interval"] == pytest.approx([18 / 160, 18 / 140])
    scale = put(client, {"points": POINTS, "length": 18, "click_px": 0.1}).json()  # zooming in makes no sharper edge
    assert scale["interval"] == pytest.approx([18 / 152, 18 / 148])


def test_a_scale_is_kept_changed_and_removed(home: Path) -> None:
    with open_client(home) as client:
        assert client.get(f"{PATH}/scale").json() == UNKNOWN
        put(client, {"points": POINTS, "length": 18})
        put(client, {"mm_per_px": "0.25"})
    with open_client(home) as client:
        assert client.get(f"{PATH}/scale").json() == {**UNKNOWN, "mm_per_px": 0.25}
        assert client.delete(f"{PATH}/scale").status_code == 204
        assert client.delete(f"{PATH}/scale").status_code == 204
        assert client.get(f"{PATH}/scale").json() == UNKNOWN


def test_a_scale_changes_neither_the_tracks_nor_the_package(client: TestClient, home: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in DEMO.rglob("*")}
    put(client, {"points": POINTS, "length": 18})
    for name in ("motion.csv", "motion.png", "tracks_mm.csv"):
        assert client.get(f"{PATH}/motion/{name}").status_code == 200
    assert {path: path.stat().st_mtime_ns for path in DEMO.rglob("*")} == before
    assert [path.name for path in (home / "demo").iterdir()] == ["scale.json"]


def test_a_scale_stays_when_the_run_is_trained_again_and_goes_with_it(
    client: TestClient, home: Path, run: Json
) -> None:
    put(client, {"mm_per_px": 0.5}, f"/api/runs/{run['id']}")
    client.app.state.studio.runs.delete_training(run["id"])  # type: ignore[attr-defined]
    assert client.get(f"/api/runs/{run['id']}/scale").json()["mm_per_px"] == 0.5
    client.delete(f"/api/runs/{run['id']}")
    assert list(home.rglob("scale.json")) == []


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ({"points": POINTS, "length": 0}, "above zero"),
        ({"points": POINTS, "length": -3, "unit": "cm"}, "The length is -3 cm"),
        ({"points": POINTS, "length": "long"}, "The length is 'long', which is no number"),
        ({"points": POINTS, "length": "2,5"}, "write it with a point, as 2.5"),
        ({"points": POINTS, "length": ""}, "The length is nothing"),
        ({"points": POINTS}, "The length is nothing"),
        ({"points": POINTS, "length": "nan"}, "is no number"),
        ({"points": POINTS, "length": 10**400}, "is no number"),
        ({"points": POINTS, "length": True}, "is no number"),
        ({"points": POINTS, "length": [3]}, "is no number"),
        ({"points": POINTS, "length": 3, "unit": "inch"}, "choose mm, cm or m"),
        ({"points": POINTS, "length": 3, "unit": ["mm"]}, "choose mm, cm or m"),
        ({"points": [POINTS[0], POINTS[0]], "length": 3}, "The two points are 0 px apart"),
        ({"points": [[10, 20], [11, 21]], "length": 3}, "as far apart as you can"),
        ({"points": [[10, 20], [15, 20]], "length": 3, "click_px": 4}, "a click is right to about 4 px"),
        ({"points": [[10, 20], [161, 20]], "length": 3}, "outside the frame of 160x120 px"),
        ({"points": [[10, 20]], "length": 3}, "has two points"),
        ({"points": "here", "length": 3}, "has two points"),
        ({"points": [[10, 20], [30, "up"]], "length": 3}, "is no number"),
        ({"points": POINTS, "length": 1e300}, "give a known length"),
        ({"mm_per_px": 0}, "The scale is 0 mm per px"),
        ({"mm_per_px": "wide"}, "The scale is 'wide', which is no number"),
        ({"mm_per_px": ""}, "The scale is nothing"),
        ({}, "give mm_per_px, or two points"),
    ],
)
def test_a_scale_that_is_none_is_refused_and_the_one_before_stays(
    scaled: TestClient, order: Json, sentence: str
) -> None:
    response = put(scaled, order)
    assert response.status_code == 422
    assert is_error_sentence(response)
    assert sentence in response.json()["error"]
    assert scaled.get(f"{PATH}/scale").json()["mm_per_px"] == 0.12


def test_the_scale_of_another_run_is_refused_until_it_is_removed(client: TestClient, home: Path, run: Json) -> None:
    put(client, {"mm_per_px": 0.5}, f"/api/runs/{run['id']}")
    (home / "demo").mkdir()
    (home / "demo" / "scale.json").write_bytes((home / "runs" / run["id"] / "scale.json").read_bytes())
    for path in ("scale", "motion?unit=mm", "motion/motion.csv"):
        response = client.get(f"{PATH}/{path}")
        assert response.status_code == 422
        assert is_error_sentence(response)
        assert "that of another recording, small.mp4 (24 frames of 64x54 px)" in response.json()["error"]
    assert client.get(f"{PATH}/motion").status_code == 200  # px need no scale
    client.delete(f"{PATH}/scale")
    assert client.get(f"{PATH}/scale").json() == UNKNOWN


@pytest.mark.parametrize("content", ["", "{}", '{"mm_per_px": 0, "of": ["a", 1, 1, 1]}', "[" * 9999])
def test_a_broken_scale_is_an_error_sentence(client: TestClient, home: Path, content: str) -> None:
    (home / "demo").mkdir()
    (home / "demo" / "scale.json").write_text(content)
    response = client.get(f"{PATH}/scale")
    assert response.status_code == 422
    assert "scale.json is broken: remove the scale and set it again." in response.json()["error"]


@pytest.mark.parametrize("over", [1, 5])
def test_downloads_are_what_the_command_writes(scaled: TestClient, tmp_path: Path, over: int) -> None:
    folder = tmp_path / "motion"
    main(["measure", str(OUT), "--mm-per-px", "0.12", "--over", str(over), "--out", str(folder)])
    for download, file in (("motion.csv", "motion.csv"), ("tracks_mm.csv", "tracks.csv")):
        response = scaled.get(f"{PATH}/motion/{download}?over={over}")
        assert response.headers["content-disposition"] == f'attachment; filename="{download}"'
        assert response.content == (folder / file).read_bytes()
    assert scaled.get(f"{PATH}/motion/motion.png?over={over}").content.startswith(b"\x89PNG")


def test_columns_in_px_stay_as_they_are_beside_those_in_mm(scaled: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "tracks.csv"
    path.write_bytes(scaled.get(f"{PATH}/motion/tracks_mm.csv").content)
    own, in_mm = (pd.read_csv(file, dtype=str, keep_default_na=False) for file in (OUT / "tracks.csv", path))
    pd.testing.assert_frame_equal(in_mm[own.columns], own)
    tracks, numbers = read_tracks(path, 160, 120), pd.read_csv(path)
    assert tuple(numbers.columns[-3:]) == MM
    for name in ("x", "y"):
        pd.testing.assert_series_equal(numbers[f"{name}_mm"], 0.12 * numbers[name], check_names=False, atol=1e-5)
    assert (numbers["bound_mm"] >= 0.12 * numbers["bound_px"])[numbers["certified"] == 1].all()
    assert len(tracks) == 60


@pytest.mark.parametrize(("unit", "over"), [("px", 1), ("mm", 1), ("mm", 5)])
def test_charts_have_the_numbers_of_the_table(
    scaled: TestClient, tmp_path: Path, capsys: pytest.CaptureFixture[str], unit: str, over: int
) -> None:
    scale = ["--mm-per-px", "0.12"] if unit == "mm" else []
    main(["measure", str(OUT), *scale, "--over", str(over), "--out", str(tmp_path / "motion")])
    printed = capsys.readouterr().out.splitlines()
    table = pd.read_csv(tmp_path / "motion" / "motion.csv")
    motion = scaled.get(f"{PATH}/motion?unit={unit}&over={over}").json()
    assert (motion["unit"], motion["per"], motion["over"]) == (unit, "s", over)
    for name, suffix in (("speed", f"{unit}_s"), ("acceleration", f"{unit}_s2"), ("distance", unit)):
        for limit, part in (("value", ""), ("low", "low_"), ("high", "high_")):
            for index, own in table.groupby("object"):
                expected = own[f"{name}_{part}{suffix}"].astype(object).where(lambda values: values.notna(), None)
                assert motion[name][limit][index] == expected.tolist()
    for line, summary in zip(printed, motion["summary"], strict=False):
        speed, low, high = summary["speed"]
        assert f"median speed {speed:.4g} {unit}/s, median limits {low:.4g} to {high:.4g};" in line
        assert line.startswith(f"object {summary['object']}: {summary['measured']} of {summary['possible']} intervals")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("motion?unit=mm", "The scale is unknown"),
        ("motion/tracks_mm.csv", "The scale is unknown"),
        ("motion/run.json", "choose one of tracks_mm.csv, motion.csv, motion.png"),
        ("motion?over=0", "An interval of 0 frames is not possible"),
        ("motion?over=60", "An interval of 60 frames is not possible in tracks of 60"),
        ("motion?over=many", "over: "),
        ("motion?unit=mile", "unit: "),
    ],
)
def test_what_cannot_be_measured_is_an_error_sentence(client: TestClient, path: str, sentence: str) -> None:
    response = client.get(f"{PATH}/{path}")
    assert response.status_code in (404, 422)
    assert is_error_sentence(response)
    assert sentence in response.json()["error"]
