"""What the paper leaves open about its network and its training, as one object: a reading of sec. 3 and app. C.1."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True)
class Reading:
    """Everything else is in the paper: ``training.recipe.PAPER``. No torch is imported here."""

    encoding: Literal["coordinates", "sinusoidal", "learned"] = "coordinates"
    encoding_rate: float = 1.0  # learning rate of a learned encoding, as a share of the filters'
    softargmax: Literal["joint", "lines", "means"] = "joint"  # model/softargmax.py
    temperature: float = 0.1
    peak: Literal["one", "unit mass"] = "one"  # of the Gaussian
    incomplete_batches: Literal["kept", "dropped"] = "kept"

    @property
    def network(self) -> dict[str, Any]:
        """The fields of a ``SquaresRun`` that it decides."""
        return {name: getattr(self, name) for name in ("encoding", "softargmax", "temperature", "peak")}

    @property
    def training(self) -> dict[str, Any]:
        """The fields of its recipe."""
        return {name: getattr(self, name) for name in ("encoding_rate", "incomplete_batches")}


# Every image is shown in every epoch; an encoding is a function of the position; the rest is what we use elsewhere.
# ``withinpx reproduce choices`` varies one factor at a time from it.
LIKELIEST = Reading()
PAPER_READING = LIKELIEST  # what ``--recipe paper`` means


@dataclass(frozen=True)
class Variation:
    """A reading that differs from the likeliest in one factor."""

    factor: str
    value: str
    reading: Reading

    @property
    def name(self) -> str:
        return f"{self.factor}: {self.value}"


NONE = "none"  # the factor of the likeliest reading itself
OTHERS: dict[str, dict[str, dict[str, Any]]] = {  # factor -> value -> fields
    "encoding": {
        "coordinates": {"encoding": "coordinates", "encoding_rate": 1.0},
        "sinusoidal": {"encoding": "sinusoidal", "encoding_rate": 1.0},
        "learned": {"encoding": "learned", "encoding_rate": 1.0},
        "learned, slow": {"encoding": "learned", "encoding_rate": 0.01},
    },
    "softargmax": {name: {"softargmax": name} for name in ("joint", "lines", "means")},
    "temperature": {f"{value:g}": {"temperature": value} for value in (0.1, 0.3, 1.0)},
    "peak": {name: {"peak": name} for name in ("one", "unit mass")},
    "incomplete batches": {name: {"incomplete_batches": name} for name in ("kept", "dropped")},
}


def variations(base: Reading = LIKELIEST) -> list[Variation]:
    """``base`` itself, then every other value of every factor."""
    return [Variation(NONE, "likeliest", base), *_others(base)]


def value_of(factor: str, reading: Reading) -> str:
    """The value that a reading gives a factor, by its name."""
    fields = asdict(reading)
    return next(name for name, changes in OTHERS[factor].items() if changes.items() <= fields.items())


def _others(base: Reading) -> Iterator[Variation]:
    for factor, values in OTHERS.items():
        for value, changes in values.items():
            reading = replace(base, **changes)
            if reading != base:
                yield Variation(factor, value, reading)
