"""The audit as a web page in one file."""

from html import escape
from pathlib import Path

from withinpx.auditing.crops import ToMark, crop, read_frames
from withinpx.auditing.findings import FrameToCheck, usual_bound
from withinpx.auditing.options import ORIGIN_PX
from withinpx.auditing.result import Audit
from withinpx.auditing.verdicts import BOUND, IDENTITY, NO_OBJECT, NOT_TRACKED, RIGHT, UNDECIDED, WRONG
from withinpx.tracking.page_parts import as_png, document, embedded, percent, wide_table

MOST_IMAGES = 12
MOST_ROWS = 50  # of a table on the page; the files have all
STYLE = """
.bars { display: flex; height: 14px; border-radius: 7px; overflow: hidden; margin: 18px 0 8px; }
.bars { background: var(--absent); }
.bars i.right { background: var(--good); }
.bars i.wrong { background: var(--bad); }
.worst { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 18px; }
.worst { margin-bottom: 26px; }
.worst figure { margin: 0; break-inside: avoid; }
.worst img { display: block; width: 100%; height: auto; image-rendering: pixelated; border-radius: 8px; }
.worst figcaption { font-size: 14px; line-height: 1.4; color: var(--soft); margin-top: 6px; }
.worst figcaption b { color: var(--ink); }
"""
REASONS = {  # why a position is undecided, beside those of a refused row
    NOT_TRACKED: "the frame was not tracked",
    NO_OBJECT: "no object was found there",
    IDENTITY: "it may be that of another object that looks alike",
    BOUND: "its error may be more or less than what is allowed",
    "absent": "the object was not seen there",
}
MEANING = """
<ul>
<li>withinpx learned the objects of this clip by itself: neither these tracks nor any label was used. In a frame where
it certifies an object, the centre of the object's box is proved to be within a <b>bound</b> of its own position, along
each axis, under the assumptions in the run's certificate. Call the square that this leaves the object's set.</li>
<li><b>Right within b</b>: the position lies in that set. The object's point does too, so the position is off by at most
b = its distance from the middle of the set + the bound.</li>
<li><b>Wrong</b>: the position lies outside the set, so it cannot be the object's point. It is off by at least its
distance from the set.</li>
<li><b>Undecided</b>: nothing is proved of the object in this frame, or no object was found for this identity.</li>
<li><b>Swap</b>: an identity was in the set of one object and of no other, and is later outside of that object's set and
in another's, for three positions in a row or while another identity changes the other way; and the object is proved to
be the same one in between. The positions after it are compared with the new object.</li>
</ul>
"""
CENTRE = """<p>Every position was taken to be <b>the centre of the object's box</b>; nothing was subtracted. A program
that reports another point, such as a thorax, is off by the distance between the two, and is called wrong for it.
<code>--offset measured</code> judges the motion of such a point instead.</p>"""
POINT = """<p>Every position was taken to be <b>some point at a constant offset</b> from the centre of the object's box.
Which offset is not known: it is assumed that at least half of the certified positions near each object show the same
point, and every offset that this leaves is allowed for, which widens the bound. What is proved is therefore about
displacement: a position that is wrong is not where that point is, whichever it is. A point that turns with the object
has no constant offset, and would be called wrong where it turns.</p>"""


def page(audit: Audit) -> str:
    foreign = audit.foreign
    name = escape(Path(foreign.source).name)
    sections = [f"<h1>Audit of <b>{name}</b></h1>", _verdict(audit)]
    if audit.notes:
        sections.append(
            f"<h2>Before you read on</h2><ul>{''.join(f'<li>{escape(note)}</li>' for note in audit.notes)}</ul>"
        )
    sections += ["<h2>Identities</h2>", _identities(audit)]
    if audit.swaps:
        sections += ["<h2>Swaps</h2>", _swaps(audit)]
    sections += ["<h2>Frames to check, worst first</h2>", *_worst(audit)]
    sections += ["<h2>Objects</h2>", _objects(audit)]
    point = POINT if audit.options.offset == "measured" else CENTRE
    sections += ["<h2>What is proved</h2>", point, MEANING, f"<footer>{_fine_print(audit)}</footer>"]
    return document(f"Audit of {name}", sections, STYLE)


def _verdict(audit: Audit) -> str:
    counts, total = audit.counts, len(audit.foreign)
    bad = audit.anything_wrong
    word = "Proved wrong in part" if bad else "Nothing is proved wrong"
    right = audit.verdicts.proved_px[audit.verdicts.verdicts == RIGHT]
    within = f", half of them within {usual_bound(right)[1:]}" if len(right) else ""
    share = {kind: f"{counts[kind]} ({percent(counts[kind] / total)})" for kind in counts}
    sentences = [
        f"Of {total} positions of {len(audit.foreign.names)} identities, {share[RIGHT]} are proved right{within}; "
        f"{share[WRONG]} are proved wrong; {share[UNDECIDED]} cannot be decided.",
        f"{len(audit.swaps)} swaps of identities are proved. The tracks lack "
        f"{int(audit.missing[:, audit.followed].sum())} positions of objects that are certified.",
    ]
    bars = "".join(f'<i class="{kind}" style="width:{100 * counts[kind] / total:.2f}%"></i>' for kind in (RIGHT, WRONG))
    text = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    kind = "bad" if bad else "good"
    box = f'<div class="verdict {kind}"><div class="word">{word}</div>{text}</div>'
    return f'{box}<div class="bars">{bars}</div>{_key(audit)}'


def _key(audit: Audit) -> str:
    because = audit.summary()["reasons"]
    why = ", ".join(f"{count}: {REASONS.get(reason, f'refused ({reason})')}" for reason, count in because.items())
    labels = {RIGHT: "proved right", WRONG: "proved wrong", UNDECIDED: f"undecided{f' ({why})' if why else ''}"}
    colours = {RIGHT: "certified", WRONG: "refused", UNDECIDED: "absent"}
    items = [
        f'<span><i class="{colours[kind]}"{_red(kind)}></i>{audit.counts[kind]} {escape(labels[kind])}</span>'
        for kind in (RIGHT, WRONG, UNDECIDED)
        if audit.counts[kind]
    ]
    return f'<div class="key">{"".join(items)}</div>'


def _red(kind: str) -> str:
    """The keys of the certificate's chart colour a strip; these colour a bar."""
    colour = {RIGHT: "--good", WRONG: "--bad", UNDECIDED: "--absent"}[kind]
    return f' style="background:var({colour})"'


def _identities(audit: Audit) -> str:
    headings = ("Identity", "Object", "Positions", "Right", "Wrong", "Undecided", "Swaps", "Largest proved error")
    rows = []
    for index in range(len(audit.foreign.names)):
        about = audit.of_identity(index)
        worst = about["largest_error_at_least_px"]
        cells = (
            f"<b>{escape(about['id'])}</b>",
            " → ".join(map(str, about["objects"])) or "none",
            *(str(about[name]) for name in ("positions", RIGHT)),
            f'<span class="mark bad">{about[WRONG]}</span>' if about[WRONG] else "0",
            str(about[UNDECIDED]),
            f'<span class="mark bad">{about["swaps"]}</span>' if about["swaps"] else "0",
            f"{worst:.1f} px or more" if worst is not None else "",
        )
        rows.append(_row(cells))
    return wide_table(headings, "".join(rows))


def _swaps(audit: Audit) -> str:
    headings = ("Frame", "Identity", "Was at", "Is at", "Last seen there", "Off by at least", "Exchanged with")
    rows = []
    for swap in audit.swaps[:MOST_ROWS]:
        partner = audit.foreign.names[swap.partner] if swap.partner >= 0 else ""
        cells = (
            str(swap.frame),
            f"<b>{escape(audit.foreign.names[swap.identity])}</b>",
            *(f"object {index}" for index in (swap.before, swap.after)),
            f"frame {swap.last_frame}",
            f"{swap.at_least_px:.1f} px",
            escape(partner),
        )
        rows.append(_row(cells))
    return wide_table(headings, "".join(rows)) + _more(len(audit.swaps), MOST_ROWS, "swaps.csv")


def _objects(audit: Audit) -> str:
    subtracted = audit.options.offset == "measured"
    heading = "Offset, allowed for" if subtracted else "Usual offset, not subtracted"
    rows = []
    for about in audit.summary()["objects"]:
        offset, half = about["offset_px"], about["offset_half_px"]
        cells = (
            f"<b>{about['object']}</b>",
            "yes" if about["followed"] else "no",
            str(about["certified"]),
            str(about["missing"]),
            "" if offset is None else f"{offset[0]:+.2f} ±{half[0]:.2f}, {offset[1]:+.2f} ±{half[1]:.2f} px",
        )
        rows.append(_row(cells))
    headings = ("Object", "Followed by the tracks", "Frames certified", "Of these without a position", heading)
    return wide_table(headings, "".join(rows))


def _worst(audit: Audit) -> list[str]:
    """Images of the worst frames, one per position that is wrong, then the list of frames."""
    if not audit.check:
        return ["<p>Nothing is proved wrong or missing in any frame.</p>"]
    rows = "".join(
        _row((str(found.frame), f"{found.at_least_px:.1f} px" if found.at_least_px else "", escape(found.why)))
        for found in audit.check[:MOST_ROWS]
    )
    table = wide_table(("Frame", "Error, at least", "Why"), rows) + _more(len(audit.check), MOST_ROWS, "check.csv")
    return [_images(audit, audit.check[:MOST_IMAGES]), table]


def _images(audit: Audit, worst: list[FrameToCheck]) -> str:
    marked = [(found, one) for found in worst if (one := _to_mark(audit, found)) is not None]
    frames = read_frames(audit.recording, (found.frame for found, _ in marked))
    figures = []
    for found, one in marked:
        if found.frame not in frames:
            continue
        source = embedded(as_png(crop(frames[found.frame], one)))
        which = f"{escape(one.label)} against object {one.object}"
        text = f"<b>Frame {found.frame}</b>, {which}: {found.at_least_px:.1f} px or more"
        alt = f"frame {found.frame}: the position of {escape(one.label)} and the box of object {one.object}"
        figures.append(f'<figure><img src="{source}" alt="{alt}"><figcaption>{text}</figcaption></figure>')
    if not figures:
        return ""
    key = (
        "<p>The red ring is the position in the tracks. The cross is the object's position as withinpx has it, and the "
        "square its bound: the object's point is proved to be inside the square.</p>"
    )
    return f'{key}<div class="worst">{"".join(figures)}</div>'


def _to_mark(audit: Audit, found: FrameToCheck) -> ToMark | None:
    """The worst position of a frame: one that is wrong, or one at another object than before."""
    evidence, verdicts = audit.evidence, audit.verdicts
    pairs = [
        (float(verdicts.at_least_px[row]), row, int(verdicts.objects[row]))
        for row in (evidence.foreign.frames == found.frame).nonzero()[0].tolist()
        if verdicts.verdicts[row] == WRONG
    ]
    for swap in audit.swaps:
        if swap.frame == found.frame:
            own = (evidence.foreign.frames == swap.frame) & (evidence.foreign.ids == swap.identity)
            pairs.append((swap.at_least_px, int(own.argmax()), swap.before))
    if not pairs:
        return None
    _, row, index = max(pairs)
    x, y = evidence.tracks.positions[evidence.rows[row], index]
    if evidence.offsets:
        x, y = x + evidence.offsets[index].middle[0], y + evidence.offsets[index].middle[1]
    position = evidence.foreign.positions[row]
    half = float(evidence.halves[row, index].max())
    label = evidence.foreign.names[evidence.foreign.ids[row]]
    return ToMark(label, (float(position[0]), float(position[1])), (float(x), float(y)), half, index)


def _fine_print(audit: Audit) -> str:
    about, foreign = audit.summary(), audit.foreign
    origin = {
        "corner": "(0, 0) is the corner of the first pixel",
        "centre": "(0, 0) is the centre of the first pixel",
        "one": "(1, 1) is the corner of the first pixel",
    }[foreign.origin]
    part = f", body part {escape(foreign.part)}" if foreign.part else ""
    within = audit.options.within
    limit = "" if within is None else f" Errors up to {within:g} px are allowed."
    gaps = f" {foreign.gaps} rows have no position." if foreign.gaps else ""
    return (
        f"Read as {escape(foreign.program)}{part}; {origin}, so {ORIGIN_PX[foreign.origin]:+g} px was added to x and y."
        f"{gaps}{limit} All px are the recording's, with (0, 0) at its top-left corner. "
        f"Made with withinpx {about['version']}."
    )


def _row(cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _more(count: int, shown: int, file: str) -> str:
    return f"<small>{count - shown} more are in {file}.</small>" if count > shown else ""
