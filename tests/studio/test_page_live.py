"""The page in Chromium on a studio whose trainings only count epochs: folders of images, two browsers."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.studio.browser import Browser, Page, expect, open_browser, open_page
from tests.studio.fake_training import count_epochs
from tests.studio.studio_server import TOKEN, listening
from tests.tracked_clip import FRAMES, small_stage, write_images
from withinpx.studio.app import create_app


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with listening(create_app(tmp_path_factory.mktemp("studio"), TOKEN, work=count_epochs)) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def beads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images, with other files in it."""
    folder = write_images(tmp_path_factory.mktemp("images") / "beads", small_stage().render().clip)
    (folder / "notes.txt").write_text("not an image")
    (folder / ".hidden.png").write_bytes(b"not an image")
    return folder


def open_start(page: Page, address: str) -> None:
    page.goto(f"{address}?token={quote(TOKEN)}")
    page.locator(".drop").wait_for()


def drop(page: Page, *paths: Path) -> None:
    """Drop files from outside the browser."""
    box = page.locator(".drop").bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        position = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        session.send("Input.dispatchDragEvent", {"type": kind, **position, "data": data})


def test_a_folder_of_images_can_be_dropped_or_chosen(browser: Browser, address: str, beads: Path) -> None:
    images = sorted(beads.glob("[0-9]*.png"))
    with open_page(browser) as page:
        for name, paths in {"beads": [beads], "images": images}.items():
            open_start(page, address)
            drop(page, *paths)
            expect(page.get_by_role("heading", level=1)).to_have_text(name)
            expect(page.locator(".run-title p")).to_contain_text(f"{FRAMES} images")
        open_start(page, address)
        page.locator("#clip-folder").set_input_files(beads)
        expect(page.get_by_role("heading", level=1)).to_have_text("beads")
        open_start(page, address)
        drop(page, beads.parent)
        expect(page.locator(".drop").get_by_role("alert")).to_contain_text("holds no images")


def test_two_browsers_show_the_same_and_a_finished_run_can_be_trained_again(browser: Browser, address: str) -> None:
    with open_page(browser) as one, open_page(browser) as other:
        open_start(one, address)
        open_start(other, address)
        before = other.locator(".run-row").count()
        one.get_by_role("button", name="Train a copy").click()
        expect(other.locator(".run-row")).to_have_count(before + 1)
        one.get_by_role("button", name="Start").click()
        row = other.locator(".run-row").first
        expect(row.locator(".pill")).to_have_text("counted")
        run = str(row.get_by_role("link").get_attribute("href")).split("/")[-2]
        other.goto(f"{address}#/clip/{run}")
        other.get_by_role("button", name="Train again").click()
        expect(other.get_by_text(re.compile(r"Round \d+ of \d+: difference"))).to_be_visible()
        shown = other.request.get(f"{address}api/runs/{run}").json()
        assert shown["trained"]["seed"] == shown["options"]["seed"] == 100
