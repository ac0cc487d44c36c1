"""Progress on a terminal and in a log, and the time left in a training."""

import io
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from withinpx.tracking.progress import LINE_EVERY_S, Display, Event, Pace, TrainingEvents, reporting
from withinpx.training.log import Epoch
from withinpx.training.recipe import CLIP


class FakeClock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=160, force_terminal=terminal, highlight=False, soft_wrap=True)


def printed(shown: Console) -> list[str]:
    assert isinstance(shown.file, io.StringIO)
    return shown.file.getvalue().splitlines()


def test_a_log_gets_a_line_every_few_seconds(clock: FakeClock) -> None:
    log = console(terminal=False)
    display = Display(log, clock)
    for epoch in range(1, 81):
        clock.now += 1
        display(Event("training", epoch, 80, "loss 1e-3"))
    display.close()
    lines = printed(log)
    assert len(lines) == 80 / LINE_EVERY_S
    assert lines[0] == "withinpx: training epoch 1 of 80, 0:00:01"  # nothing is known of its pace yet
    assert lines[1] == "withinpx: training epoch 6 of 80, 0:00:06, about 0:01:14 left"


def test_what_ends_within_a_second_leaves_no_line(clock: FakeClock) -> None:
    log = console(terminal=False)
    display = Display(log, clock)
    clock.now += 0.5
    display(Event("reading", 3))
    display.close()
    assert printed(log) == []


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Event("reading"), "reading, 0:00:02"),
        (Event("reading", 512), "reading frame 512, 0:00:02"),
        (Event("inspecting", 3, 7), "inspecting 3 of 7, 0:00:02"),
        (Event("warm start", 10, 100, remaining_s=70.4), "warm start step 10 of 100, 0:00:02, about 0:01:10 left"),
        (Event("detecting", 40, 80), "detecting frame 40 of 80, 0:00:02"),
        (Event("writing", 1, 2), "writing 1 of 2, 0:00:02"),
    ],
)
def test_every_stage_has_its_line(clock: FakeClock, event: Event, words: str) -> None:
    log = console(terminal=False)
    display = Display(log, clock)
    clock.now += 2
    display(event)
    assert printed(log) == [f"withinpx: {words}"]


def test_lines_go_on_while_no_event_arrives(clock: FakeClock) -> None:
    log = console(terminal=False)
    display = Display(log, clock)
    display(Event("training", 1, 4, remaining_s=60.0))
    for _ in range(12):
        clock.now += 1
        display.print_line_if_due()
    assert printed(log) == [
        "withinpx: training epoch 1 of 4, 0:00:01, about 0:00:59 left",
        "withinpx: training epoch 1 of 4, 0:00:06, about 0:00:54 left",
        "withinpx: training epoch 1 of 4, 0:00:11, about 0:00:49 left",
    ]


def test_the_first_estimate_does_not_wait_for_the_next_line(clock: FakeClock) -> None:
    log = console(terminal=False)
    display = Display(log, clock)
    for step, remaining_s in enumerate((None, 59.0, 58.0), start=1):
        clock.now += 1
        display(Event("warm start", step, 60, remaining_s=remaining_s))
    assert printed(log) == [
        "withinpx: warm start step 1 of 60, 0:00:01",
        "withinpx: warm start step 2 of 60, 0:00:02, about 0:00:59 left",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_messages_are_printed_at_once(clock: FakeClock, terminal: bool) -> None:
    shown = console(terminal)
    display = Display(shown, clock)
    display(Event("inspecting", message="3 moving objects [sic]."))
    display.close()
    assert "withinpx: 3 moving objects [sic]." in printed(shown)


def test_a_terminal_gets_bars_from_the_first_event_on(clock: FakeClock) -> None:
    shown = console(terminal=True)
    display = Display(shown, clock)
    display(Event("reading"))
    display(Event("inspecting", 3, 7))
    clock.now += 2
    display(Event("inspecting", 4, 7))
    display(Event("training", 12, 80, "loss 1e-3", remaining_s=190.0))
    display.close()
    text = "\n".join(printed(shown))
    for words in ("reading", "inspecting", "4/7", "about 0:00:06 left", "12/80", "loss 1e-3", "about 0:03:10 left"):
        assert words in text
    assert "withinpx:" not in text


def test_pace_does_not_count_the_first_step(clock: FakeClock) -> None:
    pace = Pace(clock)
    clock.now += 30
    assert pace.remaining_s(1, 9) is None
    clock.now += 2
    assert pace.remaining_s(2, 8) == 16
    clock.now += 4
    assert pace.remaining_s(3, 7) == 21
    assert pace.remaining_s(1, 9) is None  # begun anew


def test_the_time_left_covers_the_warm_start_and_all_epochs(clock: FakeClock) -> None:
    events: list[Event] = []
    training = TrainingEvents(events.append, clock)
    engine: Any = SimpleNamespace(latest_z=range(50))
    recipe = replace(CLIP, epochs=10, batch_size=16, warm_start_steps=4)  # three steps an epoch
    training.on_start(engine, 0)
    for step in range(1, 5):
        clock.now += 2
        training.on_warm_start_step(step, recipe)
    assert [event.remaining_s for event in events] == [None, 2 * 32, 2 * 31, 2 * 30]
    clock.now += 6
    training.on_epoch(Epoch(1, 0.1, 0.9, 0.0), recipe)
    assert events[-1] == Event("training", 1, 10, "loss 1.0e-01, accuracy 90.00%", 2 * 27)
    clock.now += 2
    training.on_warm_start_step(1, replace(recipe, warm_start_steps=2))  # a restart of lost heatmaps
    assert events[-1].remaining_s == pytest.approx(2 * 28)
    training.on_start(engine, 1)
    training.on_warm_start_step(1, recipe)
    assert events[-1].remaining_s is None


def test_a_function_receives_events_and_false_none() -> None:
    events: list[Event] = []
    with reporting(events.append) as report:
        report(Event("reading", 1))
    assert events == [Event("reading", 1)]
    with reporting(False) as report:
        report(Event("reading", 1))


def test_progress_is_shown_before_torch_is_loaded() -> None:
    code = "import sys, withinpx.cli.track, withinpx.tracking.progress; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)  # noqa: S603
