"""Objects at any position, rendered by the decoder of a detector that stays loaded."""

import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from PIL import Image
from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from withinpx.tracking.detector import Detector
    from withinpx.tracking.mp4 import Pixels
    from withinpx.tracking.tracks import Tracks

MAX_FRAMES = 3000  # of a video
MAX_LOADED = 3  # detectors
Position = tuple[float, float] | None  # px of the recording; None hides the object
Appearance = Sequence[int | None] | None  # for each object, the frame that shows how it appears; None: as usual


@dataclass(frozen=True, eq=False)
class Loaded:
    """A detector, and the tracks that it was made with."""

    folder: Path
    detector: "Detector"

    @cached_property
    def tracks(self) -> "Tracks":
        from withinpx.tracking.tracks import TRACKS, read_tracks  # noqa: PLC0415

        return read_tracks(self.folder / TRACKS)


class Renderer:
    """Renders images in one thread and videos in another, so that a video does not delay a dragged object."""

    def __init__(self) -> None:
        self._images = ThreadPoolExecutor(1, "images", _configure_torch)
        self._videos = ThreadPoolExecutor(1, "videos", _configure_torch)
        self._lock = Lock()
        self._loaded: OrderedDict[Path, Loaded] = OrderedDict()

    def preload(self, folder: Path) -> None:
        self._images.submit(self.load, folder)

    def image(self, folder: Path, positions: Sequence[Position], appearance: Appearance = None) -> "Future[bytes]":
        """A PNG of the detector's crop of the recording with the objects at these positions."""
        return self._images.submit(self._render_image, folder, positions, appearance)

    def video(
        self, folder: Path, trajectories: Sequence[Sequence[Position]], fps: float, appearance: Appearance = None
    ) -> "Future[bytes]":
        """An .mp4; ``trajectories`` holds the positions of all objects for each frame."""
        return self._videos.submit(self._render_video, folder, trajectories, fps, appearance)

    def load(self, folder: Path) -> Loaded:
        from withinpx.tracking.detector import Detector  # noqa: PLC0415  (torch)

        with self._lock:
            loaded = self._loaded.pop(folder, None) or Loaded(folder, Detector.load(folder))
            self._loaded[folder] = loaded
            while len(self._loaded) > MAX_LOADED:
                self._loaded.popitem(last=False)
            return loaded

    def unload(self, folder: Path) -> None:
        with self._lock:
            self._loaded.pop(folder, None)

    def close(self) -> None:
        for executor in (self._images, self._videos):
            executor.shutdown(wait=False, cancel_futures=True)

    def _render_image(self, folder: Path, positions: Sequence[Position], appearance: Appearance) -> bytes:
        content, loaded = BytesIO(), self.load(folder)
        pixels = render(loaded.detector, positions, codes_of(loaded, appearance))
        Image.fromarray(pixels.squeeze()).save(content, "PNG", compress_level=1)
        return content.getvalue()

    def _render_video(
        self, folder: Path, trajectories: Sequence[Sequence[Position]], fps: float, appearance: Appearance
    ) -> bytes:
        from withinpx.tracking.mp4 import Mp4Writer, enlarged, enlargement, even_sided  # noqa: PLC0415

        if not trajectories:
            raise _invalid("The video has no frame: record a path first.")
        if len(trajectories) > MAX_FRAMES:
            message = f"The video has {len(trajectories)} frames: record at most {MAX_FRAMES}."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        loaded = self.load(folder)
        codes = codes_of(loaded, appearance)
        with tempfile.TemporaryDirectory(prefix="withinpx-") as temporary:
            path = Path(temporary) / "video.mp4"
            with Mp4Writer(path, "video") as video:
                for number, positions in enumerate(trajectories):
                    pixels = render(loaded.detector, positions, codes)
                    video.add(even_sided(enlarged(pixels, enlargement(pixels))), number / fps)
            return path.read_bytes()


def codes_of(loaded: Loaded, appearance: Appearance) -> "NDArray[np.float64] | None":
    """The appearance codes of the objects in these frames; None if each appears as usual."""
    from withinpx.tracking.edit import codes_in  # noqa: PLC0415

    if appearance is None or all(frame is None for frame in appearance):
        return None
    objects = loaded.detector.certificate.objects
    if len(appearance) != len(objects):
        raise _invalid(f"{len(appearance)} appearances were given for {len(objects)} objects.")
    frames = {obj.object: frame for obj, frame in zip(objects, appearance, strict=True) if frame is not None}
    return codes_in(loaded.detector, loaded.tracks, frames)


def render(detector: "Detector", positions: Sequence[Position], codes: "NDArray[np.float64] | None" = None) -> "Pixels":
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
    return next(edited_frames(detector, paths, 1, codes)) if paths else empty_frame(detector)


def _invalid(message: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, message)


def _configure_torch() -> None:
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)  # the images are too small to be worth several threads
    torch.set_flush_denormal(True)
