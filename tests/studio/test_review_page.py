"""A person reviews tracks in Chromium: corrects, names, swaps, merges, splits, deletes, undoes, and takes the table."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.studio.browser import Browser, Page, expect, open_browser, open_page, pixels, serious_findings
from tests.studio.example import FRAMES, HEIGHT, RESULT, WIDTH, tracks_table, true_positions, write_example
from tests.studio.studio_server import TOKEN, Json
from tests.studio.test_page import TOO_WIDE, Server, serve_example, show
from withinpx.studio.runs import OUT

LONG, MANY = 10_000, 20  # frames, objects
FIRST_REFUSED = 34  # of object 1
AMBER = (230, 159, 0)  # object 1


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    write_example(folder)
    return folder


@pytest.fixture
def server(example: Path, tmp_path: Path) -> Iterator[Server]:
    with serve_example(example, tmp_path / "home") as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    with open_page(browser) as opened:
        show(opened, server, "result")
        yield opened


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def go_to(page: Page, frame: int) -> None:
    seek = page.get_by_label("Frame", exact=True)
    seek.fill(str(frame))
    expect(page.locator(".readout")).to_contain_text(f"Frame {frame} ")


def choose(page: Page, number: int) -> None:
    page.get_by_label(f"Choose object {number}").check()


def on_screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a position of the recording is in the window."""
    frame = page.locator(".player .frame-view")
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    assert box is not None
    scale = min(box["width"] / WIDTH, box["height"] / HEIGHT)  # the frame is in the middle of its box
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return left + (x - WIDTH / 2) * scale, top + (y - HEIGHT / 2) * scale


def table(page: Page) -> pd.DataFrame:
    """The reviewed tracks as the page offers them."""
    with page.expect_download() as download:
        page.get_by_role("link", name="Reviewed tracks").click()
    assert download.value.suggested_filename == "reviewed.csv"
    return pd.read_csv(download.value.path(), keep_default_na=False, na_values={"bound_px": [""]}).set_index(
        ["frame", "object"]
    )


def saved(page: Page, undo: str) -> None:
    """Wait until the server has it."""
    expect(button(page, "Undo")).to_have_attribute("title", re.compile(f"^Undo: {re.escape(undo)}"))


def cell(page: Page, number: int, column: int) -> Any:
    return page.locator(".frame-table tbody tr").nth(number).locator("td").nth(column)


def test_a_person_reviews_a_run(page: Page) -> None:
    button(page, "Next").click()  # object 2, which is refused in all of its frames
    button(page, "Next").click()
    expect(page.locator(".check-item[aria-current]")).to_contain_text("object 1frames 34 to 43")
    expect(page.locator(".readout")).to_contain_text(f"Frame {FIRST_REFUSED} ")
    button(page, "Correct").click()
    page.mouse.click(*on_screen(page, 200, 100))
    saved(page, f"correct object 1 in frame {FIRST_REFUSED}")
    expect(cell(page, 1, 3)).to_have_text("person")
    expect(cell(page, 1, 2)).to_have_text("none")
    expect(page.locator(".frame-table tfoot")).to_contain_text("Object 1: set by a person, not certified.")
    expect(page.locator(".check-list")).to_contain_text("object 1frames 35 to 43")

    page.keyboard.press("Escape")
    name = page.get_by_label("Name of object 0")
    name.fill("the red one")
    name.press("Enter")
    saved(page, "rename object 0 to the red one")
    expect(page.locator(".frame-table tbody tr").first).to_contain_text("the red one")

    go_to(page, 60)
    choose(page, 0)
    page.get_by_label("The other object").select_option(label="object 1")
    button(page, "Swap the red one and object 1 from frame 60 on").click()
    saved(page, "swap objects 0 and 1 in frame 60 and all after it")
    expect(page.locator(".frame-table tfoot")).to_contain_text("Object 0: a person said which object this is.")

    go_to(page, 10)
    button(page, "Split: a new object from frame 10 on").click()
    saved(page, "split object 0 from frame 10 on")
    expect(page.locator(".frame-table tbody tr")).to_have_count(4)
    expect(page.locator(".lane-names span")).to_have_count(4)
    page.keyboard.press("Control+z")
    saved(page, "swap objects 0 and 1")
    expect(page.locator(".frame-table tbody tr")).to_have_count(3)
    expect(page.get_by_label("Name of object 3")).to_have_count(0)

    original = tracks_table().set_index(["frame", "object"])
    reviewed = table(page)
    person = reviewed[reviewed.source == "person"]
    assert person.index.tolist() == [(FIRST_REFUSED, 1)]
    (set_there,) = person.itertuples()
    assert (float(set_there.x), float(set_there.y)) == pytest.approx((200, 100), abs=1)
    assert (set_there.certified, set_there.reason) == (0, "person")
    assert np.isnan(set_there.bound_px)
    assert set(reviewed.xs(0, level="object").name) == {"the red one"}
    for frame in (60, FRAMES - 1):
        for number, other in ((0, 1), (1, 0)):
            assert reviewed.loc[(frame, number), "bound_px"] == pytest.approx(
                original.loc[(frame, other), "bound_px"], abs=1e-3
            )
            assert reviewed.loc[(frame, number), "identity_source"] == "person"
            assert reviewed.loc[(frame, number), "source"] == "network"
    assert reviewed.loc[(59, 0), "identity_source"] == "network"
    assert float(reviewed.loc[(59, 0), "x"]) == pytest.approx(original.loc[(59, 0), "x"], abs=1e-3)


def test_the_review_is_there_after_a_reload(page: Page, server: Server) -> None:
    page.get_by_label("Name of object 1").fill("blue")
    page.get_by_label("Name of object 1").press("Enter")
    saved(page, "rename")
    show(page, server, "result")
    expect(page.get_by_label("Name of object 1")).to_have_value("blue")
    button(page, "Undo").click()
    expect(page.get_by_label("Name of object 1")).to_have_value("object 1")
    expect(button(page, "Undo")).to_be_disabled()
    page.keyboard.press("Control+Shift+Z")
    expect(page.get_by_label("Name of object 1")).to_have_value("blue")
    expect(button(page, "Redo")).to_be_disabled()


def test_an_object_is_dragged_and_moved_by_keys(page: Page) -> None:
    go_to(page, 5)
    button(page, "Correct").click()
    x, y = (float(value) for value in true_positions()[5, 1])
    start, end = on_screen(page, x, y), on_screen(page, x - 30, y + 20)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.mouse.up()
    saved(page, "correct object 1 in frame 5")
    expect(page.get_by_label("Choose object 1")).to_be_checked()
    before = [float(cell(page, 1, column).inner_text()) for column in (0, 1)]
    assert before == pytest.approx([x - 30, y + 20], abs=1)
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight", "ArrowUp", "Shift+ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator(".readout")).to_contain_text("Frame 5 ")  # arrows do not step in this mode
    page.keyboard.press(".")  # saves, and goes on
    expect(page.locator(".readout")).to_contain_text("Frame 6 ")
    page.keyboard.press("Escape")
    expect(button(page, "Correct")).to_have_attribute("aria-pressed", "false")
    reviewed = table(page).loc[(5, 1)]
    assert float(reviewed.x) == pytest.approx(before[0] + 2.1, abs=0.06)
    assert float(reviewed.y) == pytest.approx(before[1] - 0.9, abs=0.06)
    page.locator("#main").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("Frame 7 ")


def test_a_click_beside_an_object_chooses_it_and_the_next_one_sets_it(page: Page) -> None:
    go_to(page, 5)
    button(page, "Correct").click()
    choose(page, 0)
    x, y = (float(value) for value in true_positions()[5, 1])
    click = on_screen(page, x + 3, y - 2)
    page.mouse.click(*click)
    expect(page.get_by_label("Choose object 1")).to_be_checked()
    expect(cell(page, 1, 3)).to_have_text("certified")
    page.mouse.click(*click)
    saved(page, "correct object 1 in frame 5")
    assert [float(cell(page, 1, column).inner_text()) for column in (0, 1)] == pytest.approx([x + 3, y - 2], abs=0.6)


def test_escape_ends_a_drag_without_a_change(page: Page) -> None:
    go_to(page, 5)
    button(page, "Correct").click()
    x, y = (float(value) for value in true_positions()[5, 1])
    before = cell(page, 1, 0).inner_text()
    start, end = on_screen(page, x, y), on_screen(page, x - 30, y)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=3)
    expect(cell(page, 1, 3)).to_have_text("person")
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(cell(page, 1, 0)).to_have_text(before)
    expect(cell(page, 1, 3)).to_have_text("certified")
    expect(button(page, "Undo")).to_be_disabled()


def test_nothing_is_corrected_outside_the_mode(page: Page) -> None:
    page.mouse.click(*on_screen(page, 200, 100))
    page.wait_for_timeout(300)
    expect(button(page, "Undo")).to_be_disabled()


def test_a_persons_position_is_a_diamond_without_a_square(page: Page) -> None:
    go_to(page, 20)
    button(page, "Correct").click()
    choose(page, 1)
    page.get_by_label("Trails").uncheck()  # they end in the middle
    page.mouse.click(*on_screen(page, 160, 180))
    saved(page, "correct object 1 in frame 20")
    x, y = (float(cell(page, 1, column).inner_text()) for column in (0, 1))

    def amber(left: float, top: float) -> int:
        values = pixels(page, (left - 1, top - 1, 2, 2), (WIDTH, HEIGHT))
        colours = np.array(values).reshape(-1, 4)[:, :3]
        return int((np.abs(colours - AMBER).max(axis=1) < 40).sum())

    assert amber(x, y) == 0  # the middle of a diamond is open, that of a cross near it is not
    reach = 7.65 * WIDTH / float(page.locator(".player .frame-view").bounding_box()["width"])  # type: ignore[index]
    assert min(amber(x + dx * reach, y + dy * reach) for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1))) > 0


def test_the_queue_is_stepped_and_accepted_by_keys(page: Page) -> None:
    entries = page.locator(".check-item")
    expect(entries).to_have_count(2)
    button(page, "Next").focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".check-count")).to_contain_text("2 of ")
    page.keyboard.press("k")
    expect(page.locator(".check-count")).to_contain_text("1 of ")
    expect(page.get_by_label("Choose object 2")).to_be_checked()
    for left in (1, 0):
        page.keyboard.press("a")
        expect(entries).to_have_count(left)
    expect(page.locator(".check-count")).to_contain_text("Nothing is left to check")
    expect(page.locator(".frame-table tbody tr").nth(1)).to_contain_text("refused")  # accepted is not certified
    button(page, "Undo").click()
    expect(entries).to_have_count(1)


def test_objects_are_deleted_and_merged(page: Page) -> None:
    choose(page, 1)
    go_to(page, 45)
    page.get_by_label("The other object").select_option(label="object 0")
    button(page, "Merge object 0 into object 1").click()
    expect(page.locator(".review-bar").get_by_role("alert")).to_contain_text("both present in frame 0")
    page.get_by_label("Frames to change").select_option(label="a range")
    page.get_by_label("First frame").fill("50")
    page.get_by_label("Last frame").fill("40")
    page.get_by_label("Last frame").press("Tab")
    button(page, "Delete object 1 in frames 50 to 40").click()
    expect(page.locator(".review-bar").get_by_role("alert")).to_contain_text("backwards")
    page.get_by_label("Frames to change").select_option(label="from frame 45 on")
    button(page, "Delete object 1 from frame 45 on").click()
    saved(page, "delete object 1")
    choose(page, 0)
    page.get_by_label("Frames to change").select_option(label="all frames")
    page.get_by_label("Frames to change").select_option(label="from frame 45 on")
    button(page, "Split: a new object from frame 45 on").click()
    saved(page, "split object 0")
    choose(page, 1)
    page.get_by_label("The other object").select_option(label="object 3")
    button(page, "Merge object 3 into object 1").click()
    saved(page, "merge object 3 into object 1")
    expect(page.get_by_label("Name of object 3")).to_have_count(0)
    expect(page.locator(".frame-table tbody tr")).to_have_count(3)
    reviewed = table(page)
    original = tracks_table().set_index(["frame", "object"])
    assert float(reviewed.loc[(70, 1), "x"]) == pytest.approx(original.loc[(70, 0), "x"], abs=1e-3)
    assert reviewed.loc[(70, 3), "present"] == 0
    assert (reviewed.loc[(70, 0), "present"], reviewed.loc[(44, 0), "present"]) == (0, 1)


def test_a_change_in_another_window_is_not_overwritten(browser: Browser, page: Page, server: Server) -> None:
    with open_page(browser) as other:
        show(other, server, "result")
        other.get_by_label("Name of object 0").fill("first")
        other.get_by_label("Name of object 0").press("Enter")
        saved(other, "rename")
    page.get_by_label("Name of object 0").fill("second")
    page.get_by_label("Name of object 0").press("Enter")
    expect(page.locator(".review-bar").get_by_role("alert")).to_contain_text("has changed meanwhile")
    expect(page.get_by_label("Name of object 0")).to_have_value("first")
    page.get_by_label("Name of object 0").fill("second")
    page.get_by_label("Name of object 0").press("Enter")
    saved(page, "rename object 0 to second")
    expect(page.locator(".review-bar").get_by_role("alert")).to_be_hidden()


def test_thumbnails_show_the_objects(page: Page) -> None:
    """Each is a crop around its object: the middle has its colour."""
    read = """(canvas) => [...canvas.getContext("2d").getImageData(44, 44, 1, 1).data].slice(0, 3)"""
    for number, colour in enumerate(((220, 41, 33), (41, 87, 230), (237, 204, 36))):
        canvas = page.locator(f'li[data-object="{number}"] canvas')
        page.wait_for_function(
            "(number) => document.querySelector(`li[data-object='${number}'] canvas`)"
            ".getContext('2d').getImageData(44, 44, 1, 1).data[3] === 255",
            arg=number,
        )
        assert np.abs(np.array(canvas.evaluate(read)) - colour).max() < 40


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_review_is_accessible_and_fits_a_phone(browser: Browser, server: Server, dark: bool) -> None:
    with open_page(browser, width=360, height=740, dark=dark) as page:
        show(page, server, "result")
        button(page, "Next").click()
        button(page, "Correct").click()
        page.get_by_label("Name of object 0").fill("a name that is as long as it may be")
        page.get_by_label("Name of object 0").press("Enter")
        saved(page, "rename")
        assert page.evaluate(TOO_WIDE) == []
        assert serious_findings(page) == []


def finished_run(page: Page, server: Server, example: Path, tracks: pd.DataFrame, about: Json | None = None) -> str:
    """The address of the result of a run with these tracks."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    run_id = page.request.post(f"{server.address}api/demo/copy", headers=headers).json()["id"]
    out = server.studio.runs.folder(run_id) / OUT
    out.mkdir()
    (out / "certificate.json").write_bytes((example / OUT / "certificate.json").read_bytes())
    tracks.to_csv(out / "tracks.csv", index=False)
    if about is not None:
        (out / "tracks.json").write_text(json.dumps(about))
    server.studio.runs.change(run_id, state="finished", result=RESULT)
    return f"{server.address}#/run/{run_id}/result"


def test_what_is_in_doubt_is_listed_worst_first_and_a_swap_is_mended(page: Page, server: Server, example: Path) -> None:
    """Two objects are exchanged from frame 45 on, where one is refused; later a bound is wide."""
    tracks = tracks_table().query("object < 2").round(4)
    swapped = tracks.frame >= 45
    tracks.loc[swapped, "object"] = 1 - tracks[swapped].object
    tracks = tracks.sort_values(["frame", "object"], ignore_index=True)
    refused = (tracks.frame == 45) & (tracks.object == 0)
    tracks.loc[refused, ["bound_px", "certified", "reason"]] = [np.nan, 0, "touching"]
    tracks.loc[(tracks.object == 1) & tracks.frame.between(70, 72), "bound_px"] = 30.0
    page.goto(finished_run(page, server, example, tracks))
    items = page.locator(".check-item")
    expect(items).to_have_count(4)
    expect(items.nth(0)).to_contain_text("object 0 and object 1frame 45may be swapped")
    expect(items.nth(1)).to_contain_text("object 1frames 34 to 43refused")
    expect(items.nth(2)).to_contain_text("object 0frame 45refused because it touches another object")
    expect(items.nth(3)).to_contain_text("object 1frames 70 to 72a wide bound, up to ±30.0 px")
    items.first.click()
    button(page, "Swap them from frame 45 on").click()
    saved(page, "swap objects 0 and 1 in frame 45")
    expect(page.locator(".check-list")).not_to_contain_text("may be swapped")
    expect(page.locator(".check-item").nth(1)).to_contain_text("object 1frame 45refused")
    go_to(page, 60)
    original = tracks_table().set_index(["frame", "object"])
    assert float(cell(page, 0, 0).inner_text()) == pytest.approx(original.loc[(60, 0), "x"], abs=0.06)


def test_a_guessed_identity_is_listed(page: Page, server: Server, example: Path) -> None:
    tracks = tracks_table().query("object < 2").assign(identity_certified=1)
    tracks.loc[(tracks.object == 0) & tracks.frame.between(20, 21), "identity_certified"] = 0
    about = {"width": WIDTH, "height": HEIGHT, "unordered": False, "step_px": 4.0, "classes": [0, 0]}
    page.goto(finished_run(page, server, example, tracks, about))
    first = page.locator(".check-item").first
    expect(first).to_contain_text("object 0frames 20 to 21its link to the frame before is a guess")
    first.click()
    button(page, "Accept").click()
    expect(first).to_contain_text("refused")
    assert table(page).loc[(20, 0)].checked == 1


def long_table() -> pd.DataFrame:
    """Twenty objects in 10,000 frames, each of them refused in every fifth frame."""
    rows = np.arange(LONG)
    one = tracks_table().iloc[:1]
    table = pd.DataFrame(np.tile(one.to_numpy(), (LONG * MANY, 1)), columns=one.columns).astype(one.dtypes.to_dict())
    number, refused = np.tile(np.arange(MANY), LONG), np.repeat(rows % 5 == 4, MANY)
    return table.assign(
        frame=np.repeat(rows, MANY),
        time_s=np.repeat(rows / 25, MANY),
        object=number,
        x=20 + 14 * number,
        y=np.repeat(120 + 80 * np.sin(rows / 50), MANY).round(2),
        bound_px=np.where(refused, np.nan, 2.0),
        certified=(~refused).astype(int),
        reason=np.where(refused, "mismatch", ""),
    )


def test_long_tracks_of_many_objects_are_reviewed(browser: Browser, example: Path, tmp_path: Path) -> None:
    with serve_example(example, tmp_path / "home") as server, open_page(browser) as page:
        show(page, server, "start")
        page.goto(finished_run(page, server, example, long_table()))
        expect(page.locator(".review-objects > li")).to_have_count(MANY, timeout=120_000)
        expect(page.locator(".check-item")).to_have_count(40)
        expect(page.locator(".check-list")).to_contain_text("and 39960 more")
        cards = page.locator(".split-side .card:not([aria-labelledby=stretches]) *")
        assert cards.count() < 900
        for name, quick in (("Next", 3), ("Accept", 6)):
            started = time.perf_counter()
            button(page, name).click()
            if name == "Accept":
                saved(page, "accept")
            assert time.perf_counter() - started < quick
