"""Section 5.1 and appendix C.1: train on squares, and measure the error of the positions."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from withinpx.certificate.calibration import measured_shift
from withinpx.data.squares import Squares
from withinpx.experiments.squares_gpu import engines_for, fit_together
from withinpx.experiments.squares_options import Kernels, SquaresOptions
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode, Encoding
from withinpx.model.cnn import CHANNELS
from withinpx.model.render import Peak
from withinpx.model.softargmax import TEMPERATURE, Softargmax
from withinpx.theory.bound import Bound, CompactSupport, Gaussian, Rendering, SizeRange, theorem
from withinpx.training.accuracy import is_accepted
from withinpx.training.engine import choose_engine
from withinpx.training.fit import FitSettings, fit, recompute_batch_norm
from withinpx.training.log import Log
from withinpx.training.recipe import PAPER, Recipe

N_SIGMA = 4.0  # the paper's runs all lie within four standard deviations (sec. 5.1)
EVALUATION_BATCH = 128
SHIFT_SAMPLE = 16  # images; the shift is the same in all
ROUNDING = 1e-4  # px; the largest rounding error of a float32 position


@dataclass(frozen=True)
class SquaresRun(SquaresOptions):
    """One training of the synthetic section."""

    channels: int = CHANNELS
    background: BackgroundMode = BackgroundMode.POSITIONAL
    recipe: Recipe = PAPER
    temperature: float = TEMPERATURE
    softargmax: Softargmax = Softargmax.JOINT
    encoding: Encoding = Encoding.LEARNED
    peak: Peak = Peak.ONE

    def __post_init__(self) -> None:
        _ = self.network, self.data  # both validate the options, before anything is written

    @cached_property
    def data(self) -> Squares:
        """The images, padded for these receptive fields."""
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
            temperature=self.temperature,
            softargmax=self.softargmax,
            encoding=self.encoding,
            peak=self.peak,
        )

    @property
    def bound(self) -> Bound:
        """Theorem 4.1: at four sigma for the infinite Gaussian, deterministic with compact support."""
        rendering: Rendering = Gaussian(self.sigma, N_SIGMA) if self.support is None else CompactSupport(self.support)
        return theorem(self.encoder_rf, self.decoder_rf, SizeRange(self.object_size, self.object_size), rendering)

    def training_images(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The images (f 1 h w) and their background (1 h w), which is black."""
        images = torch.from_numpy(self.data.train().images)
        return images, torch.zeros_like(images[0])


@dataclass(frozen=True)
class Evaluation:
    """Errors on the quadrant without training images. Ground truth is used here and nowhere else."""

    position_error: float  # max |z - truth| over test images and axes, px
    bound: float
    bound_n_sigma: float | None  # number of sigma of the bound; None when it is deterministic
    within_bound: bool
    reconstruction_accuracy: float
    accepted: bool
    shift: tuple[float, float]  # centre of the rendered object minus z, from the training images, without truth
    calibrated_error: float  # max |z + shift - truth|, px
    leakage: float  # the largest change of z - truth between two test images, px; 0 if exactly equivariant


def train(run: SquaresRun, settings: FitSettings) -> Autoencoder:
    """A new network from the run's seed, trained."""
    images, background = run.training_images()
    return fit(new_network(run.network, run.seed), images, run.recipe, run.seed, settings, background=background)


def train_together(
    runs: Sequence[SquaresRun],
    settings: FitSettings,
    kernels: Kernels = Kernels.TORCH,
    *,
    when_learned: Callable[[list[Autoencoder], int, int], None] | None = None,
) -> tuple[list[Autoencoder], list[Log]]:
    """Runs on the same images by the same recipe, trained at once; each as ``train`` would."""
    models, (images, background) = [new_network(run.network, run.seed) for run in runs], runs[0].training_images()
    logs = fit_together(
        models,
        images,
        runs[0].recipe,
        [run.seed for run in runs],
        settings,
        kernels=kernels,
        background=background,
        when_learned=None if when_learned is None else lambda index, epoch: when_learned(models, index, epoch),
    )
    return models, logs


def train_beyond(
    runs: Sequence[SquaresRun], settings: FitSettings, kernels: Kernels = Kernels.TORCH
) -> tuple[list[Autoencoder], list[Log], dict[int, tuple[int, Autoencoder]]]:
    """``train_together`` to the last epoch; and, by index, the epoch at which each would have stopped, and its copy."""
    stopped: dict[int, tuple[int, Autoencoder]] = {}

    def remember(models: list[Autoencoder], index: int, epoch: int) -> None:
        stopped[index] = epoch, copy.deepcopy(models[index])

    models, logs = train_together(runs, settings, kernels, when_learned=remember)
    if stopped:
        images, background = (tensor.to(settings.device) for tensor in runs[0].training_images())
        engines = engines_for([model for _, model in stopped.values()], images, settings, background)
        recompute_batch_norm(engines, len(images), runs[0].recipe.batch_size, settings.device)
    return models, logs, stopped


@torch.no_grad()
def evaluate(model: Autoencoder, run: SquaresRun) -> Evaluation:
    """Appendix C.1, Evaluation."""
    device = next(model.parameters()).device
    test, training = run.data.test(), run.data.train()
    images = torch.from_numpy(test.images).to(device)
    engine = choose_engine(model.eval(), images, background=torch.zeros_like(images[0]))
    batches = torch.arange(len(test), device=device).split(EVALUATION_BATCH)
    accuracy = sum(len(batch) * engine.reconstruct(batch, batch)[1].item() for batch in batches) / len(test)
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
