"""The HTML file: the detector's ONNX graph, onnxruntime-web and the page's script, each embedded."""

import gzip
import hashlib
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import withinpx
from withinpx.browser.bundle import bundle
from withinpx.discovery.background import to_uint8
from withinpx.files import write_atomically
from withinpx.tracking.colours import detector_colours
from withinpx.tracking.detect import ANOTHER_SCENE, CHUNK
from withinpx.tracking.detector import Detector
from withinpx.tracking.onnx_file import onnx_bytes
from withinpx.tracking.onnx_graph import reason_names
from withinpx.tracking.page_parts import as_png, embedded
from withinpx.tracking.tracks import DECIMALS, columns_with

NAME = "detector.html"
HERE = Path(__file__).parent
STUDIO = HERE.parent / "studio" / "static"  # whose style and widgets the page has
VENDOR = HERE / "vendor"  # onnxruntime-web 1.24.3 (vendor/README.md)
RUNTIME = {  # the id of each embedded file
    "runtime-code": "ort.wasm.bundle.min.mjs.gz",
    "runtime-wasm": "ort-wasm-simd-threaded.wasm.gz",
    "notices": "ThirdPartyNotices.txt.gz",
}


def write_page(path: Path, detector: Detector) -> Path:
    """One HTML file that finds the detector's objects in clips which are dropped on it."""
    write_atomically(path, page(detector).encode())
    return path


def page(detector: Detector) -> str:
    """Its policy allows the script below and no connection: a clip cannot leave the page."""
    script = bundle(HERE / "page.js").replace("</script", r"<\/script")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; media-src blob:; connect-src 'none'; form-action 'none'; base-uri 'none'"
    )
    files = {name: (VENDOR / file).read_bytes() for name, file in RUNTIME.items()}
    files["detector"] = gzip.compress(onnx_bytes(detector), mtime=0)
    data = "\n".join(
        f'<script type="application/gzip" id="{name}">{b64encode(content).decode()}</script>'
        for name, content in files.items()
    )
    about = json.dumps(_about(detector)).replace("<", r"\u003c")
    style = "".join((folder / name).read_text(encoding="utf-8") for folder, name in _styles())
    parts = {
        "policy": policy,
        "style": style,
        "licence": (VENDOR / "LICENSE").read_text(encoding="utf-8").strip(),
        "data": f'<script type="application/json" id="about">{about}</script>\n{data}',
        "script": f"<script>{script}</script>",
    }
    text = (HERE / "page.html").read_text(encoding="utf-8")
    for name, content in parts.items():
        text = text.replace(f"{{{{{name}}}}}", content)
    return text


def _styles() -> list[tuple[Path, str]]:
    return [(STUDIO, "style.css"), (HERE, "page.css")]


def _about(detector: Detector) -> dict[str, Any]:
    """What the page knows beside the graph; all lengths in px of the recording."""
    width, height = detector.recording
    background = to_uint8(detector.background.images[0])
    objects = [
        {
            "heatmap": obj.object,
            "certified": obj.certified and obj.membership is not None,
            "failed": obj.failed if not obj.certified else "",
            "theorem_px": obj.theorem_px,
            "sigma_px": None if obj.membership is None or obj.membership.floor is None
            else obj.membership.floor / detector.scale,
        }
        for obj in detector.certificate.objects
    ]  # fmt: skip
    return {
        "version": withinpx.__version__,
        "recording": {"width": width, "height": height},
        "colours": detector.model.config.colours,
        "objects": objects,
        "marks": detector_colours(detector),
        "reasons": reason_names(detector.certificate),
        "unordered": detector.unordered,
        "columns": columns_with(0),
        "decimals": DECIMALS,
        "scene": {"frames": CHUNK, "most": ANOTHER_SCENE},
        "background": {"image": embedded(as_png(background)), "part": detector.watched.crop or (0, 0, width, height)},
    }
