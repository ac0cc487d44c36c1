"""A clip of an object that changes its appearance: a bar that turns while it moves."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from withinpx.discovery.background import BackgroundModel
from withinpx.inference.run import frames_on
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.training.clip_engine import TOLERANCE
from withinpx.training.device import denormals_as_zero
from withinpx.training.engine import DenseEngine, Engine
from withinpx.training.fit import DEFAULTS, learn
from withinpx.training.recipe import CLIP

HEIGHT, WIDTH, FRAMES = 40, 48, 40
LONG, SHORT = 9.0, 3.0  # px, sides of the bar
DARK, BRIGHT = 0.2, 0.8
CONFIG = NetworkConfig(
    HEIGHT,
    WIDTH,
    encoder_rf=9,
    decoder_rf=13,
    sigma=0.8,
    support=3.2,
    channels=12,
    background=BackgroundMode.LAYERED,
)


@dataclass(frozen=True, eq=False)
class Turning:
    """Frames, the true centres (f, 2), and the scene without the bar."""

    frames: NDArray[np.uint8]  # (f, h, w, 1)
    centres: NDArray[np.float64]
    background: BackgroundModel


def turning_bar(frames: int = FRAMES, turns: float = 3.0, blinks: float = 0.0) -> Turning:
    """The bar moves through the whole frame while it turns, and is five times fainter so many times."""
    share = np.linspace(0, 1, frames)
    return _clip(_trajectory(frames), np.pi * turns * share, 0.6 + 0.4 * np.cos(2 * np.pi * blinks * share))


def telling_bar(frames: int = FRAMES) -> Turning:
    """A bar whose brightness and angle say where it is."""
    centres = _trajectory(frames)
    right, down = (centres / (WIDTH, HEIGHT)).T
    return _clip(centres, np.pi / 2 * down, right)


def _trajectory(frames: int) -> NDArray[np.float64]:
    share = np.linspace(0, 1, frames)
    x, y = WIDTH / 2 + 13 * np.sin(2 * np.pi * share), HEIGHT / 2 + 10 * np.cos(4 * np.pi * share)
    return np.stack([x, y], axis=1)


def _clip(centres: NDArray[np.float64], angles: NDArray[np.float64], strengths: NDArray[np.float64]) -> Turning:
    """Antialiased."""
    fine = 5
    y, x = (np.mgrid[: HEIGHT * fine, : WIDTH * fine] + 0.5) / fine
    images = []
    for (centre_x, centre_y), angle, strength in zip(centres, angles, strengths, strict=True):
        along = (x - centre_x) * math.cos(angle) + (y - centre_y) * math.sin(angle)
        across = (y - centre_y) * math.cos(angle) - (x - centre_x) * math.sin(angle)
        inside = (np.abs(along) <= LONG / 2) & (np.abs(across) <= SHORT / 2)
        covered = inside.reshape(HEIGHT, fine, WIDTH, fine).mean(axis=(1, 3))
        images.append(DARK + strength * (BRIGHT - DARK) * covered)
    background = np.full((1, HEIGHT, WIDTH, 1), round(DARK * 255) / 255, np.float32)
    return Turning(
        (np.stack(images)[..., None] * 255).round().astype(np.uint8),
        centres,
        BackgroundModel(background, np.full((HEIGHT, WIDTH), 0.05, np.float32)),
    )


def new_bar_network(seed: int = 0, appearance: int = 0) -> Autoencoder:
    model = new_network(replace(CONFIG, appearance=appearance), seed)
    background = model.background
    assert isinstance(background, LayeredBackground)
    background.still.fill_(DARK)
    return model


def bar_engine(model: Autoencoder, clip: Turning) -> Engine:
    """Every pixel: frames this small are faster as a whole."""
    frames = frames_on(torch.device("cpu"), clip.frames, clip.background)
    present = torch.ones(len(clip.frames), 1, dtype=torch.bool)
    images, backgrounds = (frames.images / 255).contiguous(), frames.backgrounds.contiguous()
    return DenseEngine.of_foreground(model, images, frames.changed, backgrounds, tolerance=TOLERANCE, present=present)


@denormals_as_zero()
def trained(model: Autoencoder, clip: Turning, epochs: int, *, warm: bool) -> Autoencoder:
    """As ``track`` trains."""
    engine = bar_engine(model, clip)
    if warm:
        model.encoder.start_empty(0.02, outputs=1)
        model.decoder.start_empty(0.02, model.decoder.fan_in**-0.5)
    centres = torch.from_numpy(clip.centres).float().unsqueeze(1)
    recipe = replace(CLIP, epochs=epochs, warm_start_steps=60, restart_at=())
    return learn(engine, len(clip.frames), centres, recipe, seed=0, settings=DEFAULTS, trained=not warm)


@torch.no_grad()
def loss_of(model: Autoencoder, clip: Turning) -> float:
    """The mean squared error over all frames."""
    everything = torch.arange(len(clip.frames))
    return float(bar_engine(model.eval(), clip).reconstruct(everything, everything)[0])
