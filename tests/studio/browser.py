"""A real Chromium for the page's tests: Debian's package, installed if it is missing and can be."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "playwright", reason="The page is tested with playwright, which is not installed: pip install playwright."
)
from playwright.sync_api import Browser, Page, expect, sync_playwright

__all__ = ["Browser", "Page", "expect", "open_browser", "open_page", "pixels", "serious_findings"]
NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"])
WAIT_MS = 15_000
SERIOUS = ("serious", "critical")


def chromium() -> str:
    """Where it is; the tests are skipped where it cannot be had, but never in CI."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        for command in INSTALL:
            subprocess.run(command, check=False, capture_output=True)  # noqa: S603
        found = shutil.which("chromium")
    if found is None:
        said = "The page is tested in Chromium, which is not here: apt-get install chromium."
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, *, width: int = 1280, height: int = 860, dark: bool = False) -> Iterator[Page]:
    """A page of its own, which must not break or complain."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        accept_downloads=True,
    )
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    yield page
    context.close()
    assert not broken, broken


def serious_findings(page: Page) -> list[str]:
    """What axe says of this screen, if it is serious."""
    pytest.importorskip("axe_playwright_python", reason="axe is missing: pip install axe-playwright-python.")
    script = Path(str(resources.files("axe_playwright_python"))) / "axe.min.js"
    page.evaluate(script.read_text(encoding="utf-8"))
    answer: dict[str, Any] = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node.get('failureSummary', '')}"
        for each in answer["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def pixels(page: Page, box: tuple[float, float, float, float], shape: tuple[int, int]) -> list[int]:
    """What the canvas shows in a box (left, top, width, height; px of a picture of this width and height)."""
    found: list[int] = page.evaluate(
        """([[left, top, width, height], [wide, high]]) => {
          const canvas = document.querySelector(".picture canvas");
          const [x, y] = [canvas.width / wide, canvas.height / high];
          return [...canvas.getContext("2d").getImageData(left * x, top * y, width * x, height * y).data];
        }""",
        [list(box), list(shape)],
    )
    return found
