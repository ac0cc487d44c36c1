"""The certificate as a page for the people whose animals, cells or cars these are: one file that needs no other."""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.certificate.certificate import Certificate, Check, ObjectCertificate
from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically
from withinpx.palette import colour_of
from withinpx.tracking.page_style import STYLE
from withinpx.tracking.strip_chart import Course, State, strip_chart
from withinpx.tracking.tracks import Tracks, bound_text

CHECKS = {  # what each measurement asks, in plain words
    "reconstruction": "It is drawn where it is seen",
    "places": "It was seen at two places or more",
    "distinct": "No other object looks the same",
    "heatmap": "Nothing else pulls at its position",
    "steady": "It is drawn alike everywhere",
    "equivariance": "When it moves, its position moves as much",
}
BECAUSE = {  # why an object, or one frame of it, is refused
    "border": "it is cut off by the picture's border",
    "reconstruction": "it is not drawn where it is seen",
    "heatmap": "something else pulls at its position",
    "distinct": "another object looks the same",
    "places": "it was not seen at two places",
    "steady": "it is drawn differently from place to place",
    "equivariance": "its position does not move as it does",
}
MEANING = """
<ul>
<li>For every object and frame the network reports a raw position z. In a certified frame the object's centre is no
further from z than the bound, across and down, whatever part of the object the network has learned to look at.</li>
<li>That is a theorem about what the network can see and draw (Longa &amp; Henriques, NeurIPS 2024, theorem 4.1), not
a statistic of errors on other data. No label was used.</li>
<li>The bound of a frame is the theorem's, plus what the heatmap shows elsewhere (leak), plus how far the drawn object
lies from the one in the frame (residual), plus how far the middle of its body lies from the middle of all that is drawn
with it, such as its shadow (aside); all are measured in that very frame.</li>
<li>The positions x, y of the tracks are z moved by the calibrated shift to the middle of the body. They usually lie
much nearer; the promise is about z.</li>
</ul>
<div class="columns">
<section><h3>What it rests on</h3><ul>
<li>The background is still, or known for every frame.</li>
<li>No two objects look the same.</li>
<li>Each object was seen at two places at least.</li>
<li>Each object is drawn where it is seen.</li>
<li>The last three were measured, on this recording. Another camera, another light or another animal asks for another
certificate.</li>
</ul></section>
<section><h3>What it cannot know</h3><ul>
<li>What an object means: a heatmap follows what moves together, an animal and its shadow for example.</li>
<li>Which point you have in mind: the centre is that of the box around the object, and the middle of what is drawn
stands for it. A thorax or a nose lies elsewhere.</li>
<li>Whether two things that never part are one.</li>
<li>Anything about refused frames, or between frames.</li>
</ul></section>
</div>
"""


@dataclass(frozen=True)
class PagePictures:
    """What the page shows beside the certificate; columns are the certificate's objects, in their order."""

    thumbnails: list[NDArray[np.uint8]]  # (height, width, colours) each: what each heatmap draws
    summary: Path | None  # summary.png
    tracks: Tracks
    reasons: NDArray[np.str_]  # (f, n): why each frame's position is refused; empty where it is certified


def write_page(path: Path, certificate: Certificate, pictures: PagePictures) -> Path:
    """``certificate.html``: nothing in it is fetched from anywhere."""
    shape = (len(pictures.tracks), len(certificate.objects))
    if pictures.tracks.present.shape != shape or pictures.reasons.shape != shape:
        raise InputError(f"The tracks have {pictures.tracks.objects} objects, the certificate {shape[1]}.")
    page = _page(certificate, pictures)
    write_atomically(writable_folder(path.parent) / path.name, page.encode())
    return path


def verdict_sentences(certificate: Certificate, tracks: Tracks) -> list[str]:
    """Of whom nothing is promised, and what is promised of the others, in plain words."""
    said = [_refusal(each) for each in certificate.objects if not each.certified]
    good = [column for column, each in enumerate(certificate.objects) if each.certified]
    present, bounds = tracks.present[:, good], tracks.bound_px[:, good]
    certified = present & tracks.certified[:, good]
    if not certified.any():
        return [*said, "No position is promised to be right."]
    whose = "" if certificate.certified else f" of {_names(certificate, good)}"
    sure = ", for certain," if _certain(certificate) else ""
    marked = "" if certified.sum() == present.sum() else " Nothing is promised of the others, which are marked."
    return [
        *said,
        f"Every certified position z{whose} is within {bound_text(float(bounds[certified].max()))[1:]} of the object's "
        f"centre, across and down{sure} if the background is known, no two objects look the same, each was seen at two "
        f"places, and each is drawn where it is seen. The last three are measured below.",
        f"{certified.sum()} of {present.sum()} positions{whose} ({_percent(certified.sum() / present.sum())}) are "
        f"certified.{marked}",
    ]


def _refusal(each: ObjectCertificate) -> str:
    check = next(check for check in each.checks if not check.met)
    return f"Object {each.object} is refused because {BECAUSE.get(check.name, check.name)}: {check.message}."


def _page(certificate: Certificate, pictures: PagePictures) -> str:
    sections = [
        f"<h1>Certificate for <b>{escape(certificate.source)}</b></h1>",
        _verdict(certificate, pictures.tracks),
        *_warnings(certificate),
        "<h2>The objects</h2>",
        _objects(certificate, pictures),
        *_summary(pictures.summary),
        "<h2>What was measured</h2>",
        *(_card(each, column, certificate, pictures) for column, each in enumerate(certificate.objects)),
        "<h2>What the certificate means</h2>",
        MEANING,
        f"<footer>{_fine_print(certificate)}</footer>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>Certificate for {escape(Path(certificate.source).name)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{chr(10).join(sections)}\n</main>\n</body>\n</html>\n"
    )


def _verdict(certificate: Certificate, tracks: Tracks) -> str:
    kind, word = ("good", "Certified") if certificate.certified else ("bad", "Not certified")
    said = "".join(f"<p>{escape(each)}</p>" for each in verdict_sentences(certificate, tracks))
    return f'<div class="verdict {kind}"><div class="word">{word}</div>{said}</div>'


def _warnings(certificate: Certificate) -> Iterator[str]:
    if certificate.warnings:
        said = "".join(f"<li>{escape(each)}</li>" for each in certificate.warnings)
        yield f"<h2>Take note</h2><ul>{said}</ul>"


def _objects(certificate: Certificate, pictures: PagePictures) -> str:
    headings = ("Object", "Verdict", "Size", "Bound on z", "Calibrated shift", "Frames certified", "Residual, median")
    head = "".join(f"<th>{each}</th>" for each in headings)
    rows = "".join(_object_row(each, column, pictures) for column, each in enumerate(certificate.objects))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _object_row(each: ObjectCertificate, column: int, pictures: PagePictures) -> str:
    tracks = pictures.tracks
    present = tracks.present[:, column]
    certified = present & tracks.certified[:, column]
    low, high = (f"{size:.1f}" for size in each.size)
    worst = bound_text(float(tracks.bound_px[certified, column].max())) if certified.any() else "none"
    residual = tracks.residual_px[present, column]
    cells = [
        low + " px" if low == high else f"{low} to {high} px",
        f"<b>{worst}</b><small>theorem {bound_text(each.bound)}</small>",
        f"{each.shift[0]:+.2f}, {each.shift[1]:+.2f} px",
        f"{certified.sum()} of {len(tracks)}<small>{_percent(float(certified.mean()))}</small>",
        f"{np.nanmedian(residual):.2f} px" if np.isfinite(residual).any() else "none",
    ]
    name = f'<td class="name">{_thumbnail(pictures, column)}<b>{each.object}</b></td>'
    return f"<tr>{name}<td>{_pill(each)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _pill(each: ObjectCertificate) -> str:
    return f'<span class="pill {"good" if each.certified else "bad"}">{_word(each)}</span>'


def _word(each: ObjectCertificate) -> str:
    return "certified" if each.certified else f"refused: {escape(each.failed)}"


def _thumbnail(pictures: PagePictures, column: int) -> str:
    if column >= len(pictures.thumbnails):
        return ""
    drawing = BytesIO()
    Image.fromarray(_plain(pictures.thumbnails[column])).save(drawing, "PNG")
    edge = f"border-color:{colour_of(column)}"
    return f'<img class="thumb" style="{edge}" src="{_embedded(drawing.getvalue())}" alt="what its heatmap draws">'


def _plain(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return pixels[..., 0] if pixels.shape[-1] == 1 else pixels


def _embedded(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _summary(path: Path | None) -> Iterator[str]:
    if path is None:
        return
    try:
        png = path.read_bytes()
    except OSError as error:
        raise InputError(f"The summary {path} cannot be read: {error.strerror}.") from None
    yield f'<h2>Where they went</h2><div class="figure"><img src="{_embedded(png)}" alt="positions over time"></div>'


def _card(each: ObjectCertificate, column: int, certificate: Certificate, pictures: PagePictures) -> str:
    checks = "".join(_check_row(check) for check in each.checks)
    course = _course(each, column, certificate.scale, pictures)
    together = course.frames_per_step
    how = f"; each step of the chart is {together} frames and shows their worst" if together > 1 else ""
    return (
        f'<section class="card"><h3>{_thumbnail(pictures, column)}Object {each.object} {_pill(each)}</h3>'
        f"<table><tbody>{checks}</tbody></table>"
        f"<small>Residual: how far what is drawn lies from what the frame shows{how}.</small>"
        f"{strip_chart(course)}{_key(course, pictures.reasons[:, column])}</section>"
    )


def _check_row(check: Check) -> str:
    kind, word = ("good", "✓ met") if check.met else ("bad", "✗ not met")
    title = CHECKS.get(check.name, check.name)
    return (
        f'<tr><td class="mark {kind}">{word}</td><td class="number"><b>{_value(check)}</b></td>'
        f"<td>{escape(title)}<small>{escape(check.name)}: {escape(check.message)}</small></td></tr>"
    )


def _value(check: Check) -> str:
    if check.unit == "share":
        return _percent(check.value)
    return f"{check.value:.{1 if check.value >= 10 else 2}f} {escape(check.unit)}"


def _course(each: ObjectCertificate, column: int, scale: float, pictures: PagePictures) -> Course:
    tracks = pictures.tracks
    states = tuple(
        State.ABSENT if not present else State.CERTIFIED if certified else State.REFUSED
        for present, certified in zip(tracks.present[:, column], tracks.certified[:, column], strict=True)
    )
    residual = np.where(tracks.present[:, column], tracks.residual_px[:, column], np.nan)
    return Course(tracks.frames, residual, states, each.limits.residual / scale, colour_of(column))


def _key(course: Course, reasons: Iterable[str]) -> str:
    """How many frames are certified, refused and absent, and why."""
    counts = Counter(course.states)
    why = Counter(str(reason) for reason, state in zip(reasons, course.states, strict=True) if state == State.REFUSED)
    said = ", ".join(f"{count} because {BECAUSE.get(reason, reason)}" for reason, count in why.most_common() if reason)
    because = f" ({escape(said)})" if said else ""
    items = [
        f'<span><i class="{state}"></i>{counts[state]} {state}{because if state == State.REFUSED else ""}</span>'
        for state in (State.CERTIFIED, State.REFUSED, State.ABSENT)
        if counts[state]
    ]
    return f'<div class="key">{"".join(items)}</div>'


def _fine_print(certificate: Certificate) -> str:
    kept = (
        f"{certificate.kept_out} of the {certificate.frames} frames that were looked at were kept out of training; the "
        f"reconstruction and heatmap checks are made on these."
        if certificate.kept_out < certificate.frames
        else f"The clip is too short to keep frames out of training: the checks were made on all {certificate.frames}."
    )
    unused = ""
    if certificate.unused:
        unused = f" Heatmaps that follow nothing: {', '.join(map(str, certificate.unused))}."
    version = f" Made with withinpx {escape(certificate.version)}." if certificate.version else ""
    reach = f", zero beyond {certificate.support:g} px, so the bound is deterministic" if _certain(certificate) else ""
    return (
        f"{kept} Receptive fields, measured: encoder {certificate.encoder_rf} px, decoder {certificate.decoder_rf} px. "
        f"Gaussian of sigma {certificate.sigma:g} px{reach}. The network looks at {certificate.scale:.0%} "
        f"of the recording's size; all other px here are the recording's own, with (0, 0) at the top-left corner."
        f"{unused}{version}"
    )


def _certain(certificate: Certificate) -> bool:
    """Does the Gaussian end somewhere? Else the bound reckons with a part of it only."""
    return certificate.support > 0


def _names(certificate: Certificate, columns: list[int]) -> str:
    numbers = [str(certificate.objects[column].object) for column in columns]
    if len(numbers) == 1:
        return f"object {numbers[0]}"
    return f"objects {', '.join(numbers[:-1])} and {numbers[-1]}"


def _percent(share: float) -> str:
    """Rounded, but never up to all nor down to none."""
    rounded = min(max(round(100 * share), int(share > 0)), 100 if share >= 1 else 99)
    return f"{rounded}%"
