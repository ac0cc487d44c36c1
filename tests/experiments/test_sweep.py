"""Sweeps: one row per run on disk, nothing twice, nothing lost, and a sentence where something is wrong."""

import io
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from tests.experiments.fake_runs import refused, rows
from withinpx.errors import InputError
from withinpx.experiments import table as table_module
from withinpx.experiments.sweep import run_sweep
from withinpx.experiments.table import RunTable
from withinpx.files import locked_folder
from withinpx.jobs import ray_cluster
from withinpx.jobs.job import Job, Row
from withinpx.jobs.local import LocalEngine
from withinpx.jobs.progress import JobBar, JobLines, Tally

KEY = ("name", "seed")
JOBS = [Job(name, rows, (name, (0, 1)), runs=2) for name in ("b", "a", "c")]


def table_in(folder: Path) -> RunTable:
    return RunTable(folder / "runs.csv", KEY, KEY)


def names_in(folder: Path) -> list[tuple[str, str]]:
    return [(row["name"], row["seed"]) for row in table_in(folder).rows]


def test_every_run_has_one_row_in_the_order_of_the_keys(tmp_path: Path) -> None:
    run_sweep(JOBS, table_in(tmp_path), LocalEngine())
    assert names_in(tmp_path) == [(name, seed) for name in "abc" for seed in "01"]


def test_what_was_finished_is_kept_when_a_job_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such thing"):
        run_sweep([*JOBS[:2], Job("x", refused, ("no such thing",)), JOBS[2]], table_in(tmp_path), LocalEngine())
    assert names_in(tmp_path) == [(name, seed) for name in "ab" for seed in "01"]


def test_several_workers_do_every_job_once_and_keep_what_was_finished_when_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such thing"):
        run_sweep([Job("x", refused, ("no such thing",)), *JOBS], table_in(tmp_path), LocalEngine(workers=2))
    assert names_in(tmp_path) == [(name, seed) for name in "abc" for seed in "01"]
    with pytest.raises(InputError, match="give one at least"):
        LocalEngine(workers=0)


def test_a_run_that_comes_twice_keeps_its_first_row(tmp_path: Path) -> None:
    table = RunTable(tmp_path / "runs.csv", KEY)
    table.add({"name": "a", "seed": 0, "error": 1.5})
    table.add_all([{"name": "a", "seed": 0, "error": 2.5}, {"name": "a", "seed": 1, "error": 3.5}])
    assert [row["error"] for row in RunTable(tmp_path / "runs.csv", KEY).rows] == ["1.5", "3.5"]


def test_rows_of_a_job_come_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full leaves the table as it was, on disk and in memory."""
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


def test_a_sweep_killed_at_any_moment_leaves_a_whole_table(tmp_path: Path) -> None:
    """The process kills itself in the third write, between the bytes and the renaming."""
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
def test_a_table_that_is_none_gets_a_sentence(tmp_path: Path, content: bytes, words: str | None) -> None:
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


def test_the_time_left_comes_from_finished_work(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 100.0, 130.0, 1000.0))
    monkeypatch.setattr("withinpx.jobs.progress.time.monotonic", lambda: next(clock))
    tally = Tally(JOBS)
    assert tally.left == "-:--:--"
    tally.finished(JOBS[0])  # two of six runs in 100 s
    assert tally.left == "0:02:50"  # 30 s later, of 200 s
    assert tally.left == "0:00:00"


def test_lines_and_bar_say_how_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with JobLines(lambda: "5 accepted") as lines:
        lines.begin(JOBS)
        lines.finished(JOBS[0])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "withinpx: b: 1/3 jobs, 2/6 runs, 5 accepted, 0:00:00 left\n"
    shown = io.StringIO()
    with JobBar(lambda: "5 accepted", console=Console(file=shown, width=120, force_terminal=True)) as bar:
        bar.begin(JOBS)
        bar.finished(JOBS[0])
    assert all(words in shown.getvalue() for words in ("1/3 jobs", "2/6 runs", "5 accepted", "0:00:00"))


def test_the_watcher_sees_rows_that_are_on_disk_already(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    counted: list[int] = []

    class Counting(JobLines):
        def finished(self, job: Job) -> None:
            counted.append(len(names_in(tmp_path)))

    run_sweep(JOBS, table, LocalEngine(), Counting())
    assert counted == [2, 4, 6]


def test_an_engine_may_stop_midway(tmp_path: Path) -> None:
    class Interrupted:
        def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
            yield jobs[0], jobs[0]()
            raise KeyboardInterrupt

        def describe(self) -> str:
            return "nowhere"

    with pytest.raises(KeyboardInterrupt):
        run_sweep(JOBS, table_in(tmp_path), Interrupted())
    assert names_in(tmp_path) == [("b", "0"), ("b", "1")]


def test_a_sweep_needs_no_torch() -> None:
    script = "import sys, withinpx.experiments.sweep, withinpx.jobs.ray_cluster; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0  # noqa: S603


def test_without_ray_the_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'withinpx\[scale\]'"):
        ray_cluster.RayEngine()
