"""Make the demo that comes with the package: a finished run of a clip in which one object leaves the view.

``python -m withinpx.studio.make_demo`` takes a few minutes; a folder's name as argument writes it there.
"""

import os
import shutil
import sys
import tempfile
from base64 import b64encode
from dataclasses import asdict, replace
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
from withinpx.studio.inspection import inspect_clip, relevant_options
from withinpx.studio.options import Options
from withinpx.studio.runs import CLIP, DESCRIPTION, INSPECTION, OUT, OUTCOME, PREVIEW, PROGRESS, Run
from withinpx.studio.worker import work
from withinpx.tracking.detect import OVERLAY

DEMO_ID = "00000000000000de"
DEMO_NAME = "three_objects.mp4"
CREATED = "2026-11-15T12:00:00Z"
COLOURS = 96  # of the summary image
SEED = 2  # of the scene


def make_demo(target: Path) -> Run:
    """Render a clip, inspect and train it as the server does, and copy what the page shows."""
    options = Options(quick=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        clip = writable_folder(folder / CLIP) / DEMO_NAME
        write_clip_video(clip, leaving(frames=60, width=160, height=120, seed=SEED).clip)
        run = Run(DEMO_ID, DEMO_NAME, CREATED, video_footage(clip), options, trained=options, demo=True)
        inspection = inspect_clip(clip, options)
        write_json(folder / INSPECTION, {"options": relevant_options(options), "inspection": inspection})
        work(folder, run, Event())
        run = replace(run, state="finished", result=read_json(folder / OUTCOME)["result"])
        write_json(folder / DESCRIPTION, asdict(run))
        os.chdir(target.parent)  # out of the temporary folder
        compress(folder / OUT)
        shutil.rmtree(target, ignore_errors=True)
        writable_folder(target)
        for name in (DESCRIPTION, INSPECTION, CLIP, OUT, PREVIEW, PROGRESS):
            source = folder / name
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target / name)
    return run


def compress(out: Path) -> None:
    """Fewer colours in the summary, which the certificate page embeds too, and a smaller overlay video."""
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
