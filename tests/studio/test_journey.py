"""One whole journey through the studio in a real Chromium: from a clip to its certificate, and beyond it."""

import csv
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import av
import numpy as np
import pytest

from tests.studio.browser import Page, expect, open_browser, open_page, pixels, serious_findings
from tests.studio.small_training import train_small
from tests.studio.studio_server import TOKEN, listening
from tests.tracked_clip import FRAMES, HEIGHT, WIDTH, small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.data.stage import GeneratedClip
from withinpx.studio.app import create_app

TRAINED_MS = 240_000
LEFT, TOP, AROUND = 16, 10, 24  # px: where the scene lies in the recording, and how much of it is none
Json = dict[str, Any]


@pytest.fixture(scope="module")
def scene() -> GeneratedClip:
    """Three things; the triangle leaves the view at the end, so some frames must be refused."""
    stage = small_stage()
    away = stage.objects[2].path.copy()
    away[:, 0] = np.linspace(12, WIDTH + 6, FRAMES)
    return replace(stage, objects=(*stage.objects[:2], replace(stage.objects[2], path=away))).render()


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory, scene: GeneratedClip) -> Path:
    """The scene with something around it, which is to be cropped away."""
    path = tmp_path_factory.mktemp("clip") / "three.mp4"
    around = ((0, 0), (TOP, AROUND - TOP), (LEFT, AROUND - LEFT), (0, 0))
    write_clip_video(path, replace(scene.clip, frames=np.pad(scene.clip.frames, around, mode="edge")))
    return path


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio whose trainings are short; its address as the command prints it."""
    app = create_app(tmp_path_factory.mktemp("studio"), TOKEN, work=train_small)
    with listening(app) as port:
        yield f"http://127.0.0.1:{port}/?token={quote(TOKEN)}"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser() as browser, open_page(browser) as opened:
        yield opened


def ask(page: Page, path: str) -> Any:
    answer = page.request.get(page.url.split("#")[0].rstrip("/") + path)
    assert answer.ok, answer.text()
    return answer.json()


def test_a_clip_becomes_certified_tracks_that_can_be_checked_moved_and_taken_home(
    page: Page, address: str, clip: Path, scene: GeneratedClip
) -> None:
    began = time.monotonic()
    page.goto(address)
    page.locator(".demo-picture canvas").wait_for()
    assert time.monotonic() - began < 5  # under a second on an idle machine
    assert "token" not in page.url

    page.locator("#clip-file").set_input_files(clip)
    expect(page.get_by_role("heading", level=1)).to_have_text("three.mp4")
    expect(page.locator(".bound-number")).to_be_visible(timeout=60_000)
    expect(page.locator(".findings tbody tr")).to_have_count(3)
    crop = _a_crop_is_drawn(page)
    page.get_by_label("A quick look").check()
    page.wait_for_load_state("networkidle")
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text(re.compile(r"Epoch \d+ of \d+: loss"))).to_be_visible(timeout=TRAINED_MS)
    expect(page.locator("img.preview")).to_be_visible(timeout=TRAINED_MS)
    page.get_by_role("link", name="See the result").click(timeout=TRAINED_MS)
    run = page.url.split("/")[-2]
    tracks: Json = ask(page, f"/api/runs/{run}/tracks")
    _positions_are_shown(page, tracks)
    _positions_are_those_of_the_recording(tracks, scene)
    assert serious_findings(page) == []
    _a_refused_frame_is_found(page, tracks)
    _the_table_is_the_same(page, tracks)
    page.emulate_media(color_scheme="dark")
    page.get_by_role("link", name="Edit").click()
    _a_dragged_object_is_drawn_there(page, crop)
    _a_path_becomes_a_film(page, crop)
    assert serious_findings(page) == []


def _a_crop_is_drawn(page: Page) -> list[int]:
    """Around the scene, by hand: to a px."""
    box = page.locator(".picture").bounding_box()
    assert box is not None
    scale = box["width"] / (WIDTH + AROUND)
    page.mouse.move(box["x"] + LEFT * scale, box["y"] + TOP * scale)
    page.mouse.down()
    page.mouse.move(box["x"] + (LEFT + WIDTH) * scale, box["y"] + (TOP + HEIGHT) * scale, steps=5)
    page.mouse.up()
    expect(page.get_by_role("button", name="Whole picture")).to_be_visible()
    expect(page.locator(".findings")).to_have_attribute("aria-busy", "false", timeout=60_000)
    crop: list[int] = ask(page, f"/api/runs/{page.url.split('/')[-1]}")["options"]["crop"]
    assert np.abs(np.array(crop) - (LEFT, TOP, WIDTH, HEIGHT)).max() <= 1
    return crop


def _positions_are_those_of_the_recording(tracks: Json, scene: GeneratedClip) -> None:
    truth = scene.truth + np.array([LEFT, TOP])
    found = np.stack([np.array(tracks[name], float) for name in ("z_x", "z_y")], axis=-1)
    promised = 0
    for z, bound, certified in zip(found, tracks["bound_px"], tracks["certified"], strict=True):
        off = np.abs(z[:, None] - truth).max(axis=-1)  # of every thing, in every frame
        each = int(np.nanmedian(off, axis=0).argmin())
        assert (off[certified, each] <= np.array(bound, float)[certified]).all()
        promised += sum(certified)
    assert promised > FRAMES


def _positions_are_shown(page: Page, tracks: Json) -> None:
    expect(page.get_by_role("heading", name="Certificate")).to_be_visible()
    expect(page.locator(".matrix tbody tr")).to_have_count(6 + 3)
    cells = page.locator(".frame-table tbody tr").first.locator("td")
    expect(cells.nth(0)).to_have_text(f"{tracks['x'][0][0]:.1f}")
    expect(cells.nth(1)).to_have_text(f"{tracks['y'][0][0]:.1f}")


def _a_refused_frame_is_found(page: Page, tracks: Json) -> None:
    refused = [
        row
        for row in range(len(tracks["frames"]))
        for each in range(tracks["objects"])
        if tracks["present"][each][row] and not tracks["certified"][each][row]
    ]
    assert refused, "a thing that is cut off by the border is refused"
    page.get_by_role("button", name="Next refused frame").click()
    shown = int(re.findall(r"Frame (\d+)", page.locator(".readout").inner_text())[0])
    assert shown in [tracks["frames"][row] for row in refused]
    expect(page.locator(".frame-table .pill.bad").first).to_have_text("refused")


def _the_table_is_the_same(page: Page, tracks: Json) -> None:
    with page.expect_download() as coming:
        page.get_by_role("link", name="Tracks", exact=True).click()
    with Path(coming.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(tracks["frames"]) * tracks["objects"]
    for number, row in enumerate(rows):
        at, each = divmod(number, tracks["objects"])
        said = tracks["x"][each][at]
        assert (row["x"] == "") == (said is None)
        if said is not None:
            assert float(row["x"]) == pytest.approx(said, abs=0.01)
        assert row["certified"] == str(int(tracks["certified"][each][at]))


def _a_dragged_object_is_drawn_there(page: Page, crop: list[int]) -> None:
    handle = page.locator(".handle").first
    expect(page.locator(".picture")).to_have_attribute("data-drawn", re.compile(r"\d"))
    box = page.locator(".picture").bounding_box()
    assert box is not None
    left, top, width, height = crop
    there = (width / 2, height - 14.0)  # of what is shown
    around = (there[0] - 2, there[1] - 2, 4, 4)
    before = np.array(pixels(page, around, (width, height)), float)
    handle.hover()
    page.mouse.down()
    scale = box["width"] / width
    page.mouse.move(box["x"] + there[0] * scale, box["y"] + there[1] * scale, steps=8)
    page.mouse.up()
    page.wait_for_function(
        """([x, y]) => {
          const [place] = JSON.parse(document.querySelector(".picture").dataset.drawn);
          return Math.abs(place[0] - x) < 1 && Math.abs(place[1] - y) < 1;
        }""",
        arg=[left + there[0], top + there[1]],
    )
    after = np.array(pixels(page, around, (width, height)), float)
    assert np.abs(after - before).mean() > 15, "its pixels are where it was dropped"


def _a_path_becomes_a_film(page: Page, crop: list[int]) -> None:
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator(".handle").first.focus()
    for _ in range(6):
        page.keyboard.press("ArrowUp")
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Stop").click()
    said = page.get_by_text(re.compile(r"A path of \d+ frames")).inner_text()
    with page.expect_download() as coming:
        page.get_by_role("button", name="Export the film").click()
    assert coming.value.suggested_filename == "three_edited.mp4"
    with av.open(str(coming.value.path())) as film:
        frames = list(film.decode(video=0))
    assert len(frames) == int(re.findall(r"\d+", said)[0])
    assert frames[0].width / frames[0].height == pytest.approx(crop[2] / crop[3], abs=0.02)
    first, last = (frame.to_ndarray(format="rgb24").astype(int) for frame in (frames[0], frames[-1]))
    assert np.abs(first - last).max() > 50, "it moves"
