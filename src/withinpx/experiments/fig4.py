"""Figure 4: the four experiments on squares, as data. 78 settings, 20 seeds each."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from withinpx.errors import InputError
from withinpx.experiments.table import RunTable
from withinpx.jobs.job import Job, Row
from withinpx.theory.bound import decoder_term, encoder_term

EPOCHS = 500  # app. C.1
SEEDS = 20
QUICK_SEEDS = 2
N_SIGMA = 4  # the paper's runs all lie within four standard deviations (sec. 5.1)
ROUNDING = 1e-4  # px; what a float32 position may be off by

NETWORK = ("encoder_rf", "decoder_rf", "object_size", "sigma")
KEY = ("experiment", *NETWORK, "seed")
COLUMNS = (
    *KEY,
    "epochs",
    "reconstruction_accuracy",
    "accepted",
    "position_error",
    "calibrated_error",
    "bound_encoder",
    "bound_decoder_mean",
)  # a table may have more columns after these


@dataclass(frozen=True)
class Setting:
    """One place on one of the four horizontal axes."""

    experiment: str  # a, b, c or d
    encoder_rf: int
    decoder_rf: int
    object_size: int
    sigma: float

    @property
    def bound_encoder(self) -> float:
        """The theorem's first term, px."""
        return encoder_term(self.encoder_rf, self.object_size)

    @property
    def bound_decoder_mean(self) -> float:
        """The theorem's second term for Delta_G = 0, px; below zero where the decoder is smaller than the object."""
        return decoder_term(self.decoder_rf, self.object_size, 0)

    def bound(self, n_sigma: float = N_SIGMA) -> float:
        """Theorem 4.1 at so many standard deviations, px."""
        return min(self.bound_encoder, self.bound_decoder_mean + n_sigma * self.sigma)

    @property
    def network(self) -> tuple[int, int, int, float]:
        """What is trained, whichever experiment asks for it."""
        return self.encoder_rf, self.decoder_rf, self.object_size, self.sigma

    @property
    def name(self) -> str:
        """For people."""
        sizes = f"encoder {self.encoder_rf}, decoder {self.decoder_rf}, object {self.object_size}"
        return f"({self.experiment}) {sizes}, sigma {self.sigma:g}"

    def columns(self, seed: int) -> dict[str, Any]:
        """The key of a run."""
        return {**asdict(self), "seed": seed}


@dataclass(frozen=True)
class Experiment:
    """One panel: ``variable`` takes ``values``, the rest stays as in ``fixed``."""

    letter: str
    variable: str  # a field of Setting
    axis: str  # what the horizontal axis says
    fixed: Setting
    values: tuple[float, ...]
    quick: tuple[float, ...]  # a few of them, for a first look


@dataclass(frozen=True)
class Run:
    """One row of the table, as numbers."""

    setting: Setting
    seed: int
    accepted: bool
    error: float  # max |z - truth|, px
    calibrated: float  # max |z + shift - truth|, px
    start: str = ""  # how it began, if the table says so

    def inside(self, n_sigma: float = N_SIGMA) -> bool:
        """Is the error within the bound at so many standard deviations?"""
        return self.error <= round(self.setting.bound(n_sigma) + ROUNDING, 6)  # as decimals: 3.2001 may be in a table


def _odd(last: int) -> tuple[float, ...]:
    return tuple(range(1, last + 1, 2))


_FIRST_SIGMAS = tuple(round(0.1 * step, 1) for step in range(1, 22))  # 0.1 to 2.1
_LAST_SIGMAS = tuple(0.25 * step for step in range(9, 21))  # 2.25 to 5
_ABC = Setting("", encoder_rf=9, decoder_rf=25, object_size=9, sigma=0.8)
_D = Setting("", encoder_rf=9, decoder_rf=11, object_size=7, sigma=0.8)

EXPERIMENTS = {
    each.letter: each
    for each in (
        Experiment("a", "encoder_rf", "encoder receptive field (px)", _ABC, _odd(31), (3, 9, 17)),
        Experiment("b", "decoder_rf", "decoder receptive field (px)", _ABC, _odd(31), (15, 19, 25)),
        Experiment("c", "object_size", "object size (px)", _ABC, _odd(25), (3, 9, 13)),
        Experiment("d", "sigma", "Gaussian s.d. (px)", _D, (*_FIRST_SIGMAS, *_LAST_SIGMAS), (0.4, 0.8, 1.2)),
    )
}


def chosen(letters: Iterable[str], quick: bool = False, only: Sequence[float] = ()) -> list[Experiment]:
    """Experiments by their letters; quick ones have a few values each, and ``only`` picks some of any."""
    experiments = [EXPERIMENTS[letter] for letter in letters]
    if quick:
        experiments = [replace(each, values=each.quick) for each in experiments]
    for each in experiments:
        if unknown := sorted(set(only) - set(each.values)):
            known = ", ".join(f"{value:g}" for value in each.values)
            raise InputError(f"Panel ({each.letter}) has no value {unknown[0]:g}: its values are {known}.")
    return [replace(each, values=tuple(only)) for each in experiments] if only else experiments


def settings(experiment: Experiment) -> list[Setting]:
    """The places on an experiment's horizontal axis."""
    at_home = replace(experiment.fixed, experiment=experiment.letter)
    return [replace(at_home, **{experiment.variable: value}) for value in experiment.values]  # type: ignore[arg-type]


def missing(
    table: RunTable, experiments: Sequence[Experiment], seeds: Sequence[int]
) -> list[tuple[Setting, tuple[int, ...]]]:
    """What is left to train: settings with their seeds. A network that several experiments share appears once."""
    done = {(run.setting.network, run.seed) for run in runs_in(table)}
    left: dict[tuple[int, int, int, float], tuple[Setting, tuple[int, ...]]] = {}
    for setting in (each for experiment in experiments for each in settings(experiment)):
        wanted = tuple(seed for seed in seeds if (setting.network, seed) not in done)
        if wanted:
            left.setdefault(setting.network, (setting, wanted))
    return list(left.values())


def copy_shared(table: RunTable, experiments: Sequence[Experiment]) -> None:
    """Give every experiment a row of each run that another one has trained for it."""
    letters: dict[tuple[int, int, int, float], list[str]] = {}
    for setting in (each for experiment in experiments for each in settings(experiment)):
        letters.setdefault(setting.network, []).append(setting.experiment)
    table.add_all(
        [
            {**row, "experiment": letter}
            for row, run in zip(table.rows, runs_in(table), strict=True)
            for letter in letters.get(run.setting.network, [])
        ]
    )


Train = Callable[[Setting, tuple[int, ...], int, str], list[Row]]  # setting, seeds, epochs, device -> rows


def jobs(
    left: Sequence[tuple[Setting, tuple[int, ...]]], train: Train, epochs: int, device: str, at_once: int | None = None
) -> list[Job]:
    """One job for each setting, or for each ``at_once`` of its seeds."""
    return [
        Job(setting.name, train, (setting, some, epochs, device), runs=len(some))
        for setting, seeds in left
        for some in _parts(seeds, at_once or len(seeds))
    ]


def runs_in(table: RunTable) -> list[Run]:
    """The rows as numbers, in the table's order."""
    return [_run(row, line, table) for line, row in enumerate(table.rows, start=2)]


def so_far(table: RunTable) -> str:
    """How many runs are accepted, and how many of those inside their bound."""
    accepted = [run for run in runs_in(table) if run.accepted]
    inside = sum(run.inside() for run in accepted)
    return f"{len(accepted)} accepted, {inside} of them inside the bound"


def _parts(seeds: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    return [seeds[first : first + size] for first in range(0, len(seeds), size)]


def _run(row: dict[str, str], line: int, table: RunTable) -> Run:
    try:
        encoder_rf, decoder_rf, object_size = (int(row[each]) for each in NETWORK[:-1])
        setting = Setting(row["experiment"], encoder_rf, decoder_rf, object_size, float(row["sigma"]))
        accepted = {"True": True, "False": False}[row["accepted"]]
        errors = float(row["position_error"]), float(row["calibrated_error"])
        return Run(setting, int(row["seed"]), accepted, *errors, start=row.get("start", ""))
    except (ValueError, KeyError):
        raise InputError(f"{table.path} has something that is no run at line {line}: take that line out.") from None
