"""The page says of every object what the certificate says, and needs nothing but itself."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.tracking.scenes import made_up
from withinpx.certificate.certificate import Certificate, Check, Limits, ObjectCertificate
from withinpx.errors import InputError
from withinpx.tracking.page import PagePictures, verdict_sentences, write_page
from withinpx.tracking.strip_chart import MOST_STEPS, Course, State, strip_chart
from withinpx.tracking.tracks import Tracks

VOID = {"meta", "img", "br", "link", "input"}


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
    checks = tuple(
        Check(name, 0.97, 0.8, unit, name != failed, f"says {name} < {number} & more")
        for name, unit in (("reconstruction", "share"), ("places", "px"), ("distinct", "share"), ("heatmap", "px"))
    )
    return ObjectCertificate(number, (5.0, 6.5), 3.9, (0.5, -0.25), Limits(0.8), checks)


def a_certificate(*failed: str) -> Certificate:
    objects = tuple(an_object(number, each) for number, each in enumerate(failed))
    return Certificate("films/<mice> & men.mp4", 8, 2, 9, 11, 0.8, 3.2, 1.0, objects, (3,), ("a <warning>",), "0.1.0")


def some_pictures(certificate: Certificate, tracks: Tracks | None = None, summary: Path | None = None) -> PagePictures:
    tracks = tracks or made_up()
    certified = tracks.certified & np.array([each.certified for each in certificate.objects])
    reasons = np.where(tracks.present, np.where(certified, "", "border"), "absent").astype("<U16")
    thumbnails = [np.full((9, 7, colours), 200, np.uint8) for colours in (1, 3, 3)]
    return PagePictures(thumbnails, summary, replace(tracks, certified=certified), reasons)


def page_of(path: Path, certificate: Certificate, pictures: PagePictures | None = None) -> tuple[str, Balance]:
    text = write_page(path / "certificate.html", certificate, pictures or some_pictures(certificate)).read_text()
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
        assert f"says places < {number} & more" in words
    assert parsed.seen.count("svg") == 3
    assert "8 because it is cut off by the picture's border" in words


def test_a_certified_page_says_so_in_large_letters(tmp_path: Path) -> None:
    _, parsed = page_of(tmp_path, a_certificate("", "", ""))
    assert "Certified" in parsed.text
    assert "Not certified" not in parsed.text


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    summary = tmp_path / "summary.png"
    Image.new("RGB", (40, 30), "red").save(summary)
    certificate = a_certificate("", "", "")
    text, parsed = page_of(tmp_path, certificate, some_pictures(certificate, summary=summary))
    assert "http://" not in text
    assert "https://" not in text
    sources = re.findall(r'src="([^"]{0,22})', text)
    assert len(sources) == parsed.seen.count("img") == 7  # two thumbnails for each object, and the summary
    assert set(sources) == {"data:image/png;base64,"}
    assert not {"script", "link", "iframe"} & set(parsed.seen)


def test_what_a_file_is_called_cannot_break_the_page(tmp_path: Path) -> None:
    text, parsed = page_of(tmp_path, a_certificate("", "", ""))
    assert "<mice>" not in text
    assert "films/<mice> & men.mp4" in parsed.text
    assert "a <warning>" in parsed.text


def test_the_sentence_has_the_largest_bound_of_any_certified_position() -> None:
    certificate = a_certificate("", "", "")
    tracks = made_up()
    bounds = tracks.bound_px.copy()
    bounds[3, 1] = 99.0  # refused there
    bounds[4, 2] = 7.01
    said = verdict_sentences(certificate, replace(tracks, bound_px=bounds))
    assert said[0].startswith(
        "Every certified position z is within 7.1 px of the object's centre, across and down, for"
    )
    assert said[1] == "20 of 22 positions (91%) are certified. Nothing is promised of the others, which are marked."


def test_nothing_is_promised_of_a_refused_object() -> None:
    certificate = a_certificate("", "distinct", "")
    refused, promised, counted = verdict_sentences(certificate, some_pictures(certificate).tracks)
    assert refused == "Object 1 is refused because another object looks the same: says distinct < 1 & more."
    assert promised.startswith("Every certified position z of objects 0 and 2 is within 6.5 px")
    assert counted == "14 of 14 positions of objects 0 and 2 (100%) are certified."
    nobody = a_certificate("places", "places", "places")
    assert verdict_sentences(nobody, some_pictures(nobody).tracks)[-1] == "No position is promised to be right."


def test_only_a_gaussian_that_ends_makes_it_certain() -> None:
    endless = replace(a_certificate("", "", ""), support=0.0)
    assert "for certain" not in verdict_sentences(endless, made_up())[0]


def test_tracks_of_others_are_refused(tmp_path: Path) -> None:
    certificate = a_certificate("", "")
    with pytest.raises(InputError, match="tracks have 3 objects, the certificate 2"):
        write_page(tmp_path / "page.html", certificate, replace(some_pictures(a_certificate("", "", ""))))
    with pytest.raises(InputError, match=r"nowhere.png cannot be read: No such file"):
        page_of(
            tmp_path, a_certificate("", "", ""), some_pictures(a_certificate("", "", ""), summary=Path("nowhere.png"))
        )


def a_course(states: list[State]) -> Course:
    residual = np.where([state is State.ABSENT for state in states], np.nan, 0.2)
    return Course(np.arange(len(states)), residual, tuple(states), 0.8, "#0072B2")


def test_the_strip_shows_each_stretch_of_verdicts() -> None:
    drawn = strip_chart(a_course([State.CERTIFIED] * 4 + [State.REFUSED] + [State.ABSENT] * 3))
    assert re.findall(r"<title>(.*?)</title>", drawn) == [
        "frames 0 to 3: certified",
        "frame 4: refused",
        "frames 5 to 7: absent",
    ]


def test_one_refused_frame_is_seen_in_a_long_recording_too() -> None:
    states = [State.CERTIFIED] * 5000
    states[1234] = State.REFUSED
    drawn = strip_chart(a_course(states))
    assert drawn.count('class="refused"') == 1
    (points,) = re.findall(r'points="(.*?)"', drawn)
    assert len(points.split()) <= MOST_STEPS


def test_an_object_that_is_never_there_has_a_chart() -> None:
    assert "polyline" not in strip_chart(a_course([State.ABSENT]))
