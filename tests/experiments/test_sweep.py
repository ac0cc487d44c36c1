"""Sweeps: one row per run on disk, none repeated, none lost, and an error message where something is wrong."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.experiments.fake_runs import refused, rows
from withinpx.errors import InputError
from withinpx.experiments import table as table_module
from withinpx.experiments.sweep import run_sweep
from withinpx.experiments.table import RunTable
from withinpx.files import locked_folder
from withinpx.jobs import ray_cluster
from withinpx.jobs.job import Job, JobCallback, Row
from withinpx.jobs.local import LocalEngine

KEY = ("name", "seed")
JOBS = [Job(name, rows, (name, (0, 1)), runs=2) for name in ("b", "a", "c")]


def table_in(folder: Path) -> RunTable:
    return RunTable(folder / "runs.csv", KEY, dict.fromkeys(KEY, str))


def names_in(folder: Path) -> list[tuple[str, str]]:
    return [(row["name"], row["seed"]) for row in table_in(folder).rows]


def test_every_run_has_one_row_sorted_by_key(tmp_path: Path) -> None:
    run_sweep(JOBS, table_in(tmp_path), LocalEngine())
    assert names_in(tmp_path) == [(name, seed) for name in "abc" for seed in "01"]


def test_finished_jobs_are_kept_when_a_job_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such object"):
        run_sweep([*JOBS[:2], Job("x", refused, ("no such object",)), JOBS[2]], table_in(tmp_path), LocalEngine())
    assert names_in(tmp_path) == [(name, seed) for name in "ab" for seed in "01"]


def test_several_workers_do_every_job_once_and_keep_finished_ones_when_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such object"):
        run_sweep([Job("x", refused, ("no such object",)), *JOBS], table_in(tmp_path), LocalEngine(workers=2))
    assert names_in(tmp_path) == [(name, seed) for name in "abc" for seed in "01"]
    with pytest.raises(InputError, match="give one at least"):
        LocalEngine(workers=0)


def test_a_repeated_run_keeps_its_first_row(tmp_path: Path) -> None:
    table = RunTable(tmp_path / "runs.csv", KEY)
    table.add_all([{"name": "a", "seed": 0, "error": 1.5}])
    table.add_all([{"name": "a", "seed": 0, "error": 2.5}, {"name": "a", "seed": 1, "error": 3.5}])
    assert [row["error"] for row in RunTable(tmp_path / "runs.csv", KEY).rows] == ["1.5", "3.5"]


def test_the_rows_of_a_job_are_written_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves the table unchanged, on disk and in memory."""
    table = table_in(tmp_path)
    table.add_all(rows("a", (0, 1)))
    before = (tmp_path / "runs.csv").read_bytes()

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_module, "write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        table.add_all(rows("b", (0, 1)))
    assert (tmp_path / "runs.csv").read_bytes() == before
    assert len(table.rows) == 2


def test_a_sweep_killed_during_a_write_leaves_a_whole_table(tmp_path: Path) -> None:
    """The process kills itself in the third write, before the file is renamed."""
    script = f"""
import os, signal
from pathlib import Path
from tests.experiments.test_sweep import JOBS, table_in
from withinpx.jobs.local import LocalEngine
from withinpx.experiments.sweep import run_sweep
replace, writes = Path.replace, []
def die(self, target):
    writes.append(target)
    if len(writes) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)
Path.replace = die
run_sweep(JOBS, table_in(Path({str(tmp_path)!r})), LocalEngine())
"""
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", script], cwd=root, check=False)  # noqa: S603
    assert ended.returncode == -9
    assert names_in(tmp_path) == [(name, seed) for name in "ab" for seed in "01"]
    table = table_in(tmp_path)
    run_sweep([job for job in JOBS if {"name": job.name, "seed": 0} not in table], table, LocalEngine())
    assert names_in(tmp_path) == [(name, seed) for name in "abc" for seed in "01"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name,seed\na,0\nb", "cut short at line 3"),
        (b"name,seed\na,0\nb,1", "cut short at line 3"),
        (b"name,seed,error\na,0,1.5\n", None),
        (b"seed,name\n0,a\n", "other columns"),
        (b"", "cannot be read as a table"),
        (b"\x89PNG\x00\xff\xfe", "cannot be read as a table"),
        (b"name,seed\na,0\na,0\n", "has the run a 0 twice"),
    ],
)
def test_a_damaged_table_is_refused_and_kept(tmp_path: Path, content: bytes, words: str | None) -> None:
    (tmp_path / "runs.csv").write_bytes(content)
    if words is None:
        assert len(table_in(tmp_path).rows) == 1
        return
    with pytest.raises(InputError, match=words):
        table_in(tmp_path)
    assert (tmp_path / "runs.csv").read_bytes() == content


def test_rows_with_other_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("name,seed,error\na,0,1.5\n")
    with pytest.raises(InputError, match="other columns"):
        table_in(tmp_path).add_all(rows("b", (0,)))


def test_two_sweeps_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with locked_folder(tmp_path), pytest.raises(InputError, match="Another process"), locked_folder(tmp_path):
        pass
    with locked_folder(tmp_path):
        pass


def test_a_watcher_is_called_when_the_rows_are_on_disk(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    counted: list[int] = []

    class Counting(JobCallback):
        def on_job(self, job: Job) -> None:
            counted.append(len(names_in(tmp_path)))

    run_sweep(JOBS, table, LocalEngine(), Counting())
    assert counted == [2, 4, 6]


def test_an_interrupted_engine_leaves_the_finished_rows(tmp_path: Path) -> None:
    class Interrupted:
        def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
            yield jobs[0], jobs[0]()
            raise KeyboardInterrupt

        def describe(self) -> str:
            return "nowhere"

    with pytest.raises(KeyboardInterrupt):
        run_sweep(JOBS, table_in(tmp_path), Interrupted())
    assert names_in(tmp_path) == [("b", "0"), ("b", "1")]


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("sweep fig4 clevr", "torch pandas"),
        ("fig4_training central", "pandas cv2 av tyro rich"),  # what a machine that only trains lacks
    ],
)
def test_modules_import_without(modules: str, absent: str) -> None:
    """Drawing a table needs no torch, training no pandas."""
    imports = "".join(f"import withinpx.experiments.{name}\n" for name in modules.split())
    hide = f"import sys\nsys.modules.update(dict.fromkeys({absent.split()}))\n"  # None in sys.modules: not importable
    command = [sys.executable, "-c", hide + imports + "import withinpx.jobs.ray_cluster"]
    assert subprocess.run(command, check=False).returncode == 0  # noqa: S603


def test_without_ray_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'withinpx\[scale\]'"):
        ray_cluster.RayEngine()
