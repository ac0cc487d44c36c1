from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.studio.studio_server import Json, open_client, video_bytes


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return video_bytes(tmp_path_factory.getbasetemp())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    """A client of a studio whose trainings only count epochs."""
    with open_client(home) as opened:
        yield opened


@pytest.fixture
def run(client: TestClient, video: bytes) -> Json:
    """An uploaded clip."""
    response = client.post("/api/runs?name=small.mp4", content=video)
    assert response.status_code == 201, response.text
    run: Json = response.json()
    return run
