"""What moves in a clip, for the page: computed in separate processes, once for each choice of options."""

import asyncio
import math
import os
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from http import HTTPStatus
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from withinpx.errors import InputError
from withinpx.files import read_json, write_json
from withinpx.studio.options import Options
from withinpx.studio.queue import follow_server
from withinpx.studio.runs import INSPECTING, INSPECTION, Run, Runs

if TYPE_CHECKING:
    from withinpx.data.recording import OnFrame
    from withinpx.data.selection import Frame

REQUESTED = "requested.json"  # the options of the page's latest request
MAX_POSITIONS = 40  # per object, in the answer
PROCESSES = 2  # a long clip must not block another one
NICENESS = 5  # after the server, before trainings
REPORT_EVERY = 20  # frames, while a clip is decoded
POLL_S = 0.25  # whether the server is closing
Json = dict[str, Any]


class OutdatedError(InputError):
    """Other options were chosen while the clip was being read."""


class Inspector:
    """Requests for the same inspection share one process.

    Requests wait on the event loop, not in threads: a long clip takes minutes, and threads are few.
    """

    def __init__(self, runs: Runs, closing: Event) -> None:
        self._runs, self._closing, self._lock = runs, closing, Lock()
        self._pool = _new_pool()
        self._pending: dict[tuple[str, str], Future[Json]] = {}

    async def inspection(self, run_id: str) -> Json:
        while True:
            run = self._runs[run_id]
            saved = await asyncio.to_thread(self._saved, run)
            if saved is not None:
                return saved
            try:
                return await self._wait(asyncio.wrap_future(await asyncio.to_thread(self._submit, run)))
            except OutdatedError:
                if relevant_options(self._runs[run_id].options) != relevant_options(run.options):
                    message = "Other options were chosen in the meantime: ask again."
                    raise HTTPException(HTTPStatus.CONFLICT, message) from None
            except BrokenProcessPool:
                message = "The clip could not be inspected: the process ended, perhaps out of memory."
                raise InputError(message) from None

    def close(self) -> None:
        """Cancel everything; the interpreter waits for the processes of a pool."""
        for run_id, _ in list(self._pending):
            with suppress(OSError, HTTPException):
                write_json(self._runs.folder(run_id) / REQUESTED, None)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, answer: "asyncio.Future[Json]") -> Json:
        """``asyncio.wait`` does not cancel the answer, which others may be waiting for."""
        while not self._closing.is_set():
            if (await asyncio.wait([answer], timeout=POLL_S))[0]:
                return answer.result()
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "The studio is shutting down.")

    def _saved(self, run: Run) -> Json | None:
        try:
            saved = read_json(self._runs.folder(run.id) / INSPECTION)
        except InputError:
            return None
        return saved.get("inspection") if saved["options"] == relevant_options(run.options) else None

    def _submit(self, run: Run) -> "Future[Json]":
        folder, options = self._runs.folder(run.id), relevant_options(run.options)
        key = run.id, str(options)
        with self._lock:
            write_json(folder / REQUESTED, options)
            if key in self._pending:
                return self._pending[key]
            args = self._runs.clip(run.id), run.clip.frames, run.options, folder
            try:
                answer = self._pool.submit(inspect_run, *args)
            except BrokenProcessPool:
                self._pool = _new_pool()
                answer = self._pool.submit(inspect_run, *args)
            self._pending[key] = answer
        answer.add_done_callback(lambda _: self._pending.pop(key, None))  # outside the lock, as it may run at once
        return answer


def _new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(PROCESSES, get_context("spawn"), follow_server, (NICENESS,))


def relevant_options(options: Options) -> Json:
    """The options that an inspection depends on, as JSON has them; earlier versions know no spans of frames."""
    crop = None if options.crop is None else list(options.crop)
    relevant = {"objects": options.objects, "crop": crop, "background": options.background, "target": options.target}
    return relevant if options.frames is None else {**relevant, "frames": list(options.frames)}


def inspect_run(clip: Path, frames: int, options: Options, folder: Path) -> Json:
    """Inspect a run's clip and save the answer; progress and the decodable frames are written along the way."""
    from withinpx.studio.frames import save_decoded_times  # noqa: PLC0415

    relevant, progress_file = relevant_options(options), folder / INSPECTING
    end = frames if options.frames is None else options.frames[1] + 1

    def report(done: int) -> None:
        try:
            requested = read_json(folder / REQUESTED)
        except InputError:  # the run was deleted
            requested = None
        if requested != relevant:
            raise OutdatedError("Other options were chosen in the meantime.")
        write_json(progress_file, {"done": done, "total": max(done, end)})

    try:
        report(0)
        times_s: dict[int, float] = {}  # of the frames that were decoded, by their numbers

        def on_frame(frame: "Frame") -> None:
            times_s[frame.number] = frame.time_s
            if len(times_s) % REPORT_EVERY == 0:
                report(frame.number + 1)

        found = inspect_clip(clip, options, on_frame)
        if options.whole and list(times_s) == list(range(len(times_s))):  # not a sample, whose gaps are no losses
            save_decoded_times(clip, list(times_s.values()))
        write_json(folder / INSPECTION, {"options": relevant, "inspection": found})
    except FileNotFoundError:
        raise OutdatedError("The run was deleted in the meantime.") from None
    finally:
        progress_file.unlink(missing_ok=True)
    return found


def inspect_clip(clip: Path, options: Options, on_frame: "OnFrame | None" = None) -> Json:
    """Inspect a clip as ``track`` does. This changes the working directory, so that no message holds a full path."""
    from withinpx.data.recording import open_recording  # noqa: PLC0415
    from withinpx.tracking.track import prepare  # noqa: PLC0415  (torch, which the server does not load)

    os.chdir(clip.parent)
    setup = prepare(open_recording(clip.name), options.for_track(), on_frame=on_frame)
    inspection, plan = setup.inspection, setup.plan
    selection, numbers = inspection.clip.selection, inspection.clip.numbers.tolist()
    network, bound = plan.network, plan.bound
    objects = [
        {
            "number": number,
            "size_px": [round(size / selection.scale, 1) for size in obj.sizes],
            "frames": len(obj.blobs),
            "positions": [
                {"frame": numbers[blob.frame], "box": _box_in_recording(blob.box, selection)}
                for blob in obj.blobs[:: math.ceil(len(obj.blobs) / MAX_POSITIONS)]
            ],
        }
        for number, obj in enumerate(inspection.objects)
    ]
    shown = [blob.frame for obj in inspection.objects for blob in obj.blobs]
    low, high = (size / selection.scale for size in inspection.sizes)
    count = "1 moving object" if len(objects) == 1 else f"{len(objects)} moving objects"
    return {
        "frame": numbers[max(set(shown), key=lambda frame: (shown.count(frame), -frame))],  # with the most objects
        "objects": objects,
        "colours": inspection.colours,
        "noise_levels": round(inspection.noise, 2),
        "camera_moves": inspection.camera_moves,
        "warnings": [*inspection.clip.lost, *plan.warnings],
        "message": f"{count} of {low:.0f} to {high:.0f} px. A network for this size has a bound of about "
        f"{bound:.1f} px; the bound of each position is measured after training.",
        "bound_px": round(bound, 2),
        "network": {
            "encoder_rf": network.encoder_rf,
            "decoder_rf": network.decoder_rf,
            "sigma": network.sigma,
            "support": network.support,
            "scale": selection.scale,
        },
    }


def _box_in_recording(box: tuple[int, int, int, int], selection: Any) -> list[float]:
    """Left, top, width and height, px of the recording."""
    import numpy as np  # noqa: PLC0415

    (left, top), (right, bottom) = selection.to_recording(np.array(box, np.float64).reshape(2, 2)).tolist()
    return [round(value, 1) for value in (left, top, right - left, bottom - top)]
