"""What ``track`` tried on a clip: every hypothesis, and what became of it. Written to ``run.json``."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from withinpx.discovery.hypotheses import Hypothesis
from withinpx.errors import InputError
from withinpx.files import write_json
from withinpx.training.detector_folder import RUN_CONFIG, read_run_config

HYPOTHESES = "hypotheses"  # key of run.json


@dataclass(frozen=True)
class AttemptRecord:
    """One training."""

    seed: int
    because: str  # why it was tried
    verdict: str
    seconds: float


@dataclass(frozen=True)
class HypothesisRecord:
    """One hypothesis; those that were never tried have no attempts."""

    objects: int
    unordered: bool
    score: float
    explained: float
    why: str
    attempts: tuple[AttemptRecord, ...] = ()
    chosen: bool = False

    @classmethod
    def of(cls, hypothesis: Hypothesis) -> "HypothesisRecord":
        score, explained = (round(float(value), 4) for value in (hypothesis.score, hypothesis.explained))
        return cls(len(hypothesis.objects), hypothesis.unordered, score, explained, hypothesis.why)

    def with_attempt(self, attempt: AttemptRecord) -> "HypothesisRecord":
        return replace(self, attempts=(*self.attempts, attempt))


Records = tuple[HypothesisRecord, ...]


def write_records(folder: Path, records: Sequence[HypothesisRecord]) -> None:
    """Add the hypotheses to a run's ``run.json``."""
    write_json(folder / RUN_CONFIG, {**read_run_config(folder), HYPOTHESES: [asdict(record) for record in records]})


def read_records(folder: Path) -> Records:
    """The hypotheses of a run; none if it has no ``run.json``, or one of an earlier version."""
    try:
        content: list[dict[str, Any]] = read_run_config(folder).get(HYPOTHESES, [])
        return tuple(
            HypothesisRecord(**{**one, "attempts": tuple(AttemptRecord(**attempt) for attempt in one["attempts"])})
            for one in content
        )
    except (InputError, AttributeError, KeyError, TypeError):
        return ()
