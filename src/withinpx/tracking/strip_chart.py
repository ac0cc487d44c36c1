"""One object over time, as a drawing in a page: how far off it is drawn, and where its position is certified."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

MOST_STEPS = 450  # that a screen can show beside each other
WIDTH, LEFT, RIGHT = 900, 62, 10  # units of the drawing
TOP, TALL, GAP, STRIP, BOTTOM = 14, 74, 10, 16, 20
TICKS = 6


class State(StrEnum):
    """Of an object in a frame."""

    CERTIFIED = "certified"
    ABSENT = "absent"
    REFUSED = "refused"


WORST = (State.CERTIFIED, State.ABSENT, State.REFUSED)  # the last one of a step is shown


@dataclass(frozen=True)
class Course:
    """One object over the frames."""

    frames: NDArray[np.int64]  # (f,), their numbers in the recording
    residual_px: NDArray[np.float64]  # (f,), nan where there is none
    states: tuple[State, ...]  # (f,)
    limit_px: float  # the largest residual that is certified
    colour: str

    @property
    def frames_per_step(self) -> int:
        """How many frames share a place on the screen; the worst of them is shown."""
        return -(-len(self.frames) // MOST_STEPS)

    @property
    def steps(self) -> int:
        """Places on the screen."""
        return -(-len(self.frames) // self.frames_per_step)

    def rows_of(self, step: int) -> slice:
        """The frames of a step."""
        return slice(step * self.frames_per_step, (step + 1) * self.frames_per_step)


def strip_chart(course: Course) -> str:
    """As SVG: the residual as a line, its limit as a dashed one, and a strip of verdicts below."""
    height = TOP + TALL + GAP + STRIP + BOTTOM
    parts = [*_axes(course), *_line(course), *_strip(course), *_ticks(course)]
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="residual over frames">{"".join(parts)}</svg>'


def _x(step: float, course: Course) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * step / course.steps


def _highest(course: Course) -> float:
    """What the top of the chart stands for: the limit always fits, and one bad frame does not flatten the others."""
    known = course.residual_px[np.isfinite(course.residual_px)]
    largest = float(known.max()) if len(known) else 0.0
    return max(1.3 * course.limit_px, min(1.1 * largest, 3 * course.limit_px), 1e-6)


def _y(residual: float, course: Course) -> float:
    return TOP + TALL * (1 - min(residual / _highest(course), 1.0))


def _axes(course: Course) -> Iterator[str]:
    limit, right = _y(course.limit_px, course), WIDTH - RIGHT
    yield f'<line class="axis" x1="{LEFT}" y1="{TOP + TALL}" x2="{right}" y2="{TOP + TALL}"/>'
    yield f'<line class="limit" x1="{LEFT}" y1="{limit:.1f}" x2="{right}" y2="{limit:.1f}"/>'
    yield f'<text x="{right}" y="{limit - 4:.1f}" text-anchor="end">limit {course.limit_px:.2f} px</text>'
    for value, y in ((0.0, TOP + TALL), (course.limit_px, limit)):
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.1f} px</text>'
    yield f'<text x="{LEFT - 6}" y="{TOP + TALL + GAP + STRIP - 4}" text-anchor="end">verdict</text>'


def _line(course: Course) -> Iterator[str]:
    """The largest residual of each step; a break where the object is not there, a dot where it is there but once."""
    points: list[tuple[float, float] | None] = []
    for step in range(course.steps):
        some = course.residual_px[course.rows_of(step)]
        known = some[np.isfinite(some)]
        points.append((_x(step + 0.5, course), _y(float(known.max()), course)) if len(known) else None)
    for there, run in groupby(points, key=lambda point: point is not None):
        line = [point for point in run if point is not None]
        if there and len(line) == 1:
            yield f'<circle cx="{line[0][0]:.1f}" cy="{line[0][1]:.1f}" r="1.6" fill="{course.colour}"/>'
        elif there:
            places = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
            yield f'<polyline points="{places}" fill="none" stroke="{course.colour}" stroke-width="1.6"/>'


def _strip(course: Course) -> Iterator[str]:
    """Stretches of equal verdicts; refused ones stand out by their height too, for who cannot tell the colours."""
    states = [max(course.states[course.rows_of(step)], key=WORST.index) for step in range(course.steps)]
    start = 0
    for state, run in groupby(states):
        end = start + len(list(run))
        x, wide = _x(start, course), _x(end, course) - _x(start, course)
        inset = {State.REFUSED: 0, State.CERTIFIED: 4, State.ABSENT: 6}[state]
        first, last = course.frames[course.rows_of(start)][0], course.frames[course.rows_of(end - 1)][-1]
        which = f"frame {first}" if first == last else f"frames {first} to {last}"
        yield (
            f'<rect class="{state}" x="{x:.2f}" y="{TOP + TALL + GAP + inset}" width="{wide:.2f}" '
            f'height="{STRIP - 2 * inset}"><title>{which}: {state}</title></rect>'
        )
        start = end


def _ticks(course: Course) -> Iterator[str]:
    rows = np.unique(np.linspace(0, len(course.frames) - 1, min(TICKS, len(course.frames))).round().astype(int))
    for row in rows.tolist():
        x = _x((row + 0.5) / course.frames_per_step, course)
        first, last = row == 0, row == len(course.frames) - 1
        label = f"frame {course.frames[row]}" if first else f"{course.frames[row]}"
        anchor = "start" if first else "end" if last else "middle"
        x = LEFT if first else WIDTH - RIGHT if last else x
        yield f'<text x="{x:.1f}" y="{TOP + TALL + GAP + STRIP + 15}" text-anchor="{anchor}">{label}</text>'
