"""Run the tests against mutants in temporary copies of the project; the working tree is only read."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import SOURCE, Mutant

ROOT = Path(__file__).parents[2]
PARTS = ("src", "tests", "pyproject.toml")  # of the project, which the tests need
LONGEST_S = 300.0  # for the tests of one mutant; one that hangs is no result
PASSED, FAILED = 0, 1  # pytest's exit status; any other means that tests could not be run


@dataclass(frozen=True)
class Outcome:
    """What the tests made of one mutant."""

    mutant: Mutant
    killed_by: str  # the test that failed; empty if none did
    seconds: float

    @property
    def killed(self) -> bool:
        return bool(self.killed_by)


class NoResultError(Exception):
    """The tests could not be run, or fail without a mutant."""


@contextmanager
def project_copy() -> Iterator[Path]:
    """The parts of the project that tests need, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="withinpx-mutants-") as folder:
        copy = Path(folder) / "unchanged"
        copy.mkdir()
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy2(source, copy / part)
        yield copy


def check_unchanged(copy: Path, mutants: Sequence[Mutant]) -> float:
    """The tests must pass without a mutant, and on the copy; seconds."""
    imported = subprocess.run(
        [sys.executable, "-c", "import withinpx; print(withinpx.__file__)"],
        env=_environment(copy),
        cwd=copy,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if Path(imported).resolve().parent != (copy / SOURCE).resolve():
        raise NoResultError(f"the tests would not run the copy but {imported}")
    started = time.monotonic()
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    status, output = _run_tests(copy, tests, longest_s=LONGEST_S * len(tests))
    if status != PASSED:
        raise NoResultError(f"the tests fail without a mutant:\n{output}")
    return time.monotonic() - started


def run_all(
    copy: Path, mutants: Sequence[Mutant], workers: int, on_outcome: Callable[[Outcome], None]
) -> list[Outcome]:
    """All outcomes, in the order of the mutants."""

    def judged(mutant: Mutant) -> Outcome:
        outcome = run_one(copy, mutant)
        on_outcome(outcome)
        return outcome

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(judged, mutants))


def run_one(copy: Path, mutant: Mutant) -> Outcome:
    """The tests of one mutant, in a copy of its own; compiled files of the unchanged copy are used again."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=copy.parent) as folder:
        own = Path(folder) / "mutant"
        shutil.copytree(copy, own)
        mutant.apply(own)
        status, output = _run_tests(own, mutant.tests, longest_s=LONGEST_S)
    failed = re.search(r"^FAILED (\S+)", output, re.MULTILINE)
    if status not in (PASSED, FAILED) or (status == FAILED and failed is None):
        raise NoResultError(f"the tests of mutant '{mutant.name}' could not be run:\n{output}")
    return Outcome(mutant, failed[1] if failed else "", time.monotonic() - started)


def _run_tests(root: Path, tests: Sequence[str], longest_s: float) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rf", "--tb=no", "-p", "no:cacheprovider"]
    done = subprocess.run(  # noqa: S603
        [*command, *(f"tests/{test}" for test in tests)],
        env=_environment(root),
        cwd=root,
        capture_output=True,
        text=True,
        timeout=longest_s,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}
