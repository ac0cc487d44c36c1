"""The mutants are of this source, and the committed table is of these mutants."""

import csv
from pathlib import Path

import pytest

from tests.mutants.all import MUTANTS
from tests.mutants.mutant import SOURCE, Mutant
from tests.mutants.report import RESULTS
from tests.mutants.run import ROOT, run_one

NAMED = (  # which passed all tests before there was this list
    "`drift` is always met",
    "`equivariance` is always met",
    "the gate adds nothing to the receptive field",
    "training sees the kept-out frames",
    "the rendered size range collapses to its smallest",
)


def source_of(mutant: Mutant) -> str:
    return (ROOT / SOURCE / mutant.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_of_the_source_and_names_its_tests(mutant: Mutant) -> None:
    source = source_of(mutant)
    changed = mutant.of(source)
    assert changed != source
    compile(changed, mutant.file, "exec")
    assert all((ROOT / "tests" / test).is_file() for test in mutant.tests)


def test_a_text_that_is_not_in_the_source_once_is_refused() -> None:
    for old in ("no such text", "return"):
        with pytest.raises(ValueError, match="not once"):
            Mutant("wrong", "theory/bound.py", old, "", ()).of((ROOT / SOURCE / "theory/bound.py").read_text())


def test_the_committed_table_is_of_these_mutants_and_all_are_killed() -> None:
    with (RESULTS / "mutants.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["mutant"], row["file"]) for row in rows] == [(mutant.name, mutant.file) for mutant in MUTANTS]
    assert {row["killed"] for row in rows} == {"1"}
    assert set(NAMED) <= {row["mutant"] for row in rows}
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40


def test_a_killed_mutant_names_the_test_that_failed_and_a_harmless_change_survives(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / SOURCE).mkdir(parents=True)
    (project / "tests").mkdir()
    (project / SOURCE / "__init__.py").write_text("ANSWER = 42  # the answer\n")
    (project / "tests" / "test_answer.py").write_text(
        "from withinpx import ANSWER\n\n\ndef test_answer() -> None:\n    assert ANSWER == 42\n"
    )
    tests = ("test_answer.py",)
    weaker = run_one(project, Mutant("weaker", "__init__.py", "42", "41", tests))
    assert weaker.killed_by == "tests/test_answer.py::test_answer"
    harmless = run_one(project, Mutant("harmless", "__init__.py", "the answer", "an answer", tests))
    assert not harmless.killed
    assert (project / SOURCE / "__init__.py").read_text() == "ANSWER = 42  # the answer\n"
