"""What the subcommands of ``reproduce`` are made of: curves, clips, and sweeps here or on a cluster."""

# ruff: noqa: PLC0415  (imports stand in functions: torch takes seconds, and drawing a table does not need it)

import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Fixed, Suppress, arg

from withinpx.cli.common import Device, EngineName, engine_named, print_json
from withinpx.errors import InputError

if TYPE_CHECKING:
    from withinpx.experiments.sweep import Experiment
    from withinpx.jobs.job import Engine
    from withinpx.training.callback import Callback
    from withinpx.training.fit import FitSettings


def fit_settings(device: Device, *callbacks: "Callback") -> "FitSettings":
    from withinpx.training.device import choose_device
    from withinpx.training.fit import FitSettings

    return FitSettings(choose_device(device), callbacks=callbacks)


@dataclass(frozen=True)
class FigureCommand:
    what: Suppress[Fixed[str]] = ""  # the subcommand's name
    out: Path = Path("reproduced")
    """Folder for figures and tables; runs that it holds are not repeated."""

    def run(self) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class CurvesCommand(FigureCommand):
    def run(self) -> None:
        from withinpx.experiments.fig2 import figure_2
        from withinpx.experiments.theory_curves import FIGURES

        print(f"Drew {(FIGURES | {'fig2': figure_2})[self.what](self.out)}")


@dataclass(frozen=True)
class VideoCommand(FigureCommand):
    clip: Path | None = None
    """A video or a folder of images."""
    truth: Path | None = None
    """Its true positions, for a comparison at the end: a CSV of frame,object,x,y,w,h,full."""
    truth_origin: Literal["corner", "centre"] = "corner"
    """Origin of the truth: the corner or the centre of the first pixel."""
    encoder_rf: int | None = None
    """Receptive field of the encoder, px; chosen if not given."""
    decoder_rf: int | None = None
    """Receptive field of the decoder, px; chosen if not given."""
    device: Device = "auto"
    """Where to train."""

    def run(self) -> None:
        from withinpx.experiments.videos import reproduce_video

        if self.clip is None:
            raise InputError(f"The {self.what} clip of the paper is not public: give one of your own with --clip.")
        origin = 0.5 if self.truth_origin == "centre" else 0.0
        found = reproduce_video(
            self.clip,
            self.truth,
            self.out,
            origin=origin,
            settings=fit_settings(self.device),
            encoder_rf=self.encoder_rf,
            decoder_rf=self.decoder_rf,
        )
        print_json(found)


@dataclass(frozen=True)
class SweepCommand(FigureCommand):
    """An experiment whose runs are trained, or read from a folder, and then summarised and plotted."""

    seeds: int | None = None
    """Seeds per setting; 20 if not given."""
    device: Device = "auto"
    """Where to train."""
    from_: Annotated[Path | None, arg(name="from")] = None
    """Draw the runs of this folder into --out, and train nothing."""

    def experiment(self) -> "Experiment":
        raise NotImplementedError

    def run(self) -> None:
        experiment = self.experiment()
        if self.from_ is None:
            self.run_missing(experiment)
        elif not self.has_only("from_"):
            raise InputError("--from draws the runs of a folder and trains nothing: combine it with --out only.")
        table = experiment.open_table(self.from_ or self.out)
        if not table.rows:
            raise InputError(f"{table.path} has no runs to draw: name the folder of a sweep.")
        for line in experiment.report(table, self.out):
            print(line)

    def run_missing(self, experiment: "Experiment") -> None:
        from withinpx.experiments.sweep import run_experiment

        run_experiment(self.out, experiment, self.machine(), self.as_typed())

    def machine(self) -> "Engine":
        return engine_named("local", None, self.device)

    def has_only(self, *options: str) -> bool:
        """Are all other options left at their defaults?"""
        return self == type(self)(**{name: getattr(self, name) for name in ("what", "out", *options)})

    def seed_count(self, default: int = 20) -> int:
        return default if self.seeds is None else self.seeds

    def as_typed(self) -> str:
        """The command with all its options, for the record; a cluster's address is left out as private."""
        words = ["withinpx", "reproduce", self.what]
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if field.name in ("what", "address") or value in (None, ()) or value is False:
                continue
            values = value if isinstance(value, tuple) else () if value is True else (value,)
            words += [f"--{field.name.replace('_', '-')}", *map(str, values)]
        return shlex.join(words)


@dataclass(frozen=True)
class ClusterCommand(SweepCommand):
    """A sweep that may run in several processes or on a Ray cluster."""

    engine: EngineName = "local"
    """Train on this machine, or on a Ray cluster."""
    workers: int = 1
    """Jobs at once on this machine, each in its own process."""
    address: str | None = None
    """HOST:PORT of the Ray cluster; a new one on this machine if not given."""

    def machine(self) -> "Engine":
        if self.engine == "ray" and self.workers != 1:
            raise InputError("A Ray cluster decides how many jobs run at once: leave out --workers.")
        return engine_named(self.engine, self.address, self.device, self.workers)
