"""Chromium for the tests of the page. Where it is missing they are skipped; where ``CI`` is set they fail instead."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

import pytest


def unavailable(message: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"{message} (CI does not skip these tests.)")
    pytest.skip(message, allow_module_level=True)


try:
    from playwright.sync_api import Browser, Page, expect, sync_playwright
except ImportError:
    unavailable("The page is tested with playwright, which is not installed: pip install playwright.")

__all__ = ["Browser", "Page", "expect", "on_screen", "open_browser", "open_page", "pixels", "serious_findings"]
NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"])
TIMEOUT_MS = 15_000
expect.set_options(timeout=TIMEOUT_MS)


@cache
def chromium() -> str:
    """The path of the browser. CI machines are bare: there it is installed first."""
    if os.environ.get("CI") and not any(map(shutil.which, NAMES)) and shutil.which("apt-get") and os.geteuid() == 0:
        for command in INSTALL:
            subprocess.run(command, check=False, capture_output=True)  # noqa: S603
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        unavailable("The page is tested in Chromium, which is not installed: apt-get install chromium.")
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, *, width: int = 1280, height: int = 860, dark: bool = False) -> Iterator[Page]:
    """A page in its own context; an uncaught error in it fails the test."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        accept_downloads=True,
    )
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    yield page
    context.close()
    assert not errors, errors


def serious_findings(page: Page) -> list[str]:
    """The serious accessibility violations that axe finds."""
    try:
        script = Path(str(resources.files("axe_playwright_python"))) / "axe.min.js"
    except ModuleNotFoundError:
        unavailable("axe is not installed: pip install axe-playwright-python.")
    page.evaluate(script.read_text(encoding="utf-8"))
    report: dict[str, Any] = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['target']} {node.get('failureSummary', '')}"
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def on_screen(page: Page, position: tuple[float, float], shape: tuple[int, int]) -> tuple[float, float]:
    """Where a position in a frame of this width and height is on the page, if all of it is shown."""
    box = page.locator(".frame-view").bounding_box()
    assert box is not None
    scale = min(box["width"] / shape[0], box["height"] / shape[1])
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2  # of the frame's middle
    return left + scale * (position[0] - shape[0] / 2), top + scale * (position[1] - shape[1] / 2)


def pixels(page: Page, box: tuple[float, float, float, float], shape: tuple[int, int]) -> list[int]:
    """RGBA values of the canvas in a box (left, top, width, height; px of a frame of this width and height)."""
    values: list[int] = page.evaluate(
        """([[left, top, width, height], [frameWidth, frameHeight]]) => {
          const canvas = document.querySelector(".frame-view canvas");
          const [x, y] = [canvas.width / frameWidth, canvas.height / frameHeight];
          return [...canvas.getContext("2d").getImageData(left * x, top * y, width * x, height * y).data];
        }""",
        [list(box), list(shape)],
    )
    return values
