"""A wrong hypothesis is refused by its certificate and replaced; a run records what it tried."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.certificate.observed import seen_at
from tests.tracked_clip import FRAMES, TrackedClip, small_training
from withinpx.certificate.calibration import Shift
from withinpx.cli import main
from withinpx.data.clip import Clip
from withinpx.data.recording import open_recording
from withinpx.discovery.hypotheses import Hypothesis
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.inspection import inspect as inspect_clip
from withinpx.discovery.objects import MovingObject
from withinpx.experiments.truth import compare
from withinpx.tracking.attempt import Attempt, Setup
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.plan import make_plan
from withinpx.tracking.progress import Event
from withinpx.tracking.record import read_records
from withinpx.tracking.result import load_result
from withinpx.tracking.search import lost_objects
from withinpx.tracking.track import prepare, track

pytestmark = pytest.mark.usefixtures("alone")
VERDICT = "2 of 4 objects certified; object 0 refused: distinct; object 1 refused: distinct"


def cut_in_two(clip: Clip, *arguments: Any) -> Inspection:
    """An inspection whose best hypothesis takes the first object for two that are never seen together."""
    found = inspect_clip(clip, *arguments)
    first, *others = found.objects
    middle = len(first.blobs) // 2
    parts = MovingObject(first.blobs[:middle]), MovingObject(first.blobs[middle:])
    right = found.hypotheses[0]
    wrong = Hypothesis(right.background, (*parts, *others), False, 1.0, 0.5, "the first object cut in two")
    without = replace(right, objects=right.objects[1:], score=0.4, why="without the first object")
    whole = replace(right, score=0.3, why="as it is")
    return replace(found.under(wrong), hypotheses=(wrong, without, whole))


def test_a_wrong_hypothesis_is_refused_and_the_one_that_answers_is_certified(
    tracked: TrackedClip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("withinpx.tracking.track.inspect_clip", cut_in_two)
    events: list[Event] = []
    with small_training():
        result = track(tracked.images, out=tmp_path / "out", channels=12, device="cpu", progress=events.append)
    assert result.certificate.certified
    assert result.tracks.objects == 3
    assert compare(result.tracks, tracked.made.truth).outside == 0

    wrong, without, whole = result.hypotheses
    assert [attempt.verdict for attempt in wrong.attempts] == [VERDICT]
    assert [attempt.because for attempt in whole.attempts] == ["objects 0 and 1 refused: distinct"]
    assert not without.attempts  # a twin that is left out is still a twin
    assert [record.chosen for record in result.hypotheses] == [False, False, True]

    messages = [event.message for event in events]
    assert f"hypothesis 0 (the first object cut in two), seed 0: {VERDICT}" in messages
    assert "trying hypothesis 2 (as it is), seed 0, because objects 0 and 1 refused: distinct" in messages
    assert events[-3:] == [Event("writing", done, 2) for done in range(3)]

    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["channels"] == 12
    assert [(one["objects"], one["score"], len(one["attempts"])) for one in run["hypotheses"]] == [
        (4, 0.5, 1),
        (2, 0.4, 0),
        (3, 0.3, 1),
    ]
    assert {"seed", "because", "verdict", "seconds"} == run["hypotheses"][0]["attempts"][0].keys()
    page = (tmp_path / "out" / "certificate.html").read_text()
    assert page.count("the first object cut in two") == page.count(VERDICT) == 1
    loaded = load_result(tmp_path / "out")
    assert loaded.hypotheses == result.hypotheses
    again = track(tracked.images, out=tmp_path / "out", channels=12, device="cpu", progress=False, resume=True)
    assert again.hypotheses == result.hypotheses
    assert not (tmp_path / "out" / "attempts").exists()


def test_a_folder_without_hypotheses_has_none(tracked: TrackedClip, tmp_path: Path) -> None:
    assert read_records(tmp_path) == ()
    for content in ("[]", '{"hypotheses": [{"objects": 1}]}', '{"hypotheses": 3}', "{"):
        (tmp_path / "run.json").write_text(content)
        assert read_records(tmp_path) == ()
    (only,) = read_records(tracked.folder)
    assert (only.objects, only.chosen, len(only.attempts)) == (3, True, 1)


def test_the_number_of_objects_is_that_of_every_hypothesis(
    tracked: TrackedClip, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = prepare(open_recording(tracked.images), TrackOptions(objects=2))
    assert len(setup.inspection.objects) == setup.plan.network.objects == setup.plan.followed == 2
    capsys.readouterr()
    main(["inspect", str(tracked.images), "--objects", "2", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert len(found["objects"]) == 2
    assert found["hypotheses"]
    assert all(one["objects"] == 2 for one in found["hypotheses"])
    assert all(one.keys() == {"objects", "unordered", "score", "explained", "why"} for one in found["hypotheses"])


def test_inspect_prints_every_hypothesis(tracked: TrackedClip) -> None:
    inspection = cut_in_two(tracked.made.clip)
    lines = str(inspection).splitlines()
    for number, hypothesis in enumerate(inspection.hypotheses):
        (line,) = [line.split() for line in lines if line.endswith(hypothesis.why)]
        assert line[:3] == [str(number), str(len(hypothesis.objects)), f"{hypothesis.score:.3f}"]


def test_a_network_that_does_not_follow_its_detections_is_a_failure_of_the_optimiser(tracked: TrackedClip) -> None:
    inspection = inspect_clip(tracked.made.clip)
    setup, count = Setup(inspection, make_plan(inspection, TrackOptions())), len(inspection.objects)
    detector = replace(tracked.detector, shifts=tuple(Shift.constant(np.zeros(2)) for _ in range(count)))
    centres = np.stack([[blob.centre for blob in obj.blobs] for obj in inspection.objects], axis=1)
    assert centres.shape == (FRAMES, count, 2)
    assert lost_objects(setup, Attempt(detector, seen_at(centres))) == ()
    for frames, lost in ((FRAMES // 3, ()), (2 * FRAMES // 3, (1,))):
        moved = centres.copy()
        moved[:frames, 1] += inspection.objects[1].sizes[1]
        assert lost_objects(setup, Attempt(detector, seen_at(moved))) == lost
