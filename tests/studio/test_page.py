"""The page in a real Chromium: against a fake server, then one whole journey against the studio itself."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio.browser import Browser, Page, expect, open_browser, open_page, pixels, serious_findings
from tests.studio.fake_scene import HEIGHT, REFUSED, WIDTH
from tests.studio.fake_server import DEMO, FakeServer

VIDEO = {"name": "pool.mp4", "mimeType": "video/mp4", "buffer": b"\0\0\0\x18ftypmp42" + bytes(64)}
SCREENS = {
    "start": "#/",
    "clip": f"#/clip/{DEMO}",
    "result": f"#/run/{DEMO}/result",
    "edit": f"#/run/{DEMO}/edit",
    "bound": "#/bound",
}
TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter((each) => !each.closest(".wide, .preview-box, .tabs, svg"))
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => each.outerHTML.slice(0, 80))"""
READY = {"start": ".demo-picture canvas", "clip": ".bound-number", "bound": ".curves path.strong"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with open_page(browser) as opened:
        yield opened


def show(page: Page, server: FakeServer, screen: str) -> None:
    page.goto("about:blank")
    page.goto(server.address + SCREENS[screen])
    page.locator(READY.get(screen, ".picture canvas")).first.wait_for()
    page.wait_for_load_state("networkidle")


def upload(page: Page, server: FakeServer) -> str:
    """A new clip on its screen; its id."""
    show(page, server, "start")
    page.locator("#clip-file").set_input_files(VIDEO)  # type: ignore[arg-type]
    page.wait_for_url("**/#/clip/*")
    page.locator(".bound-number").wait_for()
    return page.url.rsplit("/", 1)[1]


def wait_until_drawn(page: Page, each: int, where: tuple[float, float]) -> None:
    """Until the picture shows an object there."""
    page.wait_for_function(
        """([each, x, y]) => {
          const place = JSON.parse(document.querySelector(".picture").dataset.drawn ?? "[]")[each];
          return place && Math.abs(place[0] - x) < 1.5 && Math.abs(place[1] - y) < 1.5;
        }""",
        arg=[each, *where],
    )


def test_one_button_shows_the_demo_finished(page: Page, server: FakeServer) -> None:
    show(page, server, "start")
    page.get_by_role("link", name="See the demo").click()
    rows = page.get_by_role("table", name=re.compile("Frame 0")).locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("certified")
    expect(page.locator(".verdict .word")).to_have_text("2 of 3 objects certified")


def test_the_demo_can_be_trained_again(page: Page, server: FakeServer) -> None:
    show(page, server, "start")
    page.get_by_role("button", name="Train it again for real").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()


def test_what_is_no_video_is_refused_with_the_servers_sentence_beside_the_drop(page: Page, server: FakeServer) -> None:
    show(page, server, "start")
    notes = {"name": "notes.mp4", "mimeType": "video/mp4", "buffer": b"just words"}
    page.locator("#clip-file").set_input_files(notes)  # type: ignore[arg-type]
    expect(page.locator(".drop").get_by_role("alert")).to_have_text(
        "notes.mp4 is not a video: its content is none that can be read."
    )


def test_too_large_a_clip_is_refused_before_it_is_sent(page: Page, server: FakeServer) -> None:
    show(page, server, "start")
    large = {"name": "long.mp4", "mimeType": "video/mp4", "buffer": bytes(2_100_000)}
    page.locator("#clip-file").set_input_files(large)  # type: ignore[arg-type]
    expect(page.locator(".drop").get_by_role("alert")).to_contain_text("up to 2 MB")
    assert len(server.studio.runs) == 1


def test_dropping_a_clip_is_as_good_as_choosing_it(page: Page, server: FakeServer) -> None:
    show(page, server, "start")
    page.evaluate("""() => {
      const carried = new DataTransfer();
      const bytes = new Uint8Array([0, 0, 0, 24, 102, 116, 121, 112, 109, 112, 52, 50]);
      carried.items.add(new File([bytes], "dropped.mp4", {type: "video/mp4"}));
      document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: carried, bubbles: true}));
    }""")
    expect(page.get_by_role("heading", level=1)).to_have_text("dropped.mp4")


def test_a_rectangle_dragged_on_the_picture_is_the_crop(page: Page, server: FakeServer) -> None:
    each = upload(page, server)
    box = page.locator(".picture").bounding_box()
    assert box is not None
    scale = box["width"] / WIDTH
    page.mouse.move(box["x"] + 40 * scale, box["y"] + 30 * scale)
    page.mouse.down()
    page.mouse.move(box["x"] + 240 * scale, box["y"] + 200 * scale, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Whole picture")).to_be_visible()
    page.wait_for_load_state("networkidle")
    crop = server.studio.runs[each]["options"]["crop"]
    assert crop == pytest.approx([40, 30, 200, 170], abs=2)
    shown = [float(field.input_value()) for field in page.locator(".crop-fields input").all()]
    assert shown == crop


def test_the_crop_can_be_typed_and_a_wrong_one_is_refused_beside_it(page: Page, server: FakeServer) -> None:
    each = upload(page, server)
    field = page.get_by_label("Width of the crop, px")
    field.fill("200")
    field.press("Tab")
    page.wait_for_load_state("networkidle")
    assert server.studio.runs[each]["options"]["crop"] == [0, 0, 200, HEIGHT]
    field = page.get_by_label("Left of the crop, px")
    field.fill("300")
    field.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("reaches outside the picture")


def test_the_number_of_objects_is_free_or_fixed(page: Page, server: FakeServer) -> None:
    each = upload(page, server)
    page.get_by_label("exactly").check()
    page.get_by_label("How many").fill("2")
    page.get_by_label("How many").press("Tab")
    page.wait_for_load_state("networkidle")
    assert server.studio.runs[each]["options"]["objects"] == 2


def test_a_training_is_watched_stopped_resumed_and_leads_to_its_result(page: Page, server: FakeServer) -> None:
    upload(page, server)
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text(re.compile(r"Epoch \d+ of 40: loss"))).to_be_visible()
    expect(page.locator("img.preview")).to_be_visible()
    expect(page.locator(".positions")).to_contain_text("0 at ")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".now")).to_contain_text("What was learned is kept")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("link", name="See the result").click()
    expect(page.get_by_role("heading", name="Certificate")).to_be_visible()


def test_keys_step_through_the_frames_and_say_where_things_are(page: Page, server: FakeServer) -> None:
    show(page, server, "result")
    page.locator("#main").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".readout")).to_have_text("Frame 2 · 0.08 s")
    row = page.locator(".frame-table tbody tr").first
    x = server.studio.scene.tracks["x"][0][2]
    expect(row.locator("td").first).to_have_text(f"{x:.1f}")
    expect(page.get_by_label("Frame", exact=True)).to_have_attribute("aria-valuetext", re.compile("frame 2, 0.08 s"))


def test_playing_goes_on_to_the_last_frame(page: Page, server: FakeServer) -> None:
    show(page, server, "result")
    page.get_by_label("Speed").select_option("2")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".readout")).to_contain_text("Frame 89")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_next_refused_frame_is_one_press_away_and_says_why(page: Page, server: FakeServer) -> None:
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
    expect(page.locator(".frame-table tfoot")).to_contain_text("Object 1: it is not drawn where it is seen.")


def test_every_assumption_is_shown_with_its_number(page: Page, server: FakeServer) -> None:
    show(page, server, "result")
    matrix = page.get_by_role("region", name="Every assumption and its number")
    for check in ("distinct", "places", "reconstruction", "heatmap", "steady", "equivariance"):
        row = matrix.locator("tr", has_text=check).last
        expect(row.locator("td b")).to_have_count(3)
    refused = matrix.locator("tr", has=page.get_by_text("heatmap", exact=True)).locator("td").last
    expect(refused).to_contain_text("1.62 px")
    expect(refused).to_contain_text("not met")


def test_the_downloaded_table_is_what_the_api_says(page: Page, server: FakeServer) -> None:
    show(page, server, "result")
    with page.expect_download() as coming:
        page.get_by_role("link", name="Tracks", exact=True).click()
    rows = list(csv.DictReader(io.StringIO(Path(coming.value.path()).read_text())))
    tracks = server.studio.scene.tracks
    assert len(rows) == len(tracks["frames"]) * tracks["objects"]
    assert float(rows[0]["x"]) == pytest.approx(tracks["x"][0][0], abs=1e-3)


def test_a_dragged_object_is_drawn_where_it_was_dropped(page: Page, server: FakeServer) -> None:
    show(page, server, "edit")
    handle = page.locator('.handle[data-object="0"]')
    box = page.locator(".picture").bounding_box()
    assert box is not None
    target = (160.0, 40.0)
    around = (target[0] - 6, target[1] - 6, 12, 12)
    before = pixels(page, around, (WIDTH, HEIGHT))
    handle.hover()
    page.mouse.down()
    scale = box["width"] / WIDTH
    page.mouse.move(box["x"] + target[0] * scale, box["y"] + target[1] * scale, steps=12)
    page.mouse.up()
    wait_until_drawn(page, 0, target)
    after = pixels(page, around, (WIDTH, HEIGHT))
    assert sum(after[::4]) / len(after[::4]) > sum(before[::4]) / len(before[::4]) + 40  # it is red
    assert server.studio.drawn <= 14  # never more than asked, and the last one is drawn


def test_arrow_keys_move_the_focused_object(page: Page, server: FakeServer) -> None:
    show(page, server, "edit")
    handle = page.locator('.handle[data-object="1"]')
    handle.focus()
    before = re.findall(r"\d+", handle.get_attribute("aria-label") or "")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowDown")
    after = re.findall(r"\d+", handle.get_attribute("aria-label") or "")
    moved = [int(later) - int(sooner) for sooner, later in zip(before, after, strict=True)]
    assert moved == [0, 10, 1]


def test_a_recorded_path_becomes_a_film(page: Page, server: FakeServer) -> None:
    show(page, server, "edit")
    page.get_by_role("button", name="Export the film").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no path yet")
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator('.handle[data-object="2"]').focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile(r"A path of \d+ frames"))).to_be_visible()
    with page.expect_download() as coming:
        page.get_by_role("button", name="Export the film").click()
    assert coming.value.suggested_filename == "three things_edited.mp4"


def test_an_object_that_is_not_wanted_is_not_drawn(page: Page, server: FakeServer) -> None:
    show(page, server, "edit")
    page.get_by_role("checkbox", name="object 0").uncheck()
    expect(page.locator(".picture")).to_have_attribute("data-drawn", re.compile(r"^\[null"))
    expect(page.locator('.handle[data-object="0"]')).to_be_hidden()


def test_the_sliders_move_the_bound_as_the_theorem_says(page: Page, server: FakeServer) -> None:
    show(page, server, "bound")
    expect(page.locator(".bound-number")).to_have_text("±8.0 px")
    page.get_by_label("Encoder receptive field", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".bound-number")).to_have_text("±6.0 px")  # 5/2 + 9/2 - 1
    expect(page.locator(".worst-cell.limits")).to_contain_text("Encoder: 6 px")


def test_an_object_larger_than_the_decoder_is_refused_in_a_sentence(page: Page, server: FakeServer) -> None:
    show(page, server, "bound")
    field = page.get_by_label("Object size, px")
    field.fill("29")
    field.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("no decoder can draw")


def test_the_chosen_colours_are_kept(page: Page, server: FakeServer) -> None:
    show(page, server, "bound")
    page.get_by_role("button", name="Dark colours").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Dark colours")).to_have_attribute("aria-pressed", "true")


def test_a_run_is_deleted_only_when_it_is_idle(page: Page, server: FakeServer) -> None:
    each = upload(page, server)
    server.studio.runs[each]["state"] = "training"
    page.goto(server.address + "#/")
    page.get_by_role("button", name="Delete pool.mp4").click()
    expect(page.locator(".run-row").get_by_role("alert")).to_have_text("This run is being trained: stop it first.")
    server.studio.runs[each]["state"] = "stopped"
    page.reload()
    page.get_by_role("button", name="Delete pool.mp4").click()
    expect(page.locator(".run-row")).to_have_count(0)


def test_a_run_that_is_not_there_is_said_to_be_so(page: Page, server: FakeServer) -> None:
    page.goto(f"{server.address}#/run/{'f' * 16}/result")
    expect(page.get_by_role("alert")).to_have_text("There is no such run.")


def test_nothing_is_asked_of_any_other_machine(page: Page, server: FakeServer) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for screen in SCREENS:
        show(page, server, screen)
    assert len(asked) > 20
    assert [each for each in asked if not each.startswith((server.address, "blob:", "data:", "about:"))] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, server: FakeServer, dark: bool) -> None:
    with open_page(browser, dark=dark) as page:
        found = {}
        for screen in SCREENS:
            show(page, server, screen)
            found[screen] = serious_findings(page)
        upload(page, server)
        found["new clip"] = serious_findings(page)
        page.get_by_role("button", name="Start").click()
        page.get_by_text(re.compile(r"Epoch \d+")).wait_for()
        found["training"] = serious_findings(page)
        page.get_by_role("link", name="See the result").wait_for()
        found["trained"] = serious_findings(page)
    assert {screen: said for screen, said in found.items() if said} == {}


def test_a_phone_shows_every_screen_without_scrolling_sideways(browser: Browser, server: FakeServer) -> None:
    with open_page(browser, width=360, height=740) as page:
        for screen in SCREENS:
            show(page, server, screen)
            assert page.evaluate(TOO_WIDE) == [], screen
        upload(page, server)
        assert page.evaluate(TOO_WIDE) == []
