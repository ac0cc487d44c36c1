"""The demo: a square moves over black; find it without labels and say how far off the answer can be."""

from pathlib import Path

import numpy as np
import torch
from matplotlib.patches import Rectangle

from withinpx.experiments.plots import RUNS, THEORY, TRUTH, figure
from withinpx.experiments.synthetic import Evaluation, SquaresRun, evaluate, train
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.softargmax import softmax_map
from withinpx.training.fit import FitSettings
from withinpx.training.progress import ProgressBar
from withinpx.training.recipe import Recipe

DEMO = SquaresRun(
    encoder_rf=5,
    decoder_rf=11,
    object_size=7,
    sigma=0.8,
    support=3.2,  # so that the bound holds for certain
    image_size=40,
    channels=16,
    recipe=Recipe(name="demo", epochs=120, batch_size=48, learning_rate=3e-3),
)


def run_demo(folder: Path, run: SquaresRun = DEMO) -> Evaluation:
    """Train, draw ``demo.png``, and say in one sentence what was found."""
    count = len(run.data.train())
    print(f"Training on {count} pictures of a moving {run.object_size} px square. Nobody tells the network where it is.")
    with ProgressBar() as bar:
        model = train(run, FitSettings(watchers=(bar,)))
    found = evaluate(model, run)
    path = draw(folder / "demo.png", model, run, found)
    print(sentence(model, run, found))
    print(f"See {path}")
    return found


def sentence(model: Autoencoder, run: SquaresRun, found: Evaluation) -> str:
    """Where the object was found, how far off it can be, how far off it was."""
    test = run.data.test()
    example = len(test) // 2
    x, y = _calibrated(model, test.images[example : example + 1], found)[0]
    verdict = "" if found.accepted else " (The reconstruction is too poor to rely on: this run would be discarded.)"
    return (
        f"Found the square at ({x:.1f}, {y:.1f}) px in a picture from a corner it had never been seen in. The network's raw "
        f"position can be at most {found.bound:g} px off, for certain; over {len(test)} such pictures it was at most "
        f"{found.position_error:.1f} px off, and {found.calibrated_error:.2f} px after calibration without labels.{verdict}"
    )


def draw(path: Path, model: Autoencoder, run: SquaresRun, found: Evaluation) -> Path:
    """A test picture, its heatmap, its reconstruction, and the errors of all test pictures inside the bound."""
    test = run.data.test()
    example = len(test) // 2
    image = torch.from_numpy(test.images[example : example + 1])
    truth = test.positions[example]
    with torch.no_grad():
        heat = softmax_map(model.heatmaps(image), run.network.temperature)[0, 0].numpy()
        raw, drawn = (each[0].numpy() for each in model(image))
        offsets = model.encode(torch.from_numpy(test.images))[:, 0].numpy() - test.positions
    x, y = raw[0]
    calibrated = raw[0] + np.array(found.shift)
    extent = (0, run.image_size, run.image_size, 0)
    with figure(path, columns=4, width=12.5, height=3.5) as (_, axes):
        axes[0].imshow(image[0, 0], cmap="gray", extent=extent)
        axes[0].plot(*calibrated, "+", color=RUNS, markersize=13, markeredgewidth=2, label="found")
        axes[0].plot(*truth, "o", markerfacecolor="none", color=TRUTH, markersize=16, label="truth")
        corner, side = calibrated - found.bound, 2 * found.bound
        axes[0].add_patch(
            Rectangle(tuple(corner), side, side, fill=False, color=THEORY, linewidth=1.6, label="bound, certain")
        )
        axes[0].legend(loc="upper left", labelcolor="white", fontsize=8)
        axes[0].set_title("a picture the network never saw")
        axes[1].imshow(heat, cmap="magma", extent=extent)
        axes[1].plot(x, y, "+", color="white", markersize=11, markeredgewidth=1.5)
        axes[1].set_title(f"where its encoder looks: z = ({x:.1f}, {y:.1f})")
        axes[2].imshow(drawn[0], cmap="gray", vmin=0, vmax=1, extent=extent)
        axes[2].set_title("what its decoder draws from z alone")
        _draw_errors(axes[3], offsets, found)
        for axis in axes[:3]:
            axis.set(xticks=[], yticks=[])
            axis.grid(False)
    return path


def _draw_errors(axis, offsets, found: Evaluation) -> None:  # type: ignore[no-untyped-def]
    bound = found.bound
    axis.add_patch(Rectangle((-bound, -bound), 2 * bound, 2 * bound, color=THEORY, alpha=0.15, linewidth=0))
    axis.add_patch(Rectangle((-bound, -bound), 2 * bound, 2 * bound, fill=False, color=THEORY, linewidth=1.6))
    axis.plot(offsets[:, 0], offsets[:, 1], "o", color="0.45", markersize=5, label="raw z")
    shifted = offsets + np.array(found.shift)
    axis.plot(shifted[:, 0], shifted[:, 1], "+", color=RUNS, markersize=11, markeredgewidth=1.8, label="calibrated")
    limit = 1.25 * bound
    axis.set(xlim=(-limit, limit), ylim=(limit, -limit), aspect="equal", xlabel="x error (px)", ylabel="y error (px)")
    axis.legend(loc="upper right", fontsize=8)
    axis.set_title(f"all {len(offsets)} test pictures, bound {bound:g} px")


def _calibrated(model: Autoencoder, images, found: Evaluation):  # type: ignore[no-untyped-def]
    with torch.no_grad():
        return model.encode(torch.from_numpy(images))[:, 0].numpy() + np.array(found.shift)
