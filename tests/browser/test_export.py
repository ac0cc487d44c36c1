"""withinpx export RUN --html: the file, what it is made of, and what is refused."""

import gzip
import hashlib
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from tests.browser.conftest import DemoPage
from tests.test_cli import refusal
from withinpx.browser.bundle import bundle
from withinpx.browser.page import RUNTIME, VENDOR, page
from withinpx.cli import main
from withinpx.errors import InputError
from withinpx.tracking.detector import Detector


def embedded(html: str, name: str) -> bytes:
    found = re.search(rf'id="{name}">([^<]*)</script>', html)
    assert found
    return gzip.decompress(b64decode(found.group(1)))


def test_the_file_holds_all_that_it_needs(demo: DemoPage) -> None:
    html = demo.html.read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|link|img|video|iframe)[^>]* (?:src|href)=", html)
    assert "connect-src 'none'" in html
    assert "@import" not in html
    onnx.checker.check_model(onnx.load_from_string(embedded(html, "detector")))
    for name, file in RUNTIME.items():
        assert embedded(html, name) == gzip.decompress((VENDOR / file).read_bytes())
    assert (VENDOR / "LICENSE").read_text(encoding="utf-8").strip() in html
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in html
    assert len(html) < 6_000_000


def test_the_runtime_is_the_published_one() -> None:
    """The README's hashes are of the npm package's files."""
    listed = re.findall(r"`(\S+)` \| `([0-9a-f]{64})`", (VENDOR / "README.md").read_text(encoding="utf-8"))
    assert len(listed) == 2
    for name, digest in listed:
        assert hashlib.sha256(gzip.decompress((VENDOR / f"{name}.gz").read_bytes())).hexdigest() == digest


def test_nothing_is_overwritten(demo: DemoPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", str(demo.run), "--html", "--out", str(tmp_path / "one.html")])
    assert "drop a clip of 160x120 px on it" in capsys.readouterr().out
    (tmp_path / "one.html").write_text("another's")
    found = refusal(capsys, f"export {demo.run} --html --out {tmp_path / 'one.html'}")
    assert found.endswith("nothing was overwritten.")
    assert (tmp_path / "one.html").read_text() == "another's"


def test_one_kind_of_file_is_written_at_a_time(demo: DemoPage, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ("", "--html --onnx", "--html --to mot"):
        assert "--onnx or --html, or the tracks with --to" in refusal(capsys, f"export {demo.run} {options}")


def test_what_no_graph_can_hold_is_refused(demo: DemoPage) -> None:
    with pytest.raises(InputError, match="camera moves"):
        page(replace(Detector.load(demo.run), moving_camera=True))


def test_a_module_is_run_once_and_its_names_are_its_own(tmp_path: Path) -> None:
    """Both modules have a private ``own``; the one that is imported twice is there once."""
    (tmp_path / "other.js").write_text("const own = 1;\nexport const shared = own + 1;\n")
    middle, entry = tmp_path / "middle.js", tmp_path / "entry.js"
    shared = 'import { shared } from "./other.js";\n'
    middle.write_text(f"{shared}export function twice() {{\n  return 2 * shared;\n}}\n")
    entry.write_text(
        f'{shared}import {{ twice }} from "./middle.js";\n\nconst own = 3;\nshow(own + shared + twice());\n'
    )
    script = bundle(entry)
    assert script.count("const own = 1;") == 1
    assert script.index("const own = 1;") < script.index("function twice") < script.index("const own = 3;")
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)
    entry.write_text('import * as other from "./other.js";\n')
    with pytest.raises(ValueError, match="cannot be part of one script"):
        bundle(entry)
