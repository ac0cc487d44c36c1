"""The counts of all fault tests, printed at the end and, with --torture, kept in results/torture.json."""

import time
from collections.abc import Iterator

import pytest

from tests.faults.torture import Torture

KEY = pytest.StashKey[Torture]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[KEY] = Torture(full=config.getoption("--torture"))


@pytest.fixture(scope="session")
def torture(request: pytest.FixtureRequest) -> Torture:
    return request.config.stash[KEY]


@pytest.fixture(autouse=True)
def timed(request: pytest.FixtureRequest, torture: Torture) -> Iterator[None]:
    """A module's ROW has the time of its tests."""
    began = time.monotonic()
    yield
    torture.seconds[request.module.ROW] += time.monotonic() - began


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """A row with a test that failed is not kept."""
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
