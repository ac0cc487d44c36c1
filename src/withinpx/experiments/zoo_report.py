"""The zoo in numbers, split by nuisance, and its worst clips as images."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from withinpx.data.zoo import PROBABILITIES, WHOLE, ZooClip, zoo_clip
from withinpx.discovery.objects import MovingObject
from withinpx.experiments.plots import RUNS, grid
from withinpx.experiments.sweep import describe_sweeps
from withinpx.experiments.table import RunTable
from withinpx.experiments.zoo import detected_objects, detections_near
from withinpx.files import writable_folder, write_atomically, write_json

if TYPE_CHECKING:
    from pandas import DataFrame

SHEET, PAGE, SUMMARY = "zoo.jpg", "README.md", "summary.json"
ROWS, COLUMNS = 3, 4  # of the sheet
SIDE = 2.4  # width of an image, inches
TRUE = "white"


def write_report(table: RunTable, folder: Path) -> list[str]:
    """Write the summary, the page and the sheet; returns lines to print."""
    runs = table.frame()
    summaries = summarise(runs)
    write_json(writable_folder(folder) / SUMMARY, summaries)
    worst = worst_seeds(runs)
    if worst:
        draw_worst(folder / SHEET, worst)
    write_atomically(folder / PAGE, _page(summaries, describe_sweeps(table.path.parent), bool(worst)).encode())
    return [json.dumps(summary) for summary in summaries]


def summarise(runs: "DataFrame") -> list[dict[str, Any]]:
    """One entry for all clips, for good and other clips, by nuisance (the costliest first) and by number of objects."""
    names = runs.nuisances.str.split()
    groups = [("all", runs), ("good", runs[runs.good == 1]), ("not good", runs[runs.good == 0])]
    groups.append(("no nuisance", runs[runs.nuisances == ""]))
    by_nuisance = [(name, runs[[name in own for own in names]]) for name in PROBABILITIES]
    groups += sorted(by_nuisance, key=lambda group: group[1].count_right.mean() if len(group[1]) else 1.0)
    for fewest, most in ((1, 1), (2, 3), (4, 5), (6, 8)):
        name = f"{fewest} to {most} objects" if most > fewest else "1 object"
        groups.append((name, runs[runs.objects_true.between(fewest, most)]))
    return [_summary(name, own) for name, own in groups if len(own)]


def _summary(name: str, runs: "DataFrame") -> dict[str, Any]:
    trained = runs.dropna(subset="certified")
    positions = int(trained.positions.sum())
    return {
        "clips": name,
        "runs": len(runs),
        "count_right_percent": round(100 * float(runs.count_right.mean()), 1),
        "recall_percent": round(100 * float((runs.recall * runs.objects_true).sum() / runs.objects_true.sum()), 1),
        "trained": len(trained),
        "certified_percent": round(100 * float(trained.certified.sum()) / positions, 1) if positions else None,
        "outside": int(trained.outside.sum()),
    }


def worst_seeds(runs: "DataFrame") -> list[int]:
    """Clips with certified positions outside their bound, then good ones, by the share of objects that is missing."""
    wrong = runs[(runs.count_right == 0) | (runs.recall < 1) | (runs.outside > 0)]
    wrong = wrong.assign(miscounted=(wrong.objects_found - wrong.objects_true).abs(), outside=wrong.outside.fillna(0))
    order = ["outside", "good", "recall", "miscounted"]
    ranked = wrong.sort_values([*order, "seed"], ascending=[False, False, True, False, True])
    return [int(seed) for seed in ranked.seed[: ROWS * COLUMNS]]


def draw_worst(path: Path, seeds: Sequence[int]) -> Path:
    """A frame of each clip with true and detected boxes."""
    rows = -(-len(seeds) // COLUMNS)
    with grid(path, (1,) * rows, COLUMNS, SIDE * COLUMNS, 2.1 * rows) as (_, axes):
        panels = [panel for row in axes for panel in row]
        for panel in panels:
            panel.set_axis_off()
        for panel, seed in zip(panels, seeds, strict=False):
            made = zoo_clip(seed)
            _draw_clip(panel, made, detected_objects(made))
    return path


def _draw_clip(axes: Axes, made: ZooClip, found: Sequence[MovingObject]) -> None:
    """In units of the frame's width, since panels of a column share their axis."""
    frame, clip = _worst_frame(made, found), made.clip
    image = np.broadcast_to(clip.frames[frame], (clip.height, clip.width, 3))
    axes.imshow(image, extent=(0, 1, clip.height / clip.width, 0), interpolation="nearest")
    for centre, sides in zip(made.truth[frame] / clip.width, made.sizes[frame] / clip.width, strict=True):
        axes.add_patch(Rectangle(centre - sides / 2, *sides, fill=False, edgecolor=TRUE))
    for blob in (blob for obj in found for blob in obj.blobs if blob.frame == frame):
        left, top, right, bottom = (side / clip.width for side in blob.box)
        box = Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=RUNS, linestyle="--")
        axes.add_patch(box)
    title = f"seed {made.scene.seed}{', good' * made.good}: {made.truth.shape[1]} objects, {len(found)} found"
    axes.set_title(f"{title}\n{', '.join(made.nuisances) or 'no nuisance'}", fontsize=7, loc="left")


def _worst_frame(made: ZooClip, found: Sequence[MovingObject]) -> int:
    """In which the most whole objects are not detected, or the most detections are of none."""
    near = np.zeros((len(found), *made.visible.shape), np.bool_)
    seen = np.zeros((len(found), len(made.clip)), np.bool_)
    for index, obj in enumerate(found):
        near[index] = detections_near(made, obj)
        seen[index, obj.frames] = True
    missing = ((made.visible >= WHOLE) & ~near.any(axis=0)).sum(axis=1)
    phantom = (seen & ~near.any(axis=2)).sum(axis=0)
    return int(np.argmax(missing + phantom))


def _page(summaries: Sequence[dict[str, Any]], sweeps: Sequence[str], with_sheet: bool) -> str:
    header = ("clips", "number", "count right", "objects found", "trained", "certified positions", "outside")
    lines = ["# The zoo", ""]
    lines += [f"- {sweep}" for sweep in sweeps]
    lines += [
        "",
        "Clips with exact truth, one per seed, from the distribution that `withinpx.data.zoo` documents. The number of "
        "objects is not given.",
        "",
        "*Count right*: the best hypothesis has the true number of objects. *Objects found*: the share of true objects "
        "with detections within half their size in 90 % of the frames in which they are whole and apart from others. "
        "*Certified positions*: the share of true positions, of objects at least 95 % visible in trained clips, that "
        "carry a certified position. *Outside*: certified positions outside their bound. *Good*: the theorem's "
        "assumptions hold by construction. A clip with several nuisances counts for each of them.",
        "",
        f"| {' | '.join(header)} |",
        f"|{' --- |' * len(header)}",
        *map(_line, summaries),
    ]
    if with_sheet:
        legend = "The worst clips: true boxes are white, detected ones red and dashed."
        lines += ["", legend, "", f"![{legend}]({SHEET})"]
    return "\n".join(lines) + "\n"


def _line(summary: dict[str, Any]) -> str:
    name, number, right, recall, trained, certified, outside = summary.values()
    after_training = (trained, "" if certified is None else f"{certified} %", outside) if trained else ("", "", "")
    return "| " + " | ".join(map(str, (name, number, f"{right} %", f"{recall} %", *after_training))) + " |"
