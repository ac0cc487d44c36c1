"""Motion of tracked objects: what is proved between two frames, where it is not, and in which units."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.tracking.scenes import made_up, never_present, refused
from withinpx.cli import main
from withinpx.data.recording import Recording
from withinpx.errors import InputError
from withinpx.tracking.motion import Motion
from withinpx.tracking.options import DetectOptions, TrackOptions
from withinpx.tracking.track import run_config
from withinpx.tracking.tracks import Tracks, TracksWriter, read_tracks, write_tracks


def at_rate(tracks: Tracks, rate: float) -> Tracks:
    """The tracks with frames 0, 1, 2, ... at even times."""
    frames = np.arange(len(tracks))
    return replace(tracks, frames=frames, times_s=frames / rate)


def one_object(positions: list[list[float]], bounds: list[float], rate: float = 10.0) -> Tracks:
    base = at_rate(made_up(len(positions)), rate)
    count = len(positions)
    arrays = {name: getattr(base, name)[:, :1] for name in ("sizes", "theorem_px", "sigma_px", "set_px", "angles_deg")}
    found = np.array(positions, np.float64)[:, None]
    return replace(
        base,
        **arrays,
        positions=found,
        z=found,
        bounds=np.array(bounds)[:, None],
        residual_px=np.zeros((count, 1)),
        present=np.ones((count, 1), np.bool_),
        reasons=np.full((count, 1), "", "<U16"),
        codes=np.zeros((count, 1, 0)),
    )


def test_speed_acceleration_and_distance_of_three_frames() -> None:
    motion = one_object([[0, 0], [3, 4], [9, 12]], [0.5, 0.5, 0.5]).motion()
    np.testing.assert_allclose(motion.velocity[1:, 0], [[30, 40], [60, 80]])
    np.testing.assert_allclose(motion.velocity_bound[1:, 0], 10)  # (0.5 + 0.5) px in 0.1 s
    np.testing.assert_allclose(motion.speed[1:, 0], [50, 100])
    np.testing.assert_allclose(motion.speed_low[1:, 0], [np.hypot(20, 30), np.hypot(50, 70)])
    np.testing.assert_allclose(motion.speed_high[1:, 0], [np.hypot(40, 50), np.hypot(70, 90)])
    np.testing.assert_allclose(motion.acceleration[2, 0], [300, 400])
    np.testing.assert_allclose(motion.acceleration_bound[2, 0], 200)
    assert np.isnan(motion.acceleration[:2]).all()
    np.testing.assert_allclose(motion.distance[:, 0], [0, 5, 15])
    np.testing.assert_allclose(motion.distance_low[:, 0], np.cumsum([0, np.hypot(2, 3), np.hypot(5, 7)]))
    np.testing.assert_allclose(motion.distance_high[:, 0], np.cumsum([0, np.hypot(4, 5), np.hypot(7, 9)]))


def test_over_more_frames_the_limits_are_tighter() -> None:
    tracks = one_object([[2.0 * row, 0] for row in range(9)], [0.5] * 9)
    one, four = tracks.motion(), tracks.motion(over=4)
    np.testing.assert_allclose(four.speed[4:, 0], 20)
    np.testing.assert_allclose(four.velocity_bound[4:, 0], one.velocity_bound[4:, 0] / 4)
    assert np.isnan(four.speed[:4]).all()
    np.testing.assert_allclose(four.acceleration[8, 0], 0, atol=1e-9)
    assert np.isnan(four.acceleration[:8]).all()
    assert np.flatnonzero(np.isfinite(four.distance[:, 0])).tolist() == [0, 4, 8]
    assert four.distance[8, 0] == pytest.approx(16)


def test_an_error_that_all_frames_share_makes_no_speed() -> None:
    """Between consecutive frames ``motion_px`` holds; over more, at most as many of them, or both bounds."""
    tracks = replace(one_object([[2.0 * row, 0] for row in range(5)], [0.5] * 5), set_px=np.full((5, 1), 0.1))
    np.testing.assert_allclose(tracks.motion().velocity_bound[1:, 0], 0.2 / 0.1)
    np.testing.assert_allclose(tracks.motion(over=2).velocity_bound[2:, 0], 0.4 / 0.2)
    np.testing.assert_allclose(tracks.motion(over=4).velocity_bound[4:, 0], 0.8 / 0.4)
    wide = replace(tracks, set_px=np.full((5, 1), 0.4))
    np.testing.assert_allclose(wide.motion(over=4).velocity_bound[4:, 0], 1.0 / 0.4)


@given(seed=st.integers(0, 2**32 - 1), over=st.integers(1, 4))
def test_true_paths_lie_within_all_limits(seed: int, over: int) -> None:
    random = np.random.default_rng(seed)
    truth = np.cumsum(random.normal(0, 2, (14, 2)), axis=0)
    bounds = random.uniform(0.05, 1.5, 14)
    errors = np.where(random.random((14, 2)) < 0.5, 1, random.uniform(-1, 1, (14, 2))) * random.choice([-1, 1], (14, 2))
    tracks = one_object((truth + errors * bounds[:, None]).tolist(), bounds.tolist())
    tracks = replace(tracks, times_s=np.cumsum(random.uniform(0.01, 0.5, 14)))
    gap = np.zeros((14, 1), np.bool_)
    gap[random.integers(0, 14)] = True
    motion = refused(tracks, gap, "border").motion(over)
    seconds = tracks.times_s[over:] - tracks.times_s[:-over]
    velocity = np.full((14, 2), np.nan)
    velocity[over:] = (truth[over:] - truth[:-over]) / seconds[:, None]
    speed, known = np.linalg.norm(velocity, axis=-1), motion.linked[:, 0]
    assert not known[:over].any()
    assert (motion.speed_low[known, 0] <= speed[known] + 1e-9).all()
    assert (speed[known] <= motion.speed_high[known, 0] + 1e-9).all()
    for row in np.flatnonzero(np.isfinite(motion.acceleration_bound[:, 0])):
        apart = (tracks.times_s[row] - tracks.times_s[row - 2 * over]) / 2
        expected = (velocity[row] - velocity[row - over]) / apart
        assert np.abs(expected - motion.acceleration[row, 0]).max() <= motion.acceleration_bound[row, 0] + 1e-9
    length = 0.0
    for row in np.flatnonzero(np.isfinite(motion.distance[:, 0])):
        start = motion.distance[row, 0] == 0
        length = 0.0 if start else length + float(np.linalg.norm(truth[row] - truth[row - over]))
        assert motion.distance_low[row, 0] - 1e-9 <= length <= motion.distance_high[row, 0] + 1e-9


def test_nothing_is_said_across_a_refused_frame_or_an_open_identity() -> None:
    tracks = at_rate(made_up(), 10)  # object 1 is refused in rows 3 and 4, object 2 absent in rows 0 and 1
    motion = tracks.motion()
    assert np.flatnonzero(motion.linked[:, 0]).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert np.flatnonzero(motion.linked[:, 1]).tolist() == [1, 2, 6, 7]
    assert np.flatnonzero(motion.linked[:, 2]).tolist() == [3, 4, 5, 6, 7]
    assert np.flatnonzero(np.isfinite(motion.acceleration_bound[:, 1])).tolist() == [2, 7]
    assert motion.distance[[0, 2, 5, 7], 1].tolist() == pytest.approx([0, 2 * 5**0.5, 0, 2 * 5**0.5])
    assert np.isnan(motion.distance[3:5, 1]).all()
    assert np.flatnonzero(tracks.motion(over=2).linked[:, 1]).tolist() == [2, 7]
    guessed = tracks.identity_certified.copy()
    guessed[4, 0] = 0
    open_link = replace(tracks, proved=guessed, guessed=np.full(guessed.shape, np.nan), classes=np.zeros(3, np.int64))
    assert np.flatnonzero(open_link.motion().linked[:, 0]).tolist() == [1, 2, 3, 5, 6, 7]
    assert np.flatnonzero(open_link.motion(over=3).linked[:, 0]).tolist() == [3, 7]
    assert open_link.motion().distance[4, 0] == 0  # counted anew from there


def test_time_is_that_of_the_clock_the_given_rate_or_the_frames() -> None:
    tracks = made_up()  # frames 10, 12, 14, ... at uneven times
    seconds = np.diff(tracks.times_s)
    np.testing.assert_allclose(tracks.motion().velocity[1:, 0, 0], 3 / seconds)
    np.testing.assert_allclose(tracks.motion(frame_rate=50).velocity[1:, 0, 0], 3 * 50 / 2)
    without = replace(tracks, times_s=np.full(len(tracks), np.nan)).motion()
    assert not without.in_seconds
    np.testing.assert_allclose(without.velocity[1:, 0, 0], 3 / 2)
    assert "speed_px_frame" in without.to_dataframe()
    assert without.to_dataframe()["time_s"].isna().all()


def test_a_clock_that_stands_still_gives_no_speed() -> None:
    tracks = at_rate(made_up(), 10)
    times = tracks.times_s.copy()
    times[4] = times[3]
    motion = replace(tracks, times_s=times).motion()
    assert np.flatnonzero(motion.linked[:, 0]).tolist() == [1, 2, 3, 5, 6, 7]


def test_the_table_rounds_limits_outwards_and_is_in_mm_too() -> None:
    tracks = replace(made_up(), mm_per_px=0.0123)
    motion, table = tracks.motion(), tracks.motion().to_dataframe()
    assert len(table) == motion.linked.size
    assert table["since_frame"].isna().sum() == 3
    assert table["since_frame"].dropna().tolist() == (table["frame"][3:] - 2).tolist()
    for unit, scale, decimal in (("px", 1.0, 1e-4), ("mm", 0.0123, 1e-6)):
        for name, exact in (("low", motion.speed_low), ("high", motion.speed_high)):
            column, known = table[f"speed_{name}_{unit}_s"].to_numpy(), motion.linked.ravel()
            difference = (column - exact.ravel() * scale)[known] * (1 if name == "high" else -1)
            assert (difference >= -1e-9).all()
            assert (difference <= 1.01 * decimal).all()
        assert np.isnan(table[f"speed_{unit}_s"].to_numpy()[~motion.linked.ravel()]).all()
    np.testing.assert_allclose(table["velocity_x_mm_s"], table["velocity_x_px_s"] * 0.0123, atol=2e-6)
    np.testing.assert_allclose(table["acceleration_mm_s2"], table["acceleration_px_s2"] * 0.0123, atol=2e-6)
    px_only = made_up().motion().to_dataframe().columns
    assert not [name for name in px_only if "mm" in name]
    assert table.columns[: len(px_only)].tolist() == px_only.tolist()  # appended, not inserted


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"over": 0}, "interval of 0 frames is not possible"),
        ({"over": 8}, "interval of 8 frames is not possible in tracks of 8"),
        ({"frame_rate": 0.0}, "frame rate is 0"),
        ({"frame_rate": float("nan")}, "frame rate is nan"),
    ],
)
def test_impossible_intervals_and_rates_are_refused(change: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made_up().motion(**change)  # type: ignore[arg-type]


def test_images_without_order_have_no_motion() -> None:
    with pytest.raises(InputError, match="no order"):
        replace(made_up(), unordered=True).motion()


def test_one_frame_has_no_motion() -> None:
    motion = made_up(1).motion()
    assert not motion.linked.any()
    assert len(motion.to_dataframe()) == 3


# --- the scale ------------------------------------------------------------------------------------------------------


def test_columns_in_mm_follow_all_others_and_are_read_back(tmp_path: Path) -> None:
    tracks = replace(made_up(), mm_per_px=0.012)
    write_tracks(tmp_path / "px.csv", made_up())
    write_tracks(tmp_path / "mm.csv", tracks)
    px, mm = (pd.read_csv(tmp_path / name) for name in ("px.csv", "mm.csv"))
    assert mm.columns.tolist() == [*px.columns, "x_mm", "y_mm", "bound_mm"]
    pd.testing.assert_frame_equal(mm[px.columns], px)
    np.testing.assert_allclose(mm[["x_mm", "y_mm"]], mm[["x", "y"]] * 0.012, atol=1e-6)
    known = mm["bound_mm"].notna()
    assert (known == mm["bound_px"].notna()).all()
    assert (mm["bound_mm"] >= mm["bound_px"] * 0.012)[known].all()
    assert (mm["bound_mm"] <= mm["bound_px"] * 0.012 + 4e-6)[known].all()
    assert json.loads((tmp_path / "mm.json").read_text())["mm_per_px"] == 0.012
    assert "mm_per_px" not in json.loads((tmp_path / "px.json").read_text())
    read = read_tracks(tmp_path / "mm.csv")
    assert read.mm_per_px == 0.012
    write_tracks(tmp_path / "again.csv", read)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "mm.csv").read_bytes()


def test_angles_are_filled_in_before_the_columns_in_mm(tmp_path: Path) -> None:
    tracks = replace(made_up(), mm_per_px=0.5)
    angles = np.where(tracks.present, 12.5 + np.arange(8)[:, None], np.nan)
    with TracksWriter(tmp_path / "tracks.csv") as writer:
        writer.add(tracks)
        writer.finish(angles)
    read = read_tracks(tmp_path / "tracks.csv")
    np.testing.assert_array_equal(read.angles_deg, angles)
    table = pd.read_csv(tmp_path / "tracks.csv")
    np.testing.assert_allclose(table["x_mm"], table["x"] * 0.5, atol=1e-4)


@pytest.mark.parametrize("scale", [0.0, -0.1, float("nan"), float("inf"), 1e-12, 1e9])
def test_a_scale_that_no_footage_has_is_refused(scale: float) -> None:
    for made in (
        lambda: TrackOptions(mm_per_px=scale),
        lambda: replace(made_up(), mm_per_px=scale),
        lambda: DetectOptions(mm_per_px=scale),
    ):
        with pytest.raises(InputError, match="mm per px: give a known length"):
            made()


def test_runs_of_before_scales_were_known_are_still_resumed() -> None:
    recording = Recording("clip.mp4")
    assert "mm_per_px" not in run_config(recording, TrackOptions())
    assert run_config(recording, TrackOptions(mm_per_px=0.5))["mm_per_px"] == 0.5


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    write_tracks(tmp_path / "run" / "tracks.csv", at_rate(made_up(), 25))
    return tmp_path / "run"


def test_measure_writes_table_and_figure_and_leaves_the_run_alone(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in run_folder.iterdir()}
    main(["measure", str(run_folder)])
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    assert printed[0].startswith("object 0: 7 of 7 intervals measured; median speed 75 px/s")
    assert sorted(path.name for path in (run_folder / "motion").iterdir()) == [
        "motion.csv",
        "motion.json",
        "motion.png",
    ]
    assert {path.name: path.read_bytes() for path in run_folder.iterdir() if path.is_file()} == before
    table = pd.read_csv(run_folder / "motion" / "motion.csv")
    np.testing.assert_allclose(table["speed_px_s"][table["object"] == 0].to_numpy()[1:], 75)
    with Image.open(run_folder / "motion" / "motion.png") as figure:
        assert figure.width > 1000
    with pytest.raises(SystemExit) as stop:
        main(["measure", str(run_folder)])
    assert stop.value.code == 2
    assert "exists already" in capsys.readouterr().err


def test_measure_gives_a_finished_run_its_scale(run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "in_mm"
    main(["measure", str(run_folder / "tracks.csv"), "--mm-per-px", "0.2", "--over", "2", "--out", str(out)])
    assert read_tracks(out / "tracks.csv").mm_per_px == 0.2
    assert read_tracks(run_folder / "tracks.csv").mm_per_px is None
    assert "speed_mm_s" in pd.read_csv(out / "motion.csv")
    main(["measure", str(out), "--out", str(tmp_path / "again")])  # the scale is known from here
    assert "speed_mm_s" in pd.read_csv(tmp_path / "again" / "motion.csv")


def test_a_run_without_a_proved_speed_is_measured_with_status_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tracks(tmp_path / "tracks.csv", never_present(made_up()))
    with pytest.raises(SystemExit) as stop:
        main(["measure", str(tmp_path), "--out", str(tmp_path / "out")])
    assert stop.value.code == 3
    assert "object 2: 0 of 7 intervals measured" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nowhere", "cannot be read"),
        ("RUN --mm-per-px 0", "The scale is 0 mm per px"),
        ("RUN --over 9", "interval of 9 frames"),
        ("RUN --frame-rate -1", "frame rate is -1"),
    ],
)
def test_mistakes_write_nothing(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, sentence: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["measure", *words.replace("RUN", str(run_folder)).split(), "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_figure_has_a_panel_per_object_and_its_limits_hold_the_speed() -> None:
    motion: Motion = replace(at_rate(made_up(), 25), mm_per_px=0.1).motion()
    axes = [panel for panel in motion.plot().axes if panel.get_visible()]
    assert len(axes) == 3
    for index, panel in enumerate(axes):
        (line,) = panel.get_lines()
        shown = np.asarray(line.get_ydata(), np.float64)
        np.testing.assert_allclose(
            shown[np.isfinite(shown)], np.repeat(motion.speed[motion.linked[:, index], index] / 10, 2)
        )
        assert panel.get_ylim()[1] >= np.nanmax(motion.speed_high[:, index]) / 10
