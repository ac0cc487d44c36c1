"""Section 5.1 and appendix C.1: train on squares, and see how far off the positions are."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from withinpx.certificate.calibration import measured_shift
from withinpx.data.squares import IMAGE_SIZE, Squares
from withinpx.experiments.squares_gpu.together import engines_for, fit_together
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.model.cnn import CHANNELS
from withinpx.theory.bound import Bound, CompactSupport, Gaussian, Rendering, SizeRange, theorem
from withinpx.training.accuracy import is_accepted
from withinpx.training.engine import choose_engine
from withinpx.training.fit import FitSettings, fit, recompute_batch_norm
from withinpx.training.log import Log
from withinpx.training.recipe import PAPER, Recipe

N_SIGMA = 4.0  # the paper's runs all lie within four standard deviations (sec. 5.1)
EVALUATION_BATCH = 128
SHIFT_SAMPLE = 16  # pictures; the shift is the same in all
ROUNDING = 1e-4  # px; what a float32 position may be off by


@dataclass(frozen=True)
class SquaresRun:
    """One training of the synthetic section."""

    encoder_rf: int = 9
    decoder_rf: int = 25
    object_size: int = 9
    sigma: float = 0.8
    seed: int = 0
    support: float | None = None
    image_size: int = IMAGE_SIZE
    channels: int = CHANNELS
    background: BackgroundMode = BackgroundMode.POSITIONAL
    recipe: Recipe = PAPER

    def __post_init__(self) -> None:
        _ = self.network, self.data  # each refuses what it cannot be, before anything is written

    @cached_property
    def data(self) -> Squares:
        """The pictures, padded for these receptive fields."""
        return Squares.for_network(self.object_size, self.encoder_rf, self.decoder_rf, self.image_size)

    @property
    def network(self) -> NetworkConfig:
        """The network of app. C.1."""
        return NetworkConfig(
            height=self.image_size,
            width=self.image_size,
            encoder_rf=self.encoder_rf,
            decoder_rf=self.decoder_rf,
            sigma=self.sigma,
            support=self.support,
            channels=self.channels,
            background=self.background,
        )

    @property
    def bound(self) -> Bound:
        """What theorem 4.1 allows: at four sigma for the infinite Gaussian, for certain with compact support."""
        rendering: Rendering = Gaussian(self.sigma, N_SIGMA) if self.support is None else CompactSupport(self.support)
        return theorem(self.encoder_rf, self.decoder_rf, SizeRange(self.object_size, self.object_size), rendering)


@dataclass(frozen=True)
class Evaluation:
    """How a trained network did on the quadrant it never saw. Truth is used here and nowhere else."""

    position_error: float  # max |z - truth| over test pictures and axes, px
    bound: float
    bound_n_sigma: float | None  # at how many sigma the bound is read; None when it is deterministic
    within_bound: bool
    reconstruction_accuracy: float
    accepted: bool
    shift: tuple[float, float]  # centre of what is drawn minus z, from the training pictures, without truth
    calibrated_error: float  # max |z + shift - truth|, px
    leakage: float  # how much z - truth changes from one test picture to another at most, px; 0 if exactly equivariant


def train(run: SquaresRun, settings: FitSettings) -> Autoencoder:
    """A new network from the run's seed, trained."""
    model = new_network(run.network, run.seed)
    images = torch.from_numpy(run.data.train().images)
    return fit(model, images, run.recipe, run.seed, settings, behind=torch.zeros_like(images[0]))


def train_together(
    runs: Sequence[SquaresRun], settings: FitSettings, *, fast: bool = False
) -> tuple[list[Autoencoder], list[Log]]:
    """Runs that differ by their seeds alone, trained at once; each as ``train`` would."""
    models = [new_network(run.network, run.seed) for run in runs]
    return models, _fit_squares(models, runs, settings, fast=fast)


def train_beyond(
    runs: Sequence[SquaresRun], settings: FitSettings, *, fast: bool = False
) -> tuple[list[Autoencoder], list[Log], dict[int, tuple[int, Autoencoder]]]:
    """``train_together`` to the last epoch; and, by number, when each would have stopped and what it was then."""
    models = [new_network(run.network, run.seed) for run in runs]
    then: dict[int, tuple[int, Autoencoder]] = {}

    def remember(number: int, epoch: int) -> None:
        then[number] = epoch, copy.deepcopy(models[number])

    logs = _fit_squares(models, runs, settings, remember, fast=fast)
    images = torch.from_numpy(runs[0].data.train().images).to(settings.device)
    if then:
        engines = engines_for([model for _, model in then.values()], images, settings, torch.zeros_like(images[0]))
        recompute_batch_norm(engines, len(images), runs[0].recipe.batch_size, settings.device)
    return models, logs, then


def _fit_squares(
    models: Sequence[Autoencoder],
    runs: Sequence[SquaresRun],
    settings: FitSettings,
    when_learned: Callable[[int, int], None] | None = None,
    *,
    fast: bool,
) -> list[Log]:
    images = torch.from_numpy(runs[0].data.train().images)
    seeds, behind = [run.seed for run in runs], torch.zeros_like(images[0])
    return fit_together(
        models, images, runs[0].recipe, seeds, settings, fast=fast, behind=behind, when_learned=when_learned
    )


@torch.no_grad()
def evaluate(model: Autoencoder, run: SquaresRun) -> Evaluation:
    """Appendix C.1, Evaluation."""
    device = next(model.parameters()).device
    test, training = run.data.test(), run.data.train()
    shown = torch.from_numpy(test.images).to(device)
    engine = choose_engine(model.eval(), shown, behind=torch.zeros_like(shown[0]))
    chosen = torch.arange(len(test), device=device).split(EVALUATION_BATCH)
    right = sum(len(batch) * engine.reconstruct(batch, batch)[1].item() for batch in chosen)
    accuracy = right / len(test)
    offsets = engine.latest_z[:, 0].cpu().double() - torch.from_numpy(test.positions)
    sample = torch.from_numpy(training.images[:: max(1, len(training) // SHIFT_SAMPLE)]).to(device)
    shift = measured_shift(model, sample)[0].cpu().double()
    bound = run.bound
    error = offsets.abs().max().item()
    return Evaluation(
        position_error=error,
        bound=bound.bound,
        bound_n_sigma=None if bound.deterministic else N_SIGMA,
        within_bound=error <= bound.bound + ROUNDING,
        reconstruction_accuracy=accuracy,
        accepted=is_accepted(accuracy),
        shift=(shift[0].item(), shift[1].item()),
        calibrated_error=(offsets + shift).abs().max().item(),
        leakage=(offsets.amax(dim=0) - offsets.amin(dim=0)).max().item(),
    )
