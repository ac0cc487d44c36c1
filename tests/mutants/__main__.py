"""``python -m tests.mutants``: run every mutant; exit status 1 if one survives, 2 if tests cannot be run."""

import argparse
import sys
import time
from subprocess import TimeoutExpired

from tests.mutants.all import MUTANTS
from tests.mutants.report import RESULTS, Run, write_report
from tests.mutants.run import NoResultError, Outcome, check_unchanged, project_copy, run_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Every mutant must make a test fail.")
    parser.add_argument("--only", default="", help="only mutants whose name or file contains this; nothing is written")
    parser.add_argument("--workers", type=int, default=2, help="mutants at a time")
    options = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if options.only in mutant.name or options.only in mutant.file]
    if not mutants:
        parser.error(f"no mutant is called {options.only!r}")
    started = time.monotonic()
    try:
        with project_copy() as copy:
            for mutant in mutants:
                mutant.of((copy / "src" / "withinpx" / mutant.file).read_text(encoding="utf-8"))
            print(f"{check_unchanged(copy, mutants):.0f} s: all tests pass without a mutant", flush=True)
            outcomes = run_all(copy, mutants, options.workers, _print)
    except (NoResultError, ValueError, TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return 2
    run = Run(f"python -m tests.mutants --workers {options.workers}", outcomes, time.monotonic() - started)
    survived = [outcome.mutant.name for outcome in outcomes if not outcome.killed]
    print(f"{len(outcomes) - len(survived)} of {len(outcomes)} mutants killed in {run.seconds / 60:.1f} minutes")
    if survived:
        print("survived:", *survived, sep="\n  ")
    if not options.only:
        write_report(run)
        print(f"written: {RESULTS}")
    return int(bool(survived))


def _print(outcome: Outcome) -> None:
    print(f"{outcome.seconds:5.0f} s  {outcome.mutant.name}: {outcome.killed_by or 'SURVIVED'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
