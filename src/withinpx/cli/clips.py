"""A person's own footage: inspect, track, export, edit; and the demo."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from withinpx.cli.common import Device, Json, print_json, tell, tell_losses
from withinpx.errors import InputError

if TYPE_CHECKING:
    from withinpx.data.selection import Selection
    from withinpx.tracking.plan import Wishes
    from withinpx.tracking.track import Tracked

BackgroundName = Literal["auto", "layered", "perspective", "nearby"]


@dataclass(frozen=True)
class Part:
    """Which part of a recording."""

    start: float | None = None
    """Leave out what comes before this time, s."""
    end: float | None = None
    """Leave out what comes after this time, s."""
    every: int = 1
    """Keep one frame of this many."""
    crop: tuple[int, int, int, int] | None = None
    """Keep this part of the picture: left, top, width, height, px."""
    scale: float = 1.0
    """Work at this scale; positions are still those of the recording."""

    def selection(self) -> "Selection":
        """As the library takes it."""
        from withinpx.data.selection import Selection  # noqa: PLC0415

        return Selection(self.start, self.end, self.every, self.crop, self.scale)


@dataclass(frozen=True)
class InspectCommand(Part):
    """Look at a clip before any training: what moves, how large, and do the theorem's assumptions look met?"""

    clip: Positional[Path] = Path()
    """A video file, or a folder of images."""
    background: BackgroundName = "auto"
    """`nearby` for a camera that moves."""
    out: Path | None = None
    """Where the contact sheet goes (a PNG)."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        """Print what was seen."""
        from withinpx.data.recording import sample_clip  # noqa: PLC0415
        from withinpx.discovery.contact_sheet import draw_sheet  # noqa: PLC0415
        from withinpx.discovery.inspection import MOST_FRAMES, inspect  # noqa: PLC0415
        from withinpx.discovery.report import inspection_json, inspection_rows  # noqa: PLC0415

        clip = sample_clip(self.clip, self.selection(), MOST_FRAMES)
        tell_losses(clip.lost, self.clip)
        seen = inspect(clip, self.background)
        if self.json:
            return print_json(inspection_json(clip, seen))
        print("\n".join(inspection_rows(clip, seen)))
        if self.out is not None:
            print(f"See {draw_sheet(self.out, clip, seen)}")


@dataclass(frozen=True)
class TrackCommand(Part):
    """Find everything that moves in a clip, say within how many pixels each position is right, and prove it."""

    clip: Positional[Path] = Path()
    """A video file, or a folder of images."""
    out: Path = Path("tracked")
    """A new folder for the detector, the certificate, the tracks, the overlay and the summary."""
    objects: str = "auto"
    """How many objects to follow; `auto` finds the number."""
    background: BackgroundName = "auto"
    """`layered`: objects look the same everywhere. `perspective`: their looks depend on where they are. `nearby`: the
    camera moves, and the background is put together from frames nearby in time."""
    encoder_rf: int | None = None
    """Receptive field of the encoder, px; chosen if not given."""
    decoder_rf: int | None = None
    """Receptive field of the decoder, px; chosen if not given."""
    sigma: float | None = None
    """Width of the rendered Gaussian, px; chosen if not given."""
    target: float | None = None
    """The largest error you accept, px; the network is designed for it."""
    channels: int = 32
    """Of every hidden layer."""
    seed: int = 0
    """The first seed to try."""
    budget: float = 600.0
    """Seconds within which another seed is tried if one is refused."""
    device: Device = "auto"
    """Where to train."""
    export: tuple[Literal["coco", "mot", "dlc"], ...] = ()
    """Other tables to write: COCO results, MOTChallenge, DeepLabCut."""
    overlay: bool = True
    """Write overlay.mp4."""
    resume: bool = False
    """Go on with an interrupted run in --out."""
    json: Json = False
    """Print the certificate as JSON."""

    def run(self) -> None:
        """Train, certify, write."""
        from withinpx.tracking.exports import export  # noqa: PLC0415
        from withinpx.tracking.masks import masks_of  # noqa: PLC0415
        from withinpx.tracking.track import TrackSettings, track  # noqa: PLC0415
        from withinpx.tracking.tracks import read_tracks  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415
        from withinpx.training.fit import FitSettings  # noqa: PLC0415
        from withinpx.training.progress import ProgressBar  # noqa: PLC0415

        asked = TrackSettings(self.selection(), self._wishes(), self.seed, self.budget, self.overlay)
        with ProgressBar() as bar:
            settings = FitSettings(choose_device(self.device), callbacks=(bar,))
            done = track(self.clip, self.out, asked, settings, resume=self.resume, say=tell)
        if self.export:
            tracks = read_tracks(self.out / "tracks.csv", *done.detector.recording)
            export(tracks, self.out, self.export, masks_of(done.detector, tracks))
        if self.json:
            return print_json(done.detector.certificate.to_json())
        print(done.detector.certificate.text())
        print(f"{_counted(done)}: {self.out / 'tracks.csv'}. See {self.out / 'certificate.html'}")

    def _wishes(self) -> "Wishes":
        from withinpx.tracking.plan import Wishes  # noqa: PLC0415

        if self.objects != "auto" and not self.objects.isdigit():
            raise InputError(f"The number of objects is {self.objects}: give a number, or auto.")
        objects = None if self.objects == "auto" else int(self.objects)
        return Wishes(
            objects, self.background, self.encoder_rf, self.decoder_rf, self.sigma, self.target, self.channels
        )


@dataclass(frozen=True)
class ExportCommand:
    """Write a detector as one file for programs without PyTorch: frames in, positions out."""

    detector: Positional[Path]
    """What `withinpx track` made."""
    onnx: bool = False
    """As ONNX."""
    out: Path | None = None
    """The file to write; detector.onnx in the detector's folder when not given."""

    def run(self) -> None:
        """Write it."""
        from withinpx.tracking.detector import load_clip_detector  # noqa: PLC0415
        from withinpx.tracking.onnx_file import NAME, write_onnx  # noqa: PLC0415

        if not self.onnx:
            raise InputError("Say as what the detector is to be written: --onnx.")
        path = self.out or self.detector / NAME
        if path.exists():
            raise InputError(f"{path} exists already: name another file with --out, nothing was overwritten.")
        detector, _ = load_clip_detector(self.detector)
        print(f"Wrote {write_onnx(path, detector)}: ", end="")
        width, height = detector.recording
        print(f"`frames` ({width}x{height} px, eight bits) in, `positions`, `raw` and `heatmaps` out")


@dataclass(frozen=True)
class EditCommand:
    """Draw a detector's objects where they never were: `--path object=0:40,30:80,60`."""

    detector: Positional[Path]
    """What `withinpx track` made."""
    path: tuple[str, ...] = ()
    """object=NUMBER:x,y:x,y...: the way of one object, px of the recording; several for several objects."""
    frames: int = 50
    """How many frames the way takes."""
    out: Path | None = None
    """The video to write (.mp4)."""
    superimpose: Path | None = None
    """A picture of all frames in one (.png), as the paper's figures 10 and 11."""

    def run(self) -> None:
        """Draw."""
        from withinpx.tracking.detector import load_clip_detector  # noqa: PLC0415
        from withinpx.tracking.edit import (  # noqa: PLC0415
            draw_superimposed,
            edited_frames,
            empty_picture,
            parse_paths,
            superimpose,
            write_edit,
        )

        if self.out is None and self.superimpose is None:
            raise InputError("Nothing to write: give --out new.mp4, --superimpose new.png, or both.")
        detector, _ = load_clip_detector(self.detector)
        paths = parse_paths(self.path)
        if self.out is not None:
            print(f"Wrote {write_edit(self.out, detector, paths, self.frames)}")
        if self.superimpose is not None:
            import numpy as np  # noqa: PLC0415

            drawn = np.stack(list(edited_frames(detector, paths, self.frames)))
            picture = superimpose(drawn, empty_picture(detector))
            print(f"Drew {draw_superimposed(self.superimpose, [('generated', picture)])}")


@dataclass(frozen=True)
class DemoCommand:
    """Track the clip that comes with withinpx, in a minute or two on a laptop, and say how far off it can be."""

    out: Path = Path("demo")
    """A new folder; a demo that was there before is replaced."""

    def run(self) -> None:
        """Track, compare with the truth, say."""
        from withinpx.experiments.demo import run_demo  # noqa: PLC0415

        run_demo(self.out, tell)


def _counted(done: "Tracked") -> str:
    certified, present = int(done.tracks.certified.sum()), int(done.tracks.present.sum())
    return f"{certified} of {present} positions are certified"
