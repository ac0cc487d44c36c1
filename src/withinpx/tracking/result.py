"""What ``track`` returns, and the folder it is saved to."""

import shutil
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.certificate import Certificate
from withinpx.data.recording import Recording
from withinpx.data.selection import Selection
from withinpx.discovery.background import to_uint8
from withinpx.errors import InputError
from withinpx.files import new_folder, write_atomically
from withinpx.inference.rendering import templates, thumbnail
from withinpx.tracking.detect import OVERLAY
from withinpx.tracking.detector import Detector
from withinpx.tracking.record import Records, read_records
from withinpx.tracking.tracks import TRACKS, Tracks, read_tracks, write_tracks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUMMARY = "summary.png"
PAGE = "certificate.html"
APPEARANCE = "appearance.png"
TEXT = "certificate.txt"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A tracked clip.

    >>> import withinpx
    >>> result = withinpx.load_result("tracked")
    >>> result
    Result(clip: 3 of 3 objects certified)
    >>> result.tracks.positions.shape
    (24, 3, 2)
    >>> figure = result.plot()
    """

    detector: Detector
    recording: Recording | None = None  # for the overlay
    folder: Path | None = None  # where it is saved
    in_memory: Tracks | None = None  # tracks that are not saved
    background: tuple[NDArray[np.uint8], Selection] | None = None  # at full resolution, if the clip was scaled down
    hypotheses: Records = ()  # ranked, with what became of those that were tried

    def __repr__(self) -> str:
        return f"Result({self.certificate.source}: {self.certificate.verdict})"

    @property
    def certificate(self) -> Certificate:
        return self.detector.certificate

    @cached_property
    def tracks(self) -> Tracks:
        """Every frame. Tracks that were saved are read from their table when they are first needed."""
        if self.in_memory is not None:
            return self.in_memory
        if self.folder is None:
            raise InputError("This result has no tracks: track the clip again.")
        return read_tracks(self.folder / TRACKS)

    @cached_property
    def colours(self) -> list[str]:
        """The colour of each object's marks, #RRGGBB, near its own."""
        from withinpx.tracking.colours import object_colours  # noqa: PLC0415  (OpenCV)

        return object_colours(self.detector, self.tracks)

    @cached_property
    def thumbnails(self) -> list[NDArray[np.uint8]]:
        """Each object of the certificate as the decoder renders it, (height, width, colours)."""
        tracks, detector = self.tracks.one_of_each(len(self.certificate.objects)), self.detector
        heatmaps = detector.model.config.objects
        z, present = np.zeros((len(tracks), heatmaps, 2)), np.zeros((len(tracks), heatmaps), np.bool_)
        used = [obj.object for obj in self.certificate.objects]
        z[:, used] = detector.selection.from_recording(np.nan_to_num(tracks.z))
        present[:, used] = tracks.present
        codes = np.zeros((*present.shape, detector.model.config.appearance))
        codes[:, used] = tracks.codes
        rendered = templates(detector.model, z, present, codes)
        return [thumbnail(rendered[heatmap]) for heatmap in used]

    def plot(self) -> "Figure":
        """Trajectories, positions over time with their bounds, and each object."""
        from withinpx.tracking.summary import plot_summary  # noqa: PLC0415  (matplotlib)

        image, selection = self.background or (to_uint8(self.detector.background.images[0]), self.detector.selection)
        title = f"{self.certificate.source}: {self.certificate.verdict}"
        return plot_summary(image, self.tracks, self.thumbnails, title, selection=selection, colours=self.colours)

    def plot_appearance(self) -> "Figure | None":
        """What each entry of the appearance code does to each object; None if there is no code."""
        from withinpx.tracking.appearance_figure import plot_appearance  # noqa: PLC0415  (matplotlib)

        tracks = self.tracks
        if not tracks.codes.shape[-1]:
            return None
        own = [tracks.certificate_of == index for index in range(len(self.certificate.objects))]
        shown = [tracks.codes[:, columns][tracks.present[:, columns]] for columns in own]
        return plot_appearance(self.detector, shown)

    def save(self, folder: str | PathLike[str], *, overlay: bool = True) -> Path:
        """Write the detector, the certificate, the tracks, the summary and the overlay into a new folder."""
        folder = new_folder(Path(folder))
        if self.folder is not None:
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
            return folder
        write_tracks(folder / TRACKS, self.tracks)
        if overlay and self.recording is not None:
            self._write_overlay(folder)
        self.write_report(folder)
        self.detector.save(folder)
        return folder

    def write_report(self, folder: Path) -> None:
        """The certificate as text and as a page, and the summary figure."""
        from withinpx.figures import save_figure  # noqa: PLC0415
        from withinpx.tracking.page import write_page  # noqa: PLC0415

        write_atomically(folder / TEXT, f"{self.certificate}\n".encode())
        save_figure(self.plot(), folder / SUMMARY)
        appearance = self.plot_appearance()
        if appearance is not None:
            save_figure(appearance, folder / APPEARANCE)
        write_page(
            folder / PAGE,
            self.certificate,
            self.tracks,
            self.thumbnails,
            folder / SUMMARY,
            colours=self.colours,
            hypotheses=self.hypotheses,
            appearance=None if appearance is None else folder / APPEARANCE,
        )

    def _write_overlay(self, folder: Path) -> None:
        from withinpx.tracking.overlay import OverlayWriter  # noqa: PLC0415

        recording, selection = self.recording, self.detector.watched
        with OverlayWriter(folder / OVERLAY, self.tracks.objects, selection, self.colours) as video:
            frames: Any = recording.stream(selection) if recording is not None else ()
            for row, frame in enumerate(frames):
                video.add(frame.pixels, self.tracks, row)


def load_result(folder: str | PathLike[str]) -> Result:
    """A result that was saved."""
    return Result(Detector.load(folder), folder=Path(folder), hypotheses=read_records(Path(folder)))
