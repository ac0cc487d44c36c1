"""Objects where they never were, at once: a detector that is loaded already draws them."""

import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from PIL import Image

from withinpx.studio.refusal import Refusal

if TYPE_CHECKING:
    from withinpx.tracking.detector import Detector
    from withinpx.tracking.mp4 import Pixels

MOST_FRAMES = 3000  # of a film
MOST_LOADED = 3  # detectors
Place = tuple[float, float] | None


class Drawer:
    """Draws in one thread, where small pictures are fastest; films are drawn beside it, one after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "drawing", _be_quick)
        self._studio = ThreadPoolExecutor(1, "filming", _be_quick)
        self._lock = Lock()
        self._loaded: OrderedDict[Path, Detector] = OrderedDict()

    def prepare(self, folder: Path) -> None:
        """Load a detector before anybody asks for it."""
        self._thread.submit(self.detector, folder)

    def draw(self, folder: Path, places: Sequence[Place]) -> bytes:
        """A PNG of the part of the recording that the detector knows, with the objects that have a place."""
        return self.drawing(folder, places).result()

    def drawing(self, folder: Path, places: Sequence[Place]) -> "Future[bytes]":
        """The same, for those who do not wait."""
        return self._thread.submit(self._draw, folder, places)

    def filming(self, folder: Path, paths: Sequence[Sequence[Place]], fps: float) -> "Future[bytes]":
        """An .mp4 of objects along paths, a list of places per frame."""
        return self._studio.submit(self._film, folder, paths, fps)

    def detector(self, folder: Path) -> "Detector":
        """Of a finished run."""
        from withinpx.tracking.detector import load_clip_detector  # noqa: PLC0415  (torch takes its time)

        with self._lock:
            detector = self._loaded.pop(folder, None) or load_clip_detector(folder)[0]
            self._loaded[folder] = detector
            while len(self._loaded) > MOST_LOADED:
                self._loaded.popitem(last=False)
            return detector

    def forget(self, folder: Path) -> None:
        """A detector that is gone, or made anew."""
        with self._lock:
            self._loaded.pop(folder, None)

    def close(self) -> None:
        """Draw nothing more."""
        for thread in (self._thread, self._studio):
            thread.shutdown(wait=False, cancel_futures=True)

    def _draw(self, folder: Path, places: Sequence[Place]) -> bytes:
        picture = picture_with(self.detector(folder), places)
        content = BytesIO()
        Image.fromarray(picture.squeeze()).save(content, "PNG", compress_level=1)
        return content.getvalue()

    def _film(self, folder: Path, paths: Sequence[Sequence[Place]], fps: float) -> bytes:
        with film(self.detector(folder), paths, fps) as path:
            return path.read_bytes()


def picture_with(detector: "Detector", places: Sequence[Place]) -> "Pixels":
    """The background with objects at these places (px of the recording); one without a place is not drawn."""
    import numpy as np  # noqa: PLC0415

    from withinpx.tracking.edit import edited_frames, empty_picture  # noqa: PLC0415

    objects = detector.certificate.objects
    if len(places) != len(objects):
        raise Refusal(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"{len(places)} positions were given for {len(objects)} objects."
        )
    paths = {one.object: np.array([place]) for one, place in zip(objects, places, strict=True) if place is not None}
    return next(edited_frames(detector, paths, 1)) if paths else empty_picture(detector)


@contextmanager
def film(detector: "Detector", paths: Sequence[Sequence[Place]], fps: float) -> Iterator[Path]:
    """An .mp4 of objects along paths, a list of places per frame; it is there as long as this lasts."""
    from withinpx.tracking.mp4 import Mp4Writer, enlarged, enlargement, even_sided  # noqa: PLC0415

    if not paths:
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "A film of no frame cannot be made: record a path first.")
    if len(paths) > MOST_FRAMES:
        raise Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The film has {len(paths)} frames: at most {MOST_FRAMES} are made."
        )
    with tempfile.TemporaryDirectory(prefix="withinpx-") as folder:
        path = Path(folder) / "film.mp4"
        with Mp4Writer(path, "film") as video:
            for number, places in enumerate(paths):
                picture = picture_with(detector, places)
                video.add(even_sided(enlarged(picture, enlargement(picture))), number / fps)
        yield path


def _be_quick() -> None:
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)  # such small pictures are not worth sharing between cores
    torch.set_flush_denormal(True)
