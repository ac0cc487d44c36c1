"""One object over time as an SVG chart: its residual, and whether its position is certified."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_STEPS = 450  # horizontal positions that a screen can resolve
WIDTH, LEFT, RIGHT = 900, 62, 890  # units of the chart
TOP, BASE, STRIP, STRIP_HEIGHT, LABELS, HEIGHT = 14, 88, 98, 16, 129, 134
TICKS = 6
STATES = ("certified", "absent", "refused")  # the worst last
INSETS = (4, 6, 0)  # refused frames stand out by their height too


@dataclass(frozen=True)
class Course:
    """One object over the frames."""

    frames: NDArray[np.int64]  # (f,), frame numbers in the recording
    residual_px: NDArray[np.float64]  # (f,), NaN where the object is absent
    states: NDArray[np.int64]  # (f,), indices of STATES
    limit_px: float  # the largest residual that is certified
    colour: str

    @property
    def frames_per_step(self) -> int:
        """Frames that share a step of the chart, which shows the worst of them."""
        return -(-len(self.frames) // MOST_STEPS)


def strip_chart(course: Course) -> str:
    """SVG: the residual as a line, its limit as a dashed line, and a strip of verdicts below."""
    starts = np.arange(0, len(course.frames), course.frames_per_step)  # the first row of each step
    largest = np.fmax.reduceat(course.residual_px, starts)  # ignores NaN
    worst = np.maximum.reduceat(course.states, starts)
    x = LEFT + (RIGHT - LEFT) * np.arange(len(starts) + 1) / len(starts)  # the edges of each step
    # the limit always fits, and one outlier does not flatten the rest
    highest = max(1.3 * course.limit_px, min(1.1 * np.fmax.reduce(largest, initial=0), 3 * course.limit_px), 1e-6)
    y = BASE - (BASE - TOP) * np.minimum(largest / highest, 1)
    limit = BASE - (BASE - TOP) * course.limit_px / highest
    rows = [*starts.tolist(), len(course.frames)]
    parts = [
        f'<line class="axis" x1="{LEFT}" y1="{BASE}" x2="{RIGHT}" y2="{BASE}"/>',
        f'<line class="limit" x1="{LEFT}" y1="{limit:.1f}" x2="{RIGHT}" y2="{limit:.1f}"/>',
        _text(RIGHT, limit - 4, "end", f"limit {course.limit_px:.2f} px"),
        _text(LEFT - 6, BASE + 4, "end", "0.0 px"),
        _text(LEFT - 6, limit + 4, "end", f"{course.limit_px:.1f} px"),
        _text(LEFT - 6, STRIP + STRIP_HEIGHT - 4, "end", "verdict"),
        *_line((x[:-1] + x[1:]) / 2, y, course.colour),
        *_strip(x, worst, course.frames, rows),
        *_ticks(course.frames, (x[1] - x[0]) / course.frames_per_step),
    ]
    box = f"0 0 {WIDTH} {HEIGHT}"
    return f'<svg viewBox="{box}" role="img" aria-label="residual over frames">{"".join(parts)}</svg>'


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _runs(values: NDArray[np.generic]) -> Iterator[tuple[int, int]]:
    """First index and end of each run of equal values."""
    changes = (np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()
    yield from zip([0, *changes], [*changes, len(values)], strict=True)


def _line(x: NDArray[np.float64], y: NDArray[np.float64], colour: str) -> Iterator[str]:
    """A gap where the object is absent, a dot where a step has no neighbour."""
    for start, end in _runs(np.isnan(y)):
        if np.isnan(y[start]):
            continue
        if end == start + 1:
            yield f'<circle cx="{x[start]:.1f}" cy="{y[start]:.1f}" r="1.6" fill="{colour}"/>'
        else:
            points = " ".join(f"{x[step]:.1f},{y[step]:.1f}" for step in range(start, end))
            yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


def _strip(
    x: NDArray[np.float64], worst: NDArray[np.int64], frames: NDArray[np.int64], rows: list[int]
) -> Iterator[str]:
    """Spans of equal verdicts."""
    for start, end in _runs(worst):
        state, inset = STATES[worst[start]], INSETS[worst[start]]
        first, last = frames[rows[start]], frames[rows[end] - 1]
        span = f"frame {first}" if first == last else f"frames {first} to {last}"
        yield (
            f'<rect class="{state}" x="{x[start]:.2f}" y="{STRIP + inset}" width="{x[end] - x[start]:.2f}" '
            f'height="{STRIP_HEIGHT - 2 * inset}"><title>{span}: {state}</title></rect>'
        )


def _ticks(frames: NDArray[np.int64], width: float) -> Iterator[str]:
    """Frame numbers; ``width`` is that of one frame."""
    last = len(frames) - 1
    for row in np.unique(np.linspace(0, last, min(TICKS, last + 1)).round().astype(int)).tolist():
        if row == 0:
            yield _text(LEFT, LABELS, "start", f"frame {frames[row]}")
        elif row == last:
            yield _text(RIGHT, LABELS, "end", f"{frames[row]}")
        else:
            yield _text(LEFT + width * (row + 0.5), LABELS, "middle", f"{frames[row]}")
