"""Uploads: clips are accepted, everything else is refused and leaves no file."""

import io
import threading
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from tests.studio.fake_training import count_epochs
from tests.studio.studio_server import (
    AUTHORIZATION,
    TOKEN,
    UPLOAD_LIMIT,
    is_error_sentence,
    listening,
    send_raw,
    wait_until,
)
from tests.tracked_clip import FRAMES, HEIGHT, WIDTH
from withinpx.studio.app import create_app
from withinpx.studio.options import EDITABLE
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


def runs_in(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "runs").iterdir())


def test_a_video_becomes_a_run(client: TestClient, home: Path, video: bytes) -> None:
    response = client.post("/api/runs?name=pool%20table.mp4", content=video)
    run = response.json()
    assert response.status_code == 201
    assert (run["name"], run["state"], run["demo"]) == ("pool table.mp4", "ready", False)
    clip = run["clip"]
    assert (clip["width"], clip["height"], clip["frames"], clip["images"]) == (WIDTH, HEIGHT, FRAMES, False)
    assert clip["seconds"] == pytest.approx(FRAMES / 25, abs=0.05)
    assert {name: run["options"][name] for name in EDITABLE} == {
        "objects": "auto",
        "crop": None,
        "frames": None,
        "background": "auto",
        "target": None,
        "seed": 0,
        "quick": False,
    }
    assert (home / "runs" / run["id"] / "clip" / "pool table.mp4").read_bytes() == video
    state = client.get("/api/state").json()
    assert [listed["id"] for listed in state["runs"]] == [run["id"], state["demo"]]
    assert state["upload_limit_bytes"] == UPLOAD_LIMIT


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_with_a_path_is_refused(client: TestClient, home: Path, video: bytes, name: str) -> None:
    response = client.post("/api/runs", params={"name": name}, content=video)
    assert response.status_code == 400
    assert is_error_sentence(response)
    assert runs_in(home) == []


def test_a_large_upload_is_refused_by_its_length_or_while_read(client: TestClient, home: Path, video: bytes) -> None:
    whole = client.post("/api/runs?name=x.mp4", content=video + bytes(UPLOAD_LIMIT))
    chunked = client.post("/api/runs?name=x.mp4", content=iter([video, *[bytes(50_000)] * 6]))  # without a length
    for response in (whole, chunked):
        assert response.status_code == 413
        assert is_error_sentence(response)
    assert runs_in(home) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"just words" * 200,
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n" * 20,
        b"ffconcat version 1.0\nfile /etc/hostname\n" * 20,
        b"\x00\x00\x00\x18ftypmp42" + bytes(5000),  # has the first bytes of a video
        b"<html><script>alert(1)</script></html>" * 20,
        b"MZ" + bytes(1000),
    ],
)
def test_a_file_that_is_not_a_video_is_refused(client: TestClient, home: Path, content: bytes) -> None:
    response = client.post("/api/runs?name=clip.mp4", content=content, headers={"Content-Type": "video/mp4"})
    assert response.status_code == 415
    assert is_error_sentence(response)
    assert runs_in(home) == []


def test_a_video_is_accepted_whatever_its_name_and_type(client: TestClient, video: bytes) -> None:
    response = client.post("/api/runs?name=clip.txt", content=video, headers={"Content-Type": "text/plain"})
    assert response.status_code == 201


def test_a_truncated_video_is_refused(client: TestClient, home: Path, video: bytes) -> None:
    assert client.post("/api/runs?name=x.mp4", content=video[:600]).status_code == 415
    assert runs_in(home) == []


def test_a_video_is_recognised_by_its_first_bytes() -> None:
    assert is_video(b"\x1aE\xdf\xa3" + bytes(400))  # Matroska
    assert is_video(b"RIFF\0\0\0\0AVI LIST" + bytes(400))
    assert is_video(b"G" + bytes(187) + b"G" + bytes(300))  # a transport stream
    assert not is_video(b"RIFF\0\0\0\0WAVEfmt " + bytes(400))
    assert not is_video(b"")


def image(shade: int, size: tuple[int, int] = (40, 30), kind: str = "PNG") -> bytes:
    content = io.BytesIO()
    Image.fromarray(np.full((size[1], size[0], 3), shade, np.uint8)).save(content, kind)
    return content.getvalue()


def files(*images: tuple[str, bytes]) -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("images", (name, content, "image/png")) for name, content in images]


def test_images_become_a_run(client: TestClient, home: Path) -> None:
    images = files(*((f"frame_{number}.png", image(20 * number)) for number in range(12)))
    response = client.post("/api/runs/images?name=beads", files=images)
    run = response.json()
    assert response.status_code == 201, response.text
    assert run["clip"] == {"width": 40, "height": 30, "frames": 12, "seconds": 12.0, "images": True}
    frame = client.get(f"/api/runs/{run['id']}/frames/10")  # after frame_9, not after frame_1
    level = np.asarray(Image.open(io.BytesIO(frame.content))).mean()
    assert level == pytest.approx(200, abs=3)


@pytest.mark.parametrize(
    ("images", "status"),
    [
        (files(("a.png", b"words"), ("b.png", image(3))), 415),
        (files(("a.png", image(3)), ("b.png", image(3, (20, 20)))), 415),
        (files(("a.svg", b"<svg/>"), ("b.png", image(3))), 415),
        (files(("a.exe", image(3)), ("b.png", image(3))), 415),
        (files(("a.png", image(3))), 400),
        (files(("a.png", image(3)), ("a.png", image(4))), 400),
        (files(("../a.png", image(3)), ("b.png", image(4))), 400),
        (files(("/a.png", image(3)), ("b.png", image(4))), 400),
        (files(("a.png", bytes(2 * UPLOAD_LIMIT)), ("b.png", image(4))), 413),
        ([("other", ("a.png", image(3), "image/png"))], 400),
    ],
)
def test_invalid_images_are_refused(
    client: TestClient, home: Path, images: list[tuple[str, tuple[str, bytes, str]]], status: int
) -> None:
    response = client.post("/api/runs/images", files=images)
    assert response.status_code == status, response.text
    assert is_error_sentence(response)
    assert runs_in(home) == []


def test_images_must_be_sent_as_a_form(client: TestClient, home: Path) -> None:
    response = client.post("/api/runs/images", content=b"words", headers={"Content-Type": "text/plain"})
    assert response.status_code == 400
    assert is_error_sentence(response)
    assert runs_in(home) == []


@pytest.mark.parametrize("path", ["/api/runs?name=x.mp4", "/api/runs/images?name=x"])
def test_an_interrupted_upload_leaves_no_file(home: Path, video: bytes, path: str) -> None:
    with listening(create_app(home, TOKEN, work=count_epochs)) as port:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9000000\r\n"
            f"Authorization: {AUTHORIZATION['Authorization']}\r\nContent-Type: multipart/form-data; boundary=xx\r\n\r\n"
        )
        part = b'--xx\r\nContent-Disposition: form-data; name="images"; filename="a.png"\r\n\r\n'
        connection = send_raw(port, head.encode() + (video if "images" not in path else part + bytes(9000)))
        if "images" not in path:
            wait_until(lambda: runs_in(home) != [])
        connection.close()
        wait_until(lambda: runs_in(home) == [])


def test_the_uploads_of_a_killed_server_are_removed_at_the_next_start(home: Path) -> None:
    (home / "runs" / ".uploading-0123456789abcdef" / "clip").mkdir(parents=True)
    create_app(home, TOKEN)
    assert runs_in(home) == []


def test_two_uploads_at_once_are_two_runs(client: TestClient, video: bytes) -> None:
    responses: list[int] = []

    def upload() -> None:
        responses.append(client.post("/api/runs?name=same.mp4", content=video).status_code)

    threads = [threading.Thread(target=upload) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert responses == [201, 201]
    assert len(client.get("/api/state").json()["runs"]) == 3
