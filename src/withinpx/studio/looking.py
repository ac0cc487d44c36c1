"""What moves in a clip, as the page shows it: looked at in processes of their own, once for each choice of options."""

import math
import os
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import Any

from withinpx.errors import InputError
from withinpx.files import read_json, write_json
from withinpx.studio.process import end_with_parent
from withinpx.studio.runs import INSPECTION, Options, Run, Runs

MOST_PLACES = 40  # of a mover that are told
AT_ONCE = 2  # clips: a long one must not keep another waiting
Seen = dict[str, Any]


class Looker:
    """Answers are shared: who asks while somebody else's answer is being made waits for the same one."""

    def __init__(self, runs: Runs) -> None:
        self._runs, self._lock = runs, Lock()
        self._pool = _new_pool()
        self._answers: dict[tuple[str, str], Future[Seen]] = {}

    def inspection(self, run: Run) -> Seen:
        """What was seen in a run's clip with its options."""
        choice = what_matters(run.options)
        kept = self._runs.folder(run.id) / INSPECTION
        if kept.exists():
            known: Seen = read_json(kept)
            if known["options"] == choice:
                return dict(known["seen"])
        answer = self._answer(run, str(choice))
        try:
            seen = answer.result()
        except BrokenProcessPool:
            with self._lock:
                self._pool, self._answers = _new_pool(), {}
            raise InputError(
                "The clip could not be looked at: its process ended, perhaps for want of memory."
            ) from None
        except BaseException:
            self._forget(run.id, str(choice))
            raise
        if run.id in self._runs:
            write_json(kept, {"options": choice, "seen": seen})
        self._forget(run.id, str(choice))
        return seen

    def close(self) -> None:
        """Look at nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _answer(self, run: Run, choice: str) -> "Future[Seen]":
        with self._lock:
            key = run.id, choice
            if key not in self._answers:
                clip = self._runs.clip(run.id)
                self._answers[key] = self._pool.submit(look_at, clip, run.clip.frames, run.options)
            return self._answers[key]

    def _forget(self, each: str, choice: str) -> None:
        with self._lock:
            self._answers.pop((each, choice), None)


def _new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(AT_ONCE, get_context("spawn"), end_with_parent)


def what_matters(options: Options) -> dict[str, Any]:
    """The options that an inspection depends on, as JSON has them."""
    known = asdict(options)
    crop = known["crop"]
    return {
        "objects": known["objects"],
        "crop": None if crop is None else list(crop),
        "background": known["background"],
        "target": known["target"],
    }


def look_at(clip: Path, frames: int, options: Options) -> Seen:
    """Look at a clip as ``track`` would; this is done where nobody minds which folder the process is in."""
    from withinpx.studio.settings import track_settings  # noqa: PLC0415  (torch, which only this process loads)
    from withinpx.tracking.track import look  # noqa: PLC0415

    os.chdir(clip.parent)  # so that no message tells where that is
    said: list[str] = []
    job = look(Path(clip.name), track_settings(options), said.append)
    inspection, selection, network = job.inspection, job.selection, job.plan.network
    every = _every(frames, len(inspection.images))
    bound = job.plan.bound
    low, high = (size / selection.scale for size in inspection.sizes)
    movers = [
        {
            "number": number,
            "size_px": [round(size / selection.scale, 1) for size in mover.sizes],
            "frames": len(mover.blobs),
            "places": [
                {"frame": blob.frame * every, "box": _box(blob.box, selection)}
                for blob in mover.blobs[:: math.ceil(len(mover.blobs) / MOST_PLACES)]
            ],
        }
        for number, mover in enumerate(inspection.movers)
    ]
    return {
        "frame": every * _fullest(inspection),
        "movers": movers,
        "noise_levels": round(inspection.noise, 2),
        "camera_moves": inspection.camera_moves,
        "warnings": [line.removeprefix("warning: ") for line in said if job.plan.why not in line],
        "sentence": f"{len(movers)} {'thing moves' if len(movers) == 1 else 'things move'}, {low:.0f} to {high:.0f} px "
        f"large. A network made for that has a bound of about {bound:.1f} px; what holds is measured after training.",
        "bound_px": round(bound, 2),
        "network": {
            "encoder_rf": network.encoder_rf,
            "decoder_rf": network.decoder_rf,
            "sigma": network.sigma,
            "support": network.support,
            "scale": selection.scale,
        },
    }


def _every(frames: int, looked_at: int) -> int:
    """One frame of how many was looked at: a power of two (data/reading.py)."""
    every = 1
    while math.ceil(frames / every) > looked_at:
        every *= 2
    return every


def _fullest(inspection: Any) -> int:
    """The frame that shows most movers."""
    shown = [blob.frame for mover in inspection.movers for blob in mover.blobs]
    return int(max(set(shown), key=lambda frame: (shown.count(frame), -frame)))


def _box(box: tuple[int, int, int, int], selection: Any) -> list[float]:
    """Left, top, width and height, px of the recording."""
    import numpy as np  # noqa: PLC0415

    (left, top), (right, bottom) = selection.in_recording(np.array(box, np.float64).reshape(2, 2)).tolist()
    return [round(value, 1) for value in (left, top, right - left, bottom - top)]
