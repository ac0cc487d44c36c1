"""The demo's sentence, from the network that the tests train anyway."""

from pathlib import Path

from withinpx.experiments.demo import Seen, draw, sentence
from withinpx.experiments.synthetic import SquaresRun, evaluate
from withinpx.model.autoencoder import Autoencoder


def test_it_says_where_how_far_off_it_can_be_and_how_far_off_it_was(
    tmp_path: Path, tiny_run: SquaresRun, tiny_model: Autoencoder
) -> None:
    found, seen = evaluate(tiny_model, tiny_run), Seen(tiny_model, tiny_run)
    said = sentence(seen, found)
    x, y = seen.truth[seen.example]
    assert f"at ({x:.1f}, {y:.1f}) px" in said
    assert f"at most {found.bound:g} px off" in said
    assert f"at most {found.position_error:.1f} px off" in said
    assert "discarded" not in said
    assert draw(tmp_path / "demo.png", seen, tiny_run, found).stat().st_size > 10_000
