"""Counts of all fault tests, printed at the end and, with --torture, written to results/torture.json."""

import time
from collections.abc import Iterator

import pytest

from tests.faults.torture import Torture
from tests.faults.worker import Worker, running_worker

KEY = pytest.StashKey[Torture]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[KEY] = Torture(full=config.getoption("--torture"))


@pytest.fixture(scope="session")
def torture(request: pytest.FixtureRequest) -> Torture:
    return request.config.stash[KEY]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """A separate process for decoders that may crash or hang."""
    with running_worker() as process:
        yield process


@pytest.fixture(autouse=True)
def timed(request: pytest.FixtureRequest, torture: Torture) -> Iterator[None]:
    """The time of a test counts for its module's ROW."""
    began = time.monotonic()
    yield
    torture.seconds[request.module.ROW] += time.monotonic() - began


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """A row with a failed test is not written."""
    broken = call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception)
    if broken and isinstance(item, pytest.Function):
        item.config.stash[KEY].failed.add(item.module.ROW)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    torture = config.stash[KEY]
    if torture.counts or torture.facts:
        terminalreporter.section("faults")
        terminalreporter.write("\n".join(torture.lines()) + "\n")
    if torture.full:
        torture.write()
