"""Only requests with the token, to the server's own host name and from its own page are accepted."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.studio.studio_server import ADDRESS, AUTHORIZATION, TOKEN, is_error_sentence
from withinpx.studio.app import create_app

NO_TOKEN = {"Authorization": ""}


@pytest.mark.parametrize(
    "headers", [{"Authorization": ""}, {"Authorization": "Bearer wrong"}, {"Cookie": "withinpx=wrong"}]
)
@pytest.mark.parametrize("path", ["/api/state", "/docs", "/openapi.json", "/api/runs/00000000000000de"])
def test_every_route_needs_the_token(client: TestClient, path: str, headers: dict[str, str]) -> None:
    response = client.get(path, headers={**NO_TOKEN, **headers})
    assert response.status_code == 401
    assert is_error_sentence(response)


def test_the_page_without_a_token_says_where_to_find_it(client: TestClient) -> None:
    for path in ("/", "/?token=wrong"):
        response = client.get(path, headers=NO_TOKEN)
        assert response.status_code == 401
        assert "withinpx studio" in response.text


def test_the_printed_address_sets_the_cookie(client: TestClient) -> None:
    response = client.get(f"/?token={TOKEN}", headers=NO_TOKEN)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert client.get("/api/state", headers=NO_TOKEN).status_code == 200  # the client kept the cookie


def test_static_files_need_no_token_and_lead_nowhere_else(client: TestClient) -> None:
    response = client.get("/static/style.css", headers=NO_TOKEN)
    assert response.status_code == 200
    assert client.get("/static/../app.py", headers=NO_TOKEN).status_code in (401, 404)
    assert client.get("/static/%2e%2e/app.py", headers=NO_TOKEN).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""])
def test_another_host_name_is_refused(client: TestClient, host: str) -> None:
    response = client.get("/api/state", headers={"Host": host})
    assert (response.status_code, response.text) == (400, "Invalid host header")


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost", "[::1]:8765"])
def test_the_servers_own_names_are_accepted(client: TestClient, host: str) -> None:
    assert client.get("/api/state", headers={"Host": host}).status_code == 200


def test_a_server_on_all_addresses_accepts_addresses_but_not_names(home: Path) -> None:
    app = create_app(home, TOKEN, host="0.0.0.0")  # noqa: S104
    client = TestClient(app, headers=AUTHORIZATION)
    for host, status in {"192.168.1.7:8765": 200, "[fe80::1]:8765": 200, "evil.example:8765": 400}.items():
        assert client.get("/api/state", headers={"Host": host}).status_code == status


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
def test_another_page_cannot_change_anything(client: TestClient, headers: dict[str, str]) -> None:
    response = client.post("/api/demo/copy", headers=headers)
    assert response.status_code == 403
    assert is_error_sentence(response)
    assert len(client.get("/api/state").json()["runs"]) == 1


def test_the_studios_own_page_can(client: TestClient) -> None:
    headers = {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/demo/copy", headers=headers).status_code == 201


def test_responses_have_security_headers(client: TestClient) -> None:
    headers = client.get("/api/state").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_the_api_is_documented_without_external_files(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    page = client.get("/docs").text
    assert "/api/runs/{run_id}/render" in paths
    assert "/api/runs/{run_id}/render" in page
    assert "http" not in page.replace("http-equiv", "").split("<body>")[0]
    assert "src=" not in page


def test_a_missing_page_is_an_error_sentence(client: TestClient) -> None:
    for path in ("/api/nothing", "/api/runs/ffffffffffffffff", "/api/runs/..%2f..%2fetc", "/elsewhere"):
        response = client.get(path)
        assert response.status_code == 404
        assert is_error_sentence(response)
