"""The documentation site: pages say what the code says, links lead somewhere, nothing is loaded from another host."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest

import withinpx
from tests.studio.browser import open_browser, open_page, unavailable
from withinpx.certificate.certificate import ADVICE

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


def test_the_api_page_has_every_public_name() -> None:
    named = re.findall(r"^::: withinpx\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(withinpx.__all__)


def test_every_refusal_has_the_advice_that_is_printed() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", (DOCS / "fails.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == ADVICE


def test_errors_of_other_programs_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| (\w+), (\w+) \| [\d.]+ \| (.+) \| (.+) \|$", page("comparison.md"), re.MULTILINE)
    table = pd.read_csv(ROOT / "results/real/real_clips.csv").set_index(["clip", "object", "method"])
    methods = ["withinpx", "median 25/255", "median Otsu", "MOG2", "trackpy"]
    for clip, name, cells, certified in rows:
        for method, cell in zip(methods, cells.split(" | "), strict=True):
            median, largest = (float(number) for number in cell.split(" / "))
            measured = table.loc[(clip, name, method)]
            assert median == pytest.approx(measured.median_px, rel=0.06)
            assert largest == pytest.approx(measured.max_px, rel=0.06)
        ours = table.loc[(clip, name, "withinpx")]
        assert certified == f"{100 * ours.certified_share:.0f} %, {ours.outside_calibrated:.0f}"
    assert len(rows) == 11


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# --- the built site -------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page links to, what a browser loads for it, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.formulas = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        self.formulas += tag == "math"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if any(find_spec(name) is None for name in ("mkdocs", "material", "mkdocstrings", "latex2mathml")):
        unavailable("The site is built with the extra docs, which is not installed: make docs.")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def target_of(link: str, start: Path, site: Path) -> Path:
    path = unquote(urlsplit(link).path)
    target = (site / path.lstrip("/") if path.startswith("/") else start.parent / path).resolve() if path else start
    return target / "index.html" if target.is_dir() else target


def test_no_dead_links(site: Path, pages: dict[Path, Page]) -> None:
    dead = []
    for path, shown in pages.items():
        for link in shown.links + shown.loaded:
            if urlsplit(link).scheme:
                continue
            target, anchor = target_of(link, path, site), unquote(urlsplit(link).fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert not dead
    assert sum(len(shown.links) for shown in pages.values()) > 1000


def test_nothing_is_loaded_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    assert not [link for shown in pages.values() for link in shown.loaded if urlsplit(link).netloc]
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", path.read_text(encoding="utf-8")), path
    outside = r"[\"'`]https?://[^\"'`\s]+(?:\.(?:js|css|woff2?)\b|/shim)"
    for path in [*site.rglob("*.js"), *pages]:
        found = re.search(outside, path.read_text(encoding="utf-8"))
        assert not found, (path, found)


def test_formulas_are_rendered(site: Path, pages: dict[Path, Page]) -> None:
    theory = site / "theory" / "index.html"
    assert pages[theory].formulas > 100
    for path in pages:
        assert "arithmatex" not in path.read_text(encoding="utf-8"), path


def test_source_files_are_named_by_their_path(site: Path) -> None:
    text = (site / "tracking" / "index.html").read_text(encoding="utf-8")
    assert "<code>src/withinpx/discovery/tracklets.py</code>" in text


def test_links_to_notebooks_lead_to_their_pages(site: Path, pages: dict[Path, Page]) -> None:
    for notebook in DOCS.glob("*.ipynb"):
        own = site / notebook.stem / "index.html"
        linking = {path for path, shown in pages.items() if any(link.endswith(notebook.name) for link in shown.links)}
        assert linking == {own}
        assert f"{notebook.stem}/" in pages[site / "index.html"].links


def test_numbers_and_options_are_not_broken_in_cells(site: Path) -> None:
    comparison, fails = ((site / name / "index.html").read_text(encoding="utf-8") for name in ("comparison", "fails"))
    assert re.search(r'<td class="numbers">[\d.]+ / [\d.]+</td>', comparison)
    assert '<span class="option">--start</span>' in fails


# --- in a browser ---------------------------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.mark.parametrize("width", [1440, 390])
def test_pages_fit_the_window_and_ask_no_other_host(address: str, width: int) -> None:
    with open_browser() as browser, open_page(browser, width=width) as window:
        requested: list[str] = []
        window.on("request", lambda request: requested.append(request.url))
        for name in ("", "theory/", "api/", "comparison/", "pendulum/", "results/real/real_clips/"):
            window.goto(address + name)
            assert window.evaluate("document.documentElement.scrollWidth") <= width, name
    assert len(requested) > 10
    assert all(url.startswith((address, "data:")) for url in requested)


def test_the_search_finds_a_reason(address: str) -> None:
    with open_browser() as browser, open_page(browser) as window:
        window.goto(address)
        field, found = window.get_by_placeholder("Search"), window.locator(".md-search-result__link").first
        deadline = time.monotonic() + 60
        while not found.is_visible() and time.monotonic() < deadline:
            field.fill("")  # what was typed before the page's script listens is not searched for
            field.press_sequentially("equivariance")  # key by key: a change alone is no query
            window.wait_for_timeout(500)
        assert found.is_visible()
