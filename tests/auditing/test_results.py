"""The committed table of planted errors, and what docs/audit.md says of it."""

from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PLANTED = pd.read_csv(ROOT / "results/audit/planted.csv")


def test_everything_provable_is_found_and_nothing_right_is_called_wrong() -> None:
    assert (PLANTED.found == PLANTED.provable).all()
    assert (PLANTED.wrong == 0).all()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("shift", "shifts of 0.5 to 6 bounds"), ("swap", "exchanged identities"), ("drop", "dropped positions")],
)
def test_the_docs_show_the_sums(kind: str, name: str) -> None:
    columns = ["planted", "provable", "found", "found_in_all", "wrong"]
    sums = " | ".join(map(str, PLANTED[PLANTED.kind == kind][columns].sum()))
    assert f"| {name} | {sums} |" in (ROOT / "docs/audit.md").read_text()


def test_the_docs_show_the_clips() -> None:
    own, text = PLANTED[PLANTED.kind == "none"], (ROOT / "docs/audit.md").read_text()
    assert f"{own.certified.sum()} of {own.positions.sum()} positions are certified" in text
    assert f"median bounds {own.bound_px.min():.2f} to {own.bound_px.max():.2f} px" in text
