"""The demo that comes with the package: a finished run of a clip in which one thing leaves, so that frames are refused.

``python -m withinpx.studio.shipped`` makes it again, in a few minutes; with a folder's name, there.
"""

import os
import shutil
import sys
import tempfile
from base64 import b64encode
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from threading import Event

import av
from PIL import Image

from withinpx.data.scenes import leaving, write_clip_video
from withinpx.data.stage import FRAMES_PER_SECOND
from withinpx.files import read_json, writable_folder, write_json
from withinpx.studio.app import DEMO
from withinpx.studio.frames import video_footage
from withinpx.studio.looking import look_at, what_matters
from withinpx.studio.runs import CLIP, DESCRIPTION, INSPECTION, OUT, OUTCOME, PREVIEW, PROGRESS, REASONS, Options, Run
from withinpx.studio.worker import work
from withinpx.tracking.detect import OVERLAY

DEMO_ID = "00000000000000de"
DEMO_NAME = "three_things.mp4"
MADE = "2026-11-15T12:00:00Z"
KEPT = (CLIP, OUT, PREVIEW, PROGRESS, REASONS)
COLOURS = 96  # of the figure
SEED = 2  # of the scene


def make_demo(into: Path) -> Run:
    """Film a clip, train it as a person would, and keep what the page shows of it."""
    options = Options(quick=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        clip = writable_folder(folder / CLIP) / DEMO_NAME
        write_clip_video(clip, leaving(frames=60, width=160, height=120, seed=SEED).clip)
        run = Run(DEMO_ID, DEMO_NAME, MADE, video_footage(clip), options, demo=True)
        write_json(
            folder / INSPECTION, {"options": what_matters(options), "seen": look_at(clip, run.clip.frames, options)}
        )
        work(folder, run, Event())
        result = read_json(folder / OUTCOME)["result"]
        run = Run(DEMO_ID, DEMO_NAME, MADE, run.clip, options, "finished", result=result, trained=options, demo=True)
        write_json(folder / DESCRIPTION, asdict(run))
        os.chdir(into.parent)
        make_smaller(folder / OUT)
        shutil.rmtree(into, ignore_errors=True)
        writable_folder(into)
        for name in (DESCRIPTION, INSPECTION, *KEPT):
            here = folder / name
            (shutil.copytree if here.is_dir() else shutil.copyfile)(here, into / name)
    return run


def make_smaller(out: Path) -> None:
    """Fewer colours in the figure, also where the page holds it, and a video compressed more: nobody sees it."""
    summary, page = out / "summary.png", out / "certificate.html"
    before = summary.read_bytes()
    Image.open(BytesIO(before)).convert("RGB").quantize(COLOURS).save(summary, optimize=True)
    old, new = (b64encode(content).decode() for content in (before, summary.read_bytes()))
    page.write_text(page.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    video, smaller = out / OVERLAY, out / f"smaller-{OVERLAY}"
    with av.open(str(video)) as source, av.open(str(smaller), "w", options={"movflags": "+faststart"}) as target:
        given = source.streams.video[0]
        stream = target.add_stream("libx264", rate=FRAMES_PER_SECOND, options={"crf": "27", "preset": "veryslow"})
        stream.width, stream.height, stream.pix_fmt = given.width, given.height, "yuv420p"
        for frame in source.decode(given):
            target.mux(stream.encode(frame.reformat(format="yuv420p")))
        target.mux(stream.encode())
    smaller.replace(video)


if __name__ == "__main__":
    made = make_demo(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else DEMO)
    print(f"{made.name}: {made.result}")
