"""How many faults the tests inject, and what came of them, counted in rows of results/torture.json."""

import json
import platform
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from withinpx import __version__

RESULTS = Path(__file__).parents[2] / "results" / "torture.json"

ROWS = {  # what is broken: what must come of it
    "false certificates": "no certified position outside its bound, every planted violation refused by its name",
    "kills": "every kill resumed, no unreadable file, finished work never redone",
    "full disk": "a one-line message, a non-zero exit status, the previous good file intact",
    "resume": "bit-identical to the uninterrupted run",
    "detector files": "no crash, no code run, no silent load",
    "video files": "no crash, no hang over 10 s, every decodable frame with its own time, lost stretches listed",
    "images": "a typed one-line error or the right image",
    "broken loss": "stops within a step, the last good checkpoint kept, the message says what to try",
    "long recording": "memory grows by less than 200 MB, as many rows as frames",
    "studio under load": "no error, status under 200 ms at the 99th percentile, no leaked file or process",
    "studio attacks": "all refused",
    "command line": "never a traceback",
    "audit": "clean",
}


@dataclass
class Torture:
    """The counts of one run of the fault tests."""

    full: bool  # at full length (`make torture`), or the short form
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ROWS, 0.0))
    failed: set[str] = field(default_factory=set)  # rows with a test that failed

    def of(self, short: int, full: int) -> int:
        return full if self.full else short

    def skip_in_short(self, when: bool = True) -> None:
        if when and not self.full:
            pytest.skip("only with --torture")

    def count(self, row: str, **counts: int) -> None:
        """Add to the counts of a row."""
        self._check_row(row)
        self.counts.setdefault(row, Counter()).update(counts)

    def fact(self, row: str, **facts: Any) -> None:
        """Set what is not a count: a maximum, a name, a time."""
        self._check_row(row)
        self.facts.setdefault(row, {}).update(facts)

    def lines(self) -> list[str]:
        return [
            f"{row}: {_listed(known)} ({self.seconds[row]:.0f} s). Expected: {expected}."
            for row, expected in ROWS.items()
            if (known := self.known(row))
        ]

    def known(self, row: str) -> dict[str, Any]:
        return {**self.counts.get(row, {}), **self.facts.get(row, {})}

    def write(self, path: Path = RESULTS) -> None:
        """Update the rows of this run in the file; rows that were not run, or failed, keep their previous values."""
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}
        for row, expected in ROWS.items():
            if row not in self.failed and (known := self.known(row)):
                rows[row] = {
                    "asked": expected,
                    **known,
                    "seconds": round(self.seconds[row]),
                    "version": __version__,
                    "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
                    "date": date.today().isoformat(),
                }
        document = {"command": "make torture", "rows": {row: rows[row] for row in ROWS if row in rows}}
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    @staticmethod
    def _check_row(row: str) -> None:
        assert row in ROWS, f"no row {row!r} in torture.py"


def _listed(known: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in known.items())
