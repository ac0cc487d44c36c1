"""What moves in a clip, as the page shows it: looked at in processes of their own, once for each choice of options."""

import asyncio
import math
import os
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Lock
from typing import Any

from withinpx.errors import InputError
from withinpx.files import read_json, write_json
from withinpx.studio.process import be_second
from withinpx.studio.reading import watched
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import INSPECTION, LOOKING, WANTED, Options, Run, Runs

MOST_PLACES = 40  # of a mover that are told
AT_ONCE = 2  # clips: a long one must not keep another waiting
NICE = 5  # behind the server, before a training: somebody waits for it
EVERY_S = 0.25  # between two looks whether the server ends
Seen = dict[str, Any]


class OutdatedError(InputError):
    """Other options were chosen while a clip was being read."""


class Looker:
    """Answers are shared: who asks while somebody else's answer is being made waits for the same one.

    Nobody waits in a thread: a long clip takes minutes, and there are not so many threads.
    """

    def __init__(self, runs: Runs, ending: Event) -> None:
        self._runs, self._ending, self._lock = runs, ending, Lock()
        self._pool = _new_pool()
        self._answers: dict[tuple[str, str], Future[Seen]] = {}

    async def inspection(self, each: str) -> Seen:
        """What was seen in a run's clip with its options."""
        while True:
            run = self._runs[each]
            known = await asyncio.to_thread(self._kept, run)
            if known is not None:
                return known
            answer = await asyncio.to_thread(self._answer, run)
            try:
                return await self._awaited(asyncio.wrap_future(answer))
            except OutdatedError:
                if what_matters(self._runs[each].options) != what_matters(run.options):
                    raise Refusal(HTTPStatus.CONFLICT, "Other options were chosen meanwhile: ask again.") from None
            except BrokenProcessPool:
                raise InputError(
                    "The clip could not be looked at: its process ended, perhaps for want of memory."
                ) from None

    def close(self) -> None:
        """Look at nothing more; this process would not end before those that read on."""
        for each, _ in list(self._answers):
            with suppress(OSError, Refusal):
                write_json(self._runs.folder(each) / WANTED, None)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _awaited(self, answer: "asyncio.Future[Seen]") -> Seen:
        """Others wait for the same one: nobody takes it away from them."""
        while not self._ending.is_set():
            if (await asyncio.wait([answer], timeout=EVERY_S))[0]:
                return answer.result()
        raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "The studio is about to end.")

    def _kept(self, run: Run) -> Seen | None:
        kept = self._runs.folder(run.id) / INSPECTION
        if not kept.exists():
            return None
        known: Seen = read_json(kept)
        return dict(known["seen"]) if known["options"] == what_matters(run.options) else None

    def _answer(self, run: Run) -> "Future[Seen]":
        folder, choice = self._runs.folder(run.id), what_matters(run.options)
        key = run.id, str(choice)
        with self._lock:
            write_json(folder / WANTED, choice)
            if key in self._answers:
                return self._answers[key]
            clip = self._runs.clip(run.id)
            try:
                answer = self._pool.submit(look_closely, clip, run.clip.frames, run.options, folder)
            except BrokenProcessPool:
                self._pool = _new_pool()
                answer = self._pool.submit(look_closely, clip, run.clip.frames, run.options, folder)
            self._answers[key] = answer
        answer.add_done_callback(lambda _: self._answers.pop(key, None))  # without the lock, which a caller may hold
        return answer


def _new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(AT_ONCE, get_context("spawn"), be_second, (NICE,))


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


def look_closely(clip: Path, frames: int, options: Options, folder: Path) -> Seen:
    """Look at a run's clip; how far that is, what was seen, and which frames can be decoded is in the run's folder."""
    from withinpx.studio.frame_times import note_times  # noqa: PLC0415

    choice, telling = what_matters(options), folder / LOOKING

    def tell(done: int, again: bool) -> None:
        try:
            wanted = read_json(folder / WANTED)
        except InputError:  # the run is deleted
            wanted = None
        if wanted != choice:
            raise OutdatedError("Other options were chosen meanwhile.")
        write_json(telling, {"done": done, "of": max(done, frames), "again": again})

    try:
        tell(0, False)
        with watched(tell) as reading:
            seen = look_at(clip, frames, options)
        note_times(clip, reading.times_s)
        write_json(folder / INSPECTION, {"options": choice, "seen": seen})
    except FileNotFoundError:
        raise OutdatedError("The run was deleted meanwhile.") from None
    finally:
        telling.unlink(missing_ok=True)
    return seen


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
        for number, mover in enumerate(inspection.objects)
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
    shown = [blob.frame for mover in inspection.objects for blob in mover.blobs]
    return int(max(set(shown), key=lambda frame: (shown.count(frame), -frame)))


def _box(box: tuple[int, int, int, int], selection: Any) -> list[float]:
    """Left, top, width and height, px of the recording."""
    import numpy as np  # noqa: PLC0415

    (left, top), (right, bottom) = selection.to_recording(np.array(box, np.float64).reshape(2, 2)).tolist()
    return [round(value, 1) for value in (left, top, right - left, bottom - top)]
