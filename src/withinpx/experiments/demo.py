"""The demo: a square moves over black; find it without labels and say how far off the answer can be."""

from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from numpy.typing import NDArray

from withinpx.experiments.plots import RUNS, THEORY, TRUTH, bound_box, figure
from withinpx.experiments.synthetic import Evaluation, SquaresRun, evaluate, train
from withinpx.files import folder_for
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
    recipe=Recipe(name="demo", epochs=120, batch_size=48, learning_rate=3e-3),  # the paper's way, but shorter
)


def run_demo(folder: Path, run: SquaresRun = DEMO) -> Evaluation:
    """Train, draw ``demo.png``, and say in one sentence what was found."""
    folder_for(folder)
    count = len(run.data.train())
    print(f"Training on {count} pictures of a moving {run.object_size} px square. Nobody says where it is.")
    with ProgressBar() as bar:
        model = train(run, FitSettings(watchers=(bar,)))
    found = evaluate(model, run)
    seen = Seen(model, run)
    path = draw(folder / "demo.png", seen, run, found)
    print(sentence(seen, found))
    print(f"See {path}")
    return found


class Seen:
    """What the trained network makes of the test pictures, one of which is the example."""

    def __init__(self, model: Autoencoder, run: SquaresRun) -> None:
        test = run.data.test()
        self.example = len(test) // 2
        with torch.no_grad():
            pictures = torch.from_numpy(test.images)
            positions, drawn = model(pictures)
            heat = softmax_map(model.heatmaps(pictures), model.config.temperature)
        self.images, self.truth, self.positions = test.images[:, 0], test.positions, positions[:, 0].double().numpy()
        self.drawn, self.heat = drawn[:, 0].numpy(), heat[:, 0].numpy()


def sentence(seen: Seen, found: Evaluation) -> str:
    """Where the object was found, how far off it can be, how far off it was."""
    x, y = seen.positions[seen.example] + np.array(found.shift)
    verdict = "" if found.accepted else " But the reconstruction is too poor to rely on: this run is discarded."
    return (
        f"Found the square at ({x:.1f}, {y:.1f}) px in a corner where it had never been seen. "
        f"The network's own position z can be at most {found.bound:g} px off, for certain; "
        f"over {len(seen.images)} such pictures it was at most {found.position_error:.1f} px off, "
        f"and {found.calibrated_error:.2f} px after calibration, which needs no labels either.{verdict}"
    )


def draw(path: Path, seen: Seen, run: SquaresRun, found: Evaluation) -> Path:
    """A test picture, its heatmap, its reconstruction, and the errors of all test pictures inside the bound."""
    z, bound = seen.positions[seen.example], found.bound
    extent = (0, run.image_size, run.image_size, 0)
    with figure(path, columns=4, width=13.5, height=3.7) as (_, axes):
        axes[0].imshow(seen.images[seen.example], cmap="gray", extent=extent)
        axes[0].add_patch(bound_box(z[0], z[1], bound, label=f"z ± {bound:g} px: the bound"))
        axes[0].plot(*z, "x", color=THEORY, markersize=8, markeredgewidth=2, label="z, raw")
        calibrated = z + np.array(found.shift)
        axes[0].plot(*calibrated, "+", color=RUNS, markersize=13, markeredgewidth=2, label="calibrated")
        truth = seen.truth[seen.example]
        axes[0].plot(*truth, "o", markerfacecolor="none", color=TRUTH, markersize=15, label="truth")
        axes[0].legend(loc="upper left", labelcolor="white", fontsize=8)
        axes[0].set_title("a picture it never saw")
        axes[1].imshow(seen.heat[seen.example], cmap="magma", extent=extent)
        axes[1].set_title(f"where its encoder looks: z = ({z[0]:.1f}, {z[1]:.1f})")
        axes[2].imshow(seen.drawn[seen.example], cmap="gray", vmin=0, vmax=1, extent=extent)
        axes[2].set_title("what its decoder draws from z")
        _draw_errors(axes[3], seen.positions - seen.truth, found)
        for axis in axes[:3]:
            axis.set(xticks=[], yticks=[])
            axis.grid(False)
    return path


def _draw_errors(axis: Axes, offsets: NDArray[np.float64], found: Evaluation) -> None:
    bound = found.bound
    axis.add_patch(bound_box(0, 0, bound))
    axis.plot(*offsets.T, "x", color=THEORY, markersize=8, markeredgewidth=2, label="z, raw")
    shifted = offsets + np.array(found.shift)
    axis.plot(*shifted.T, "+", color=RUNS, markersize=13, markeredgewidth=2, label="calibrated")
    limit = 1.5 * bound
    axis.set(xlim=(-limit, limit), ylim=(limit, -limit), aspect="equal", xlabel="x error (px)", ylabel="y error (px)")
    axis.legend(loc="upper left", fontsize=8, ncols=2)
    axis.set_title(f"errors in all {len(offsets)} test pictures")
