"""The images of docs/studio.md: ``python -m tests.studio.screenshots docs/studio``; each screen in light and dark.

No network is trained: the training that is shown is a part of the demo's own.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from tests.studio.browser import Browser, Page, open_browser, open_page
from tests.studio.studio_server import TOKEN, listening
from withinpx.files import write_json
from withinpx.studio.api import Studio
from withinpx.studio.app import DEMO, create_app
from withinpx.studio.make_demo import DEMO_ID
from withinpx.studio.runs import OUT, PREVIEW, PREVIEW_POSITIONS, PROGRESS, Runs, read_progress
from withinpx.studio.uploads import copy_demo

WINDOW, PHONE = (1440, 900), (390, 844)
WIDTH, GAP = 730, 8  # px, of a screen in an image
PHONE_WIDTH = 363
PHONE_NAME, ON_A_PHONE = "phone", ("start", "clip", "result", "bound")
TRAINED = 0.45  # of the demo's training is shown
SETTLED_MS = 600
Shot = Callable[[Page], None]


def training_run(runs: Runs) -> str:
    """A copy of the demo, in the middle of its training."""
    run = copy_demo(runs)
    folder = runs.folder(run.id)
    lines = (DEMO / PROGRESS).read_text().splitlines(keepends=True)
    trained = [number for number, line in enumerate(lines) if '"training"' in line]
    (folder / PROGRESS).write_text("".join(lines[: trained[int(TRAINED * len(trained))] + 1]))
    shutil.copyfile(DEMO / PREVIEW, folder / PREVIEW)
    write_json(folder / PREVIEW_POSITIONS, {"positions": [[104.3, 21.1], [48.6, 96.2], [73.9, 64.0]]})
    runs.change(run.id, state="training", trained=run.options)
    assert read_progress(folder / PROGRESS)[0]
    return run.id


def finished_run(runs: Runs) -> str:
    """A copy of the demo with its results, to be reviewed."""
    run = copy_demo(runs)
    shutil.copytree(DEMO / OUT, runs.folder(run.id) / OUT)
    runs.change(run.id, state="finished", trained=run.options, result=runs[runs.demo].result)
    return run.id


def correct(page: Page) -> None:
    """The triangle, where it is cut off by the border."""
    page.get_by_label("Name of object 2").fill("triangle")
    page.get_by_label("Name of object 2").press("Enter")
    page.get_by_label("Choose object 2").check()
    page.get_by_label("Frame", exact=True).fill("35")
    page.locator("#correct").click()
    box = page.locator(".player .frame-view").bounding_box()
    assert box is not None
    scale = min(box["width"] / 160, box["height"] / 120)
    left, top = box["x"] + box["width"] / 2 - 80 * scale, box["y"] + box["height"] / 2 - 60 * scale
    page.mouse.click(left + 4.2 * scale, top + 53.6 * scale)
    page.locator(".check-item").first.click()
    page.get_by_label("Frame", exact=True).fill("35")
    page.locator(".review-bar").evaluate(
        "(bar) => bar.parentElement.scrollTo(0, bar.offsetTop - bar.parentElement.offsetTop)"
    )


def shots(studio: Studio) -> dict[str, tuple[str, Shot]]:
    """The address of each screen, and what is done there."""
    new, busy, reviewed = copy_demo(studio.runs).id, training_run(studio.runs), finished_run(studio.runs)

    def to_refused(page: Page) -> None:
        page.locator("#next-refused").click()

    def trim(page: Page) -> None:
        page.locator("#start:enabled").wait_for()
        page.get_by_label("Frame", exact=True).fill("8")
        page.get_by_role("button", name="From here").click()
        page.locator("#start:enabled").wait_for()

    def nothing(page: Page) -> None:
        """As it opens."""

    return {
        "start": ("#/", nothing),
        "clip": (f"#/clip/{new}", trim),
        "training": (f"#/run/{busy}/training", nothing),
        "result": (f"#/run/{DEMO_ID}/result", to_refused),
        "review": (f"#/run/{reviewed}/result", correct),
        "edit": (f"#/run/{DEMO_ID}/edit", nothing),
        "bound": ("#/bound", nothing),
    }


def shoot(browser: Browser, address: str, size: tuple[int, int], dark: bool, prepare: Shot) -> Image.Image:
    with open_page(browser, width=size[0], height=size[1], dark=dark) as page:
        page.goto(address)
        page.wait_for_load_state("load")
        page.locator("main h1, main h2").first.wait_for()
        page.wait_for_timeout(SETTLED_MS)
        prepare(page)
        page.mouse.move(0, 0)
        page.wait_for_timeout(SETTLED_MS)
        return Image.open(BytesIO(page.screenshot())).convert("RGB")


def beside(images: list[Image.Image], width: int) -> Image.Image:
    sizes = [(width, round(image.height * width / image.width)) for image in images]
    sheet = Image.new("RGB", (len(images) * (width + GAP) - GAP, max(height for _, height in sizes)), "#8a8f96")
    for number, (image, size) in enumerate(zip(images, sizes, strict=True)):
        sheet.paste(image.resize(size, Image.Resampling.LANCZOS), (number * (width + GAP), 0))
    return sheet


def sheet_of(browser: Browser, address: str, screens: dict[str, tuple[str, Shot]], name: str) -> Image.Image:
    """One screen in light and dark, or some at the width of a phone."""
    if name == PHONE_NAME:
        chosen = [screens[one] for one in ON_A_PHONE]
        return beside([shoot(browser, address + at, PHONE, False, prepare) for at, prepare in chosen], PHONE_WIDTH)
    at, prepare = screens[name]
    return beside([shoot(browser, address + at, WINDOW, dark, prepare) for dark in (False, True)], WIDTH)


def main(out: Path, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as home:
        app = create_app(Path(home), TOKEN)
        with listening(app) as port, open_browser() as browser:
            screens = shots(app.state.studio)
            for name in names or [*screens, PHONE_NAME]:
                sheet = sheet_of(browser, f"http://127.0.0.1:{port}/?token={quote(TOKEN)}", screens, name)
                sheet.save(out / f"{name}.png", optimize=True)
                print(out / f"{name}.png", sheet.size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
