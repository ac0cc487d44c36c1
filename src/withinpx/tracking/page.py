"""The certificate as a web page in one file, for readers who did not train the detector."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.certificate import ADVICE, Certificate, Check, ObjectCertificate
from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically
from withinpx.palette import colour_of
from withinpx.tracking.page_parts import as_png, document, embedded, percent, wide_table
from withinpx.tracking.record import HypothesisRecord
from withinpx.tracking.strip_chart import STATES, Course, strip_chart
from withinpx.tracking.tracks import Tracks, bound_text

CHECKS = {  # what each check requires
    "distinct": "No other object looks the same",
    "displacement": "It was seen at different positions",
    "reconstruction": "It is rendered where the frame shows it",
    "heatmap": "Nothing else in the frame moves its position",
    "drift": "It is rendered alike all over the frame",
    "equivariance": "When it moves, its position moves by as much",
    "mismatch": "Planted at known positions, it is found to lie within its bound",
}
BECAUSE = {  # why an object, or its position in one frame, is refused
    "border": "it reaches the border of the frame",
    "reconstruction": "it is not rendered where the frame shows it",
    "heatmap": "something else in the frame moves its position",
    "distinct": "another object looks the same",
    "displacement": "it was not seen at different positions",
    "drift": "it is not rendered alike all over the frame",
    "equivariance": "its position does not move as it does",
    "mismatch": "it looks too different from its rendering",
    "touching": "it touches another object, or may hide one",
}
MEANING = """
<ul>
<li>Every object has a position (x, y) in every frame. Where it is certified, the object's centre is at most
<b>bound_px</b> away from (x, y), along x and along y, whatever part of the object the network responds to.</li>
<li>It is a worst case under the assumptions below, proved in two steps. First, theorem 4.1 of Longa &amp; Henriques
(NeurIPS 2024) bounds the distance from z, the position that the network computes, to the object's centre by what the
network can see and render. <b>theorem_px</b> is that bound with what is measured in the frame.</li>
<li>Second, the object is rendered at every position that the theorem allows. Those that leave a larger residual in the
frame than the object ever leaves where it belongs are excluded. The rest is the feasible set; bound_px is the distance
from (x, y) to the end of it, plus how far the object's centre can be from its rendering's.</li>
<li>Where an object has no feasible set, for example because its appearance depends on where it is, bound_px is
theorem_px plus the distance from z to (x, y).</li>
<li>A refused position has no bound.</li>
</ul>
<div class="columns">
<section><h3>Assumptions</h3><ul>
<li>The background is fixed, or known for every frame.</li>
<li>No two objects look the same.</li>
<li>Each object was seen at different positions.</li>
<li>Each object is rendered where the frame shows it.</li>
<li>Where it belongs, its rendering differs from the frame by no more than in frames that training never saw, times
1.25.</li>
<li>The object's box lies between what differs from the background by half of its strength, and where its edges, as they
fall from there, reach zero.</li>
<li>All but the first were measured on this recording. Another camera, other light or other objects need another
certificate.</li>
</ul></section>
<section><h3>Limits</h3><ul>
<li>A heatmap follows what moves together: an animal with its shadow, for example.</li>
<li>The centre is that of the box around the object. A thorax or a nose is elsewhere.</li>
<li>Two objects that are never apart count as one.</li>
<li>Nothing is known about refused frames, or between frames.</li>
</ul></section>
</div>
"""

APPEARANCE = """
<p>An appearance code says in every frame what the object looks like there. In each row one of its entries goes from the
lowest to the highest value that was seen, and the others are at their median.</p>
"""

HYPOTHESES = """
<p>A hypothesis is one way to read the recording: how many objects move, and which detections belong to which. The first
was fitted first; another was fitted only where it answers a refusal.</p>
"""


@dataclass(frozen=True)
class _Row:
    """One object with what the page shows of it."""

    obj: ObjectCertificate
    tracks: Tracks
    column: int  # of the tracks
    colour: str
    thumbnail: str  # an <img>, or empty
    members: int | None = None  # of a class of objects that look alike

    @property
    def name(self) -> str:
        return f"Object {self.obj.object}" if self.members is None else f"Class {self.obj.object}"

    @property
    def present(self) -> NDArray[np.bool_]:
        return self.tracks.present[:, self.column]

    @property
    def certified(self) -> NDArray[np.bool_]:
        return self.tracks.certified[:, self.column]

    @property
    def pill(self) -> str:
        kind, text = ("good", "certified") if self.obj.certified else ("bad", f"refused: {escape(self.obj.failed)}")
        return f'<span class="pill {kind}">{text}</span>'

    def largest(self, bounds: NDArray[np.float64]) -> str:
        """The largest of these bounds (f, n) over the certified frames."""
        return bound_text(float(bounds[self.certified, self.column].max())) if self.certified.any() else "none"


def write_page(
    path: Path,
    certificate: Certificate,
    tracks: Tracks,
    thumbnails: Sequence[NDArray[np.uint8]] = (),
    summary: Path | None = None,
    *,
    colours: Sequence[str] | None = None,
    hypotheses: Sequence[HypothesisRecord] = (),
    appearance: Path | None = None,
) -> Path:
    """Write certificate.html, which loads nothing from elsewhere.

    The tracks' objects, the thumbnails (height, width, colours) and the colours are in the certificate's order. The
    hypotheses are those of the run. ``summary`` and ``appearance`` are figures to embed.
    """
    count = len(certificate.objects)
    if tracks.classes is None and tracks.objects != count:
        raise InputError(f"The tracks have {tracks.objects} objects, the certificate {count}.")
    colours = colours or [colour_of(index) for index in range(tracks.objects)]
    each = tracks.one_of_each(count)
    members = [None if tracks.classes is None else int((tracks.classes == column).sum()) for column in range(count)]
    images = [_thumbnail(thumbnails[column : column + 1], colours[column]) for column in range(count)]
    rows = [
        _Row(obj, each, column, colours[column], images[column], members[column])
        for column, obj in enumerate(certificate.objects)
    ]
    page = _page(certificate, tracks, rows, summary, hypotheses=hypotheses, appearance=appearance)
    write_atomically(writable_folder(path.parent) / path.name, page.encode())
    return path


def verdict_sentences(certificate: Certificate, tracks: Tracks) -> list[str]:
    """Which objects are refused and why, and what is proved of the others."""
    sentences = []
    for obj in certificate.objects:
        if not obj.certified:
            check = next(check for check in obj.checks if not check.met)
            because = BECAUSE.get(check.name, check.name)
            advice = f" What to do: {obj.advice}." if obj.advice else ""
            sentences.append(f"Object {obj.object} is refused because {because}: {check.message}.{advice}")
    certificates = [certificate.objects[index] for index in tracks.certificate_of]
    good = [column for column, obj in enumerate(certificates) if obj.certified]
    proved = tracks.bounds[:, good][tracks.certified[:, good]]
    present, certified = int(tracks.present[:, good].sum()), len(proved)
    if not certified:
        return [*sentences, "No position has a proved bound."]
    largest, usual = (bound_text(float(bound))[1:] for bound in (proved.max(), np.median(proved)))
    half = "" if usual == largest else f", and half of them within {usual}"
    whose = (
        "" if certificate.certified else f" of {_names([obj.object for obj in certificate.objects if obj.certified])}"
    )
    sure = ", for certain," if certificate.support > 0 else ""  # else it holds for a part of the Gaussian only
    searched = any(certificates[column].membership is not None for column in good)
    unlike = ", no two objects look the same" if tracks.classes is None else ""
    alike = ", looks as in frames that training never saw" if searched else ""
    others = "" if certified == present else " The others are marked as refused and have no bound."
    return [
        *sentences,
        f"Every certified position (x, y){whose} is within {largest} of the object's centre{half}, along each "
        f"axis{sure} if the background is known{unlike}, each was seen at different "
        f"positions{alike}, and each is rendered where the frame shows it. All but the first are measured below.",
        f"{certified} of {present} positions{whose} ({percent(certified / present)}) are certified.{others}",
        *_identity_sentences(tracks),
    ]


def _identity_sentences(tracks: Tracks) -> list[str]:
    """What is proved of which object is which, where they look alike."""
    if tracks.proved is None:
        return []
    links, proved = int(np.isfinite(tracks.proved).sum()), int((tracks.proved == 1).sum())
    share = f" ({percent(proved / links)})" if links else ""
    return [
        f"Objects that look alike are distinguished by where they can be: {proved} of {links} links to the frame "
        f"before{share} are proved, if no object steps further than {tracks.step_px:.1f} px along an axis from one "
        "frame to the next. That was measured on links which are not proved; give --step if you know it. All other "
        "links are guesses.",
    ]


def _page(
    certificate: Certificate,
    tracks: Tracks,
    rows: list[_Row],
    summary: Path | None,
    *,
    hypotheses: Sequence[HypothesisRecord],
    appearance: Path | None,
) -> str:
    name = escape(Path(certificate.source).name)  # a path would tell more than the recording's name
    kind, word = ("good", "Certified") if certificate.certified else ("bad", "Not certified")
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in verdict_sentences(certificate, tracks))
    sections = [
        f"<h1>Certificate for <b>{name}</b></h1>",
        f'<div class="verdict {kind}"><div class="word">{word}</div>{sentences}</div>',
    ]
    if certificate.warnings:
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in certificate.warnings)
        sections.append(f"<h2>Warnings</h2><ul>{warnings}</ul>")
    sections += ["<h2>Objects</h2>", _table(rows)]
    if summary is not None:
        alt = "trajectories and positions over time"
        image = f'<img src="{embedded(_read(summary))}" alt="{alt}">'
        sections.append(f'<h2>Trajectories</h2><div class="figure">{image}</div>')
    if appearance is not None:
        alt = "each object as it is rendered while one entry of its code goes from its lowest to its highest value"
        image = f'<img src="{embedded(_read(appearance))}" alt="{alt}">'
        sections.append(f'<h2>Appearance</h2>{APPEARANCE}<div class="figure">{image}</div>')
    sections += ["<h2>Measurements</h2>", *(_card(row, certificate.scale) for row in rows)]
    if hypotheses:
        sections += ["<h2>Hypotheses</h2>", HYPOTHESES, _hypotheses_table(hypotheses)]
    sections += ["<h2>What is proved</h2>", MEANING, f"<footer>{_fine_print(certificate)}</footer>"]
    return document(f"Certificate for {name}", sections)


def _table(rows: list[_Row]) -> str:
    headings = (
        *("Object", "Verdict", "Size", "Bound around (x,&nbsp;y)", "Bound around z"),
        *("Calibrated shift", "Frames certified", "Residual, median"),
    )
    return wide_table(headings, "".join(_table_row(row) for row in rows))


def _hypotheses_table(hypotheses: Sequence[HypothesisRecord]) -> str:
    """Every hypothesis in the order of its score. On a narrow screen a row is stacked, each cell with its heading."""
    headings = ("Hypothesis", "Objects", "Score", "Detections explained", "Fitted with")
    rows = []
    for number, hypothesis in enumerate(hypotheses):
        cells = (
            f"<b>{number}</b><small>{escape(hypothesis.why)}</small>",
            f"{hypothesis.objects}{'<small>unordered images</small>' * hypothesis.unordered}",
            f"{hypothesis.score:.3f}",
            percent(hypothesis.explained),
            _attempts(hypothesis),
        )
        labelled = [f'<td data-heading="{one}">{cell}</td>' for one, cell in zip(headings, cells, strict=True)]
        rows.append(f"<tr>{''.join(labelled)}</tr>")
    return wide_table(headings, "".join(rows), "hypotheses")


def _attempts(hypothesis: HypothesisRecord) -> str:
    """Each training of a hypothesis, with its verdict."""
    if not hypothesis.attempts:
        return '<span class="soft">not fitted</span>'
    lines = [
        f"<p>seed {attempt.seed}: {escape(attempt.verdict)}<small>fitted because {escape(attempt.because)}</small></p>"
        for attempt in hypothesis.attempts
    ]
    return '<span class="pill good">chosen</span>' * hypothesis.chosen + "".join(lines)


def _table_row(row: _Row) -> str:
    obj, tracks = row.obj, row.tracks
    low, high = (f"{size:.1f}" for size in obj.size)
    residual = tracks.residual_px[row.present, row.column]
    around_z = row.largest(tracks.theorem_px)
    around_position = f"<b>{row.largest(tracks.bounds)}</b>"
    if row.certified.any():
        around_z += f"<small>theorem alone {bound_text(obj.theorem_px)}</small>"
        usual = bound_text(float(np.median(tracks.bounds[row.certified, row.column])))
        around_position += f"<small>half within {usual}</small>" * (usual != row.largest(tracks.bounds))
    cells = [
        f"{low} px" if low == high else f"{low} to {high} px",
        around_position,
        around_z,
        f"{obj.shift[0]:+.2f}, {obj.shift[1]:+.2f} px",
        f"{row.certified.sum()} of {len(tracks)}<small>{percent(float(row.certified.mean()))}</small>",
        f"{np.nanmedian(residual):.2f} px" if np.isfinite(residual).any() else "none",
    ]
    many = "" if row.members is None else f"<small>class, {row.members} numbers</small>"
    name = f'<td class="name">{row.thumbnail}<b>{obj.object}</b>{many}</td>'
    return f"<tr>{name}<td>{row.pill}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _card(row: _Row, scale: float) -> str:
    """An object's checks, and its residual over time."""
    obj, tracks = row.obj, row.tracks
    checks = "".join(_check_row(check) for check in obj.checks)
    certified, absent, refused = range(len(STATES))
    states = np.where(row.present, np.where(row.certified, certified, refused), absent)
    residual = tracks.residual_px[:, row.column]
    course = Course(tracks.frames, residual, states, obj.limits.residual / scale, row.colour)
    together = course.frames_per_step
    how = f"; each step of the chart is {together} frames and shows the worst of them" if together > 1 else ""
    return (
        f'<section class="card"><h3>{row.thumbnail}{row.name} {row.pill}</h3>'
        f"<table><tbody>{checks}</tbody></table>"
        f"<small>Residual: distance from the rendered object to the one in the frame{how}.</small>"
        f"{strip_chart(course)}{_key(row)}{_frame_advice(row)}</section>"
    )


def _check_row(check: Check) -> str:
    kind, word = ("good", "✓ met") if check.met else ("bad", "✗ not met")
    unit = escape(check.unit)
    value = percent(check.value) if unit == "share" else f"{check.value:.{1 if check.value >= 10 else 2}f} {unit}"
    return (
        f'<tr><td class="mark {kind}">{word}</td><td class="number"><b>{value}</b></td>'
        f"<td>{escape(CHECKS.get(check.name, check.name))}"
        f"<small>{escape(check.name)}: {escape(check.message)}</small></td></tr>"
    )


def _key(row: _Row) -> str:
    """How many frames are certified, refused and absent, and why."""
    refused = row.present & ~row.certified
    why = Counter(row.tracks.reasons[refused, row.column].tolist()).most_common()
    because = ", ".join(f"{count} because {BECAUSE.get(reason, reason)}" for reason, count in why)
    items = [
        f'<span><i class="{state}"></i>{frames.sum()} {state}{explanation}</span>'
        for state, frames, explanation in (
            ("certified", row.certified, ""),
            ("refused", refused, f" ({escape(because)})"),
            ("absent", ~row.present, ""),
        )
        if frames.any()
    ]
    return f'<div class="key">{"".join(items)}</div>'


def _frame_advice(row: _Row) -> str:
    """What to do about the frames without a bound, for each of their reasons."""
    reasons = dict.fromkeys(row.tracks.reasons[~row.certified, row.column].tolist())
    items = [f"<li>{escape(reason)}: {escape(ADVICE[reason])}.</li>" for reason in reasons if reason in ADVICE]
    return f"<small>What to do about frames without a bound:</small><ul>{''.join(items)}</ul>" if items else ""


def _fine_print(certificate: Certificate) -> str:
    kept_out = (
        f"{certificate.kept_out} of the {certificate.frames} inspected frames were kept out of training; the "
        f"reconstruction and heatmap checks use these."
        if certificate.kept_out
        else f"The clip is too short to keep frames out of training: the checks use all {certificate.frames}."
    )
    support = f", zero beyond {certificate.support:g} px, so the bound is deterministic"
    unused = f" Unused heatmaps: {', '.join(map(str, certificate.unused))}." if certificate.unused else ""
    version = f" Made with withinpx {escape(certificate.version)}." if certificate.version else ""
    return (
        f"{kept_out} Receptive fields, measured: encoder {certificate.encoder_rf} px, decoder {certificate.decoder_rf} "
        f"px. Gaussian of sigma {certificate.sigma:g} px{support if certificate.support > 0 else ''}. The network's "
        f"input is {certificate.scale:.0%} of the recording's size; all other px are the recording's, with (0, 0) at "
        f"the top-left corner.{unused}{version}"
    )


def _thumbnail(images: Sequence[NDArray[np.uint8]], colour: str) -> str:
    if not images:
        return ""
    source = embedded(as_png(images[0]))
    return f'<img class="thumb" style="border-color:{colour}" src="{source}" alt="the object as rendered">'


def _read(summary: Path) -> bytes:
    try:
        return summary.read_bytes()
    except OSError as error:
        raise InputError(f"The summary {summary} cannot be read: {error.strerror}.") from None


def _names(objects: list[int]) -> str:
    *others, last = map(str, objects)
    return f"objects {', '.join(others)} and {last}" if others else f"object {last}"
