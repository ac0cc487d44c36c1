"""Killed at any moment, everything goes on: no file is half there, and nothing that was finished is done again."""

import random
import shutil
from pathlib import Path

import pytest

from tests.faults.children import finish, kill_after, kill_at
from tests.faults.reading import read_everything, unfinished
from tests.faults.small import TRACK, quick, small_clip
from tests.faults.torture import Torture
from tests.faults.work import CLIP, DETECTOR, OUT, PIECES, noted, result
from tests.tracked_clip import one_thread
from withinpx.tracking.track import track
from withinpx.training.fit import FitSettings

ROW = "kills"
IN_SHORT = {"fit": 2, "track": 1, "sweep": 0, "figure": 2, "render": 2, "detect": 1, "export": 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip, the same under another name, and a detector."""
    folder = tmp_path_factory.mktemp("kills")
    clip = small_clip(folder / CLIP)
    (folder / "again").symlink_to(clip)
    with one_thread(), quick():
        track(clip, folder / DETECTOR, TRACK, FitSettings())
    finish(Path.exists, folder)  # from now on they begin at once
    return folder


@pytest.mark.parametrize("name", PIECES)
def test_what_is_killed_goes_on(shared: Path, torture: Torture, name: str) -> None:
    """Half of the kills come at a moment between beginning and end, half just before a file is changed."""
    piece, wanted = PIECES[name], torture.of(IN_SHORT[name], PIECES[name].kills)
    if not wanted:
        pytest.skip("in full only")
    chance = random.Random(name)  # noqa: S311  (which moments, nothing secret)
    undisturbed = shared / f"{name}-undisturbed"
    (undisturbed / OUT).parent.mkdir(parents=True)
    seconds, calls = finish(piece.act, undisturbed)
    whole = result(undisturbed / OUT)
    kills = tries = 0
    while kills < wanted:
        tries += 1
        assert tries <= 3 * wanted + 5, "it is hardly ever alive when it is killed"
        folder = shared / f"{name}-{tries}"
        out = folder / OUT
        out.parent.mkdir(parents=True)
        killed = (
            kill_at(piece.act, folder, chance.randint(1, calls))
            if tries % 2
            else kill_after(piece.act, folder, chance.uniform(0, seconds))
        )
        kills += killed
        files = read_everything(out.parent)
        there = out.exists()
        finished = set(piece.units(out)) if there else set()
        stamps = {path: path.stat().st_mtime_ns for path in piece.files(out)} if there else {}
        before = len(noted(folder))
        finish(piece.act, folder)
        assert not unfinished(out.parent)
        ended = result(out)
        assert ended.keys() == whole.keys()
        assert not [each for each in whole if ended[each] != whole[each]]
        again = finished.intersection(noted(folder)[before:])
        assert not again, "finished work was done again"
        assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
        torture.count(ROW, kills=killed, **{f"in_{name}": killed}, clean_resumes=killed, files_read=files)
        shutil.rmtree(folder)
