"""Sixteen samples per pixel with a denoiser compared with 512, on the same scenes; and one thread with two.

Needs Blender: ``pip install 'withinpx[clevr]'``, then ``python benchmarks/render_samples.py``.
"""

import sys
import time
from collections.abc import Sequence

import numpy as np

from withinpx.data.blender import SAMPLES, BlenderRenderer, Pixels
from withinpx.data.clevr import DATASETS, ClevrSet
from withinpx.data.solids import Pose
from withinpx.errors import InputError

MANY = 512
IMAGES = 1  # of each dataset


def render(
    dataset: ClevrSet, poses: Sequence[Sequence[Pose]], samples: int, threads: int
) -> tuple[list[Pixels], float]:
    """The images, and the seconds per image."""
    stage = BlenderRenderer(dataset.camera, dataset.solids, dataset.radius, samples, threads)
    started = time.perf_counter()
    images = [stage.render(scene).image for scene in poses]
    return images, (time.perf_counter() - started) / len(poses)


def main() -> None:
    for dataset in DATASETS.values():
        poses = [dataset.scene("train", number).poses for number in range(IMAGES)]
        few, few_s = render(dataset, poses, SAMPLES, 2)
        one_thread, _ = render(dataset, poses[::-1], SAMPLES, 1)
        many, many_s = render(dataset, poses, MANY, 2)
        difference = np.abs(np.subtract(few, many, dtype=int))
        print(
            f"{dataset.name}: {SAMPLES} samples {few_s:.2f} s an image, {MANY} samples {many_s:.1f} s; they differ by "
            f"{difference.mean():.2f}/255 on average, 99 % of the values by at most "
            f"{np.percentile(difference, 99):.0f}/255. One thread, other order: "
            f"{'the same pixels' if np.array_equal(few, one_thread[::-1]) else 'OTHER PIXELS'}.",
            flush=True,
        )


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
