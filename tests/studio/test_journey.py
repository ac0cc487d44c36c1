"""The studio from end to end in Chromium, with a real training: upload, crop, train, result, edit."""

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

from tests.studio.browser import Page, expect, on_screen, open_browser, open_page, pixels, serious_findings
from tests.studio.small_training import train_small
from tests.studio.studio_server import TOKEN, listening
from tests.tracked_clip import FRAMES, HEIGHT, WIDTH, small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.data.stage import GeneratedClip
from withinpx.studio.app import create_app

TRAINED_MS = 240_000
LEFT, TOP, MARGIN = 16, 10, 24  # px: the position of the scene in the recording, and by how much that is larger
Json = dict[str, Any]


@pytest.fixture(scope="module")
def scene() -> GeneratedClip:
    """Three objects; the triangle leaves the view at the end, so some frames must be refused."""
    stage = small_stage()
    away = stage.objects[2].path.copy()
    away[:, 0] = np.linspace(12, WIDTH + 6, FRAMES)
    return replace(stage, objects=(*stage.objects[:2], replace(stage.objects[2], path=away))).render()


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory, scene: GeneratedClip) -> Path:
    """The scene with a margin, which is to be cropped away."""
    path = tmp_path_factory.mktemp("clip") / "three.mp4"
    margins = ((0, 0), (TOP, MARGIN - TOP), (LEFT, MARGIN - LEFT), (0, 0))
    write_clip_video(path, replace(scene.clip, frames=np.pad(scene.clip.frames, margins, mode="edge")))
    return path


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that a studio with short trainings prints."""
    app = create_app(tmp_path_factory.mktemp("studio"), TOKEN, work=train_small)
    with listening(app) as port:
        yield f"http://127.0.0.1:{port}/?token={quote(TOKEN)}"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser() as browser, open_page(browser) as opened:
        yield opened


def get_json(page: Page, path: str) -> Any:
    response = page.request.get(page.url.split("#")[0].rstrip("/") + path)
    assert response.ok, response.text()
    return response.json()


def test_a_clip_becomes_certified_tracks_that_can_be_checked_edited_and_downloaded(
    page: Page, address: str, clip: Path, scene: GeneratedClip
) -> None:
    started = time.monotonic()
    page.goto(address)
    page.locator(".demo-frame canvas").wait_for()
    assert time.monotonic() - started < 5  # under a second on an idle machine
    assert "token" not in page.url

    page.locator("#clip-file").set_input_files(clip)
    expect(page.get_by_role("heading", level=1)).to_have_text("three.mp4")
    expect(page.locator(".bound-number")).to_be_visible(timeout=60_000)
    expect(page.locator(".findings tbody tr")).to_have_count(3)
    crop = _drag_a_crop(page)
    page.get_by_label("Quick").check()
    page.wait_for_load_state("networkidle")
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text(re.compile(r"Round \d+ of \d+: difference"))).to_be_visible(timeout=TRAINED_MS)
    expect(page.locator("img.preview")).to_be_visible(timeout=TRAINED_MS)
    page.get_by_role("link", name="See the result").click(timeout=TRAINED_MS)
    run = page.url.split("/")[-2]
    tracks: Json = get_json(page, f"/api/runs/{run}/tracks")
    _check_shown_positions(page, tracks)
    _check_against_truth(tracks, scene)
    assert serious_findings(page) == []
    _go_to_a_refused_frame(page, tracks)
    _check_downloaded_table(page, tracks)
    page.emulate_media(color_scheme="dark")
    page.get_by_role("link", name="Edit").click()
    _drag_an_object(page, crop)
    _export_a_video(page, crop)
    assert serious_findings(page) == []


def _drag_a_crop(page: Page) -> list[int]:
    """Around the scene, to within a px."""
    shape = WIDTH + MARGIN, HEIGHT + MARGIN
    page.mouse.move(*on_screen(page, (LEFT, TOP), shape))
    page.mouse.down()
    page.mouse.move(*on_screen(page, (LEFT + WIDTH, TOP + HEIGHT), shape), steps=5)
    page.mouse.up()
    expect(page.get_by_role("button", name="Whole frame")).to_be_visible()
    expect(page.locator(".findings")).to_have_attribute("aria-busy", "false", timeout=60_000)
    crop: list[int] = get_json(page, f"/api/runs/{page.url.split('/')[-1]}")["options"]["crop"]
    assert np.abs(np.array(crop) - (LEFT, TOP, WIDTH, HEIGHT)).max() <= 1
    return crop


def _check_against_truth(tracks: Json, scene: GeneratedClip) -> None:
    truth = scene.truth + np.array([LEFT, TOP])
    count = 0
    for x, y, bound in (("x", "y", "bound_px"), ("z_x", "z_y", "theorem_px")):  # both bounds hold
        positions = np.stack([np.array(tracks[name], float) for name in (x, y)], axis=-1)
        for position, bounds, certified in zip(positions, tracks[bound], tracks["certified"], strict=True):
            errors = np.abs(position[:, None] - truth).max(axis=-1)  # to every object, in every frame
            obj = int(np.nanmedian(errors, axis=0).argmin())
            assert (errors[certified, obj] <= np.array(bounds, float)[certified]).all()
            count += sum(certified)
    assert count > 2 * FRAMES


def _check_shown_positions(page: Page, tracks: Json) -> None:
    expect(page.get_by_role("heading", name="Certificate")).to_be_visible()
    expect(page.locator(".matrix tbody tr")).to_have_count(7 + 3)
    cells = page.locator(".frame-table tbody tr").first.locator("td")
    expect(cells.nth(0)).to_have_text(f"{tracks['x'][0][0]:.1f}")
    expect(cells.nth(1)).to_have_text(f"{tracks['y'][0][0]:.1f}")


def _go_to_a_refused_frame(page: Page, tracks: Json) -> None:
    refused = [
        row
        for row in range(len(tracks["frames"]))
        for obj in range(tracks["objects"])
        if tracks["present"][obj][row] and not tracks["certified"][obj][row]
    ]
    assert refused, "an object that is cut off by the border is refused"
    page.get_by_role("button", name="Next refused frame").click()
    shown = int(re.findall(r"Frame (\d+)", page.locator(".readout").inner_text())[0])
    assert shown in [tracks["frames"][row] for row in refused]
    expect(page.locator(".frame-table .pill.bad").first).to_have_text("refused")


def _check_downloaded_table(page: Page, tracks: Json) -> None:
    with page.expect_download() as download:
        page.get_by_role("link", name="Tracks", exact=True).click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(tracks["frames"]) * tracks["objects"]
    for number, row in enumerate(rows):
        index, obj = divmod(number, tracks["objects"])
        x = tracks["x"][obj][index]
        assert (row["x"] == "") == (x is None)
        if x is not None:
            assert float(row["x"]) == pytest.approx(x, abs=0.01)
        assert row["certified"] == str(int(tracks["certified"][obj][index]))


def _drag_an_object(page: Page, crop: list[int]) -> None:
    handle = page.locator(".handle").first
    expect(page.locator(".frame-view")).to_have_attribute("data-rendered", re.compile(r"\d"))
    box = page.locator(".frame-view").bounding_box()
    assert box is not None
    left, top, width, height = crop
    target = (width / 2, height - 14.0)  # in the crop
    around = (target[0] - 2, target[1] - 2, 4, 4)
    before = np.array(pixels(page, around, (width, height)), float)
    handle.hover()
    page.mouse.down()
    scale = box["width"] / width
    page.mouse.move(box["x"] + target[0] * scale, box["y"] + target[1] * scale, steps=8)
    page.mouse.up()
    page.wait_for_function(
        """([x, y]) => {
          const [position] = JSON.parse(document.querySelector(".frame-view").dataset.rendered);
          return Math.abs(position[0] - x) < 1 && Math.abs(position[1] - y) < 1;
        }""",
        arg=[left + target[0], top + target[1]],
    )
    after = np.array(pixels(page, around, (width, height)), float)
    assert np.abs(after - before).mean() > 15, "it is rendered where it was dropped"


def _export_a_video(page: Page, crop: list[int]) -> None:
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator(".handle").first.focus()
    for _ in range(6):
        page.keyboard.press("ArrowUp")
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Stop").click()
    status = page.get_by_text(re.compile(r"A path of \d+ frames")).inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export a video").click()
    assert download.value.suggested_filename == "three_edited.mp4"
    with av.open(str(download.value.path())) as video:
        frames = list(video.decode(video=0))
    assert len(frames) == int(re.findall(r"\d+", status)[0])
    assert frames[0].width / frames[0].height == pytest.approx(crop[2] / crop[3], abs=0.02)
    first, last = (frame.to_ndarray(format="rgb24").astype(int) for frame in (frames[0], frames[-1]))
    assert np.abs(first - last).max() > 50, "it moves"
