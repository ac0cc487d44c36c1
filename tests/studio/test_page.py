"""The page in Chromium, on a server with a made-up finished run, inspection and renderer."""

import csv
import io
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.studio.browser import Browser, Page, expect, on_screen, open_browser, open_page, pixels, serious_findings
from tests.studio.example import (
    EXAMPLE_ID,
    EXAMPLE_NAME,
    HEIGHT,
    REFUSED,
    RESULT,
    WIDTH,
    FakeInspector,
    FakeRenderer,
    tracks_table,
    write_example,
    write_results,
)
from tests.studio.fake_training import train_example
from tests.studio.studio_server import TOKEN, listening, wait_until
from withinpx.studio import app as studio_app
from withinpx.studio.api import Studio
from withinpx.studio.runs import CLIP, OUT

TRAINING_MS = 120_000  # beside other tests on a busy machine
SCREENS = {
    "start": "#/",
    "clip": f"#/clip/{EXAMPLE_ID}",
    "result": f"#/run/{EXAMPLE_ID}/result",
    "edit": f"#/run/{EXAMPLE_ID}/edit",
    "bound": "#/bound",
}
TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter((element) => !element.closest(".wide, .preview-box, .tabs, svg"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 80))"""
PLAYHEADS_AT_THE_END = """() => [...document.querySelectorAll(".chart")].every((chart) => {
  const end = (line) => chart.querySelector(line)?.getAttribute("x2");
  const drawn = Number(chart.querySelector("svg")?.getAttribute("width")) === chart.clientWidth;
  return drawn && end(".playhead") === end(".axis");
})"""
READY = {"start": ".demo-frame canvas", "clip": ".bound-number", "bound": ".curves path.strong"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@dataclass(frozen=True)
class Server:
    port: int
    studio: Studio
    video: bytes  # of the example

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def options(self, run_id: str) -> Any:
        return self.studio.runs[run_id].options


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    write_example(folder)
    return folder


@contextmanager
def serve_example(example: Path, home: Path) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studio_app, "DEMO", example)
        app = studio_app.create_app(home, TOKEN, upload_limit=2_000_000, work=train_example)
    studio = app.state.studio
    studio.inspector, studio.renderer = FakeInspector(studio.runs), FakeRenderer()
    with listening(app) as port:
        yield Server(port, studio, (example / CLIP / EXAMPLE_NAME).read_bytes())


@pytest.fixture
def server(example: Path, tmp_path: Path) -> Iterator[Server]:
    with serve_example(example, tmp_path / "home") as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with open_page(browser) as opened:
        yield opened


def show(page: Page, server: Server, screen: str) -> None:
    page.goto("about:blank")
    page.goto(f"{server.address}?token={quote(TOKEN)}{SCREENS[screen]}")
    page.locator(READY.get(screen, ".frame-view canvas")).first.wait_for()
    page.wait_for_load_state("networkidle")


def file(name: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "video/mp4", "buffer": content}


def upload(page: Page, server: Server) -> str:
    """Upload a clip and wait for its screen; returns its id."""
    show(page, server, "start")
    page.locator("#clip-file").set_input_files(file("pool.mp4", server.video))  # type: ignore[arg-type]
    page.wait_for_url("**/#/clip/*")
    page.locator(".bound-number").wait_for()
    return page.url.rsplit("/", 1)[1]


def wait_until_rendered(page: Page, index: int, position: tuple[float, float]) -> None:
    page.wait_for_function(
        """([index, x, y]) => {
          const found = JSON.parse(document.querySelector(".frame-view").dataset.rendered ?? "[]")[index];
          return found && Math.abs(found[0] - x) < 1.5 && Math.abs(found[1] - y) < 1.5;
        }""",
        arg=[index, *position],
    )


def test_the_demo_is_one_click_away(page: Page, server: Server) -> None:
    show(page, server, "start")
    page.get_by_role("link", name="Open the demo").click()
    rows = page.get_by_role("table", name=re.compile("Frame 0")).locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("certified")
    expect(page.locator(".verdict .title")).to_have_text("2 of 3 objects certified")


def test_a_copy_of_the_demo_can_be_trained(page: Page, server: Server) -> None:
    show(page, server, "start")
    page.get_by_role("button", name="Train a copy").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()


def test_the_error_of_an_upload_is_shown_where_it_was_dropped(page: Page, server: Server) -> None:
    show(page, server, "start")
    page.locator("#clip-file").set_input_files(file("notes.mp4", b"just words"))  # type: ignore[arg-type]
    expect(page.locator(".drop").get_by_role("alert")).to_have_text("notes.mp4 is not a video that can be read.")


def test_a_large_clip_is_refused_before_it_is_sent(page: Page, server: Server) -> None:
    show(page, server, "start")
    page.locator("#clip-file").set_input_files(file("long.mp4", bytes(2_100_000)))  # type: ignore[arg-type]
    expect(page.locator(".drop").get_by_role("alert")).to_contain_text("up to 2 MB")
    assert len(list(server.studio.runs)) == 1


def test_a_clip_can_be_dropped(page: Page, server: Server) -> None:
    show(page, server, "start")
    drop = """(encoded) => {
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
      transfer.items.add(new File([bytes], "dropped.mp4", {type: "video/mp4"}));
      document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
    }"""
    page.evaluate(drop, b64encode(server.video).decode())
    expect(page.get_by_role("heading", level=1)).to_have_text("dropped.mp4")


def test_a_rectangle_dragged_on_the_frame_is_the_crop(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    page.mouse.move(*on_screen(page, (40, 30), (WIDTH, HEIGHT)))
    page.mouse.down()
    page.mouse.move(*on_screen(page, (240, 200), (WIDTH, HEIGHT)), steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Whole frame")).to_be_visible()
    wait_until(lambda: server.options(run_id).crop is not None)
    crop = list(server.options(run_id).crop)
    assert crop == pytest.approx([40, 30, 200, 170], abs=2)
    shown = [float(field.input_value()) for field in page.locator(".crop-fields input").all()]
    assert shown == crop


def test_the_crop_can_be_typed_and_a_wrong_one_is_refused_beside_it(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    field = page.get_by_label("Width of the crop, px")
    field.fill("200")
    field.press("Tab")
    wait_until(lambda: bool(server.options(run_id).crop == (0, 0, 200, HEIGHT)))
    field = page.get_by_label("Left of the crop, px")
    field.fill("300")
    field.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("reaches outside the frame")


def test_the_number_of_objects_can_be_fixed(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    page.get_by_label("exactly").check()
    page.get_by_label("How many").fill("2")
    page.get_by_label("How many").press("Tab")
    wait_until(lambda: bool(server.options(run_id).objects == 2))


def test_a_training_is_watched_stopped_resumed_and_finished(page: Page, server: Server) -> None:
    upload(page, server)
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text(re.compile(r"Round \d+ of 40: difference"))).to_be_visible()
    expect(page.locator("img.preview")).to_be_visible()
    expect(page.locator(".positions")).to_contain_text("0 at ")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".now")).to_contain_text("The training so far is kept")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("link", name="See the result").click(timeout=TRAINING_MS)
    expect(page.get_by_role("heading", name="Certificate")).to_be_visible()


def test_keys_step_through_the_frames_and_show_the_positions(page: Page, server: Server) -> None:
    show(page, server, "result")
    page.locator("#main").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".readout")).to_have_text("Frame 2 · 0.08 s")
    row = page.locator(".frame-table tbody tr").first
    x = tracks_table().query("frame == 2 and object == 0")["x"].item()
    expect(row.locator("td").first).to_have_text(f"{x:.1f}")
    expect(page.get_by_label("Frame", exact=True)).to_have_attribute("aria-valuetext", re.compile("frame 2, 0.08 s"))


def test_charts_that_are_drawn_again_keep_the_shown_frame(page: Page, server: Server) -> None:
    show(page, server, "result")
    page.locator("#main").focus()
    page.keyboard.press("End")
    for width in (1280, 1000):
        page.set_viewport_size({"width": width, "height": 860})
        page.wait_for_function(PLAYHEADS_AT_THE_END)


def test_playing_ends_at_the_last_frame(page: Page, server: Server) -> None:
    show(page, server, "result")
    page.get_by_label("Speed").select_option("2")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".readout")).to_contain_text("Frame 89")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_next_refused_frame_shows_its_reason(page: Page, server: Server) -> None:
    show(page, server, "result")
    seen = []
    for _ in range(12):
        page.get_by_role("button", name="Next refused frame").click()
        seen.append(int(re.findall(r"Frame (\d+)", page.locator(".readout").inner_text())[0]))
        if seen[-1] == REFUSED.start:
            break
    assert seen[-1] == REFUSED.start
    row = page.locator(".frame-table tbody tr").nth(1)
    expect(row).to_contain_text("refused")
    expect(page.locator(".frame-table tfoot")).to_contain_text("Object 1: it is not reconstructed where it is seen.")


def test_every_assumption_is_shown_with_its_measurement(page: Page, server: Server) -> None:
    show(page, server, "result")
    matrix = page.get_by_role("region", name="Every assumption and its measurement")
    for check in ("distinct", "displacement", "reconstruction", "heatmap", "drift", "equivariance"):
        row = matrix.locator("tr", has=page.get_by_text(check, exact=True))
        expect(row.locator("td b")).to_have_count(3)
    refused = matrix.locator("tr", has=page.get_by_text("heatmap", exact=True)).locator("td").last
    expect(refused).to_contain_text("1.62 px")
    expect(refused).to_contain_text("not met")


def test_the_downloaded_table_holds_the_shown_positions(page: Page, server: Server) -> None:
    show(page, server, "result")
    with page.expect_download() as download:
        page.get_by_role("link", name="Tracks", exact=True).click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert len(rows) == len(tracks_table())
    assert float(rows[0]["x"]) == pytest.approx(tracks_table()["x"][0], abs=1e-3)


def test_a_dragged_object_is_rendered_where_it_was_dropped(page: Page, server: Server) -> None:
    show(page, server, "edit")
    handle = page.locator('.handle[data-object="0"]')
    box = page.locator(".frame-view").bounding_box()
    assert box is not None
    target = (160.0, 40.0)
    around = (target[0] - 6, target[1] - 6, 12, 12)
    before = pixels(page, around, (WIDTH, HEIGHT))
    handle.hover()
    page.mouse.down()
    scale = box["width"] / WIDTH
    page.mouse.move(box["x"] + target[0] * scale, box["y"] + target[1] * scale, steps=12)
    page.mouse.up()
    wait_until_rendered(page, 0, target)
    after = pixels(page, around, (WIDTH, HEIGHT))
    assert sum(after[::4]) / len(after[::4]) > sum(before[::4]) / len(before[::4]) + 40  # it is red
    assert isinstance(server.studio.renderer, FakeRenderer)
    assert server.studio.renderer.images <= 14  # no more than there were moves


def test_arrow_keys_move_the_focused_object(page: Page, server: Server) -> None:
    show(page, server, "edit")
    handle = page.locator('.handle[data-object="1"]')
    handle.focus()
    before = re.findall(r"\d+", handle.get_attribute("aria-label") or "")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowDown")
    after = re.findall(r"\d+", handle.get_attribute("aria-label") or "")
    moved = [int(later) - int(sooner) for sooner, later in zip(before, after, strict=True)]
    assert moved == [0, 10, 1]


def test_a_recorded_path_becomes_a_video(page: Page, server: Server) -> None:
    show(page, server, "edit")
    page.get_by_role("button", name="Export a video").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no path yet")
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator('.handle[data-object="2"]').focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile(r"A path of \d+ frames"))).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export a video").click()
    assert download.value.suggested_filename == "three objects_edited.mp4"


def test_an_object_can_appear_as_in_another_frame(page: Page, server: Server) -> None:
    show(page, server, "edit")
    slider = page.get_by_role("slider", name="Appearance of object 1")
    expect(page.get_by_text("Appearance: usual")).to_have_count(3)
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Appearance: as in frame 2")).to_be_visible()
    renderer = server.studio.renderer
    assert isinstance(renderer, FakeRenderer)
    wait_until(lambda: renderer.appearance == [None, 2, None])
    page.keyboard.press("Home")
    expect(page.get_by_text("Appearance: usual")).to_have_count(3)


def test_an_object_can_be_hidden(page: Page, server: Server) -> None:
    show(page, server, "edit")
    page.get_by_role("checkbox", name="object 0").uncheck()
    expect(page.locator(".frame-view")).to_have_attribute("data-rendered", re.compile(r"^\[null"))
    expect(page.locator('.handle[data-object="0"]')).to_be_hidden()


def test_the_sliders_change_the_bound_as_in_the_theorem(page: Page, server: Server) -> None:
    show(page, server, "bound")
    expect(page.locator(".bound-number")).to_have_text("±8.0 px")
    page.get_by_label("Encoder receptive field", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".bound-number")).to_have_text("±6.0 px")  # 5/2 + 9/2 - 1
    expect(page.locator(".worst-cell.limits")).to_contain_text("Encoder: 6 px")


def test_an_object_larger_than_the_decoder_is_an_error_sentence(page: Page, server: Server) -> None:
    show(page, server, "bound")
    field = page.get_by_label("Object size, px")
    field.fill("29")
    field.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("no decoder can draw")


def test_the_chosen_theme_is_kept(page: Page, server: Server) -> None:
    show(page, server, "bound")
    page.get_by_role("button", name="Dark theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Dark theme")).to_have_attribute("aria-pressed", "true")


def test_a_run_can_be_deleted_only_when_it_is_idle(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    server.studio.runs.change(run_id, state="training")
    page.goto(server.address + "#/")
    page.get_by_role("button", name="Delete pool.mp4").click()
    expect(page.locator(".run-row").get_by_role("alert")).to_have_text(
        "This run is being trained or waits for its turn: stop it first."
    )
    server.studio.runs.change(run_id, state="stopped")
    page.reload()
    page.get_by_role("button", name="Delete pool.mp4").click()
    expect(page.locator(".run-row")).to_have_count(0)


def test_a_missing_run_is_an_error_sentence(page: Page, server: Server) -> None:
    show(page, server, "start")
    page.goto(f"{server.address}#/run/{'f' * 16}/result")
    expect(page.get_by_role("alert")).to_have_text("There is no such run: it may have been deleted.")


def test_no_request_goes_to_another_machine(page: Page, server: Server) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    for screen in SCREENS:
        show(page, server, screen)
    assert len(requested) > 20
    assert [url for url in requested if not url.startswith((server.address, "blob:", "data:", "about:"))] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, server: Server, dark: bool) -> None:
    with open_page(browser, dark=dark) as page:
        found = {}
        for screen in SCREENS:
            show(page, server, screen)
            found[screen] = serious_findings(page)
        upload(page, server)
        found["new clip"] = serious_findings(page)
        page.get_by_role("button", name="Start").click()
        page.get_by_text(re.compile(r"Round \d+ of \d+: difference")).wait_for()
        found["training"] = serious_findings(page)
        page.get_by_role("link", name="See the result").wait_for()
        found["trained"] = serious_findings(page)
    assert {screen: findings for screen, findings in found.items() if findings} == {}


def test_a_phone_shows_every_screen_without_scrolling_sideways(browser: Browser, server: Server) -> None:
    with open_page(browser, width=360, height=740) as page:
        for screen in SCREENS:
            show(page, server, screen)
            assert page.evaluate(TOO_WIDE) == [], screen
        upload(page, server)
        assert page.evaluate(TOO_WIDE) == []


def test_a_refused_object_shows_its_reason_instead_of_a_bound(page: Page, server: Server) -> None:
    show(page, server, "result")
    bounds = page.locator(".matrix tr", has_text="Bound of theorem 4.1").locator("td")
    expect(bounds.first).to_have_text("±8.6 px")
    reason = "something else influences its position"
    expect(bounds.last).to_have_text(f"none: {reason}")
    expect(page.locator(".verdict")).to_contain_text(f"Object 2 is refused because {reason}")
    row = page.locator(".frame-table tbody tr").nth(2)
    expect(row.locator("td").nth(2)).to_have_text("none")
    expect(page.locator(".frame-table tfoot")).to_contain_text(f"Object 2: {reason}.")


def test_a_clip_without_a_certified_position_shows_no_bound(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    refused = {"certified": False, "objects": 3, "positions": 250, "certified_positions": 0, "message": "0 of 3"}
    server.studio.runs.change(run_id, state="finished", result=refused)
    page.reload()
    expect(page.locator(".expected")).to_contain_text("No position of this clip was certified")
    expect(page.locator(".bound-number")).to_have_count(0)


def test_a_recording_without_a_clock_is_shown_by_frames(page: Page, server: Server) -> None:
    run_id = upload(page, server)
    write_results(server.studio.runs.folder(run_id) / OUT, has_times=False)
    server.studio.runs.change(run_id, state="finished", result=RESULT)
    page.goto(f"{server.address}#/run/{run_id}/result")
    expect(page.locator(".readout")).to_have_text("Frame 0")
    expect(page.locator("section:has(#tracks) .axis-name", has_text="frame")).to_have_count(2)
    page.get_by_role("button", name="One frame on").click()
    expect(page.get_by_label("Frame", exact=True)).to_have_attribute("aria-valuetext", re.compile("^frame 1: "))
    page.get_by_label("Speed").select_option("2")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".readout")).to_have_text("Frame 89")
