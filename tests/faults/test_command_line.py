"""Whatever the parser accepts ends in a result or a one-line message, never in a traceback."""

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

from tests.faults.arguments import Paths, command_lines, commands
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
LIMIT_S = 60  # for one command line: more is a hang
MEMORY_LIMIT = 16 * 2**30  # bytes of address space, so that an impossible size fails without exhausting the machine
EXIT_STATUSES = (0, 1, 2, 3, None)


class WorkStartsError(InputError):
    """The arguments were accepted, and the work would start."""


def start_work(*_: Any, **__: Any) -> Any:
    raise WorkStartsError("The work starts.")


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only arguments are tested: training, sweeps and the server stop where they would start."""
    import uvicorn  # noqa: PLC0415

    for module, name in ((fit, "learn"), (attempt, "learn"), (together, "prepare_model")):
        monkeypatch.setattr(module, name, start_work)
    for engine in (LocalEngine, RayEngine):
        monkeypatch.setattr(engine, "run", start_work)
    monkeypatch.setattr(uvicorn.Server, "run", start_work)


@pytest.fixture
def limited_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def paths(tmp_path: Path, tracked: TrackedClip, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """A working folder with valid and invalid files."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tracked.images, tmp_path / "clip")
    shutil.copytree(tracked.folder, tmp_path / "detector")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "frame,object.csv").write_text("frame,object,x,y,w,h,full\n0,0,nan,1,1,1,1\n")
    Image.fromarray(np.zeros((1, 1), np.uint8)).save(tmp_path / "dot.png")
    files = ("clip", "detector", "empty", "text.png", "frame,object.csv", "dot.png")
    return Paths(
        existing=(*files, "none", "text.png/x", "x" * 300, ""),
        outputs=("new/one", "new.mp4", "new.png", "clip", "text.png", "text.png/x", "x" * 300, ""),
    )


@pytest.mark.usefixtures("limited_memory")
@pytest.mark.parametrize("name", list(commands()))
def test_no_command_line_ends_in_a_traceback(name: str, paths: Paths, torture: Torture) -> None:
    tried = 0

    @settings(max_examples=torture.of(10, 120), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        nonlocal tried
        tried += 1
        check(data.draw(command_lines(name, paths)))

    holds()
    torture.count(ROW, command_lines=tried)


def check(line: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()

    def on_alarm(*_: Any) -> None:
        pytest.fail(f"withinpx {' '.join(line)} takes more than {LIMIT_S} s")

    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(LIMIT_S)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(line)
    except SystemExit as end:
        assert end.code in EXIT_STATUSES, f"withinpx {line} ends with {end.code}"
        if end.code:
            message = err.getvalue().strip()
            assert message, f"withinpx {line} prints no message"
            assert "Traceback" not in message
    finally:
        signal.alarm(0)
        for left in Path().glob("new*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
