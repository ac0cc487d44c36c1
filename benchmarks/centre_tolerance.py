"""Is the true centre of an object within the tolerance g that is measured without labels (assumption 5)?

    python benchmarks/centre_tolerance.py --seed 700 --clips 180 --lens 0 0.8 1.5 --out results/guarantee
    python benchmarks/centre_tolerance.py --seed 700 --clips 30 --with shadow --out results/guarantee/shadows

Generated clips with exact truth; nothing is trained. Positions and boxes are those of a network: of each object, first
the true ones, then others that are off by up to 1 px in all frames and 0.05 px in each, with a box that is 0.9 to 1.2
times the true one and up to 3 px larger. Turning, growing and look-alike objects are left out, and clips wider than
640 px.
"""

import os
import platform
import shlex
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, cycle, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from result_tables import markdown_table
from withinpx import InputError, __version__
from withinpx.certificate.centre import centre_of
from withinpx.data.zoo import PROBABILITIES, ZooClip, clip_of, zoo_scene
from withinpx.discovery.inspection import inspect
from withinpx.files import writable_folder, write_atomically

LEFT_OUT = {"turning", "growing", "alike"}
WIDEST = 640  # px
FEWEST = 8  # frames that show an object whole and by itself
VARIANTS = 4  # of positions and box per object
OFF_PX, SCATTER_PX = 1.0, 0.05  # of a network's positions: the largest constant error, and the s.d. of the others
SCALED, LARGER_PX = (0.9, 1.2), 3.0  # of a network's box
APART_PX = 6.0
COLUMNS = (
    *("seed", "object", "variant", "frames", "size_px", "lens_px", "compressed", "middle_x", "middle_y", "g_x", "g_y"),
    "margin_px",
)


def alone(made: ZooClip, index: int) -> NDArray[np.intp]:
    """Frames that show all of an object, and no other near it."""
    frames = []
    for frame in np.flatnonzero((made.visible[:, index] >= 0.999) & made.apart[:, index]):
        distance = np.abs(made.truth[frame] - made.truth[frame, index])
        reach = (made.sizes[frame] + made.sizes[frame, index]) / 2 + APART_PX
        near = (distance < reach).all(axis=-1) & (made.visible[frame] > 0)
        near[index] = False
        if not near.any():
            frames.append(frame)
    return np.array(frames, np.intp)


def rows_of(seed: int, lens_px: float) -> Iterator[tuple[object, ...]]:
    scene = replace(zoo_scene(seed), lens_px=lens_px)
    made = clip_of(scene)
    try:
        background = inspect(made.clip).background
    except InputError:
        return
    for index in range(made.truth.shape[1]):
        frames = alone(made, index)
        if len(frames) < FEWEST:
            continue
        box = np.median(made.sizes[frames, index], axis=0)
        images, stills, truth = made.clip.frames[frames], background.of(frames), made.truth[frames, index]
        random = np.random.default_rng([seed, index])
        for variant in range(VARIANTS):
            off, positions, rendered = np.zeros(2), truth, box
            if variant > 0:
                off = random.uniform(-OFF_PX, OFF_PX, 2)
                positions = truth + off + random.normal(0, SCATTER_PX, truth.shape)
                rendered = box * random.uniform(*SCALED) + random.uniform(0, LARGER_PX)
            centre = centre_of(images, stills, positions, rendered)
            if centre is None:
                continue
            middle, g = np.array(centre.middle) + off, np.array(centre.tolerance)
            margin = float((g - np.abs(middle)).min())
            numbers = (round(float(value), 4) for value in (*middle, *g, margin))
            about = seed, index, variant, len(frames), round(float(box.max()), 2), lens_px, int(scene.crf is not None)
            yield *about, *numbers


def seeds_from(first: int, wanted: set[str]) -> Iterator[int]:
    """Of clips with one of the difficulties that are wanted, if any, and none of those left out."""
    for seed in count(first):
        scene = zoo_scene(seed)
        had = set(scene.nuisances)
        if scene.width <= WIDEST and not LEFT_OUT & had and (not wanted or wanted & had):
            yield seed


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=700)
    parser.add_argument("--clips", type=int, default=180)
    parser.add_argument(
        "--with", dest="wanted", nargs="+", default=[], choices=sorted(PROBABILITIES), help="only such clips"
    )
    parser.add_argument("--lens", type=float, nargs="+", default=[0.0], help="blur, px; one seed each, in turn")
    parser.add_argument("--out", type=Path, default=Path("results/guarantee"))
    given = parser.parse_args()
    seeds = islice(seeds_from(given.seed, set(given.wanted)), given.clips)
    rows = [row for seed, lens_px in zip(seeds, cycle(given.lens), strict=False) for row in rows_of(seed, lens_px)]
    out = writable_folder(given.out)
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)]
    write_atomically(out / "centre_tolerance.csv", ("\n".join(lines) + "\n").encode())
    numbers = np.array([[float(str(value)) for value in row[4:]] for row in rows])
    objects = np.array([f"{row[0]} {row[1]}" for row in rows])
    largest, margins = numbers[:, -3:-1].max(axis=1), numbers[:, -1]
    sharp, compressed = numbers[:, 1] == 0, numbers[:, 2] == 1
    names = ("clips", "objects", "measured", "median g, px", "nine tenths of g below, px", "true centre outside g")
    groups = (
        ("uncompressed", sharp & ~compressed),
        ("uncompressed, blurred", ~sharp & ~compressed),
        ("H.264", sharp & compressed),
        ("H.264, blurred", ~sharp & compressed),
        ("all", np.ones(len(rows), np.bool_)),
    )
    table = [
        (
            name,
            len(set(objects[own])),
            int(own.sum()),
            float(np.median(largest[own])),
            float(np.quantile(largest[own], 0.9)),
            int((margins[own] < 0).sum()),
        )
        for name, own in groups
        if own.any()
    ]
    command = shlex.join(["python", "benchmarks/centre_tolerance.py", *sys.argv[1:]])
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores"
    about = f"`{command}`, withinpx {__version__}, {machine}, {datetime.now(UTC):%Y-%m-%d}"
    text = "\n".join(["# Tolerance of the centre", "", about, "", *markdown_table(names, table), ""])
    write_atomically(out / "centre_tolerance.md", text.encode())
    print(
        f"{len(rows)} measurements of {len(set(objects))} objects, {(margins < 0).sum()} with the centre outside g; "
        f"median g {np.median(largest):.2f} px"
    )


if __name__ == "__main__":
    main()
