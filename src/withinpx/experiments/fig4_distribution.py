"""Do errors reach the bound, and do those on the decoder's side follow the Gaussian that the paper predicts?

Cor. 4.2 to 4.5: where the decoder's term limits it, the error "is distributed normally with variance sigma_G^2" around
(s_phi - s_o) / 2. An error is not negative, so the predicted law of a setting is that of |(s_phi - s_o) / 2 + Delta_G|
with Delta_G ~ N(0, sigma_G^2). Only settings are tested whose bound is the decoder's even at four standard deviations:
elsewhere the encoder's term cuts the law off. Each error is mapped through its setting's distribution function; if the
law holds, the results are uniform from 0 to 1, and a Kolmogorov-Smirnov test pools all settings.

Only accepted first starts count: a restart begins closer to the object's centre, and would choose the error itself.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from withinpx.experiments.fig4 import N_SIGMA, NETWORK, ROUNDING

if TYPE_CHECKING:
    from pandas import DataFrame

LEVEL = 0.01  # below it a hypothesis is rejected
NEAR = 1.0  # px; the paper calls errors 1 px below the bound very close to it
SMALLEST_SAMPLE = 20  # runs; fewer have no verdict


@dataclass(frozen=True)
class GaussianTest:
    """Kolmogorov-Smirnov tests of the errors on the decoder's side against the predicted law."""

    runs: int
    settings: int
    statistic: float | None  # the largest distance of the two distribution functions
    p_follows: float | None  # of so large a distance, if the errors follow the law
    p_exceeds: float | None  # of so large an excess of errors above it, if they follow it or lie lower

    @property
    def verdict(self) -> str:
        if self.p_follows is None or self.p_exceeds is None:
            return f"no verdict: fewer than {SMALLEST_SAMPLE} runs"
        if self.p_follows >= LEVEL:
            return "the errors follow the predicted Gaussian, as far as this sample shows"
        if self.p_exceeds >= LEVEL:
            return "the errors do not follow the predicted Gaussian; they are smaller, as a bound allows"
        return "the errors do not follow the predicted Gaussian; more of them are large than it allows"


@dataclass(frozen=True)
class Share:
    """Accepted first starts by their distance from the bound at four standard deviations."""

    runs: int
    on: int  # to the rounding of a position
    near: int  # at most 1 px below it, those on it included


def first_starts(runs: "DataFrame") -> "DataFrame":
    """Accepted first starts, one row per network: those that belong to several panels count once."""
    accepted = runs[runs.accepted]
    if "start" in accepted:
        accepted = accepted[accepted.start == "random"]
    return accepted.drop_duplicates([*NETWORK, "seed"])


def decoder_side(runs: "DataFrame") -> "DataFrame":
    """Those whose bound at four standard deviations is the decoder's."""
    return runs[runs.bound_decoder_mean + N_SIGMA * runs.sigma <= runs.bound_encoder]


def predicted_share(error: Any, mean: Any, sigma: Any) -> Any:
    """The probability of no larger an error under the predicted law."""
    return stats.norm.cdf((error - mean) / sigma) - stats.norm.cdf((-error - mean) / sigma)


def gaussian_test(runs: "DataFrame") -> GaussianTest:
    """Of accepted first starts on the decoder's side, all settings together."""
    tested = decoder_side(first_starts(runs))
    settings = len(tested.groupby(list(NETWORK)))
    if len(tested) < SMALLEST_SAMPLE:
        return GaussianTest(len(tested), settings, None, None, None)
    shares = predicted_share(tested.position_error, tested.bound_decoder_mean, tested.sigma)
    follows, exceeds = (stats.kstest(shares, "uniform", alternative=kind) for kind in ("two-sided", "less"))
    return GaussianTest(len(tested), settings, float(follows.statistic), float(follows.pvalue), float(exceeds.pvalue))


def near_bound(runs: "DataFrame") -> dict[str, Share]:
    """By panel; "encoder" and "decoder" count networks of all panels by the term that limits them."""
    accepted = runs[runs.accepted]
    if "start" in accepted:
        accepted = accepted[accepted.start == "random"]
    once = first_starts(runs)
    decoder = decoder_side(once)
    groups = {f"({name})": own for name, own in accepted.groupby("experiment")}
    return {
        name: _share(own) for name, own in {**groups, "encoder": once.drop(decoder.index), "decoder": decoder}.items()
    }


def describe(runs: "DataFrame") -> list[str]:
    """The section of ``summary.md``."""
    test = gaussian_test(runs)
    lines = [
        "## First starts, the bound and the predicted Gaussian",
        "",
        "Accepted first starts alone. On the bound: to the rounding of a position; near: at most 1 px below. The bound",
        "is that at 4 s.d.; a network is on the decoder's side if the decoder's term limits it even there.",
        "",
        "| panel, or side | accepted first starts | on the bound | on or near it |",
        "| --- | --- | --- | --- |",
        *(f"| {name} | {own.runs} | {own.on} | {own.near} |" for name, own in near_bound(runs).items()),
        "",
        "Null hypothesis: an error on the decoder's side is distributed as \\|(s_phi - s_o) / 2 + Delta_G\\|,",
        "Delta_G ~ N(0, sigma_G^2).",
        f"Sample: {test.runs} networks of {test.settings} settings.",
    ]
    if test.statistic is not None:
        lines.append(
            f"Kolmogorov-Smirnov: D = {test.statistic:.3f}, p = {test.p_follows:.2g}; against larger errors alone, "
            f"p = {test.p_exceeds:.2g}."
        )
    return [*lines, f"Verdict at the level {LEVEL:g}: {test.verdict}."]


def as_json(runs: "DataFrame") -> dict[str, Any]:
    """The same as numbers."""
    test = gaussian_test(runs)
    shares = {name: asdict(share) for name, share in near_bound(runs).items()}
    return {"near_bound": shares, "gaussian": {**asdict(test), "verdict": test.verdict}}


def _share(runs: "DataFrame") -> Share:
    bound = np.minimum(runs.bound_encoder, runs.bound_decoder_mean + N_SIGMA * runs.sigma)
    below = np.round(bound - runs.position_error, 6)
    return Share(len(runs), int((below <= ROUNDING).sum()), int((below <= NEAR + ROUNDING).sum()))
