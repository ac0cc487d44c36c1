"""The commands. Each is a few lines that call the library; a mistake of the user's is one line and exit status 2."""

import json as json_
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.console import Console
from tyro.conf import Positional, arg, subcommand

from withinpx import __version__
from withinpx.errors import InputError
from withinpx.theory import CompactSupport, Gaussian, SizeRange, error_bound
from withinpx.theory import design as design_network

if TYPE_CHECKING:
    from withinpx.training.fit import FitSettings

Device = Literal["auto", "cpu", "cuda", "mps"]
RecipeName = Literal["warm", "paper"]
Json = Annotated[bool, arg(name="json")]


@dataclass(frozen=True)
class BoundCommand:
    """Theorem 4.1: within how many pixels are the positions of this network right?"""

    encoder_rf: int
    """Receptive field of the encoder, px (odd, 1 to 31)."""
    decoder_rf: int
    """Receptive field of the decoder, px (odd, 1 to 31)."""
    object_size: tuple[float, ...]
    """Size of the object, px; two numbers are a range."""
    sigma: float = 0.8
    """Width of the rendered Gaussian, px."""
    n_sigma: float = 2.0
    """Read the bound at this many standard deviations of the Gaussian."""
    support: float | None = None
    """The Gaussian is exactly zero beyond this radius, px; the bound is then deterministic, whatever sigma."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        """Print the bound."""
        rendering = Gaussian(self.sigma, self.n_sigma) if self.support is None else CompactSupport(self.support)
        found = error_bound(self.encoder_rf, self.decoder_rf, _sizes(self.object_size), rendering)
        n_sigma = self.n_sigma if self.support is None else None
        if self.json:
            return _print_json({**asdict(found), "n_sigma": n_sigma})
        sureness = "always" if found.deterministic else f"at {n_sigma:g} sigma ({found.probability:.4%})"
        print(f"Every position is within {found.bound:g} px, {sureness}.")
        print(f"  encoder term {found.encoder_term:g} px, decoder term {found.decoder_term:g} px: ", end="")
        print("they cross inside the range." if found.limiting == "both" else f"the {found.limiting} limits.")


@dataclass(frozen=True)
class DesignCommand:
    """The network for objects of a given size and, if you like, a target error."""

    object_size: tuple[float, ...]
    """Size of the objects, px; two numbers are a range."""
    target: float | None = None
    """The largest error you accept, px."""
    sigma: float | None = None
    """Width of the rendered Gaussian, px; chosen if not given."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        """Print the network."""
        network = design_network(_sizes(self.object_size), self.target, self.sigma)
        if self.json:
            return _print_json(
                {
                    "encoder_rf": network.encoder_rf,
                    "decoder_rf": network.decoder_rf,
                    "sigma": network.sigma,
                    "support": network.support,
                    "encoder_filters": network.encoder_filters,
                    "decoder_filters": network.decoder_filters,
                    "bound": network.bound.bound,
                    "bound_per_size": {f"{size:g}": bound for size, bound in network.bound_per_size.items()},
                    "why": network.why,
                }
            )
        print(network.why)
        print(f"  encoder {network.encoder_rf} px, filters {' '.join(map(str, network.encoder_filters))}")
        print(f"  decoder {network.decoder_rf} px, filters {' '.join(map(str, network.decoder_filters))}")
        for size, bound in network.bound_per_size.items():
            print(f"  an object of {size:g} px is placed within {bound:g} px")


@dataclass(frozen=True)
class FitCommand:
    """Train on the paper's synthetic squares (app. C.1), or on a video or folder of images of one moving object."""

    data: Positional[str]
    """`squares`, a video file, or a folder of images."""
    out: Path
    """A new folder for the detector, its log and its checkpoints."""
    encoder_rf: int = 9
    """Receptive field of the encoder, px."""
    decoder_rf: int = 25
    """Receptive field of the decoder, px."""
    object_size: int = 9
    """Side of the square, px (squares)."""
    sigma: float = 0.8
    """Width of the rendered Gaussian, px."""
    support: float | None = None
    """The Gaussian is exactly zero beyond this radius, px; the paper's is infinite."""
    background: Literal["positional", "layered"] = "positional"
    """What the decoder knows beside the position."""
    image_size: int = 80
    """Side of the pictures, px (squares)."""
    seed: int = 0
    """Of the weights and of the order of the pictures."""
    recipe: RecipeName = "warm"
    """How to train. `paper` is app. C.1 (Adam 1e-3, batches of 128, 500 epochs); `warm` adds a label-free warm start
    and stops once the pictures are redrawn right."""
    epochs: int | None = None
    """Fewer or more epochs than the recipe's."""
    device: Device = "auto"
    """Where to train."""
    dense: bool = False
    """Compute everywhere, even where nothing changes."""
    fast: bool = False
    """On CUDA: compiled, and captured as one graph."""
    bfloat16: bool = False
    """With --fast: convolutions in bfloat16."""
    start: float | None = None
    """Leave out what comes before this time, s (videos, images)."""
    end: float | None = None
    """Leave out what comes after this time, s (videos, images)."""
    every: int = 1
    """Keep one frame of this many (videos, images)."""
    crop: tuple[int, int, int, int] | None = None
    """Keep this part of the picture: left, top, width, height, px (videos, images)."""
    scale: float = 1.0
    """Work at this scale; positions are still those of the recording (videos, images)."""
    resume: bool = False
    """Go on with an interrupted run in --out."""
    tensorboard: bool = False
    """Log for TensorBoard into --out as well."""

    def run(self) -> None:
        """Train, with a live bar."""
        from withinpx.training.device import choose_device  # noqa: PLC0415  (torch takes seconds to import)
        from withinpx.training.fit import FitSettings  # noqa: PLC0415
        from withinpx.training.progress import ProgressBar, TensorBoard  # noqa: PLC0415

        with ProgressBar() as bar:
            watchers = (bar, TensorBoard(self.out)) if self.tensorboard else (bar,)
            device = choose_device(self.device)
            settings = FitSettings(device, self.fast, self.bfloat16, self.dense, watchers=watchers)
            said = self._squares(settings) if self.data == "squares" else self._clip(settings)
        print(said)

    def _squares(self, settings: "FitSettings") -> str:
        from withinpx.experiments.run_folder import train_in_folder  # noqa: PLC0415
        from withinpx.experiments.synthetic import SquaresRun  # noqa: PLC0415
        from withinpx.model import BackgroundMode  # noqa: PLC0415
        from withinpx.training.recipe import named_recipe  # noqa: PLC0415

        run = SquaresRun(
            encoder_rf=self.encoder_rf,
            decoder_rf=self.decoder_rf,
            object_size=self.object_size,
            sigma=self.sigma,
            support=self.support,
            background=BackgroundMode(self.background),
            image_size=self.image_size,
            seed=self.seed,
            recipe=named_recipe(self.recipe, self.epochs),
        )
        train_in_folder(run, self.out, settings, self.resume)
        return f"Trained into {self.out}. How far off is it?  withinpx evaluate {self.out}"

    def _clip(self, settings: "FitSettings") -> str:
        from withinpx.data.reading import read_clip  # noqa: PLC0415
        from withinpx.data.selection import Selection  # noqa: PLC0415
        from withinpx.model import BackgroundMode, NetworkConfig  # noqa: PLC0415
        from withinpx.tracking.clip_detector import POSITIONS, ClipRun, fit_clip  # noqa: PLC0415
        from withinpx.training.recipe import named_recipe  # noqa: PLC0415

        clip = read_clip(Path(self.data), Selection(self.start, self.end, self.every, self.crop, self.scale))
        for stretch in clip.lost:
            print(f"withinpx: {clip.source}: {stretch}", file=sys.stderr)
        network = NetworkConfig(
            clip.height,
            clip.width,
            self.encoder_rf,
            self.decoder_rf,
            self.sigma,
            support=self.support,
            colours=clip.colours,
            background=BackgroundMode(self.background),
        )
        run = ClipRun(network, named_recipe(self.recipe, self.epochs), self.seed)
        found = fit_clip(clip, run, self.out, settings, self.resume)
        return (
            f"Found an object of about {found.object_size / clip.selection.scale:g} px in {len(clip)} pictures: "
            f"{self.out / POSITIONS}. "
            f"Not certified: nothing has checked yet that every picture is redrawn right."
        )


@dataclass(frozen=True)
class EvaluateCommand:
    """How far off a network trained on squares is, against its bound."""

    folder: Positional[Path]
    """What `withinpx fit squares --out` made."""
    device: Device = "auto"
    """Where to compute."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        """Print the evaluation."""
        from withinpx.experiments.run_folder import load_run  # noqa: PLC0415
        from withinpx.experiments.synthetic import evaluate  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415

        model, run = load_run(self.folder)
        found = evaluate(model.to(choose_device(self.device)), run)
        if self.json:
            return _print_json(asdict(found))
        sureness = "always" if found.bound_n_sigma is None else f"at {found.bound_n_sigma:g} sigma"
        print(f"Position error {found.position_error:.3f} px; the theorem allows {found.bound:g} px, {sureness}.")
        print(f"After label-free calibration {found.calibrated_error:.3f} px (shift {found.shift[0]:.3f}, ", end="")
        print(f"{found.shift[1]:.3f} px).")
        verdict = "accepted" if found.accepted else "discarded: below 99.9 %, the object was not found"
        print(f"Reconstruction accuracy {found.reconstruction_accuracy:.4%}: {verdict}.")


@dataclass(frozen=True)
class ReproduceCommand:
    """A figure or an experiment of the paper."""

    what: Positional[Literal["fig3", "fig7", "central"]]
    """fig3, fig7: the theory's curves. central: training at the paper's two central settings, seed by seed."""
    out: Path = Path("reproduced")
    """Folder for figures and tables; what it holds of an experiment already is not run again."""
    seeds: int = 20
    """Seeds per setting (central)."""
    recipe: RecipeName = "warm"
    """How to train (central)."""
    epochs: int | None = None
    """Epochs per run, if not the recipe's (central)."""
    device: Device = "auto"
    """Where to train (central)."""
    fast: bool = False
    """On CUDA: compiled, and captured as one graph (central)."""
    bfloat16: bool = False
    """With --fast: convolutions in bfloat16 (central)."""

    def run(self) -> None:
        """Make it."""
        from withinpx.experiments.theory_curves import FIGURES  # noqa: PLC0415

        if self.what in FIGURES:
            print(f"Drew {FIGURES[self.what](self.out)}")
            return
        from withinpx.experiments.central import run_central  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415
        from withinpx.training.fit import FitSettings  # noqa: PLC0415
        from withinpx.training.recipe import named_recipe  # noqa: PLC0415

        settings = FitSettings(choose_device(self.device), self.fast, self.bfloat16)
        for summary in run_central(self.out, named_recipe(self.recipe, self.epochs), self.seeds, settings):
            print(json_.dumps(summary))


@dataclass(frozen=True)
class DemoCommand:
    """Find a moving square without labels, in half a minute on a laptop, and say how far off it can be."""

    out: Path = Path("demo")
    """Where the picture goes."""

    def run(self) -> None:
        """Train, draw, say."""
        from withinpx.experiments.demo import run_demo  # noqa: PLC0415

        run_demo(self.out)


Command = (
    Annotated[BoundCommand, subcommand("bound")]
    | Annotated[DesignCommand, subcommand("design")]
    | Annotated[FitCommand, subcommand("fit")]
    | Annotated[EvaluateCommand, subcommand("evaluate")]
    | Annotated[ReproduceCommand, subcommand("reproduce")]
    | Annotated[DemoCommand, subcommand("demo")]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    given = sys.argv[1:] if arguments is None else arguments
    if given == ["--version"]:
        print(f"withinpx {__version__}")
        return
    command: Any = tyro.cli(
        Command,
        prog="withinpx",
        description="Find moving objects without labels, and know within how many pixels each position is right.",
        args=given,
    )
    try:
        command.run()
    except InputError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print(f"withinpx: {error}", markup=False)
        sys.exit(2)
    except OSError as error:  # a full disk, a file taken away: not the user's mistake, but theirs to mend
        print(f"withinpx: {error.strerror or error}: {error.filename or 'while writing'}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("withinpx: stopped; a training goes on with --resume.", file=sys.stderr)
        sys.exit(130)


def _sizes(object_size: tuple[float, ...]) -> SizeRange:
    if not 1 <= len(object_size) <= 2:
        raise InputError(f"The object size is one number, or two for a range; {len(object_size)} were given.")
    return SizeRange(object_size[0], object_size[-1])


def _print_json(value: Any) -> None:
    print(json_.dumps(value))
