"""The page in a real Chromium on the real server, with trainings that only pretend."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.studio.browser import Browser, Page, expect, open_browser, open_page
from tests.studio.pretended import pretend
from tests.studio.studio_server import TOKEN, listening
from tests.tracked_clip import FRAMES, small_stage, write_pictures
from withinpx.studio.app import create_app


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with listening(create_app(tmp_path_factory.mktemp("studio"), TOKEN, work=pretend)) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def beads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pictures, and something else in it."""
    folder = write_pictures(tmp_path_factory.mktemp("given") / "beads", small_stage().render().clip)
    (folder / "notes.txt").write_text("not a picture")
    (folder / ".hidden.png").write_bytes(b"not a picture")
    return folder


def enter(page: Page, address: str) -> None:
    page.goto(f"{address}?token={quote(TOKEN)}")
    page.locator(".drop").wait_for()


def drop(page: Page, *paths: Path) -> None:
    """As a hand does, from another window."""
    box = page.locator(".drop").bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)
    carried = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        session.send("Input.dispatchDragEvent", {"type": kind, **place, "data": carried})


def test_a_folder_of_pictures_is_a_clip_however_it_is_given(browser: Browser, address: str, beads: Path) -> None:
    pictures = sorted(beads.glob("[0-9]*.png"))
    with open_page(browser) as page:
        for name, given in {"beads": [beads], "pictures": pictures}.items():
            enter(page, address)
            drop(page, *given)
            expect(page.get_by_role("heading", level=1)).to_have_text(name)
            expect(page.locator(".run-title p")).to_contain_text(f"{FRAMES} pictures")
        enter(page, address)
        page.locator("#clip-folder").set_input_files(beads)
        expect(page.get_by_role("heading", level=1)).to_have_text("beads")
        enter(page, address)
        drop(page, beads.parent)
        expect(page.locator(".drop").get_by_role("alert")).to_contain_text("holds no picture")


def test_two_browsers_see_the_same_and_a_finished_run_is_trained_again(browser: Browser, address: str) -> None:
    with open_page(browser) as one, open_page(browser) as other:
        enter(one, address)
        enter(other, address)
        before = other.locator(".run-row").count()
        one.get_by_role("button", name="Train it again for real").click()
        expect(other.locator(".run-row")).to_have_count(before + 1)
        one.get_by_role("button", name="Start").click()
        row = other.locator(".run-row").first
        expect(row.locator(".pill")).to_have_text("pretended")
        run = str(row.get_by_role("link").get_attribute("href")).split("/")[-2]
        other.goto(f"{address}#/clip/{run}")
        other.get_by_role("button", name="Train again").click()
        expect(other.get_by_text(re.compile(r"Epoch \d+ of \d+: loss"))).to_be_visible()
        told = other.request.get(f"{address}api/runs/{run}").json()
        assert told["trained"]["seed"] == told["options"]["seed"] == 100
