"""An audit of a real run: the command, its exit status, its page."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import withinpx
from tests.tracked_clip import FRAMES, TrackedClip, write_images
from withinpx.cli import main
from withinpx.data.clip import Clip

pytestmark = pytest.mark.usefixtures("alone")


def truth_table(tracked: TrackedClip) -> pd.DataFrame:
    truth = tracked.made.truth
    frame, number = np.indices(truth.shape[:2]).reshape(2, -1)
    x, y = truth.reshape(-1, 2).T
    return pd.DataFrame({"frame": frame, "id": number, "x": x, "y": y})


def run(command: list[str]) -> int:
    """The exit status."""
    try:
        main(command)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def command(tracked: TrackedClip, tracks: Path, out: Path, *more: str) -> list[str]:
    return ["audit", str(tracked.images), str(tracks), "--run", str(tracked.folder), "--out", str(out), *more]


def test_the_truth_passes_and_planted_errors_do_not(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = truth_table(tracked)
    table.to_csv(tmp_path / "truth.csv", index=False)
    assert run(command(tracked, tmp_path / "truth.csv", tmp_path / "good")) == 0
    assert "0 wrong" in capsys.readouterr().out
    bounds = withinpx.load_result(tracked.folder).tracks.bounds
    frame, column = np.argwhere(np.isfinite(bounds))[0].tolist()
    first = withinpx.audit(tracked.images, table, run=tracked.folder)
    (name,) = {about["id"] for about in first.summary()["identities"] if about["objects"] == [column]}
    spoilt = (table.frame == frame) & (table.id == int(name))
    table.loc[spoilt, "x"] += 2 * bounds[frame, column] + 0.1
    table.to_csv(tmp_path / "spoilt.csv", index=False)
    assert run(command(tracked, tmp_path / "spoilt.csv", tmp_path / "bad", "--json")) == 4
    summary = json.loads(capsys.readouterr().out)
    assert summary["wrong"] == 1
    page = (tmp_path / "bad" / "audit.html").read_text()
    assert page.count("data:image/png") == 1
    assert f"<b>Frame {frame}</b>" in page
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)  # it loads nothing from elsewhere


def test_a_clip_is_learned_when_no_run_is_given(
    tracked: TrackedClip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was learned is saved, and serves another audit. (What ``track`` learns is tested elsewhere.)"""
    given: list[Any] = []

    def learned(recording: Any, options: Any, **others: Any) -> withinpx.Result:
        given.append((recording.source, options, others["device"]))
        return withinpx.load_result(tracked.folder)

    monkeypatch.setattr("withinpx.auditing.audit.track", learned)
    truth_table(tracked).to_csv(tmp_path / "truth.csv", index=False)
    out = tmp_path / "audited"
    options = ["--channels", "12", "--budget", "1", "--device", "cpu"]
    assert run(["audit", str(tracked.images), str(tmp_path / "truth.csv"), "--out", str(out), *options]) == 0
    assert given == [(str(tracked.images), withinpx.TrackOptions(channels=12, budget=1.0), "cpu")]
    assert len(withinpx.load_result(out / "run").tracks) == FRAMES
    again = withinpx.audit(tracked.images, tmp_path / "truth.csv", run=out / "run")
    table = pd.read_csv(out / "audit.csv", dtype={"id": str}, keep_default_na=False)
    assert again.to_dataframe().verdict.tolist() == table.verdict.tolist()


def test_a_run_of_another_clip_is_refused(tracked: TrackedClip, tmp_path: Path) -> None:
    frames = tracked.made.clip.frames
    shorter = write_images(tmp_path / "shorter", Clip(frames[:-4]))
    with pytest.raises(withinpx.InputError, match=f"has {FRAMES} frames, shorter has {FRAMES - 4}: name the run"):
        withinpx.audit(shorter, truth_table(tracked), run=tracked.folder)
    smaller = write_images(tmp_path / "smaller", Clip(frames[:, :48]))
    with pytest.raises(withinpx.InputError, match="of a clip of 64x54 px, smaller has 64x48"):
        withinpx.audit(smaller, truth_table(tracked), run=tracked.folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": 1.0, "y": "no"}, "a number is needed there"),
        ({"frame": FRAMES + 5}, f"but the clip has {FRAMES}"),
        ({"x": 500.0}, "outside the clip's frames"),
    ],
)
def test_bad_input_gets_one_line_and_writes_nothing(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    truth_table(tracked).query("id == 0 and frame == 0").assign(**change).to_csv(tmp_path / "bad.csv", index=False)
    assert run(command(tracked, tmp_path / "bad.csv", tmp_path / "out")) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    assert run(command(tracked, tmp_path / "nowhere.csv", tmp_path / "out")) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_crop_shows_the_position_and_the_set(tracked: TrackedClip) -> None:
    from withinpx.auditing.crops import SIDE_PX, ToMark, crop  # noqa: PLC0415

    frame = np.full((54, 64, 3), 128, np.uint8)
    marked = crop(frame, ToMark("a", (50.0, 20.0), (42.0, 20.0), 2.0, 0))
    assert marked.shape[0] == marked.shape[1] > SIDE_PX / 2
    assert (np.abs(marked.astype(int) - [200, 53, 43]).sum(axis=-1) < 30).any()  # the ring's red
    corner = crop(frame, ToMark("a", (63.0, 53.0), (60.0, 53.5), 1.0, 0))  # at the border it stays within the frame
    assert Image.fromarray(corner).width == Image.fromarray(corner).height
