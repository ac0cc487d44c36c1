"""Progress of jobs on standard error."""

import io

import pytest
from rich.console import Console

from withinpx.jobs.job import Job
from withinpx.jobs.progress import JobProgress, TimeLeftColumn

JOBS = [Job(name, list, runs=2) for name in ("b", "a", "c")]


def terminal() -> Console:
    return Console(file=io.StringIO(), width=120, force_terminal=True)


def time_left(progress: JobProgress) -> str:
    return str(TimeLeftColumn().render(progress.tasks[0]))


def test_time_left_comes_from_finished_runs() -> None:
    now = 0.0
    progress = JobProgress(console=terminal(), get_time=lambda: now)
    progress.on_start(JOBS)
    assert time_left(progress) == "-:--:-- left"
    now = 100.0
    progress.on_job(JOBS[0])  # two of six runs in 100 s
    now = 130.0
    assert time_left(progress) == "0:02:50 left"  # 30 s later, of 200 s
    now = 1000.0
    assert time_left(progress) == "0:00:00 left"


def test_a_log_gets_one_line_per_job(capsys: pytest.CaptureFixture[str]) -> None:
    with JobProgress(lambda: "5 accepted") as progress:
        progress.on_start(JOBS)
        progress.on_job(JOBS[0])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "withinpx: b: 1/3 jobs, 2/6 runs, 5 accepted, 0:00:00 left\n"


def test_runs_are_left_out_where_every_job_is_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [Job(name, list) for name in "ab"]
    with JobProgress(unit="clips") as progress:
        progress.on_start(jobs)
        progress.on_job(jobs[0])
    assert capsys.readouterr().err == "withinpx: a: 1/2 clips, 0:00:00 left\n"


def test_a_terminal_gets_a_bar() -> None:
    console = terminal()
    with JobProgress(lambda: "5 accepted", console=console) as progress:
        progress.on_start(JOBS)
        progress.on_job(JOBS[0])
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert all(words in shown for words in ("1/3 jobs", "2/6 runs", "5 accepted", "0:00:00 left"))
    assert "withinpx: b" not in shown
