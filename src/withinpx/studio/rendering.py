"""Objects at any position, rendered by the decoder of a detector that stays loaded."""

import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from PIL import Image
from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from withinpx.tracking.detector import Detector
    from withinpx.tracking.mp4 import Pixels

MAX_FRAMES = 3000  # of a video
MAX_LOADED = 3  # detectors
Position = tuple[float, float] | None  # px of the recording; None hides the object


class Renderer:
    """Renders images in one thread and videos in another, so that a video does not delay a dragged object."""

    def __init__(self) -> None:
        self._images = ThreadPoolExecutor(1, "images", _configure_torch)
        self._videos = ThreadPoolExecutor(1, "videos", _configure_torch)
        self._lock = Lock()
        self._loaded: OrderedDict[Path, Detector] = OrderedDict()

    def preload(self, folder: Path) -> None:
        self._images.submit(self.detector, folder)

    def image(self, folder: Path, positions: Sequence[Position]) -> "Future[bytes]":
        """A PNG of the detector's crop of the recording with the objects at these positions."""
        return self._images.submit(self._render_image, folder, positions)

    def video(self, folder: Path, trajectories: Sequence[Sequence[Position]], fps: float) -> "Future[bytes]":
        """An .mp4; ``trajectories`` holds the positions of all objects for each frame."""
        return self._videos.submit(self._render_video, folder, trajectories, fps)

    def detector(self, folder: Path) -> "Detector":
        from withinpx.tracking.detector import Detector  # noqa: PLC0415  (torch)

        with self._lock:
            detector = self._loaded.pop(folder, None) or Detector.load(folder)
            self._loaded[folder] = detector
            while len(self._loaded) > MAX_LOADED:
                self._loaded.popitem(last=False)
            return detector

    def unload(self, folder: Path) -> None:
        with self._lock:
            self._loaded.pop(folder, None)

    def close(self) -> None:
        for executor in (self._images, self._videos):
            executor.shutdown(wait=False, cancel_futures=True)

    def _render_image(self, folder: Path, positions: Sequence[Position]) -> bytes:
        content = BytesIO()
        pixels = render(self.detector(folder), positions)
        Image.fromarray(pixels.squeeze()).save(content, "PNG", compress_level=1)
        return content.getvalue()

    def _render_video(self, folder: Path, trajectories: Sequence[Sequence[Position]], fps: float) -> bytes:
        from withinpx.tracking.mp4 import Mp4Writer, enlarged, enlargement, even_sided  # noqa: PLC0415

        if not trajectories:
            raise _invalid("The video has no frame: record a path first.")
        if len(trajectories) > MAX_FRAMES:
            message = f"The video has {len(trajectories)} frames: record at most {MAX_FRAMES}."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        detector = self.detector(folder)
        with tempfile.TemporaryDirectory(prefix="withinpx-") as temporary:
            path = Path(temporary) / "video.mp4"
            with Mp4Writer(path, "video") as video:
                for number, positions in enumerate(trajectories):
                    pixels = render(detector, positions)
                    video.add(even_sided(enlarged(pixels, enlargement(pixels))), number / fps)
            return path.read_bytes()


def render(detector: "Detector", positions: Sequence[Position]) -> "Pixels":
    """The background with the objects at these positions."""
    import numpy as np  # noqa: PLC0415

    from withinpx.tracking.edit import edited_frames, empty_frame  # noqa: PLC0415

    objects = detector.certificate.objects
    if len(positions) != len(objects):
        raise _invalid(f"{len(positions)} positions were given for {len(objects)} objects.")
    paths = {
        obj.object: np.array([position])
        for obj, position in zip(objects, positions, strict=True)
        if position is not None
    }
    return next(edited_frames(detector, paths, 1)) if paths else empty_frame(detector)


def _invalid(message: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, message)


def _configure_torch() -> None:
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)  # the images are too small to be worth several threads
    torch.set_flush_denormal(True)
