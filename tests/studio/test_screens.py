"""The screens in Chromium: what is in view, zoom and pan, trimming, when Start is possible, and the phone."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.studio.browser import Browser, Page, expect, open_browser, open_page
from tests.studio.example import (
    FPS,
    FRAMES,
    HEIGHT,
    RESULT,
    FakeInspector,
    tracks_table,
    write_example,
    write_results,
)
from tests.studio.studio_server import Json, wait_until
from tests.studio.test_page import SCREENS, Server, file, serve_example, show, upload
from withinpx.data.clip import Clip
from withinpx.data.scenes import write_clip_video
from withinpx.errors import InputError
from withinpx.studio.runs import OUT

NOTHING_MOVES = "Nothing moves: all frames of pool.mp4 are the same."
SMALLEST_TARGET = 40  # px, of what a finger presses
# A frame whose colours are its coordinates, on a FrameView as the result has it.
SET_UP_ZOOM = """async ([width, height]) => {
  const [{ FrameView }, { Zoom }] = await Promise.all([import("/static/frame_view.js"), import("/static/zoom.js")]);
  const { signal } = new AbortController();
  const view = new FrameView([0, 0, width, height], { label: "test", signal, paint: () => {} });
  view.element.style = "position: fixed; left: 37px; top: 61px; width: 811px; height: 502px; max-width: none";
  window.clicks = [];
  const zoom = new Zoom(view, signal);
  view.element.addEventListener("click", (event) => window.clicks.push(view.toRecording(event)));
  document.body.append(view.element);
  const pixels = new ImageData(width, height);
  for (let at = 0; at < width * height; at++) pixels.data.set([at % width, Math.floor(at / width), 0, 255], 4 * at);
  view.show(await createImageBitmap(pixels));
  await new Promise(requestAnimationFrame);
  Object.assign(window, { view, zoom });
}"""
# The pixel of the recording that is drawn in a pixel of the page, and what toRecording says of its middle.
DRAWN_AND_SAID = """([clientX, clientY]) => {
  const box = view.element.getBoundingClientRect();
  const [x, y] = [(clientX - box.left) * devicePixelRatio, (clientY - box.top) * devicePixelRatio];
  const [red, green, , opaque] = view.canvas.getContext("2d").getImageData(x, y, 1, 1).data;
  const middle = (value, start) => start + (Math.floor(value) + 0.5) / devicePixelRatio;
  const said = view.toRecording({ clientX: middle(x, box.left), clientY: middle(y, box.top) });
  return [opaque ? [red + 0.5, green + 0.5] : null, said];
}"""
SAID = "([clientX, clientY]) => view.toRecording({ clientX, clientY })"
FETCHED_WIDTHS = """async (id) => {
  const [{ FrameCache }, api] = await Promise.all([import("/static/frame_cache.js"), import("/static/api.js")]);
  const cache = new FrameCache(await api.getRun(id), new AbortController().signal);
  return [(await cache.get(1)).width, (await cache.sharp(1)).width];
}"""
DRAWING_MS = """async (frames) => {
  const { FrameView } = await import("/static/frame_view.js");
  const { drawOverlay } = await import("/static/overlay.js");
  const column = (value) => [0, 1, 2].map((index) => Array.from({ length: frames }, (_, row) => value(row, index)));
  const position = (row, index) => 100 + 80 * Math.sin(row / 20 + index);
  const tracks = { objects: 3, x: column(position), y: column(position), bound_px: column(() => 2) };
  tracks.present = tracks.certified = column(() => true);
  let row = 0;
  const paint = (pen) => drawOverlay(pen, view, tracks, row);
  const view = new FrameView([0, 0, 320, 240], { label: "test", signal: new AbortController().signal, paint });
  Object.assign(view.element.style, { width: "640px", height: "480px" });
  document.body.append(view.element);
  const started = performance.now();
  for (let count = 0; count < 300; count++) {
    row = Math.floor((count * frames) / 300);
    view.draw();
  }
  return performance.now() - started;
}"""
TOO_SMALL = """(least) => [...document.querySelectorAll("main :is(button, .button, select), header a, header button")]
  .filter((element) => element.checkVisibility() && !element.matches(".brand, .link"))
  .filter((element) => Math.min(element.getBoundingClientRect().width, element.getBoundingClientRect().height) < least)
  .map((element) => element.outerHTML.slice(0, 80))"""
OVERFLOWING_CARDS = """() => [...document.querySelectorAll("main table")]
  .filter((table) => table.getBoundingClientRect().right > innerWidth && !table.closest(".wide"))
  .map((table) => table.className)"""


class SlowInspector(FakeInspector):
    """Answers when it is told to."""

    answers = False

    async def inspection(self, run_id: str) -> Json:
        while not self.answers:
            await asyncio.sleep(0.02)
        return await super().inspection(run_id)


class StillInspector(FakeInspector):
    """Finds motion only in a part of the clip."""

    async def inspection(self, run_id: str) -> Json:
        if self._runs[run_id].options.frames is None:
            raise InputError(NOTHING_MOVES)
        return await super().inspection(run_id)


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
def page(browser: Browser) -> Iterator[Page]:
    with open_page(browser, width=1440, height=900) as opened:
        yield opened


def send(page: Page, server: Server) -> str:
    """Upload a clip without waiting for its inspection; returns its id."""
    show(page, server, "start")
    page.locator("#clip-file").set_input_files(file("pool.mp4", server.video))  # type: ignore[arg-type]
    page.wait_for_url("**/#/clip/*")
    page.locator("#start").wait_for()
    return page.url.rsplit("/", 1)[1]


def box(page: Page, selector: str) -> Any:
    """Where an element is on the screen: x, y, width, height."""
    found = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    return found


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720), (1920, 1080)], ids=str)
def test_frame_controls_and_timeline_are_in_view(browser: Browser, server: Server, size: tuple[int, int]) -> None:
    width, height = size
    with open_page(browser, width=width, height=height) as page:
        for screen, parts in {
            "result": (".frame-view", ".play", "#next-refused", ".lanes", ".seek", ".frame-table"),
            "clip": (".frame-view", ".play", ".seek"),
        }.items():
            show(page, server, screen)
            for part in parts:
                found = box(page, part)
                assert min(found["x"], found["y"]) >= 0, part
                assert found["x"] + found["width"] <= width, part
                assert found["y"] + found["height"] <= height, part
            frame = box(page, ".frame-view")
            assert frame["width"] > 0.6 * width
            assert frame["height"] > 0.5 * height
            assert page.evaluate("scrollY") == 0


def test_under_any_zoom_a_position_is_that_of_the_pixel_drawn_there(page: Page, server: Server) -> None:
    show(page, server, "bound")
    page.evaluate(SET_UP_ZOOM, [240, 180])
    inside = [(60.0, 90.0), (442.0, 312.0), (840.0, 555.0), (200.0, 420.0), (505.3, 130.7)]

    def check() -> int:
        drawn = 0
        for point in inside:
            pixel, said = page.evaluate(DRAWN_AND_SAID, list(point))
            if pixel is not None:
                drawn += 1
                assert said == pytest.approx(pixel, abs=0.51)
        return drawn

    assert check() >= 3  # some are beside the frame, whose shape is another than the view's
    held = page.evaluate(SAID, [400, 200])
    page.mouse.move(400, 200)
    page.mouse.wheel(0, -700)
    page.wait_for_function("view.zoom > 2.5")
    assert page.evaluate(SAID, [400, 200]) == pytest.approx(held, abs=0.01)  # it stays under the pointer
    assert check() == len(inside)
    page.mouse.down()
    page.mouse.move(460, 260, steps=5)
    page.mouse.up()
    assert page.evaluate(SAID, [460, 260]) == pytest.approx(held, abs=0.01)  # it goes with the pointer
    assert check() == len(inside)
    page.evaluate("view.zoomTo(40, [239, 3])")
    assert check() == len(inside)
    page.evaluate("zoom.fit()")
    assert page.evaluate("[view.zoom, ...view.centre]") == [1, 120, 90]
    assert check() >= 3


def test_a_click_is_a_click_and_a_move_is_none(page: Page, server: Server) -> None:
    show(page, server, "bound")
    page.evaluate(SET_UP_ZOOM, [240, 180])
    page.evaluate("view.zoomTo(4, [120, 90])")
    page.mouse.click(442.5, 312)
    assert page.evaluate("clicks") == [pytest.approx([120, 90], abs=0.5)]
    page.mouse.move(442, 312)
    page.mouse.down()
    page.mouse.move(400, 312, steps=3)
    page.mouse.up()
    assert len(page.evaluate("clicks")) == 1


def test_two_fingers_zoom(browser: Browser, server: Server) -> None:
    with open_page(browser, width=1440, height=900) as page:
        show(page, server, "bound")
        page.evaluate(SET_UP_ZOOM, [240, 180])
        session = page.context.new_cdp_session(page)
        held = page.evaluate(DRAWN_AND_SAID, [442.0, 312.0])[1]

        def touch(kind: str, apart: float) -> None:
            points = [{"x": 442.5 + at, "y": 312, "id": number} for number, at in enumerate((-apart, apart))]
            down = [] if kind == "touchEnd" else points
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": down})

        touch("touchStart", 30)
        for apart in range(35, 95, 5):
            touch("touchMove", apart)
        touch("touchEnd", 90)
        assert page.evaluate("view.zoom") == pytest.approx(3, rel=0.1)
        assert page.evaluate(DRAWN_AND_SAID, [442.0, 312.0])[1] == pytest.approx(held, abs=2)


def test_keys_and_buttons_zoom_the_result(page: Page, server: Server) -> None:
    show(page, server, "result")
    level = page.locator(".zoom-level")
    expect(level).to_contain_text("1.0")
    page.locator("#main").focus()
    page.keyboard.press("+")
    expect(level).to_contain_text("1.4")
    page.get_by_role("button", name="Zoom in").click()
    expect(level).to_contain_text("2.0")
    page.keyboard.press("-")
    expect(level).to_contain_text("1.4")
    page.keyboard.press("0")
    expect(level).to_contain_text("1.0")
    expect(page.get_by_role("button", name="Show the whole frame")).to_be_disabled()
    before = page.locator(".readout").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".readout").inner_text() != before


def test_a_magnified_frame_is_fetched_in_all_of_its_pixels(page: Page, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "wide.mp4"
    write_clip_video(path, Clip(np.zeros((3, 48, 1280, 3), np.uint8), np.arange(3) / FPS, "wide"))
    show(page, server, "start")
    page.locator("#clip-file").set_input_files(path)
    page.wait_for_url("**/#/clip/*")
    assert page.evaluate(FETCHED_WIDTHS, page.url.rsplit("/", 1)[1]) == [960, 1280]


def test_drawing_a_frame_does_not_depend_on_the_length_of_the_clip(page: Page, server: Server) -> None:
    show(page, server, "bound")
    page.evaluate(DRAWING_MS, 100)
    short, long = page.evaluate(DRAWING_MS, 100), page.evaluate(DRAWING_MS, 10_000)
    assert long < 3 * short + 50


def test_a_clip_is_played_stepped_and_scrubbed_before_training(page: Page, server: Server) -> None:
    upload(page, server)
    page.get_by_role("button", name="One frame on").click()
    shown = page.locator(".readout")
    expect(shown).to_contain_text("Frame 31")  # 30 has the most objects
    page.locator("#main").focus()
    page.keyboard.press("Home")
    expect(shown).to_contain_text("Frame 0")
    page.get_by_label("Frame", exact=True).fill("60")
    expect(shown).to_have_text(f"Frame 60 · ≈ {60 / FPS:.2f} s")
    page.get_by_role("button", name="Play").click()
    expect(shown).to_contain_text(f"Frame {FRAMES - 1}")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_clip_is_trimmed_where_it_is_shown(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    page.get_by_label("Frame", exact=True).fill("20")
    page.get_by_role("button", name="From here").click()
    wait_until(lambda: bool(server.options(run_id).frames == (20, FRAMES - 1)))
    page.get_by_label("Frame", exact=True).fill("60")
    page.get_by_role("button", name="To here").click()
    wait_until(lambda: bool(server.options(run_id).frames == (20, 60)))
    page.get_by_label("First frame that is used").fill("25")
    page.get_by_label("First frame that is used").press("Tab")
    wait_until(lambda: bool(server.options(run_id).frames == (25, 60)))
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".readout")).to_contain_text("Frame 60")
    expect(page.get_by_role("button", name="Play")).to_be_visible()  # it ends where the part ends
    kept, bar = box(page, ".trim-kept"), box(page, ".trim-bar")
    assert (kept["x"] - bar["x"]) / bar["width"] == pytest.approx(25 / FRAMES, abs=0.01)
    page.get_by_role("button", name="Whole clip").click()
    wait_until(lambda: server.options(run_id).frames is None)


def test_the_result_of_a_trimmed_clip_has_the_frames_and_times_of_the_recording(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    out = server.studio.runs.folder(run_id) / OUT
    write_results(out)
    tracks_table().query("20 <= frame <= 60").to_csv(out / "tracks.csv", index=False)
    options = replace(server.options(run_id), frames=(20, 60))
    server.studio.runs.change(run_id, state="finished", result=RESULT, options=options, trained=options)
    page.goto(f"{server.address}#/run/{run_id}/result")
    expect(page.locator(".run-title")).to_contain_text("frames 20 to 60 are used")
    expect(page.locator(".readout")).to_have_text(f"Frame 20 · {20 / FPS:.2f} s")
    page.locator("#main").focus()
    page.keyboard.press("End")
    expect(page.locator(".readout")).to_have_text(f"Frame 60 · {60 / FPS:.2f} s")


def test_start_does_not_move_when_the_inspection_ends(browser: Browser, server: Server) -> None:
    for width, height in ((1440, 900), (390, 844)):
        inspector = SlowInspector(server.studio.runs)
        server.studio.inspector = inspector  # type: ignore[assignment]
        with open_page(browser, width=width, height=height) as page:
            send(page, server)
            page.wait_for_load_state("networkidle")
            expect(page.locator("#start")).to_be_disabled()
            before = box(page, "#start")
            inspector.answers = True
            expect(page.locator("#start")).to_be_enabled()
            page.locator(".bound-number").wait_for()
            assert box(page, "#start") == before
            assert before["y"] + before["height"] <= height or width < 900  # in view on a large screen


def test_a_clip_without_motion_says_why_it_cannot_be_started(page: Page, server: Server) -> None:
    server.studio.inspector = StillInspector(server.studio.runs)  # type: ignore[assignment]
    run_id = send(page, server)
    before = box(page, "#start")
    expect(page.locator("#start-note")).to_contain_text(
        f"This cannot be started. {NOTHING_MOVES} What helps: choose frames"
    )
    expect(page.locator("#start")).to_be_disabled()
    assert box(page, "#start") == before
    page.get_by_label("Last frame that is used").fill("50")  # another part, in which something moves
    page.get_by_label("Last frame that is used").press("Tab")
    expect(page.locator("#start-note")).to_contain_text("3 moving objects found")
    page.locator("#start").click()
    page.wait_for_url(f"**/run/{run_id}/training")


def test_a_refused_option_keeps_the_choices_and_the_next_one_sends_them_all(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    left, width = page.get_by_label("Left of the crop, px"), page.get_by_label("Width of the crop, px")
    left.fill("300")
    left.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("reaches outside the frame")
    page.get_by_label("Quick").check()
    expect(page.locator("#start")).to_be_disabled()
    expect(page.locator("#start-note")).to_contain_text("An option was not accepted")
    assert (left.input_value(), page.get_by_label("Quick").is_checked()) == ("300", True)
    width.fill("20")
    width.press("Tab")
    wait_until(lambda: bool(server.options(run_id).crop == (300, 0, 20, HEIGHT)))
    assert server.options(run_id).quick
    expect(page.locator("#start")).to_be_enabled()


def test_a_training_tells_in_words_what_happens_and_how_long_it_takes(page: Page, server: Server) -> None:
    upload(page, server)
    page.locator("#start").click()
    expect(page.locator(".now")).to_have_text("Learning what each object looks like")
    left = re.compile(r"Round \d+ of 40, about 1 second left until they are learned")
    expect(page.locator(".progress-card")).to_contain_text(left)
    for word in ("epoch", "loss", "warm start", "heatmap", "seed"):
        expect(page.locator("main")).not_to_contain_text(re.compile(word, re.IGNORECASE))


def test_a_phone_shows_everything_in_its_width_and_buttons_for_a_finger(browser: Browser, server: Server) -> None:
    with open_page(browser, width=390, height=844) as page:
        for screen in (*SCREENS, "new clip"):
            if screen == "new clip":
                upload(page, server)
            else:
                show(page, server, screen)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= 390, screen
            assert page.evaluate(OVERFLOWING_CARDS) == [], screen
            assert page.evaluate(TOO_SMALL, SMALLEST_TARGET) == [], screen
