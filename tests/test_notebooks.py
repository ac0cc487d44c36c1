"""The notebooks in docs/ run from top to bottom, and what they print is right."""

import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import withinpx

DOCS = Path(__file__).parent.parent / "docs"
DEMO = Path(withinpx.__file__).parent / "studio" / "demo" / "out"
NUMBER = r"(\d+\.?\d*)"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def run(name: str, folder: Path, **replaced: str) -> tuple[str, int]:
    """What the cells of a notebook print, and how many figures they show; ``replaced`` cells are named by their id."""
    notebook: Any = nbformat.read(DOCS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        cell.source = replaced.pop(cell.id, cell.source)
    assert not replaced
    NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    figures = sum("image/png" in output.get("data", {}) for output in outputs)
    return "".join(output.get("text", "") for output in outputs), figures


def cell_with(name: str, line: str) -> tuple[str, str]:
    """Id and source of the one cell of a notebook that contains a line."""
    notebook: Any = nbformat.read(DOCS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    ((identity, source),) = [(cell.id, cell.source) for cell in notebook.cells if line in cell.source]
    return identity, source


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers in the one line that a pattern matches, where N stands for a number."""
    (found,) = re.findall(pattern.replace("N", NUMBER), text)
    return [float(number) for number in ([found] if isinstance(found, str) else found)]


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_outputs_are_not_kept(path: Path) -> None:
    """They would be out of date. Every notebook has a test of its name."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) > 5
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert f"test_{path.stem}" in globals()


def test_quickstart(tmp_path: Path) -> None:
    text, figures = run("quickstart", tmp_path)
    assert "3 objects found" in text
    assert figures == 2


# --- the analysis of a run ------------------------------------------------------------------------------------------


def test_analysis(tmp_path: Path) -> None:
    """Its counts are those of the table, recomputed here row by row."""
    text, figures = run("analysis", tmp_path)
    table = pd.read_csv(DEMO / "tracks.csv")
    assert numbers("N of N rows have a bound of at most 0.9 px", text) == [(table.bound_px <= 0.9).sum(), len(table)]
    assert all(f"{reason}: " in text for reason in table.reason.dropna().unique())
    assert "outside their limits: 0" in text
    assert figures == 4


def test_the_analysis_notices_what_is_outside_its_limits(tmp_path: Path) -> None:
    identity, source = cell_with("analysis", "truth = leaving(")
    with pytest.raises(CellExecutionError, match="assert outside == 0"):
        run("analysis", tmp_path, **{identity: source.replace("truth = ", "truth = np.array([2.5, 0]) + ")})


# --- the pendulum ---------------------------------------------------------------------------------------------------

PERIOD, DAMPING, GRAVITY = 2 * np.pi / np.sqrt(9.81 / 0.300 - 0.120**2), 0.120, 9.81
POSITIONS = """
from types import SimpleNamespace
random = np.random.default_rng(5)
bounds = random.uniform(0.2, 0.6, (len(times), 1))
positions = generated.truth + {error}
certified = random.random(bounds.shape) > 0.1
bounds[~certified] = np.nan
tracks = SimpleNamespace(times_s=times, certified=certified, positions=positions, bounds=bounds)
"""


def test_pendulum(tmp_path: Path) -> None:
    text, figures = run("pendulum", tmp_path)
    assert_contained(text)
    assert figures == 2


def assert_contained(text: str) -> None:
    """The truth is in every interval that is said to be a worst case, and the feasible set is the smaller one."""
    crossings = numbers("the period is between N s and N s, in the worst case", text)
    period = numbers("period:  N s to N s, in the worst case", text)
    turns = numbers("the damping is between N /s and N /s, in the worst case", text)
    damping = numbers("damping: N /s to N /s, in the worst case", text)
    gravity = numbers("g is between N m/s² and N m/s², in the worst case", text)
    assert crossings[0] <= period[0] <= PERIOD <= period[1] <= crossings[1]
    assert turns[0] <= DAMPING <= turns[1]
    assert 0 < damping[0] <= DAMPING <= damping[1] <= turns[1]
    assert gravity[0] <= GRAVITY <= gravity[1]
    assert period[1] - period[0] < 0.5 * (crossings[1] - crossings[0])
    assert damping[1] - damping[0] < turns[1] - turns[0]


def with_errors(error: str) -> dict[str, str]:
    """The notebook's cell that tracks the clip, replaced by positions with these errors, a tenth of them refused."""
    identity, _ = cell_with("pendulum", "withinpx.track(clip")
    return {identity: POSITIONS.format(error=error)}


def test_the_intervals_hold_for_errors_as_large_as_the_bounds(tmp_path: Path) -> None:
    text, _ = run(
        "pendulum", tmp_path, **with_errors("0.999 * bounds[:, None] * random.choice([-1, 1], (len(times), 1, 2))")
    )
    assert_contained(text)


def test_errors_beyond_the_bounds_are_noticed(tmp_path: Path) -> None:
    beyond = "2 * np.sin(17 * times)[:, None, None]"
    with pytest.raises(CellExecutionError, match="No damped oscillation stays within all bounds"):
        run("pendulum", tmp_path, **with_errors(beyond))
