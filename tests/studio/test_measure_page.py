"""Measuring in Chromium: two clicks on a known length, charts with proved bands, and files, of the demo."""

import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest

from tests.studio.browser import Browser, Page, expect, on_screen, open_browser, open_page, serious_findings
from tests.studio.fake_training import count_epochs
from tests.studio.studio_server import TOKEN, listening
from withinpx.studio.app import DEMO, create_app
from withinpx.studio.make_demo import DEMO_ID
from withinpx.tracking.measure import measure

SHAPE = (160, 120)  # px of the demo's frames
UNORDERED = "fedcba9876543210"  # the demo's result as a run whose images have no order
HIDDEN_OBJECT, ALWAYS_CERTIFIED = 2, 0  # the first leaves the view
TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter((element) => !element.closest(".wide, .tabs, svg"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 80))"""
GREY = (
    """() => [...document.querySelectorAll(".motion-charts .band.gap")].map((band) => band.getAttribute("d") !== "")"""
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with listening(create_app(tmp_path / "home", TOKEN, work=count_epochs)) as port:
        yield f"http://127.0.0.1:{port}/?token={quote(TOKEN)}#/run/"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with open_page(browser) as opened:
        show(opened, address)
        yield opened


def show(page: Page, address: str) -> None:
    page.goto("about:blank")
    page.goto(f"{address}{DEMO_ID}/result")
    page.locator(".motion-charts svg").first.wait_for()
    page.wait_for_load_state("networkidle")


def click_at(page: Page, x: float, y: float, *, released_at: float | None = None) -> None:
    """Click at a position in px of the recording."""
    page.mouse.move(*on_screen(page, (x, y), SHAPE))
    page.mouse.down()
    page.mouse.move(*on_screen(page, (x if released_at is None else released_at, y), SHAPE))
    page.mouse.up()


def set_scale(page: Page, ends: tuple[float, float], length: str, unit: str) -> None:
    page.get_by_role("button", name="Click a known length").click()
    for x in ends:
        click_at(page, x, 15)
    page.get_by_label("Known length", exact=True).fill(length)
    page.get_by_label("Unit of the known length").select_option(unit)
    page.get_by_role("button", name="Set the scale").click()


def scale_of(page: Page) -> float:
    found = page.evaluate(f"() => fetch('/api/runs/{DEMO_ID}/scale').then((answer) => answer.json())")
    return float(found["mm_per_px"])


def table_rows(page: Page) -> list[list[str]]:
    return [row.locator("th, td").all_inner_texts() for row in page.locator(".motion-table tbody tr").all()]


def test_two_clicks_on_a_known_length_put_everything_in_mm(page: Page, tmp_path: Path) -> None:
    expect(page.locator(".scale-now")).to_have_text("No scale: values are in px.")
    page.get_by_role("button", name="Click a known length").click()
    expect(page.locator(".scale-step")).to_have_text("Click one end of a known length in the frame.")
    click_at(page, 12, 15)
    expect(page.locator(".scale-step")).to_have_text("Now click its other end.")
    click_at(page, 140, 15)
    expect(page.get_by_label("Known length", exact=True)).to_be_focused()
    page.keyboard.type("2.5")
    page.get_by_label("Unit of the known length").select_option("cm")
    page.get_by_role("button", name="Set the scale").click()
    expect(page.locator(".scale-now")).to_contain_text("1 px is 0.19")
    expect(page.locator(".scale")).to_contain_text("A click is good to about 1 px")
    expect(page.locator(".scale")).to_contain_text("is no part of the proved bounds")
    expect(page.locator(".scale-bar")).to_be_hidden()
    scale = scale_of(page)
    assert scale == pytest.approx(25 / 128, rel=0.01)  # a mouse is moved by whole px of the screen
    expect(page.locator(".motion-table thead")).to_contain_text("Median speed, mm/s")
    motion = measure(DEMO / "out", tmp_path / "motion", mm_per_px=scale).motion
    for index, row in enumerate(table_rows(page)):
        own = motion.linked[:, index]
        median = scale * pd.Series(motion.speed[own, index]).median()
        assert row[:3] == [str(index), f"{own.sum()} of 59", f"{float(f'{median:.4g}'):g}"]
    with page.expect_download() as download:
        page.get_by_role("link", name="Tracks in mm").click()
    assert Path(download.value.path()).read_bytes() == (tmp_path / "motion" / "tracks.csv").read_bytes()
    assert download.value.suggested_filename == "tracks_mm.csv"


def test_the_scale_is_kept_changed_and_removed(page: Page, address: str) -> None:
    set_scale(page, (20, 120), "15", "mm")
    expect(page.locator(".scale-now")).to_contain_text("1 px is 0.1")
    show(page, address)
    expect(page.locator(".scale-now")).to_contain_text("1 px is 0.1")
    page.get_by_role("button", name="Click a known length").click()
    expect(page.get_by_label("Known length", exact=True)).to_have_value("15")  # of the same clicks
    page.get_by_label("Known length", exact=True).fill("25")
    page.get_by_role("button", name="Set the scale").click()
    expect(page.locator(".scale-now")).to_contain_text("1 px is 0.2")
    page.get_by_label("or mm per px").fill("0.5")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.locator(".scale-now")).to_have_text("1 px is 0.5 mm")
    expect(page.locator(".scale")).to_contain_text("It was typed: how far it is off is not known here.")
    page.get_by_role("button", name="Remove the scale").click()
    expect(page.locator(".scale-now")).to_have_text("No scale: values are in px.")
    expect(page.locator(".motion-table thead")).to_contain_text("Median speed, px/s")
    expect(page.get_by_role("link", name="Tracks in mm")).to_have_count(0)


@pytest.mark.parametrize(
    ("ends", "length", "sentence"),
    [
        ((20, 120), "0", "The length is 0 mm"),
        ((20, 120), "", "The length is nothing"),
        ((20, 120), "2,5", "write it with a point, as 2.5"),
        ((50, 50), "10", "The two points are 0 px apart"),
    ],
)
def test_what_is_no_length_is_refused_beside_it(
    page: Page, ends: tuple[float, float], length: str, sentence: str
) -> None:
    set_scale(page, ends, length, "mm")
    expect(page.locator(".scale-bar").get_by_role("alert")).to_contain_text(sentence)
    click_at(page, 30, 20)  # starts again
    expect(page.locator(".scale-bar").get_by_role("alert")).to_be_hidden()
    expect(page.locator(".scale-step")).to_have_text("Now click its other end.")


def test_a_typed_scale_that_is_none_is_refused_beside_it(page: Page) -> None:
    page.get_by_label("or mm per px").fill("wide")
    page.keyboard.press("Enter")
    expect(page.locator(".scale").get_by_role("alert")).to_contain_text("The scale is 'wide', which is no number")


def test_a_drag_is_no_click_and_escape_ends_it(page: Page) -> None:
    page.get_by_role("button", name="Click a known length").click()
    click_at(page, 20, 20, released_at=90)
    expect(page.locator(".scale-step")).to_have_text("Click one end of a known length in the frame.")
    for x in (20, 120):
        click_at(page, x, 20)
    page.keyboard.type("n ")  # keys of the player
    page.keyboard.press("End")
    expect(page.locator(".readout")).to_contain_text("Frame 0")
    page.keyboard.press("Escape")
    expect(page.locator(".scale-bar")).to_be_hidden()
    click_at(page, 20, 20)
    expect(page.locator(".scale-now")).to_have_text("No scale: values are in px.")


def test_the_scale_of_another_run_is_named_and_can_be_removed(page: Page, address: str, tmp_path: Path) -> None:
    (tmp_path / "home" / "demo").mkdir(exist_ok=True)
    other = {"mm_per_px": 0.5, "of": ["other.mp4", 64, 48, 9], "clicks": None}
    (tmp_path / "home" / "demo" / "scale.json").write_text(json.dumps(other))
    show(page, address)
    expect(page.locator(".scale").get_by_role("alert")).to_contain_text("that of another recording, other.mp4")
    expect(page.locator(".motion-table thead")).to_contain_text("Median speed, px/s")
    page.get_by_role("button", name="Remove the scale").click()
    expect(page.locator(".scale").get_by_role("alert")).to_be_hidden()
    assert not (tmp_path / "home" / "demo" / "scale.json").exists()


def test_charts_are_grey_where_nothing_is_proved(page: Page) -> None:
    assert page.evaluate(GREY) == [False] * 3
    page.get_by_label("Object to measure").select_option(str(HIDDEN_OBJECT))
    assert page.evaluate(GREY) == [True] * 3
    page.locator("#main").focus()
    page.keyboard.press("End")
    expect(page.locator(".motion-charts figcaption").first).to_contain_text("nothing is proved here")


@pytest.mark.parametrize("over", [1, 5])
def test_the_shown_frame_has_the_values_of_the_table(page: Page, over: int) -> None:
    page.get_by_label("Mean over so many frames").fill(str(over))
    page.keyboard.press("Tab")
    with page.expect_download() as download:
        expect(page.get_by_role("link", name="Motion", exact=True)).to_have_attribute("href", re.compile(f"={over}$"))
        page.get_by_role("link", name="Motion", exact=True).click()
    table = pd.read_csv(io.BytesIO(Path(download.value.path()).read_bytes()))
    row = table.query(f"object == {ALWAYS_CERTIFIED} and frame == 20").iloc[0]
    after = table.query(f"object == {ALWAYS_CERTIFIED} and frame == {20 + over}").iloc[0]
    page.locator("#main").focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    expected = [
        (row["speed_px_s"], row["speed_low_px_s"], row["speed_high_px_s"], "px/s"),
        (row["distance_px"], row["distance_low_px"], row["distance_high_px"], "px"),
        (after["acceleration_px_s2"], after["acceleration_low_px_s2"], after["acceleration_high_px_s2"], "px/s²"),
    ]
    for (value, low, high, unit), readout in zip(expected, page.locator(".motion-charts output").all(), strict=True):
        found = re.fullmatch(r"([\d.]+) (\S+), proved ([\d.]+) to ([\d.]+)", readout.inner_text())
        assert found is not None, readout.inner_text()
        assert found[2] == unit
        assert float(found[1]) == pytest.approx(value, rel=6e-4)
        assert float(found[3]) <= low + 1e-9 and float(found[4]) >= high - 1e-9  # rounded outwards
        assert (float(found[3]), float(found[4])) == pytest.approx((low, high), rel=1.1e-3)


def test_an_interval_that_is_too_long_is_an_error_sentence(page: Page) -> None:
    page.get_by_label("Mean over so many frames").fill("70")
    page.keyboard.press("Tab")
    alert = page.locator("section:has(#measure)").get_by_role("alert").filter(visible=True)
    expect(alert).to_contain_text("An interval of 70 frames is not possible in tracks of 60")
    page.get_by_label("Mean over so many frames").fill("2")
    page.keyboard.press("Tab")
    expect(alert).to_have_count(0)
    expect(page.locator(".motion-table")).to_be_visible()


def test_images_without_an_order_have_no_charts(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "runs" / UNORDERED
    shutil.copytree(DEMO, folder)
    about = json.loads((folder / "out" / "tracks.json").read_text())
    (folder / "out" / "tracks.json").write_text(json.dumps({**about, "unordered": True}))
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**run, "demo": False}))
    with listening(create_app(tmp_path / "home", TOKEN, work=count_epochs)) as port, open_page(browser) as page:
        page.goto(f"http://127.0.0.1:{port}/?token={quote(TOKEN)}#/run/{UNORDERED}/result")
        alert = page.locator("section:has(#measure)").get_by_role("alert").filter(visible=True)
        expect(alert).to_contain_text("The images have no order")
        expect(page.locator(".motion-charts")).to_be_hidden()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_while_a_length_is_clicked(browser: Browser, address: str, dark: bool) -> None:
    with open_page(browser, dark=dark) as page:
        show(page, address)
        page.get_by_role("button", name="Click a known length").click()
        for x in (20, 120):
            click_at(page, x, 20)
        page.get_by_label("Known length", exact=True).fill("0")
        page.keyboard.press("Enter")
        expect(page.locator(".scale-bar").get_by_role("alert")).to_be_visible()
        assert serious_findings(page) == []
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate(TOO_WIDE) == []
