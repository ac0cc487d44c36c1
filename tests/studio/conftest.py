from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.studio.studio_server import Json, client, video_bytes


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small video."""
    return video_bytes(tmp_path_factory.getbasetemp())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def studio(home: Path) -> Iterator[TestClient]:
    """A client of a studio whose trainings only pretend."""
    with client(home) as asking:
        yield asking


@pytest.fixture
def run(studio: TestClient, video: bytes) -> Json:
    """An uploaded clip."""
    answer = studio.post("/api/runs?name=small.mp4", content=video)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made
