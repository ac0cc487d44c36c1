"""A real Ray cluster of two nodes on this machine: jobs of a dead node run again, and every run appears once."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from tests.experiments.fake_runs import always_dies, dies_at_first, refused, rows, rows_after
from tests.tracked_clip import TrackedClip
from withinpx.errors import InputError
from withinpx.experiments.sweep import run_sweep
from withinpx.experiments.table import RunTable
from withinpx.jobs import ray_cluster
from withinpx.jobs.job import Job, JobCallback
from withinpx.jobs.ray_cluster import RayEngine
from withinpx.tracking.collection import detect_collection
from withinpx.tracking.options import DetectOptions
from withinpx.tracking.tracks import read_tracks

pytest.importorskip("ray", reason="the Ray engine needs the extra `scale`")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

KEY = ("name", "seed")
NAMES = [f"{number:02d}" for number in range(12)]
SEEDS = (0, 1)
NODE = {"num_cpus": 2, "object_store_memory": 80 * 1024**2, "include_dashboard": False}
SOON: dict[str, Any] = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """The head runs no jobs; tests add nodes that do."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))  # workers import the jobs of these tests from there
        made: Any = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "_system_config": SOON})
        yield made
        made.shutdown()


@pytest.fixture
def node(cluster: Any) -> Iterator[Any]:
    """A worker node, removed after the test."""
    added = cluster.add_node(**NODE)
    yield added
    cluster.remove_node(added)


def table_in(folder: Path) -> RunTable:
    return RunTable(folder / "runs.csv", KEY, dict.fromkeys(KEY, str))


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def expected_runs(names: list[str]) -> list[tuple[str, str]]:
    return [(name, str(seed)) for name in names for seed in SEEDS]


def runs_in(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "runs.csv").read_text().splitlines()[1:]
    return [(name, seed) for name, seed in (line.split(",") for line in lines)]


def test_a_node_killed_midway_loses_no_run_and_duplicates_none(cluster: Any, node: Any, tmp_path: Path) -> None:
    doomed = cluster.add_node(**NODE)
    began, go = tmp_path / "began", tmp_path / "go"
    began.mkdir()
    jobs = [Job(name, rows, (name, SEEDS), runs=2) for name in NAMES[:3]]
    jobs += [Job(name, rows_after, (name, SEEDS, began, go), runs=2) for name in NAMES[3:]]

    def begun_there() -> dict[str, int]:
        """Jobs started on the doomed node, and their process ids."""
        begun = [path.name.split("-") for path in began.glob(f"*-{doomed.node_id}-*")]
        return {name: int(process) for name, _, process in begun}

    def kill_midway() -> None:
        """Kill the node when some runs are in the table and others are running on it; those wait for ``go``."""
        try:
            wait_until(lambda: (tmp_path / "runs.csv").exists() and bool(begun_there()))
            cluster.remove_node(doomed, allow_graceful=False)
            for process in begun_there().values():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        finally:
            go.touch()

    killer = Thread(target=kill_midway, daemon=True)
    killer.start()
    run_sweep(jobs, table_in(tmp_path), RayEngine(cluster.address))
    killer.join()
    assert runs_in(tmp_path) == expected_runs(NAMES)
    assert any(len(list(began.glob(f"{name}-*"))) == 2 for name in begun_there())  # started there, and again elsewhere


def test_an_interrupted_sweep_resumes(cluster: Any, node: Any, tmp_path: Path) -> None:
    began = tmp_path / "began"
    began.mkdir()
    go = tmp_path / "go"
    go.touch()
    jobs = {name: Job(name, rows_after, (name, SEEDS, began, go), runs=2) for name in NAMES[:6]}

    class Interrupting(JobCallback):
        done: list[str] = []  # noqa: RUF012

        def on_job(self, job: Job) -> None:
            self.done.append(job.name)
            if len(self.done) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(list(jobs.values()), table_in(tmp_path), RayEngine(cluster.address), Interrupting())
    assert runs_in(tmp_path) == expected_runs(sorted(Interrupting.done))
    table = table_in(tmp_path)
    left = [job for name, job in jobs.items() if {"name": name, "seed": 0} not in table]
    assert len(left) == 4
    run_sweep(left, table, RayEngine(cluster.address))
    assert runs_in(tmp_path) == expected_runs(NAMES[:6])
    assert all(len(list(began.glob(f"{name}-*"))) == 1 for name in Interrupting.done)  # finished jobs do not run again


def test_a_dead_worker_is_replaced_and_a_job_that_always_dies_is_reported(
    cluster: Any, node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "RETRIES", 0)  # so that only the second submission helps
    monkeypatch.setattr(ray_cluster, "SUBMISSIONS", 2)
    engine = RayEngine(cluster.address)
    run_sweep([Job("a", dies_at_first, ("a", tmp_path))], table_in(tmp_path), engine)
    assert runs_in(tmp_path) == [("a", "0")]
    assert engine.describe() == "Ray, 2 nodes, 2 CPU cores, 0 GPUs"
    with pytest.raises(InputError, match=r"x lost its node 2 times .*run the same command again"):
        run_sweep([Job("x", always_dies)], table_in(tmp_path), engine)


def test_an_input_error_on_a_node_keeps_its_message(cluster: Any, node: Any, tmp_path: Path) -> None:
    jobs = [Job(name, rows, (name, SEEDS), runs=2) for name in NAMES[:3]]
    run_sweep(jobs, table_in(tmp_path), RayEngine(cluster.address))
    wrong = Job("x", refused, ("There is no such clip.",))
    with pytest.raises(InputError) as error:
        run_sweep([wrong], table_in(tmp_path), RayEngine(cluster.address))
    assert str(error.value) == "There is no such clip."
    assert runs_in(tmp_path) == expected_runs(NAMES[:3])


def test_a_node_that_lacks_a_module_is_reported(
    cluster: Any, node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def rows():\n    return []\n")
    monkeypatch.syspath_prepend(tmp_path)
    job = Job("a", import_module("only_here").rows)
    (tmp_path / "only_here.py").unlink()
    with pytest.raises(InputError, match=r"No module named 'only_here'\): install the same version of withinpx there"):
        run_sweep([job], table_in(tmp_path), RayEngine(cluster.address))


def test_an_unreachable_address_is_refused() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    for address in (f"127.0.0.1:{port}", "127.0.0.1:none", "127.0.0.1:99999"):
        with pytest.raises(InputError, match=f"No Ray cluster answers at {address}"):
            next(RayEngine(address).run([Job("a", rows, ("a", (0,)))]))
    with pytest.raises(InputError, match="cannot be used"):
        next(RayEngine("nonsense").run([Job("a", rows, ("a", (0,)))]))


def test_detection_on_a_cluster_equals_detection_on_this_machine(
    cluster: Any, node: Any, tracked: TrackedClip, tmp_path: Path
) -> None:
    clips = [tmp_path / name for name in ("first", "second")]
    for clip in clips:
        clip.symlink_to(tracked.images)
    options = DetectOptions(every=4, overlay=False, device="cpu")
    found = detect_collection(tracked.folder, clips, tmp_path / "out", options, engine=RayEngine(cluster.address))
    assert sorted(row["clip"] for row in found) == [str(clip) for clip in clips]
    before = read_tracks(tracked.folder / "tracks.csv").positions[::4]
    for name in ("first", "second"):
        after = read_tracks(tmp_path / "out" / name / "tracks.csv").positions
        np.testing.assert_allclose(after, before, atol=2e-4)
