"""Data with known truth: rendered by Blender."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tyro.conf import Positional


@dataclass(frozen=True)
class DataCommand:
    """Make the paper's CLEVR-like pictures, with exact truth (needs the extra `clevr`)."""

    what: Positional[Literal["clevr"]]
    """What to make."""
    name: str
    """spheres-06-10, -09-14, -11-17, -13-19, -15-24, -17-27, shapes-09-19, or all; spheres or shapes with --sizes."""
    out: Path
    """A folder for the dataset; with `all` it gets a folder for each, and a sheet of pictures. What is there already is
    not rendered again: after an interruption the same command goes on."""
    sizes: tuple[float, float] | None = None
    """Smallest and largest size of your own, px."""
    train: int = 150
    """Pictures to train with."""
    test: int = 50
    """Pictures to test with."""
    seed: int = 0
    """Of the places."""

    def run(self) -> None:
        """Render what is not there yet."""
        from withinpx.data.clevr import named_datasets  # noqa: PLC0415
        from withinpx.data.clevr_render import render_datasets  # noqa: PLC0415
        from withinpx.jobs.progress import JobProgress  # noqa: PLC0415

        chosen = [
            replace(dataset, train=self.train, test=self.test, seed=self.seed)
            for dataset in named_datasets(self.name, self.sizes)
        ]
        folders = {self.out / dataset.name if self.name == "all" else self.out: dataset for dataset in chosen}
        with JobProgress(unit="parts") as progress:
            measured = render_datasets(folders, callback=progress)
        if self.name == "all" and self.train:
            from withinpx.experiments.clevr_sheet import draw_datasets  # noqa: PLC0415

            draw_datasets(self.out / "datasets.png", list(folders))
        for (folder, dataset), found in zip(folders.items(), measured, strict=True):
            off = found["silhouette_from_truth_px"]
            print(
                f"{dataset.name}: {dataset.train} + {dataset.test} pictures in {folder}; sizes "
                f"{found['smallest_px']:.2f} to {found['largest_px']:.2f} px; rendered silhouettes are at most "
                f"{off['largest']:.2f} px (median {off['median']:.2f}) from the truth."
            )
