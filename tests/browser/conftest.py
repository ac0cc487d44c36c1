from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import pytest
from PIL import Image

from tests.studio.browser import Browser, open_browser
from withinpx.cli import main
from withinpx.studio.app import DEMO
from withinpx.studio.make_demo import DEMO_NAME


@dataclass(frozen=True)
class DemoPage:
    """The page of the demo's detector, and the demo's clip."""

    html: Path
    run: Path
    video: Path
    images: Path  # the video's frames as PNG files, 0.png and up

    @property
    def address(self) -> str:
        return self.html.as_uri()

    def image_files(self) -> list[Path]:
        """Not in the order of their numbers: 0.png, 1.png, 10.png."""
        return sorted(self.images.iterdir())


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoPage:
    folder, video = tmp_path_factory.mktemp("page"), DEMO / "clip" / DEMO_NAME
    page = DemoPage(folder / "detector.html", DEMO / "out", video, folder / "images")
    main(["export", str(page.run), "--html", "--out", str(page.html)])
    page.images.mkdir()
    with av.open(str(video)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            Image.fromarray(frame.to_ndarray(format="rgb24")).save(page.images / f"{number}.png")
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened
