"""The speed-up of the sparse training step over the dense one, and that both have the same loss.

    python benchmarks/training_step.py

Ratios of times measured in this one run, one setting of the paper after the other, in float32 on a CPU.
"""

import torch

from timing import median_seconds
from withinpx.experiments.synthetic import SquaresRun
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.training.engine import DenseEngine, Engine, SparseEngine
from withinpx.training.scene import Scene
from withinpx.training.step import reconstruction_step

SETTINGS = ((9, 11, 7), (9, 25, 9))  # encoder RF, decoder RF, object size; 80 x 80 px, batches of 128
DENSE_STEPS, SPARSE_STEPS = 3, 15


def measured(run: SquaresRun, images: torch.Tensor, chosen: torch.Tensor, kind: str) -> tuple[float, float]:
    """The loss of the first step, and the seconds per step."""
    torch.manual_seed(0)
    model = Autoencoder(run.network)
    if kind == "channels-last":
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    engine: Engine = SparseEngine(model, Scene.of(images, model)) if kind == "sparse" else DenseEngine(model, images)
    loss = engine.reconstruct(chosen, chosen)[0].item()
    step = reconstruction_step(engine, torch.optim.Adam(model.parameters(), lr=1e-3))
    batch = torch.stack([chosen, chosen])
    return loss, median_seconds(lambda: step(batch), SPARSE_STEPS if kind == "sparse" else DENSE_STEPS)


def layered_growth() -> tuple[float, float]:
    """Seconds per step of a layered decoder at a small and at a large frame, with the same objects."""
    small, large = (180, 320), (1080, 1920)
    durations = []
    for height, width in (small, large):
        config = NetworkConfig(height, width, 9, 25, 0.8, 3.2, objects=3, colours=3, background=BackgroundMode.LAYERED)
        model = new_network(config, 0)
        still = torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(0))
        model.background.still.copy_(still[0])  # type: ignore[operator]
        centres = torch.tensor([[60.0, 50.0], [150.0, 90.0], [240.0, 120.0]]).repeat(8, 1, 1)
        images = still.repeat(len(centres), 1, 1, 1)
        for image, positions in zip(images, centres.long().tolist(), strict=True):
            for x, y in positions:
                image[:, y - 8 : y + 8, x - 8 : x + 8] = 1.0
        scene = Scene.of_foreground(images, (images != still).any(dim=1), still, model)
        engine, chosen = SparseEngine(model, scene), torch.arange(len(centres))
        durations.append(median_seconds(lambda e=engine, c=chosen, z=centres: e.decoder_loss(c, z).backward(), 9))  # type: ignore[misc]
    return durations[0], durations[1]


def main() -> None:
    """Print one line per setting."""
    print("encoder RF, decoder RF, object | loss dense | loss sparse | dense / sparse | channels-last dense / sparse")
    for encoder_rf, decoder_rf, object_size in SETTINGS:
        run = SquaresRun(encoder_rf, decoder_rf, object_size)
        images = torch.from_numpy(run.data.train().images)
        chosen = torch.arange(0, len(images), len(images) // 128)[:128]
        kinds = ("dense", "channels-last", "sparse")
        (dense, slow), (_, slower), (sparse, fast) = (measured(run, images, chosen, kind) for kind in kinds)
        sizes = f"{encoder_rf}, {decoder_rf}, {object_size}"
        print(f"{sizes} | {dense:.6f} | {sparse:.6f} | {slow / fast:.1f} | {slower / fast:.1f}", flush=True)
    small, large = layered_growth()
    print(f"layered decoder, 1920x1080 against 320x180, the same three objects: {large / small:.2f} times the time")


if __name__ == "__main__":
    main()
