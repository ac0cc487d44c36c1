"""The zoo in numbers, split by nuisance, and its worst clips as images."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from withinpx.data.zoo import PROBABILITIES, ZooClip, zoo_clip
from withinpx.discovery.objects import MovingObject
from withinpx.experiments.plots import grid
from withinpx.experiments.sweep import describe_sweeps
from withinpx.experiments.table import RunTable
from withinpx.experiments.zoo import detected_objects, detections_near, matched
from withinpx.files import writable_folder, write_atomically, write_json
from withinpx.palette import ALARM, BASE

if TYPE_CHECKING:
    from pandas import DataFrame

SHEET, PAGE, SUMMARY = "zoo.jpg", "README.md", "summary.json"
ROWS, COLUMNS = 4, 3  # of the sheet
SIDE = 3.2  # width of an image, inches
FOUND, MISSED, DETECTED = "white", ALARM, BASE[4]
LEGEND = "true boxes: white where the object is found, red where it is missed; detected boxes: blue, dashed"


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
    """A frame of each clip with true and detected boxes, the worst first."""
    rows, columns = -(-len(seeds) // COLUMNS), min(len(seeds), COLUMNS)
    with grid(path, (1,) * rows, columns, SIDE * columns, 2.9 * rows) as (_, axes):
        panels = [panel for row in axes for panel in row]
        for panel in panels:
            panel.set_axis_off()
        for panel, seed in zip(panels, seeds, strict=False):
            made = zoo_clip(seed)
            _draw_clip(panel, made, detected_objects(made))
    return path


def _draw_clip(axes: Axes, made: ZooClip, detected: Sequence[MovingObject]) -> None:
    """In units of the frame's width, since panels of a column share their axis."""
    found, clip = matched(made, detected), made.clip
    frame = _worst_frame(made, detected, found)
    image = np.broadcast_to(clip.frames[frame], (clip.height, clip.width, 3))
    axes.imshow(image, extent=(0, 1, clip.height / clip.width, 0), interpolation="nearest")
    for index, (centre, sides) in enumerate(zip(made.truth[frame], made.sizes[frame], strict=True)):
        left, top = (centre - sides / 2).tolist()
        _outline(
            axes, clip.width, (left, top, *(centre + sides / 2).tolist()), FOUND if index in found else MISSED, "-"
        )
    for blob in (blob for obj in detected for blob in obj.blobs if blob.frame == frame):
        _outline(axes, clip.width, blob.box, DETECTED, "--")
    count = made.truth.shape[1]
    title = f"seed {made.scene.seed}: {len(found)} of {count} found, {len(detected)} detected{'; good' * made.good}"
    nuisances = ", ".join(made.nuisances) or "no nuisance"
    axes.set_title(f"{title}\n{nuisances}; frame {frame}", fontsize=8, loc="left")


def _outline(axes: Axes, width: int, box: tuple[float, float, float, float], colour: str, line: str) -> None:
    """Over an edge that contrasts with it, so that it shows on any background."""
    left, top, right, bottom = (side / width for side in box)
    for edge, thick in (("white" if colour == MISSED else "black", 2.4), (colour, 1.2)):
        style: Any = {"fill": False, "edgecolor": edge, "linewidth": thick, "linestyle": line}
        axes.add_patch(Rectangle((left, top), right - left, bottom - top, **style))


def _worst_frame(made: ZooClip, detected: Sequence[MovingObject], found: Collection[int]) -> int:
    """In which the most missed objects are not detected although apart, or the most detections are of no object."""
    near = np.zeros((len(detected), *made.visible.shape), np.bool_)
    seen = np.zeros((len(detected), len(made.clip)), np.bool_)
    for index, obj in enumerate(detected):
        near[index] = detections_near(made, obj)
        seen[index, obj.frames] = True
    missed = np.array([index not in found for index in range(made.truth.shape[1])])
    missing = (made.apart & missed & ~near.any(axis=0)).sum(axis=1)
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
        lines += ["", "## The worst clips", "", f"{LEGEND[0].upper()}{LEGEND[1:]}.", "", f"![{LEGEND}]({SHEET})"]
    return "\n".join(lines) + "\n"


def _line(summary: dict[str, Any]) -> str:
    name, number, right, recall, trained, certified, outside = summary.values()
    after_training = (trained, "" if certified is None else f"{certified} %", outside) if trained else ("", "", "")
    return "| " + " | ".join(map(str, (name, number, f"{right} %", f"{recall} %", *after_training))) + " |"
