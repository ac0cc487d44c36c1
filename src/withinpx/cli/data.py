"""The command ``data``: render datasets with ground truth."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tyro.conf import Positional


@dataclass(frozen=True)
class DataCommand:
    """Render the paper's CLEVR-like images with exact ground truth (needs the extra `clevr`)."""

    what: Positional[Literal["clevr"]]
    """What to render."""
    name: str
    """spheres-06-10, -09-14, -11-17, -13-19, -15-24, -17-27, shapes-09-19, or all; spheres or shapes with --sizes."""
    out: Path
    """A folder for the dataset; with `all` it gets one folder per dataset and an overview image. Images that exist are
    kept: after an interruption, the same command resumes."""
    sizes: tuple[float, float] | None = None
    """Smallest and largest object size, px."""
    train: int = 150
    """Number of training images."""
    test: int = 50
    """Number of test images."""
    seed: int = 0
    """Seed of the poses."""

    def run(self) -> None:
        from withinpx.data.clevr import named_datasets  # noqa: PLC0415
        from withinpx.data.clevr_render import render_datasets  # noqa: PLC0415
        from withinpx.jobs.progress import JobProgress  # noqa: PLC0415

        folders = {
            self.out / dataset.name if self.name == "all" else self.out: replace(
                dataset, train=self.train, test=self.test, seed=self.seed
            )
            for dataset in named_datasets(self.name, self.sizes)
        }
        with JobProgress(unit="parts") as progress:
            measured = render_datasets(folders, callback=progress)
        if self.name == "all" and self.train:
            from withinpx.experiments.clevr_sheet import draw_datasets  # noqa: PLC0415

            draw_datasets(self.out / "datasets.png", list(folders))
        for (folder, dataset), found in zip(folders.items(), measured, strict=True):
            distance = found["silhouette_from_truth_px"]
            print(
                f"{dataset.name}: {dataset.train} + {dataset.test} images in {folder}; sizes "
                f"{found['smallest_px']:.2f} to {found['largest_px']:.2f} px; rendered silhouettes are at most "
                f"{distance['largest']:.2f} px (median {distance['median']:.2f}) from the truth."
            )
