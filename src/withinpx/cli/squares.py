"""The paper's synthetic squares: fit, evaluate."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from withinpx.cli.common import Device, Json, RecipeName, print_json

if TYPE_CHECKING:
    from withinpx.training.fit import FitSettings


@dataclass(frozen=True)
class FitCommand:
    """Train on the paper's synthetic squares (app. C.1). For footage of your own, see `track`."""

    data: Positional[Literal["squares"]]
    """What to train on."""
    out: Path
    """A new folder for the detector, its log and its checkpoints."""
    encoder_rf: int = 9
    """Receptive field of the encoder, px."""
    decoder_rf: int = 25
    """Receptive field of the decoder, px."""
    object_size: int = 9
    """Side of the square, px."""
    sigma: float = 0.8
    """Width of the rendered Gaussian, px."""
    support: float | None = None
    """The Gaussian is exactly zero beyond this radius, px; the paper's is infinite."""
    background: Literal["positional", "layered"] = "positional"
    """What the decoder knows beside the position."""
    image_size: int = 80
    """Side of the pictures, px."""
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
            callbacks = (bar, TensorBoard(self.out)) if self.tensorboard else (bar,)
            device = choose_device(self.device)
            settings = FitSettings(device, dense=self.dense, callbacks=callbacks)
            said = self._squares(settings)
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
            return print_json(asdict(found))
        sureness = "always" if found.bound_n_sigma is None else f"at {found.bound_n_sigma:g} sigma"
        print(f"Position error {found.position_error:.3f} px; the theorem allows {found.bound:g} px, {sureness}.")
        print(f"After label-free calibration {found.calibrated_error:.3f} px (shift {found.shift[0]:.3f}, ", end="")
        print(f"{found.shift[1]:.3f} px).")
        verdict = "accepted" if found.accepted else "discarded: below 99.9 %, the object was not found"
        print(f"Reconstruction accuracy {found.reconstruction_accuracy:.4%}: {verdict}.")
