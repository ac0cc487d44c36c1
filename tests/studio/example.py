"""A finished run with made-up results for the tests of the page; no network is trained or loaded."""

import json
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from withinpx.data.clip import Clip
from withinpx.data.scenes import write_clip_video
from withinpx.studio.frames import video_footage
from withinpx.studio.options import Options
from withinpx.studio.rendering import Appearance, Position
from withinpx.studio.runs import CLIP, DESCRIPTION, OUT, PREVIEW, Run, Runs

EXAMPLE_ID, EXAMPLE_NAME = "0123456789abcdef", "three objects.mp4"
FRAMES, FPS, WIDTH, HEIGHT = 90, 25, 320, 240
OBJECTS, SIZE = 3, 24  # px
THEOREM, SHIFT = 8.6, (0.4, -0.3)  # px; the bound around (x, y) is larger by the shift
REFUSED = slice(34, 44)  # frames in which object 1 is refused
COLOURS = ("#dc2921", "#2957e6", "#edcc24")
CHECKS = (
    ("distinct", 0.62, 0.15, "share", "its appearance differs by 62 % from the most similar object"),
    ("displacement", 214.0, 8.6, "px", "it was seen at positions 214 px apart"),
    ("reconstruction", 0.97, 0.8, "share", "in 97 % of the kept-out frames it is reconstructed where it is seen"),
    ("heatmap", 0.11, 1.0, "px", "in nine of ten frames the rest of the heatmap moves z by at most 0.11 px"),
    ("drift", 0.24, 2.6, "px", "the reconstructed centre drifts from z by at most 0.24 px"),
    ("equivariance", 0.31, 8.6, "px", "at 25 shifted positions, z moves along to within 0.31 px"),
)
RESULT = {
    "certified": False,
    "objects": OBJECTS,
    "positions": 250,
    "certified_positions": 150,
    "message": "2 of 3 objects certified",
}
Json = dict[str, Any]


@cache
def true_positions() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """(frames, objects, 2); the third object leaves the view on the right."""
    share = np.linspace(0, 1, FRAMES)
    wave = 20 * np.sin(2 * np.pi * share)
    across = (30 + 250 * share, 290 - 250 * share, 120 + 320 * share)
    return np.stack([np.stack([x, y + wave], axis=1) for x, y in zip(across, (60, 130, 200), strict=True)], axis=1)


def draw(positions: Sequence[Position]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    image = Image.new("RGB", (WIDTH, HEIGHT), "#808080")
    for position, colour in zip(positions, COLOURS, strict=True):
        if position is not None:
            ImageDraw.Draw(image).circle(position, SIZE / 2, colour)
    return np.asarray(image)


def write_example(folder: Path) -> None:
    """The run as a folder, to be used as the demo."""
    clip = folder / CLIP / EXAMPLE_NAME
    clip.parent.mkdir(parents=True)
    frames = np.stack([draw([(x, y) for x, y in positions]) for positions in true_positions()])
    write_clip_video(clip, Clip(frames, np.arange(FRAMES) / FPS, EXAMPLE_NAME))
    options = Options()
    run = Run(
        *(EXAMPLE_ID, EXAMPLE_NAME, "2026-11-15T12:00:00Z", video_footage(clip), options, "finished"),
        result=RESULT,
        trained=options,
        demo=True,
    )
    (folder / DESCRIPTION).write_text(json.dumps(asdict(run)))
    (folder / PREVIEW).write_bytes(png(frames[0]))
    write_results(folder / OUT)


def write_results(out: Path, *, has_times: bool = True) -> None:
    """``tracks.csv`` and ``certificate.json``. The last object is refused as a whole, the others in some frames."""
    out.mkdir()
    table = tracks_table() if has_times else tracks_table().assign(time_s=np.nan)
    table.to_csv(out / "tracks.csv", index=False)
    (out / "tracks.json").write_text(json.dumps({"width": WIDTH, "height": HEIGHT, "unordered": False}))
    (out / "certificate.json").write_text(json.dumps(certificate()))


@cache
def tracks_table() -> pd.DataFrame:
    random = np.random.default_rng(7)
    position = true_positions() + random.normal(0, 0.1, (FRAMES, OBJECTS, 2))
    visible = (WIDTH - true_positions()[..., 0]) / SIZE + 0.5  # share of the object, above 1 inside the frame
    present = visible > 0.3
    reason = np.where(present, np.where(visible < 1, "border", ""), "absent").astype("<U16")
    reason[REFUSED, 1] = "reconstruction"
    reason[present[:, -1], -1] = "heatmap"
    residual = np.abs(random.normal(0.08, 0.04, present.shape))
    certified = reason == ""
    columns = {
        "frame": np.repeat(np.arange(FRAMES), OBJECTS),
        "time_s": np.repeat(np.arange(FRAMES) / FPS, OBJECTS),
        "object": np.tile(np.arange(OBJECTS), FRAMES),
        "x": np.where(present, position[..., 0], np.nan),
        "y": np.where(present, position[..., 1], np.nan),
        "width": np.where(present, SIZE, np.nan),
        "height": np.where(present, SIZE, np.nan),
        "bound_px": np.where(certified, THEOREM + residual + max(map(abs, SHIFT)), np.nan),
        "motion_px": np.nan,
        "sigma_px": np.nan,
        "z_x": np.where(present, position[..., 0] - SHIFT[0], np.nan),
        "z_y": np.where(present, position[..., 1] - SHIFT[1], np.nan),
        "theorem_px": np.where(present, THEOREM + residual, np.nan),
        "residual_px": np.where(present, residual, np.nan),
        "present": present.astype(int),
        "certified": certified.astype(int),
        "reason": reason,
        "identity_certified": 0,
        "identity_p": np.nan,
        "set_px": np.nan,
        "code_0": np.where(present, np.sin(np.arange(FRAMES) / 9)[:, None], np.nan),
        "angle_deg": np.nan,
    }
    return pd.DataFrame({name: values if np.isscalar(values) else values.ravel() for name, values in columns.items()})


def certificate() -> Json:
    return {
        "source": EXAMPLE_NAME,
        "frames": FRAMES,
        "kept_out": FRAMES // 5,
        "encoder_rf": 11,
        "decoder_rf": 17,
        "sigma": 0.8,
        "support": 3.2,
        "scale": 1.0,
        "objects": [_object_certificate(number) for number in range(OBJECTS)],
        "unused": [],
        "warnings": ["object 2 is missing in 30 frames"],
        "certified": False,
    }


def _object_certificate(number: int) -> Json:
    failed = "heatmap" if number == OBJECTS - 1 else ""
    checks = [
        {"name": name, "value": value, "limit": limit, "unit": unit, "met": True, "message": message}
        for name, value, limit, unit, message in CHECKS
    ]
    for check in checks:
        if check["name"] == failed:
            message = "in one of ten frames the rest of the heatmap moves z by 1.62 px or more"
            check |= {"met": False, "value": 1.62, "message": message}
    return {
        "object": number,
        "size": [SIZE - 0.4, SIZE + 1.1],
        "theorem_px": THEOREM,
        "shift": list(SHIFT),
        "checks": checks,
        "certified": not failed,
        "failed": failed,
    }


class FakeInspector:
    """Finds the objects inside the crop."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def inspection(self, run_id: str) -> Json:
        left, top, width, height = self._runs[run_id].options.crop or (0, 0, WIDTH, HEIGHT)
        found: list[Json] = []
        for index in range(OBJECTS):
            positions = [
                {"frame": frame, "box": [x, y, SIZE, SIZE]}
                for frame, (x, y) in enumerate((true_positions()[:, index] - SIZE / 2).round(1).tolist())
                if frame % 3 == 0 and left <= x <= left + width and top <= y <= top + height
            ]
            if positions:
                size = [SIZE - 1, SIZE + 1]
                frames = 3 * len(positions)
                found.append({"number": len(found), "size_px": size, "frames": frames, "positions": positions})
        return {
            "frame": 30,
            "objects": found,
            "noise_levels": 2.6,
            "camera_moves": False,
            "warnings": ["Object 2 is missing in a third of the frames and has no bound there."],
            "message": f"{len(found)} moving objects of {SIZE - 1} to {SIZE + 1} px.",
            "bound_px": THEOREM,
            "network": {"encoder_rf": 11, "decoder_rf": 17, "sigma": 0.8, "support": 3.2},
        }

    def close(self) -> None:
        """Nothing runs."""


class FakeRenderer:
    """Draws the objects as in the clip."""

    def __init__(self) -> None:
        self.images = 0  # rendered so far
        self.appearance: Appearance = None  # of the last image

    def image(self, folder: Path, positions: list[Position], appearance: Appearance) -> "Future[bytes]":
        self.images += 1
        self.appearance = appearance
        return _done(png(draw(positions)))

    def video(
        self, folder: Path, trajectories: list[list[Position]], fps: float, appearance: Appearance
    ) -> "Future[bytes]":
        return _done(b"\0\0\0\x18ftypmp42" + bytes(len(trajectories)))

    def preload(self, folder: Path) -> None:
        """Nothing is loaded."""

    unload = preload

    def close(self) -> None:
        """Nothing runs."""


def png(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    content = BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


def _done(content: bytes) -> "Future[bytes]":
    future: Future[bytes] = Future()
    future.set_result(content)
    return future
