"""The experiments on rendered scenes in sentences, by recipe."""

from collections.abc import Sequence

import numpy as np

from withinpx.experiments.clevr import WITHINPX, errors_in
from withinpx.experiments.table import RunTable


def summarise(table: RunTable, experiments: Sequence[str]) -> list[str]:
    """One line for each experiment and recipe, and one for each other detector."""
    lines = []
    rows = list(zip(errors_in(table), table.rows, strict=True))
    for experiment in experiments:
        for recipe in ("ours", "paper"):
            own = [
                (error, row)
                for error, row in rows
                if (error.method, error.recipe, error.setting.experiment) == (WITHINPX, recipe, experiment)
            ]
            if not own:
                continue
            learned = [error for error, _ in own if error.learned]
            runs = {(error.setting, error.seed) for error, _ in own}
            whole = runs - {(error.setting, error.seed) for error, _ in own if not error.learned}
            medians = [float(row["calibrated_median"]) for error, row in own if error.learned]
            lines.append(
                f"{experiment}, {recipe}: {len(learned)} of {len(own)} objects learned, all of them in {len(whole)} of "
                f"{len(runs)} runs; {sum(error.inside for error in learned)} of {len(learned)} errors inside the bound "
                f"at 2 s.d., the largest {_largest([error.position for error in learned])} px; calibrated, median "
                f"{np.median(medians) if medians else float('nan'):.2f} px, the largest "
                f"{_largest([error.calibrated for error in learned if error.calibrated is not None])} px"
            )
    for method in sorted({error.method for error, _ in rows} - {WITHINPX}):
        own_errors = [error for error, _ in rows if error.method == method]
        kept = [error for error in own_errors if error.learned]
        lines.append(
            f"{method}: {len(kept)} of {len(own_errors)} errors within 35 px, "
            f"{sum(error.inside for error in kept)} inside the bound at 2 s.d., the largest "
            f"{_largest([error.position for error in kept])} px"
        )
    return lines


def _largest(values: Sequence[float]) -> str:
    return f"{max(values):.2f}" if values else "none"
