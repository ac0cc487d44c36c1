"""Sixteen samples a pixel and a denoiser against 512, on the same pictures; and one thread against two.

Needs Blender: ``pip install 'withinpx[clevr]'``, then ``python benchmarks/render_samples.py``.
"""

import sys
import time
from collections.abc import Sequence

import numpy as np

from withinpx.data.blender import SAMPLES, BlenderStage, Pixels
from withinpx.data.clevr import DATASETS, ClevrSet
from withinpx.data.solids import Pose
from withinpx.errors import InputError

MANY = 512
PICTURES = 1  # of each dataset


def rendered(
    dataset: ClevrSet, poses: Sequence[Sequence[Pose]], samples: int, threads: int
) -> tuple[list[Pixels], float]:
    """The pictures, and the seconds for each."""
    stage = BlenderStage(dataset.camera, dataset.solids, dataset.radius, samples, threads)
    started = time.perf_counter()
    pictures = [stage.render(each).picture for each in poses]
    return pictures, (time.perf_counter() - started) / len(poses)


def main() -> None:
    """Print a line for each dataset."""
    for dataset in DATASETS.values():
        poses = [dataset.scene("train", number).poses for number in range(PICTURES)]
        few, few_s = rendered(dataset, poses, SAMPLES, 2)
        alone, _ = rendered(dataset, poses[::-1], SAMPLES, 1)
        many, many_s = rendered(dataset, poses, MANY, 2)
        off = np.abs(np.subtract(few, many, dtype=int))
        print(
            f"{dataset.name}: {SAMPLES} samples {few_s:.2f} s a picture, {MANY} samples {many_s:.1f} s; they differ by "
            f"{off.mean():.2f}/255 on average, 99 % of the values by at most {np.percentile(off, 99):.0f}/255. "
            f"One thread, other order: {'the same pixels' if np.array_equal(few, alone[::-1]) else 'OTHER PIXELS'}.",
            flush=True,
        )


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
