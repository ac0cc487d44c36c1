"""Clips that come in, and all that is not a clip."""

import io
import threading
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.studio.pretended import pretend
from tests.studio.studio_server import KEY, LIMIT, TOKEN, is_sentence, listening, sent, until
from tests.tracked_clip import FRAMES, HEIGHT, WIDTH
from withinpx.studio.app import create_app
from withinpx.studio.uploads import is_video

BAD_NAMES = [
    "../x.mp4",
    "/etc/x.mp4",
    "a/b.mp4",
    "..",
    ".hidden",
    "c:\\x.mp4",
    "",
    "x" * 300,
    "a\nb.mp4",
    "a\0.mp4",
    " ",
]


def left_in(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "runs").iterdir())


def test_a_video_becomes_a_run(studio: TestClient, home: Path, video: bytes) -> None:
    answer = studio.post("/api/runs?name=pool%20table.mp4", content=video)
    run = answer.json()
    assert answer.status_code == 201
    assert (run["name"], run["state"], run["demo"]) == ("pool table.mp4", "ready", False)
    clip = run["clip"]
    assert (clip["width"], clip["height"], clip["frames"], clip["pictures"]) == (WIDTH, HEIGHT, FRAMES, False)
    assert clip["seconds"] == pytest.approx(FRAMES / 25, abs=0.05)
    assert run["options"] == {
        "objects": None,
        "crop": None,
        "background": "auto",
        "target": None,
        "seed": 0,
        "quick": False,
    }
    assert (home / "runs" / run["id"] / "clip" / "pool table.mp4").read_bytes() == video
    state = studio.get("/api/state").json()
    assert [each["id"] for each in state["runs"]] == [run["id"], state["demo"]]
    assert state["upload_limit_bytes"] == LIMIT


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_leads_elsewhere_is_refused(studio: TestClient, home: Path, video: bytes, name: str) -> None:
    answer = studio.post("/api/runs", params={"name": name}, content=video)
    assert answer.status_code == 400
    assert is_sentence(answer)
    assert left_in(home) == []


def test_what_is_too_large_is_refused_before_and_while_it_comes(studio: TestClient, home: Path, video: bytes) -> None:
    whole = studio.post("/api/runs?name=x.mp4", content=video + bytes(LIMIT))
    pieces = studio.post("/api/runs?name=x.mp4", content=iter([video, *[bytes(50_000)] * 6]))  # of no stated length
    for answer in (whole, pieces):
        assert answer.status_code == 413
        assert is_sentence(answer)
    assert left_in(home) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"just words" * 200,
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n" * 20,
        b"ffconcat version 1.0\nfile /etc/hostname\n" * 20,
        b"\x00\x00\x00\x18ftypmp42" + bytes(5000),  # begins as a video does
        b"<html><script>alert(1)</script></html>" * 20,
        b"MZ" + bytes(1000),
    ],
)
def test_what_is_no_video_is_refused_whatever_it_says_it_is(studio: TestClient, home: Path, content: bytes) -> None:
    answer = studio.post("/api/runs?name=clip.mp4", content=content, headers={"Content-Type": "video/mp4"})
    assert answer.status_code == 415
    assert is_sentence(answer)
    assert left_in(home) == []


def test_a_video_that_says_it_is_something_else_is_one(studio: TestClient, video: bytes) -> None:
    answer = studio.post("/api/runs?name=clip.txt", content=video, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 201


def test_a_video_that_breaks_off_early_is_refused(studio: TestClient, home: Path, video: bytes) -> None:
    assert studio.post("/api/runs?name=x.mp4", content=video[:600]).status_code == 415
    assert left_in(home) == []


def test_the_first_bytes_tell_a_video() -> None:
    assert is_video(b"\x1aE\xdf\xa3" + bytes(400))  # Matroska
    assert is_video(b"RIFF\0\0\0\0AVI LIST" + bytes(400))
    assert is_video(b"G" + bytes(187) + b"G" + bytes(300))  # a transport stream
    assert not is_video(b"RIFF\0\0\0\0WAVEfmt " + bytes(400))
    assert not is_video(b"")


def picture(shade: int, size: tuple[int, int] = (40, 30), kind: str = "PNG") -> bytes:
    content = io.BytesIO()
    Image.fromarray(np.full((size[1], size[0], 3), shade, np.uint8)).save(content, kind)
    return content.getvalue()


def files(*given: tuple[str, bytes]) -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("pictures", (name, content, "image/png")) for name, content in given]


def test_pictures_become_a_run(studio: TestClient, home: Path) -> None:
    given = files(*((f"frame_{number}.png", picture(20 * number)) for number in range(12)))
    answer = studio.post("/api/runs/pictures?name=beads", files=given)
    run = answer.json()
    assert answer.status_code == 201, answer.text
    assert run["clip"] == {"width": 40, "height": 30, "frames": 12, "seconds": 12.0, "pictures": True}
    shown = studio.get(f"/api/runs/{run['id']}/frames/10")  # after frame_9, not after frame_1
    level = np.asarray(Image.open(io.BytesIO(shown.content))).mean()
    assert level == pytest.approx(200, abs=3)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (files(("a.png", b"words"), ("b.png", picture(3))), 415),
        (files(("a.png", picture(3)), ("b.png", picture(3, (20, 20)))), 415),
        (files(("a.svg", b"<svg/>"), ("b.png", picture(3))), 415),
        (files(("a.exe", picture(3)), ("b.png", picture(3))), 415),
        (files(("a.png", picture(3))), 400),
        (files(("a.png", picture(3)), ("a.png", picture(4))), 400),
        (files(("../a.png", picture(3)), ("b.png", picture(4))), 400),
        (files(("/a.png", picture(3)), ("b.png", picture(4))), 400),
        (files(("a.png", bytes(2 * LIMIT)), ("b.png", picture(4))), 413),
        ([("other", ("a.png", picture(3), "image/png"))], 400),
    ],
)
def test_pictures_that_are_none_are_refused(
    studio: TestClient, home: Path, given: list[tuple[str, tuple[str, bytes, str]]], status: int
) -> None:
    answer = studio.post("/api/runs/pictures", files=given)
    assert answer.status_code == status, answer.text
    assert is_sentence(answer)
    assert left_in(home) == []


def test_pictures_that_are_not_sent_as_such_are_refused(studio: TestClient, home: Path) -> None:
    answer = studio.post("/api/runs/pictures", content=b"words", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 400
    assert is_sentence(answer)
    assert left_in(home) == []


@pytest.mark.parametrize("path", ["/api/runs?name=x.mp4", "/api/runs/pictures?name=x"])
def test_an_upload_that_breaks_off_leaves_nothing(home: Path, video: bytes, path: str) -> None:
    with listening(create_app(home, TOKEN, work=pretend)) as port:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9000000\r\n"
            f"Authorization: {KEY['Authorization']}\r\nContent-Type: multipart/form-data; boundary=xx\r\n\r\n"
        )
        part = b'--xx\r\nContent-Disposition: form-data; name="pictures"; filename="a.png"\r\n\r\n'
        connection = sent(port, head.encode() + (video if "pictures" not in path else part + bytes(9000)))
        if "pictures" not in path:
            until(lambda: left_in(home) != [])
        connection.close()
        until(lambda: left_in(home) == [])


def test_what_a_killed_server_was_receiving_is_gone_at_the_next_start(home: Path) -> None:
    (home / "runs" / ".arriving-0123456789abcdef" / "clip").mkdir(parents=True)
    create_app(home, TOKEN)
    assert left_in(home) == []


def test_two_uploads_at_once_are_two_runs(studio: TestClient, video: bytes) -> None:
    answers: list[int] = []

    def upload() -> None:
        answers.append(studio.post("/api/runs?name=same.mp4", content=video).status_code)

    threads = [threading.Thread(target=upload) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [201, 201]
    assert len(studio.get("/api/state").json()["runs"]) == 3
