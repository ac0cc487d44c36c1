"""The page states every verdict of the certificate, shows no bound where one is refused, and loads nothing."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.tracking.scenes import made_up, refused
from withinpx.certificate.certificate import ADVICE, Certificate, Check, Limits, ObjectCertificate
from withinpx.errors import InputError
from withinpx.tracking.page import BECAUSE, CHECKS, _Row, _table_row, verdict_sentences, write_page
from withinpx.tracking.record import AttemptRecord, HypothesisRecord
from withinpx.tracking.strip_chart import MOST_STEPS, STATES, Course, strip_chart
from withinpx.tracking.tracks import Tracks

VOID = {"meta", "img", "br", "link", "input"}
THUMBNAILS = [np.full((9, 7, colours), 200, np.uint8) for colours in (1, 3, 3)]


class Balance(HTMLParser):
    """Every tag that is opened is closed, in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def an_object(number: int, failed: str = "") -> ObjectCertificate:
    units = {"reconstruction": "share", "displacement": "px", "distinct": "share", "heatmap": "px"}
    checks = tuple(
        Check(name, 0.97, 0.8, unit, name != failed, f"{name} < {number} & more") for name, unit in units.items()
    )
    return ObjectCertificate(number, (5.0, 6.5), 3.9, (0.5, -0.25), Limits(0.8), checks)


def a_certificate(*failed: str) -> Certificate:
    objects = tuple(an_object(number, name) for number, name in enumerate(failed))
    return Certificate("<mice> & men.mp4", 8, 2, 9, 11, 0.8, 3.2, 1.0, objects, (3,), ("a <warning>",), "0.1.0")


def tracks_of(certificate: Certificate) -> Tracks:
    tracks = made_up()
    failed = tracks.present & ~np.array([obj.certified for obj in certificate.objects])
    return refused(tracks, failed, "distinct")


def page_of(path: Path, certificate: Certificate, tracks: Tracks | None = None, **more: Any) -> tuple[str, Balance]:
    tracks = tracks or tracks_of(certificate)
    text = write_page(path / "certificate.html", certificate, tracks, THUMBNAILS, **more).read_text()
    parsed = Balance()
    parsed.feed(text)
    parsed.close()
    assert not parsed.open
    return text, parsed


def test_the_page_has_every_verdict_and_every_check(tmp_path: Path) -> None:
    _, parsed = page_of(tmp_path, a_certificate("", "distinct", ""))
    words = " ".join(parsed.text)
    assert "Not certified" in words
    assert words.count("refused: distinct") == 2  # in the table and over its checks
    assert parsed.text.count("certified") == 4
    assert words.count("✓ met") == 11
    assert words.count("✗ not met") == 1
    for number in range(3):
        assert f"displacement < {number} & more" in words
    assert parsed.seen.count("svg") == 3
    assert "8 because another object looks the same" in words
    _, parsed = page_of(tmp_path, a_certificate("", "", ""))
    assert "2 because it reaches the border of the frame" in " ".join(parsed.text)


def test_a_certified_page_has_its_verdict_in_large_letters(tmp_path: Path) -> None:
    _, parsed = page_of(tmp_path, a_certificate("", "", ""))
    assert "Certified" in parsed.text
    assert "Not certified" not in parsed.text


def test_both_bounds_are_shown_and_neither_of_a_refused_object(tmp_path: Path) -> None:
    _, parsed = page_of(tmp_path, a_certificate("", "distinct", ""))
    for bounds in (("±5.8 px", "±5.3 px"), ("±7.0 px", "±6.5 px")):  # around (x, y), around z
        assert all(parsed.text.count(bound) == 1 for bound in bounds)
    assert parsed.text.count("theorem alone ±3.9 px") == 2
    assert parsed.text.count("none") == 2
    assert not {"±4.5 px", "±4.0 px"} & set(parsed.text)


def test_the_bound_of_half_of_the_positions_is_shown_where_it_is_another_one() -> None:
    tracks = made_up()
    bounds = tracks.bounds.copy()
    bounds[4, 0] = 66.0
    rows = [
        _table_row(_Row(a_certificate("", "", "").objects[0], replace(tracks, bounds=own), 0, "", ""))
        for own in (tracks.bounds, bounds)
    ]
    assert "half within" not in rows[0]
    assert "<b>±66.0 px</b><small>half within ±5.8 px</small>" in rows[1]


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    summary = tmp_path / "summary.png"
    Image.new("RGB", (40, 30), "red").save(summary)
    text, parsed = page_of(tmp_path, a_certificate("", "", ""), summary=summary)
    assert "http://" not in text
    assert "https://" not in text
    sources = re.findall(r'src="([^"]{0,22})', text)
    assert len(sources) == parsed.seen.count("img") == 7  # two thumbnails for each object, and the summary
    assert set(sources) == {"data:image/png;base64,"}
    assert not {"script", "link", "iframe"} & set(parsed.seen)


def test_objects_have_the_given_colours(tmp_path: Path) -> None:
    colours = ["#FF5D4B", "#5F65F6", "#A18B0F"]
    text, _ = page_of(tmp_path, a_certificate("", "", ""), colours=colours)
    for colour in colours:
        assert text.count(f"border-color:{colour}") == 2
        assert f'stroke="{colour}"' in text


def test_a_files_name_cannot_break_the_page(tmp_path: Path) -> None:
    text, parsed = page_of(tmp_path, a_certificate("", "", ""))
    assert "<mice>" not in text
    assert "<mice> & men.mp4" in parsed.text
    assert "a <warning>" in parsed.text


def test_the_page_names_the_recording_without_its_folder(tmp_path: Path) -> None:
    summary = tmp_path / "summary.png"
    Image.new("RGB", (40, 30), "red").save(summary)
    certificate = replace(a_certificate("", "", ""), source="/home/somebody/films/mouse.mp4")
    text, _ = page_of(tmp_path, certificate, summary=summary)
    assert "mouse.mp4" in text
    assert "somebody" not in text
    assert str(tmp_path) not in text


def test_the_sentence_has_the_largest_bound_of_any_certified_position() -> None:
    certificate, tracks = a_certificate("", "", ""), made_up()
    bounds = tracks.bounds.copy()
    bounds[3, 1] = 99.0  # refused there
    bounds[4, 2] = 7.01
    proved, counted = verdict_sentences(certificate, replace(tracks, bounds=bounds))
    assert proved.startswith(
        "Every certified position (x, y) is within 7.1 px of the object's centre, and half of them within 5.8 px, "
        "along each axis, for certain, if"
    )
    assert counted == "20 of 22 positions (91%) are certified. The others are marked as refused and have no bound."


def test_nothing_is_claimed_of_a_refused_object() -> None:
    certificate = a_certificate("", "distinct", "")
    why, proved, counted = verdict_sentences(certificate, tracks_of(certificate))
    assert why.startswith("Object 1 is refused because another object looks the same: distinct < 1 & more. What to do:")
    assert proved.startswith("Every certified position (x, y) of objects 0 and 2 is within 7.0 px")
    assert counted == "14 of 14 positions of objects 0 and 2 (100%) are certified."
    nothing = a_certificate("displacement", "displacement", "displacement")
    assert verdict_sentences(nothing, tracks_of(nothing))[-1] == "No position has a proved bound."


@pytest.mark.parametrize("reason", sorted(ADVICE))
def test_every_refusal_comes_with_what_to_do_about_it(tmp_path: Path, reason: str) -> None:
    """In the text and on the page, for an object as for a single frame."""
    advice = ADVICE[reason]
    assert not advice.endswith(".")
    assert advice[0].islower()
    if reason in CHECKS:
        certificate = Certificate("a clip", 8, 2, 9, 11, 0.8, 3.2, 1.0, (an_object(0), an_object(1), an_object(2)))
        checks = tuple(Check(name, 0.0, 1.0, "px", name != reason, "") for name in CHECKS)
        refused_one = replace(
            certificate, objects=(replace(certificate.objects[0], checks=checks), *certificate.objects[1:])
        )
        assert f"what to do: {advice}" in str(refused_one)
        assert refused_one.to_json()["objects"][0]["advice"] == advice
        assert f"What to do: {advice}." in " ".join(page_of(tmp_path, refused_one)[1].text)
    certificate, tracks = a_certificate("", "", ""), made_up()
    frame = np.zeros(tracks.present.shape, np.bool_)
    frame[3, 0] = True
    _, parsed = page_of(tmp_path, certificate, refused(tracks, frame, reason))
    assert f"{reason}: {advice}." in parsed.text


def test_every_reason_has_advice() -> None:
    """Of a frame, and the name of a check."""
    assert set(ADVICE) == {"absent", "border", "heatmap", "reconstruction", "touching", *CHECKS}
    assert set(BECAUSE) | {"absent"} == set(ADVICE)


def test_the_page_lists_every_hypothesis_and_why_it_was_fitted(tmp_path: Path) -> None:
    refused_one = AttemptRecord(0, "it has the best score", "0 of 2 objects certified; object 0 refused: distinct", 3.0)
    chosen = AttemptRecord(0, "objects 0 and 1 refused: distinct", "1 of 1 objects certified", 4.0)
    hypotheses = (
        HypothesisRecord(2, False, 0.9, 0.95, "cut <in two>", (refused_one,)),
        HypothesisRecord(1, True, 0.8, 0.9, "one", (chosen,), chosen=True),
        HypothesisRecord(4, False, 0.1, 0.99, "four"),
    )
    certificate = a_certificate("", "", "")
    _, parsed = page_of(tmp_path, certificate, hypotheses=hypotheses)
    words = " ".join(parsed.text)
    for hypothesis in hypotheses:
        assert hypothesis.why in words
        for attempt in hypothesis.attempts:
            assert attempt.verdict in words
            assert f"fitted because {attempt.because}" in words
    assert parsed.text.count("chosen") == 1
    assert parsed.text.count("not fitted") == 1
    assert "Hypotheses" not in page_of(tmp_path, certificate)[1].text


def test_only_compact_support_makes_the_bound_certain() -> None:
    endless = replace(a_certificate("", "", ""), support=0.0)
    assert "for certain" not in verdict_sentences(endless, made_up())[0]


def test_a_clip_too_short_to_keep_frames_out_is_said_to_be(tmp_path: Path) -> None:
    text, _ = page_of(tmp_path, a_certificate("", "", ""))
    assert "2 of the 8 inspected frames were kept out of training" in text
    text, _ = page_of(tmp_path, replace(a_certificate("", "", ""), kept_out=0))
    assert "too short to keep frames out of training: the checks use all 8" in text


def test_tracks_that_are_not_the_certificates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tracks have 3 objects, the certificate 2"):
        write_page(tmp_path / "page.html", a_certificate("", ""), made_up())
    with pytest.raises(InputError, match=r"nowhere.png cannot be read: No such file"):
        page_of(tmp_path, a_certificate("", "", ""), summary=Path("nowhere.png"))


def a_course(states: list[str]) -> Course:
    residual = np.where([state == "absent" for state in states], np.nan, 0.2)
    numbers = np.array([STATES.index(state) for state in states])
    return Course(np.arange(len(states)), residual, numbers, 0.8, "#0072B2")


def test_the_strip_shows_each_span_of_verdicts() -> None:
    chart = strip_chart(a_course(["certified"] * 4 + ["refused"] + ["absent"] * 3))
    assert re.findall(r"<title>(.*?)</title>", chart) == [
        "frames 0 to 3: certified",
        "frame 4: refused",
        "frames 5 to 7: absent",
    ]


def test_one_refused_frame_is_seen_in_a_long_recording_too() -> None:
    states = ["certified"] * 5000
    states[1234] = "refused"
    chart = strip_chart(a_course(states))
    assert chart.count('class="refused"') == 1
    (points,) = re.findall(r'points="(.*?)"', chart)
    assert len(points.split()) <= MOST_STEPS


def test_an_object_that_is_never_present_has_a_chart() -> None:
    assert "polyline" not in strip_chart(a_course(["absent"]))
