"""Whatever the parser admits ends in an answer or in a sentence, never in a traceback."""

import contextlib
import io
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.faults.arguments import Places, command_lines, commands
from tests.faults.torture import Torture
from tests.tracked_clip import TrackedClip
from withinpx.cli import main
from withinpx.errors import InputError
from withinpx.experiments.squares_gpu import together
from withinpx.jobs.local import LocalEngine
from withinpx.jobs.ray_cluster import RayEngine
from withinpx.tracking import attempt
from withinpx.training import fit

ROW = "command line"
MOST_SECONDS = 60  # for one command line: more is a hang
MOST_MEMORY = 16 * 2**30  # bytes of addresses: an impossible size fails here, and not by taking the machine down
ENDINGS = (0, 1, 2, None)


class BegunError(InputError):
    """Nothing was wrong with the arguments, and the work begins."""


def begins(*_: Any, **__: Any) -> Any:
    raise BegunError("The work begins.")


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments are what is tested: training, sweeps and the server stop where they begin."""
    import uvicorn  # noqa: PLC0415

    for module, name in ((fit, "learn"), (attempt, "learn"), (together, "prepare_model")):
        monkeypatch.setattr(module, name, begins)
    for engine in (LocalEngine, RayEngine):
        monkeypatch.setattr(engine, "run", begins)
    monkeypatch.setattr(uvicorn.Server, "run", begins)


@pytest.fixture
def limited() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def places(tmp_path: Path, tracked: TrackedClip, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A folder to work in, with good and bad things in it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tracked.pictures, tmp_path / "clip")
    shutil.copytree(tracked.folder, tmp_path / "detector")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "frame,object.csv").write_text("frame,object,x,y,w,h,full\n0,0,nan,1,1,1,1\n")
    Image.fromarray(np.zeros((1, 1), np.uint8)).save(tmp_path / "dot.png")
    there = (
        "clip",
        "detector",
        "empty",
        "text.png",
        "frame,object.csv",
        "dot.png",
        "none",
        "text.png/x",
        "x" * 300,
        "",
    )
    return Places(there, ("new/one", "new.mp4", "new.png", "clip", "text.png", "text.png/x", "x" * 300, ""))


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("name", list(commands()))
def test_no_command_line_ends_in_a_traceback(name: str, places: Places, torture: Torture) -> None:
    tried = 0

    @settings(max_examples=torture.of(10, 120), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        nonlocal tried
        tried += 1
        check(data.draw(command_lines(name, places)))

    holds()
    torture.count(ROW, command_lines=tried)


def check(line: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()

    def overdue(*_: Any) -> None:
        pytest.fail(f"withinpx {' '.join(line)} takes more than {MOST_SECONDS} s")

    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(MOST_SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(line)
    except SystemExit as end:
        assert end.code in ENDINGS, f"withinpx {line} ends with {end.code}"
        if end.code:
            said = err.getvalue().strip()
            assert said, f"withinpx {line} says nothing"
            assert "Traceback" not in said
    finally:
        signal.alarm(0)
        for left in Path().glob("new*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
