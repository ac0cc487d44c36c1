"""A detector's page in Chromium: what it finds, that it connects to nothing, what it says about bad input."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import av
import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

from tests.browser.conftest import DemoPage
from tests.studio.browser import Browser, Page, expect, open_page, serious_findings
from withinpx.browser.page import write_page
from withinpx.cli import main
from withinpx.discovery.background import to_uint8
from withinpx.model.autoencoder import new_network
from withinpx.tracking.detector import Detector
from withinpx.tracking.onnx_file import onnx_bytes
from withinpx.tracking.tracks import COLUMNS, Tracks, read_tracks

WIDTH, HEIGHT = 160, 120
SAME_FRAMES_PX = 0.001  # of the same levels; both tables are rounded to 0.0001, and that is what they differ by
OTHER_DECODER_PX = 0.1  # of the demo's video, whose colours the browser converts itself; 0.031 measured
DETECTION_MS = 120_000  # beside other tests on a busy machine
TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter((element) => !element.closest(".wide, svg"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 9)
  .map((element) => element.outerHTML.slice(0, 80))"""


@pytest.fixture
def page(browser: Browser, demo: DemoPage) -> Iterator[Page]:
    with open_page(browser) as opened:
        opened.goto(demo.address)
        yield opened


def give(page: Page, *files: Path) -> None:
    page.locator("#clip").set_input_files(list(files))


def found(page: Page, target: Path, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Tracks:
    """The tracks that the page saves when it has gone through the clip."""
    page.locator("#save").wait_for(timeout=DETECTION_MS)
    with page.expect_download() as download:
        page.locator("#save").click()
    download.value.save_as(target)
    return read_tracks(target, *size)


def detected(demo: DemoPage, clip: Path, folder: Path) -> Tracks:
    arguments = ["detect", str(demo.run), str(clip), "--out", str(folder), "--no-overlay", "--certificate", "theorem"]
    main(arguments)
    return read_tracks(folder / "tracks.csv")


def assert_agree(tracks: Tracks, expected: Tracks, tolerance_px: float) -> None:
    """Equal presence, verdicts, reasons and links; numbers of px within the tolerance."""
    np.testing.assert_array_equal(tracks.frames, expected.frames)
    np.testing.assert_array_equal(tracks.present, expected.present)
    np.testing.assert_array_equal(tracks.certified, expected.certified)
    np.testing.assert_array_equal(tracks.reasons, expected.reasons)
    np.testing.assert_array_equal(tracks.identity_certified, expected.identity_certified)
    np.testing.assert_array_equal(tracks.sigma_px, expected.sigma_px)
    for name in ("positions", "z", "sizes", "bounds", "theorem_px", "residual_px"):
        np.testing.assert_allclose(getattr(tracks, name), getattr(expected, name), atol=tolerance_px, err_msg=name)


def error_of(page: Page, *files: Path) -> str:
    give(page, *files)
    box = page.locator(".error:visible")
    box.wait_for(timeout=DETECTION_MS)
    return box.inner_text()


def test_images_have_the_positions_bounds_and_verdicts_of_detect(page: Page, demo: DemoPage, tmp_path: Path) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.context.set_offline(True)
    give(page, *demo.image_files())
    tracks = found(page, tmp_path / "tracks.csv")
    expected = detected(demo, demo.images, tmp_path / "detected")
    assert {"", "absent", "border"} == set(expected.reasons.ravel())
    assert_agree(tracks, expected, SAME_FRAMES_PX)
    assert np.isnan(tracks.times_s).all()
    table, theirs = tracks.to_dataframe(), expected.to_dataframe()
    assert list(table) == list(theirs)
    np.testing.assert_allclose(table.motion_px, theirs.motion_px, atol=2 * SAME_FRAMES_PX)
    certified, total = int(expected.certified.sum()), int(expected.present.sum())
    expect(page.locator("#verdict")).to_have_text(f"{certified} of {total} positions certified in 60 frames.")
    assert requests
    assert all(url.startswith("blob:") for url in requests), requests


def test_a_video_is_read_frame_by_frame(page: Page, demo: DemoPage, tmp_path: Path) -> None:
    give(page, demo.video)
    tracks = found(page, tmp_path / "tracks.csv")
    expected = detected(demo, demo.video, tmp_path / "detected")
    np.testing.assert_allclose(tracks.times_s, expected.times_s, atol=1e-5)
    certified = expected.certified & tracks.certified
    assert (tracks.certified == expected.certified).mean() > 0.98
    assert (tracks.present == expected.present).mean() > 0.98
    distances = np.abs(tracks.positions - expected.positions)[certified]
    assert distances.max() < OTHER_DECODER_PX


@pytest.mark.parametrize("rate", ["240", "30000/1001", "uneven"])
def test_no_frame_of_a_video_is_missed(page: Page, demo: DemoPage, tmp_path: Path, rate: str) -> None:
    """Also where frames come fast, at a rate that is no whole number, or at uneven intervals."""
    intervals = [25, 33, 42, 25, 42, 42, 33, 25, 25, 42]
    pts = np.cumsum(intervals) if rate == "uneven" else np.arange(10)
    video, clock = tmp_path / "clip.mp4", Fraction(1, 1000) if rate == "uneven" else 1 / Fraction(rate)
    with av.open(str(video), "w") as container:
        stream = container.add_stream("libx264", rate=30 if rate == "uneven" else Fraction(rate))
        stream.width, stream.height, stream.pix_fmt, stream.codec_context.time_base = WIDTH, HEIGHT, "yuv420p", clock
        for number, at in enumerate(pts.tolist()):
            frame = av.VideoFrame.from_ndarray(np.asarray(Image.open(demo.images / f"{number}.png")), format="rgb24")
            frame.pts, frame.time_base = at, clock
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    give(page, video)
    tracks = found(page, tmp_path / "tracks.csv")
    with av.open(str(video)) as container:
        times_s = [frame.time for frame in container.decode(video=0)]
    assert len(times_s) == 10
    np.testing.assert_allclose(tracks.times_s, np.array(times_s, np.float64), atol=1e-5)


def test_the_bound_is_the_theorems(page: Page, demo: DemoPage, tmp_path: Path) -> None:
    """And not the smaller one by set membership, which is in the demo's own table; the page says so."""
    give(page, *demo.image_files()[:8])
    tracks = found(page, tmp_path / "tracks.csv")
    distance = np.abs(tracks.positions - tracks.z).max(axis=-1)
    np.testing.assert_allclose(tracks.bounds, tracks.theorem_px + distance, atol=1e-4, equal_nan=True)
    assert np.nanmin(tracks.bounds) > 4 * np.nanmax(read_tracks(demo.run / "tracks.csv").bounds)
    assert np.isnan(tracks.set_px).all()
    expect(page.locator(".meaning")).to_contain_text("The bound by set membership")
    expect(page.locator(".meaning")).to_contain_text("is not in this file")


TRY_TO_CONNECT = """async (address) => {
  const blocked = [];
  addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
  await fetch(address).catch(() => null);
  const failing = (element) => new Promise((done) => {
    document.head.append(Object.assign(element, { src: address, onerror: done, onload: done }));
  });
  await failing(document.createElement("img"));
  await failing(document.createElement("script"));
  navigator.sendBeacon(address, "frame");
  try { new WebSocket(address.replace("http", "ws")); } catch { }
  await new Promise((done) => setTimeout(done, 300));
  return blocked;
}"""


@contextmanager
def listener() -> Iterator[tuple[str, list[int]]]:
    """An address on this machine, and the ports of those who connect to it."""
    connected: list[int] = []

    def serve() -> None:
        with suppress(OSError):  # it is closed
            while True:
                connection, (_, port) = server.accept()
                connected.append(port)
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", connected
        server.shutdown(socket.SHUT_RDWR)


def test_no_connection_is_allowed(page: Page) -> None:
    """Whatever a script on the page might try."""
    with listener() as (address, connected):
        blocked = page.evaluate(TRY_TO_CONNECT, address)
    assert {"connect-src", "img-src", "script-src-elem"} == set(blocked)
    assert not connected


def test_without_its_policy_there_would_be_connections(browser: Browser, demo: DemoPage, tmp_path: Path) -> None:
    """So the test above can fail."""
    html, replaced = re.subn('http-equiv="Content-Security-Policy"', "", demo.html.read_text(encoding="utf-8"))
    assert replaced == 1
    (tmp_path / "open.html").write_text(html, encoding="utf-8")
    with open_page(browser) as page, listener() as (address, connected):
        page.goto((tmp_path / "open.html").as_uri())
        assert not page.evaluate(TRY_TO_CONNECT, address)
    assert len(connected) >= 4


def test_frames_are_shown_with_what_was_found(page: Page, demo: DemoPage) -> None:
    give(page, *(demo.images / f"{number}.png" for number in range(30, 42)))
    page.locator("#save").wait_for(timeout=DETECTION_MS)
    table = page.locator(".frame-table tbody")
    expect(table.locator("tr").first).to_contain_text("certified")
    for _ in range(5):
        page.get_by_role("button", name="One frame on").click()
    expect(page.locator(".readout")).to_have_text("Frame 5")
    expect(page.locator("[data-shown='5']")).to_be_visible()
    expect(table).to_contain_text("Object 2: it is cut off by the border of the frame.")
    page.locator(".step").first.press("End")
    expect(page.locator(".readout")).to_have_text("Frame 11")
    expect(table.locator("tr").last).to_contain_text("absent")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("[data-shown='11']")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator("#summary tbody tr").last).to_contain_text("5")


def test_stopping_keeps_what_was_found(page: Page, demo: DemoPage, tmp_path: Path) -> None:
    give(page, *demo.image_files())
    page.locator(".now", has_text="per second").wait_for(timeout=DETECTION_MS)
    page.get_by_role("button", name="Stop").click()
    tracks = found(page, tmp_path / "tracks.csv")
    assert 0 < len(tracks) < 60
    expect(page.locator("#verdict")).to_contain_text("Stopped.")


def test_a_clip_that_cannot_be_used_is_refused_in_a_sentence_and_loses_nothing(
    page: Page, demo: DemoPage, tmp_path: Path
) -> None:
    first = demo.images / "0.png"
    frame = Image.open(first)
    small, clear, other, text = (tmp_path / name for name in ("s.png", "clear.png", "other.png", "notes.mp4"))
    frame.resize((80, 60)).save(small)
    Image.fromarray(np.asarray(frame) // 3).save(other)
    text.write_text("no video")
    broken = tmp_path / "broken.png"
    broken.write_bytes(first.read_bytes()[:200])
    transparent = frame.copy()
    transparent.putalpha(90)
    transparent.save(clear)
    sentences = {
        (small,): "s.png is 80x60 px, and the detector was made for 160x120 px: use footage of the same camera.",
        (first, small): "s.png is 80x60 px, and the detector was made for 160x120 px: use footage of the same camera.",
        (clear,): "clear.png has transparent pixels: save it without transparency.",
        (text,): "notes.mp4 is no image, and no video that this browser can read: convert it to MP4 (H.264) or WebM, "
        "or give its frames as PNG images.",
        (first, text): "notes.mp4 is no image: choose one video, or images only.",
        (broken,): "broken.png cannot be read as an image by this browser: save it as PNG, or remove it.",
    }
    for files, sentence in sentences.items():
        assert error_of(page, *files) == sentence
    assert "other.png does not show the detector's scene: " in error_of(page, other)
    give(page, first)
    page.locator("#save").wait_for(timeout=DETECTION_MS)
    expect(page.locator(".error:visible")).to_have_count(0)
    drop(page, small)
    expect(page.locator(".error:visible")).to_contain_text("80x60 px")
    expect(page.locator("#save")).to_be_visible()


def drop(page: Page, file: Path) -> None:
    transfer = page.evaluate_handle(
        """([name, bytes]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
          return transfer;
        }""",
        [file.name, list(file.read_bytes())],
    )
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})


def test_levels_are_those_of_the_file_whatever_profile_it_names(page: Page, demo: DemoPage, tmp_path: Path) -> None:
    """A gamma that a browser would apply to what it shows; withinpx reads levels."""
    frame, gamma = Image.open(demo.images / "0.png"), PngImagePlugin.PngInfo()
    gamma.add(b"gAMA", (100_000).to_bytes(4, "big"))
    frame.save(tmp_path / "0.png", pnginfo=gamma)
    assert b"gAMA" in (tmp_path / "0.png").read_bytes()
    give(page, tmp_path / "0.png")
    tracks = found(page, tmp_path / "tracks.csv")
    clip = tmp_path / "clip"
    clip.mkdir()
    frame.save(clip / "0.png")
    assert_agree(tracks, detected(demo, clip, tmp_path / "detected"), SAME_FRAMES_PX)


def in_grey(detector: Detector) -> Detector:
    """An untrained network for frames of one colour: enough to compare numbers."""
    config, background = detector.model.config, detector.background
    model = new_network(replace(config, colours=1), seed=1).eval()
    grey = background.images.mean(axis=-1, keepdims=True).astype(np.float32)
    sharp = None if detector.sharp is None else detector.sharp.mean(axis=-1, keepdims=True).astype(np.float32)
    return replace(detector, model=model, background=replace(background, images=grey), sharp=sharp)


def test_colour_frames_of_a_grey_detector_are_averaged(browser: Browser, demo: DemoPage, tmp_path: Path) -> None:
    grey = in_grey(Detector.load(demo.run))
    html = write_page(tmp_path / "grey.html", grey)
    images = [demo.images / f"{number}.png" for number in range(3)]
    with open_page(browser) as page:
        page.goto(html.as_uri())
        give(page, *images)
        tracks = found(page, tmp_path / "tracks.csv")
    frames = np.stack([np.asarray(Image.open(path)) for path in images]).mean(axis=-1, keepdims=True).round()
    outputs = run(onnx_bytes(grey), frames.astype(np.uint8))
    used = [obj.object for obj in grey.certificate.objects]
    np.testing.assert_array_equal(tracks.present, outputs["present"][:, used])
    seen = tracks.present
    assert seen.any()
    np.testing.assert_allclose(tracks.z[seen], outputs["z"][:, used][seen], atol=SAME_FRAMES_PX)


def run(file: bytes, frames: NDArray[np.uint8]) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"frames": frames}), strict=True))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_every_screen_is_accessible_and_fits(
    browser: Browser, demo: DemoPage, width: int, height: int, dark: bool
) -> None:
    with open_page(browser, width=width, height=height, dark=dark) as page:
        page.goto(demo.address)
        assert not serious_findings(page)
        assert not page.evaluate(TOO_WIDE)
        give(page, demo.images / "36.png")
        page.locator("#save").wait_for(timeout=DETECTION_MS)
        assert not serious_findings(page)
        assert not page.evaluate(TOO_WIDE)
        page.get_by_text("Licence of ONNX Runtime").click()
        expect(page.locator(".licences")).to_contain_text("Copyright (c) Microsoft Corporation")
        page.get_by_role("button", name="Show the notices").click()
        expect(page.locator("#notices-text")).to_contain_text("protobuf")


def test_the_page_shows_the_scene_and_the_objects(page: Page, demo: DemoPage) -> None:
    expect(page.locator(".object-list li")).to_have_count(len(Detector.load(demo.run).certificate.objects))
    expect(page.locator(".lead")).to_contain_text("The detector of 3 objects")
    expected = to_uint8(Detector.load(demo.run).background.images[0]).mean(axis=(0, 1))
    page.wait_for_timeout(300)
    pixels: list[int] = page.evaluate(
        """() => {
          const canvas = document.querySelector(".scene canvas");
          return [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data];
        }"""
    )
    np.testing.assert_allclose(np.reshape(pixels, (-1, 4))[:, :3].mean(axis=0), expected, atol=2)


def test_the_columns_are_those_of_the_table(demo: DemoPage) -> None:
    assert all(f'"{name}"' in demo.html.read_text(encoding="utf-8") for name in COLUMNS)
