"""Work killed at any moment resumes: no partial file remains, and nothing that was finished is repeated."""

import random
import shutil
from pathlib import Path

import pytest

from tests.faults.kill_targets import CLIP, DETECTOR, OUT, TARGETS, recorded, result
from tests.faults.output_files import partial_files, read_everything
from tests.faults.processes import finish, kill_after, kill_at
from tests.faults.small import TRACK, quick, small_clip
from tests.faults.torture import Torture
from tests.tracked_clip import one_thread
from withinpx.tracking.track import track
from withinpx.training.fit import FitSettings

ROW = "kills"
KILLS_IN_SHORT = {"fit": 2, "track": 1, "sweep": 0, "figure": 2, "render": 2, "detect": 1, "export": 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip, the same clip under another name, and a detector."""
    folder = tmp_path_factory.mktemp("kills")
    clip = small_clip(folder / CLIP)
    (folder / "again").symlink_to(clip)
    with one_thread(), quick():
        track(clip, TRACK, out=folder / DETECTOR, settings=FitSettings(), progress=False)
    finish(Path.exists, folder)  # the fork server is now loaded
    return folder


@pytest.mark.parametrize("name", TARGETS)
def test_killed_work_resumes(shared: Path, torture: Torture, name: str) -> None:
    """Half of the kills come at a random time, half just before a file is changed."""
    target, wanted = TARGETS[name], torture.of(KILLS_IN_SHORT[name], TARGETS[name].kills)
    torture.skip_in_short(not wanted)
    chance = random.Random(name)  # noqa: S311  (which moments, nothing secret)
    undisturbed = shared / f"{name}-undisturbed"
    (undisturbed / OUT).parent.mkdir(parents=True)
    seconds, calls = finish(target.run, undisturbed)
    expected = result(undisturbed / OUT)
    kills = tries = 0
    while kills < wanted:
        tries += 1
        assert tries <= 3 * wanted + 5, "it has nearly always finished before the kill"
        folder = shared / f"{name}-{tries}"
        out = folder / OUT
        out.parent.mkdir(parents=True)
        killed = (
            kill_at(target.run, folder, chance.randint(1, calls))
            if tries % 2
            else kill_after(target.run, folder, chance.uniform(0, seconds))
        )
        kills += killed
        files = read_everything(out.parent)
        there = out.exists()
        finished = set(target.finished_units(out)) if there else set()
        modified = {path: path.stat().st_mtime_ns for path in target.finished_files(out)} if there else {}
        units_before = len(recorded(folder))
        finish(target.run, folder)
        assert not partial_files(out.parent)
        found = result(out)
        assert found.keys() == expected.keys()
        assert not [file for file in expected if found[file] != expected[file]]
        assert not finished.intersection(recorded(folder)[units_before:]), "finished work was repeated"
        assert all(path.stat().st_mtime_ns == time_ns for path, time_ns in modified.items())
        torture.count(ROW, kills=killed, **{f"in_{name}": killed}, clean_resumes=killed, files_read=files)
        shutil.rmtree(folder)
