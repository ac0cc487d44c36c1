"""The pictures of docs/studio.md: ``python -m tests.studio.pictures docs/studio``; each screen in light and dark.

The training is that of the tests (no network is trained) over a prepared copy of the demo's own preview.
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
from withinpx.studio.runs import PREVIEW, PREVIEW_POSITIONS, PROGRESS, Runs, read_progress
from withinpx.studio.uploads import copy_demo

WINDOW, PHONE = (1440, 900), (390, 844)
WIDTH, GAP = 730, 8  # px, of a screen in a picture
PHONE_WIDTH = 363
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


def shots(studio: Studio) -> dict[str, tuple[str, Shot]]:
    """The address of each screen, and what is done there."""
    new, busy = copy_demo(studio.runs).id, training_run(studio.runs)

    def to_refused(page: Page) -> None:
        page.locator("#next-refused").click()
        page.get_by_role("button", name="Zoom in").click()

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
        page.wait_for_timeout(SETTLED_MS)
        return Image.open(BytesIO(page.screenshot())).convert("RGB")


def beside(images: list[Image.Image], width: int) -> Image.Image:
    scaled = [image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS) for image in images]
    sheet = Image.new("RGB", (len(scaled) * (width + GAP) - GAP, max(image.height for image in scaled)), "#8a8f96")
    for number, image in enumerate(scaled):
        sheet.paste(image, (number * (width + GAP), 0))
    return sheet


def main(out: Path, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as home:
        app = create_app(Path(home), TOKEN, work=lambda folder, run, stop: None)
        with listening(app) as port, open_browser() as browser:
            screens = shots(app.state.studio)
            base = f"http://127.0.0.1:{port}/?token={quote(TOKEN)}"
            for name in names or [*screens, "phone"]:
                if name == "phone":
                    found = [shoot(browser, base + screens[one][0], PHONE, False, screens[one][1]) for one in screens if one not in ("training", "edit")]
                    sheet = beside(found, PHONE_WIDTH)
                else:
                    place, prepare = screens[name]
                    sheet = beside([shoot(browser, base + place, WINDOW, dark, prepare) for dark in (False, True)], WIDTH)
                sheet.quantize(256, dither=Image.Dither.NONE).save(out / f"{name}.png", optimize=True)
                print(out / f"{name}.png", sheet.size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
