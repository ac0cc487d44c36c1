"""Who may ask: those with the token, by the server's own name, from its own page."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.studio.studio_server import ADDRESS, TOKEN, is_sentence
from withinpx.studio.access import Access
from withinpx.studio.app import create_app

NOBODY = {"Authorization": ""}


@pytest.mark.parametrize(
    "key", [{"Authorization": ""}, {"Authorization": "Bearer wrong"}, {"Cookie": "withinpx=wrong"}]
)
@pytest.mark.parametrize("path", ["/api/state", "/docs", "/openapi.json", "/api/runs/00000000000000de"])
def test_without_the_token_nothing_is_told(studio: TestClient, path: str, key: dict[str, str]) -> None:
    answer = studio.get(path, headers={**NOBODY, **key})
    assert answer.status_code == 401
    assert is_sentence(answer)


def test_the_page_without_its_token_says_where_to_find_it(studio: TestClient) -> None:
    for path in ("/", "/?token=wrong"):
        answer = studio.get(path, headers=NOBODY)
        assert answer.status_code == 401
        assert "withinpx studio" in answer.text


def test_the_printed_address_lets_a_browser_in(studio: TestClient) -> None:
    answer = studio.get(f"/?token={TOKEN}", headers=NOBODY)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert studio.get("/api/state", headers=NOBODY).status_code == 200  # the client kept the cookie


def test_the_pages_own_files_are_open(studio: TestClient) -> None:
    answer = studio.get("/static/style.css", headers=NOBODY)
    assert answer.status_code == 200
    assert studio.get("/static/../app.py", headers=NOBODY).status_code in (401, 404)
    assert studio.get("/static/%2e%2e/app.py", headers=NOBODY).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""])
def test_another_name_is_not_this_server(studio: TestClient, host: str) -> None:
    answer = studio.get("/api/state", headers={"Host": host})
    assert answer.status_code == 421
    assert is_sentence(answer)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost", "[::1]:8765"])
def test_its_own_names_are(studio: TestClient, host: str) -> None:
    assert studio.get("/api/state", headers={"Host": host}).status_code == 200


def test_a_server_of_every_address_goes_by_addresses_and_not_by_names(home: Path) -> None:
    access = Access(create_app(home, TOKEN), TOKEN, "0.0.0.0")  # noqa: S104
    assert access.is_own("192.168.1.7:8765")
    assert not access.is_own("evil.example:8765")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_changes_nothing(studio: TestClient, headers: dict[str, str]) -> None:
    answer = studio.post("/api/demo/copy", headers=headers)
    assert answer.status_code == 403
    assert is_sentence(answer)
    assert len(studio.get("/api/state").json()["runs"]) == 1


def test_the_page_itself_may(studio: TestClient) -> None:
    headers = {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
    assert studio.post("/api/demo/copy", headers=headers).status_code == 201


def test_every_answer_is_kept_to_this_page(studio: TestClient) -> None:
    headers = studio.get("/api/state").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_what_can_be_asked_is_described_without_anything_from_elsewhere(studio: TestClient) -> None:
    described = studio.get("/openapi.json").json()["paths"]
    page = studio.get("/docs").text
    assert "/api/runs/{each}/draw" in described
    assert "/api/runs/{each}/draw" in page
    assert "http" not in page.replace("http-equiv", "").split("<body>")[0]
    assert "src=" not in page


def test_what_is_not_there_is_a_sentence(studio: TestClient) -> None:
    for path in ("/api/nothing", "/api/runs/ffffffffffffffff", "/api/runs/..%2f..%2fetc", "/elsewhere"):
        answer = studio.get(path)
        assert answer.status_code == 404
        assert is_sentence(answer)
