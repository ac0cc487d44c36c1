"""The zoo's table: what counts as found, as certified and as outside, and that runs are resumed."""

import json
import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tyro

from withinpx.cli import main
from withinpx.cli.reproduce import ReproduceCommand, ZooCommand
from withinpx.data.zoo import WHOLE, ZooClip, zoo_clip, zoo_scene
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.errors import InputError
from withinpx.experiments import zoo
from withinpx.experiments.sweep import run_experiment
from withinpx.experiments.zoo import COLUMNS, ZooExperiment, count_certified, matched, run_clip
from withinpx.experiments.zoo_report import summarise, worst_seeds
from withinpx.jobs.local import LocalEngine
from withinpx.tracking.tracks import Tracks

NAMES = (
    "seed,frames,width,height,nuisances,good,objects_true,objects_found,count_right,recall,positions,certified,outside,"
    "seconds"
)


@cache
def two_objects() -> ZooClip:
    """A small clip without nuisances."""
    scenes = map(zoo_scene, range(200))
    wanted = (scene.seed for scene in scenes if scene.width <= 192 and len(scene.objects) == 2 and not scene.nuisances)
    return zoo_clip(next(wanted))


def detected(made: ZooClip, index: int, shift: float = 0.0, share: float = 1.0) -> MovingObject:
    """Detections of a true object, ``shift`` sizes beside it, in this share of the frames."""
    size = made.sizes[:, index].max(axis=-1)
    centres = made.truth[:, index] + np.stack([shift * size, 0 * size], axis=1)
    frames = range(round(share * len(made.clip)))
    blobs = (Blob(frame, tuple(centres[frame]), (0, 0, 9, 9), 9, np.zeros(3), 9) for frame in frames)
    return MovingObject(tuple(blobs))


def true_tracks(made: ZooClip, error: float = 0.0, bound: float = 1.0) -> Tracks:
    """Tracks of all objects with this error along x, all certified."""
    positions = np.nan_to_num(made.truth) + np.array([error, 0])
    present = made.visible > 0
    shape = present.shape
    bounds = np.full(shape, bound)
    reasons = np.where(present, "", "absent")
    return Tracks(
        made.clip.numbers,
        made.clip.times_s,
        positions,
        made.sizes,
        bounds,
        positions,
        bounds,
        np.zeros(shape),
        present,
        reasons,
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        made.clip.width,
        made.clip.height,
    )


def test_an_object_is_found_by_detections_within_half_its_size_in_nine_frames_of_ten() -> None:
    made = two_objects()
    first, second = detected(made, 0), detected(made, 1)
    assert matched(made, [second, first]) == {0: 1, 1: 0}
    assert matched(made, [detected(made, 0, shift=0.45)]) == {0: 0}
    assert matched(made, [detected(made, 0, shift=0.55)]) == {}
    assert matched(made, [detected(made, 0, share=0.8)]) == {}
    assert matched(made, []) == {}


def test_a_detected_object_counts_once() -> None:
    made = two_objects()
    alike = replace(made, truth=made.truth[:, [0, 0]], sizes=made.sizes[:, [0, 0]], visible=made.visible[:, [0, 0]])
    assert len(matched(alike, [detected(made, 0)])) <= 1


def test_certified_positions_are_counted_and_wrong_ones_are_outside() -> None:
    made = two_objects()
    whole = int((made.visible >= WHOLE).sum())
    assert count_certified(made, true_tracks(made)) == (whole, 0)
    assert count_certified(made, true_tracks(made, error=1.2)) == (whole, whole)
    assert count_certified(made, true_tracks(made, error=1.2, bound=1.3)) == (whole, 0)
    refused = replace(true_tracks(made), reasons=np.full(made.visible.shape, "distinct"))
    assert count_certified(made, refused) == (0, 0)


def test_positions_of_look_alikes_may_change_places_and_need_no_z() -> None:
    made = two_objects()
    tracks = true_tracks(made)
    both = (made.visible >= WHOLE).all(axis=1)
    positions, theorem_px = tracks.positions.copy(), tracks.theorem_px.copy()
    exchanged = np.flatnonzero(both)[:5]
    positions[exchanged] = positions[exchanged, ::-1]
    theorem_px[np.flatnonzero(both)[5:8]] = np.nan
    distinct = replace(tracks, positions=positions, z=positions, theorem_px=theorem_px)
    unlinked = np.full(tracks.bounds.shape, np.nan)
    alike = replace(distinct, proved=unlinked, guessed=unlinked)
    assert (count_certified(made, distinct)[1], count_certified(made, alike)[1]) == (16, 0)
    assert count_certified(made, replace(alike, positions=positions + 1.2))[1] == count_certified(made, tracks)[0]


def test_a_certified_position_where_nothing_is_visible_is_outside() -> None:
    made = two_objects()
    gone = made.visible.copy()
    gone[:5, 0] = 0
    truth = np.where((gone > 0)[..., None], made.truth, np.nan)
    hidden = replace(made, visible=gone, truth=truth)
    assert count_certified(hidden, true_tracks(made))[1] == 5


def test_a_row_has_the_columns_and_a_refused_clip_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_moves(*_: object) -> None:
        raise InputError("Nothing moves.")

    monkeypatch.setattr(zoo, "inspect", nothing_moves)
    monkeypatch.setattr(zoo, "track", nothing_moves_with_options)
    ((row,), (trained,)) = (run_clip(two_objects().scene.seed, train, 1.0, "cpu") for train in (False, True))
    assert ",".join(row) == NAMES == ",".join(COLUMNS)
    assert (row["objects_true"], row["objects_found"], row["count_right"], row["recall"]) == (2, 0, 0, 0)
    assert (row["certified"], row["outside"]) == ("", "")
    assert (trained["certified"], trained["outside"]) == (0, 0)


def nothing_moves_with_options(*_: object, **__: object) -> None:
    raise InputError("Nothing moves.")


def test_the_recorded_command_is_the_one_given() -> None:
    given = "zoo --clips 20 --seed 7 --train 2 --budget 30 --workers 4 --device cuda --out results"
    figure = tyro.cli(ReproduceCommand, args=given.split()).figure
    assert isinstance(figure, ZooCommand)
    recorded = shlex.split(figure.as_typed())[2:]
    assert tyro.cli(ReproduceCommand, args=recorded).figure == figure


def small_pair() -> int:
    """The first of two seeds in a row whose clips are small."""
    small = [zoo_scene(seed).width <= 160 and zoo_scene(seed).frames < 110 for seed in range(60)]
    return next(seed for seed in range(59) if small[seed] and small[seed + 1])


def test_runs_are_resumed_and_reported(tmp_path: Path) -> None:
    """Two clips are inspected; a run that the table has is not repeated."""
    seed = small_pair()
    experiment = ZooExperiment(seeds=2, first_seed=seed)
    table = run_experiment(tmp_path, experiment, LocalEngine(), "withinpx reproduce zoo --clips 2")
    first, second = (tmp_path / "runs.csv").read_text().splitlines(keepends=True)[1:]
    (tmp_path / "runs.csv").write_text(f"{NAMES}\n{first}")
    assert [job.name for job in experiment.jobs(experiment.open_table(tmp_path))] == [f"zoo {seed + 1}"]
    again = run_experiment(tmp_path, experiment, LocalEngine(), "withinpx reproduce zoo --clips 2")
    assert [row | {"seconds": ""} for row in again.rows] == [row | {"seconds": ""} for row in table.rows]
    assert (tmp_path / "runs.csv").read_text().splitlines(keepends=True)[1] == first
    assert second.startswith(f"{seed + 1},")
    assert "of 2 clips" in experiment.progress(again)
    everything = json.loads(experiment.report(again, tmp_path)[0])
    assert (everything["clips"], everything["runs"], everything["trained"]) == ("all", 2, 0)
    assert "| all | 2 |" in (tmp_path / "README.md").read_text()
    with pytest.raises(InputError, match="options of those runs"):
        run_experiment(tmp_path, replace(experiment, train=1), LocalEngine(), "")


def row(seed: int, nuisances: str = "", **values: float) -> dict[str, object]:
    usual = {"frames": 60, "width": 128, "height": 96, "good": 1, "objects_true": 2, "objects_found": 2}
    counted = {"count_right": 1, "recall": 1.0, "positions": 100, "certified": "", "outside": "", "seconds": 1.0}
    all_values = {"seed": seed, **usual, **counted, "nuisances": nuisances, **values}
    return {name: all_values[name] for name in COLUMNS}


def test_the_summary_is_split_by_nuisance_the_costliest_first(tmp_path: Path) -> None:
    table = ZooExperiment.open_table(tmp_path)
    table.add_all(
        [
            row(0, certified=90, outside=0),
            row(1, "shadow", good=0, objects_found=3, count_right=0, recall=0.5),
            row(2, "shadow drift", good=0, certified=30, outside=2),
        ]
    )
    everything, good, _, none, worst, next_worst, *_ = summarise(table.frame())
    assert (everything["runs"], everything["outside"], everything["certified_percent"]) == (3, 2, 60.0)
    assert everything["recall_percent"] == 83.3
    assert (good["trained"], good["certified_percent"]) == (1, 90.0)
    assert none["runs"] == 1
    assert (worst["clips"], worst["count_right_percent"]) == ("shadow", 50.0)
    assert (next_worst["clips"], next_worst["count_right_percent"]) == ("drift", 100.0)
    assert worst_seeds(table.frame()) == [2, 1]


def test_trained_clips_are_spread_evenly() -> None:
    assert ZooExperiment(seeds=10, first_seed=5, train=3).trained == {5, 8, 11}
    assert ZooExperiment(seeds=4, train=4).trained == {0, 1, 2, 3}
    assert ZooExperiment(seeds=4).trained == set()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--clips 0", "number of clips is 0: give one at least"),
        ("--clips 2 --train 3", "give 0 to 2"),
        ("--seed -1", "give 0 or more"),
        ("--seeds 3", "--seeds"),
    ],
)
def test_wrong_options_are_refused(options: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "zoo", *options.split()])
    assert stop.value.code == 2
    assert words in capsys.readouterr().err
