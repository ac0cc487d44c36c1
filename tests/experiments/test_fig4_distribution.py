"""The test of the predicted Gaussian, and the shares near the bound, on rows whose answer is known."""

import numpy as np
import pytest
from pandas import DataFrame

from withinpx.experiments.fig4_distribution import (
    decoder_side,
    describe,
    first_starts,
    gaussian_test,
    near_bound,
    predicted_share,
)

SIGMA, MEAN = 0.8, 4.0


def runs(errors: list[float], **changes: object) -> DataFrame:
    """Accepted first starts at encoder 31, decoder 17, object 9: the encoder's term, 19 px, is far away."""
    columns: dict[str, object] = {
        "experiment": "b",
        "encoder_rf": 31,
        "decoder_rf": 17,
        "object_size": 9,
        "sigma": SIGMA,
        "seed": range(len(errors)),
        "accepted": True,
        "position_error": errors,
        "bound_encoder": 19.0,
        "bound_decoder_mean": MEAN,
        "start": "random",
    }
    return DataFrame({**columns, **changes})


def gaussian(count: int, mean: float = MEAN, sigma: float = SIGMA) -> list[float]:
    return [float(error) for error in np.abs(np.random.default_rng(0).normal(mean, sigma, count))]


def test_errors_drawn_from_the_law_follow_it() -> None:
    test = gaussian_test(runs(gaussian(400)))
    assert (test.runs, test.settings) == (400, 1)
    assert test.p_follows is not None
    assert test.p_follows > 0.05
    assert "follow the predicted Gaussian, as far" in test.verdict


def test_the_law_of_a_decoder_of_the_object_s_size_is_folded_at_zero() -> None:
    errors = gaussian(400, mean=0.0)
    assert "as far" in gaussian_test(runs(errors, bound_decoder_mean=0.0, decoder_rf=9)).verdict
    assert predicted_share(0.0, 0.0, 1.0) == 0
    assert predicted_share(1.0, 0.0, 1.0) == pytest.approx(0.6827, abs=1e-4)
    assert predicted_share(9.0, 8.0, 1.0) == pytest.approx(0.8413, abs=1e-4)


@pytest.mark.parametrize(
    ("mean", "sigma", "verdict"),
    [(MEAN - 2, SIGMA, "smaller, as a bound allows"), (MEAN + 0.5, SIGMA, "more of them are large"),
     (MEAN, 2 * SIGMA, "more of them are large")],
)  # fmt: skip
def test_errors_of_another_law_do_not(mean: float, sigma: float, verdict: str) -> None:
    assert verdict in gaussian_test(runs(gaussian(400, mean, sigma))).verdict


def test_whole_pixels_alone_are_not_the_gaussian() -> None:
    assert "do not follow" in gaussian_test(runs([round(error) for error in gaussian(400)])).verdict


def test_few_runs_have_no_verdict() -> None:
    assert "no verdict" in gaussian_test(runs(gaussian(10))).verdict
    assert "no verdict" in gaussian_test(runs([])).verdict


def test_restarts_discarded_runs_and_shared_networks_do_not_count() -> None:
    first = runs([4.0, 4.0, 4.0], start=["random", "aside", "random"], accepted=[True, True, False])
    assert len(first_starts(first)) == 1
    twice = runs([4.0, 4.0], seed=[3, 3], experiment=["b", "c"])
    assert len(first_starts(twice)) == 1
    assert {name: share.runs for name, share in near_bound(twice).items()} == {
        "(b)": 1,
        "(c)": 1,
        "encoder": 0,
        "decoder": 1,
    }


def test_settings_that_the_encoder_cuts_off_are_not_tested() -> None:
    assert len(decoder_side(runs([4.0, 4.0], bound_encoder=[7.2, 7.1]))) == 1  # 4 + 4 * 0.8 = 7.2


def test_shares_on_and_near_the_bound() -> None:
    encoder = runs([8.0, 8.0001, 7.5, 7.0, 6.9], bound_encoder=8.0, bound_decoder_mean=8.0)
    share = near_bound(encoder)["encoder"]
    assert (share.runs, share.on, share.near) == (5, 2, 4)
    assert any("| encoder | 5 | 2 | 4 |" in line for line in describe(encoder))
