"""A trained detector: the network, what lies behind the movers, and what was certified."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from withinpx import __version__
from withinpx.certificate.certificate import Certificate, dumps, reasons
from withinpx.certificate.shift import Shift, shifts_at
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel, ByteImages, Pictures
from withinpx.errors import InputError
from withinpx.files import write_atomically
from withinpx.inference.observation import Frames, Observations, observe
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Field
from withinpx.tracking.tracks import Tracks
from withinpx.training.detector_folder import load_detector, read_checked, save_detector

Encoder = Callable[[ByteImages], Field]  # pictures -> heatmaps

BACKDROP = "background.safetensors"
BACKGROUND = "background.png"
CERTIFICATE = "certificate.json"
BATCH_PIXELS = 2_500_000  # of the frames that are looked at together


@dataclass(frozen=True)
class Detector:
    """Ready to find its objects in frames of its camera."""

    model: Autoencoder
    background: BackgroundModel  # of a fixed camera; for a moving one, the threshold alone
    selection: Selection  # the part of the recording that it knows, and the scale it works at
    recording: tuple[int, int]  # width and height of the recording's pictures, px
    shift: tuple[Shift, ...]  # of each object, from z to the middle of its body
    certificate: Certificate
    moving_camera: bool = False

    @property
    def scale(self) -> float:
        """Px of the network's pictures per px of the recording."""
        return self.selection.scale

    def observe(self, images: ByteImages, backdrops: Pictures, encoder: Encoder | None = None) -> Observations:
        """Look at frames (f, h, w, c); backdrops are one for all or one for each; another encoder may be used."""
        parts = []
        step = max(1, BATCH_PIXELS // images[0, ..., 0].size)
        for start in range(0, len(images), step):
            some = slice(start, start + step)
            behind = backdrops if len(backdrops) == 1 else backdrops[some]
            frames = frames_of(images[some], behind, self.background, next(self.model.parameters()).device)
            heatmaps = None if encoder is None else encoder(images[some])
            parts.append(observe(self.model, frames, self.certificate.unused, heatmaps))
        return Observations.joined(parts)

    def tracks(self, seen: Observations, frames: NDArray[np.int64], times_s: NDArray[np.float64]) -> Tracks:
        """What was seen, in the recording's own pixels, with its bound and its verdict."""
        used = [each.object for each in self.certificate.objects]
        offset = np.where(seen.present[..., None], seen.offset, 0)
        position = seen.z + shifts_at(self.shift, seen.z) + offset
        aside = np.abs(position - offset - seen.centre).max(axis=-1)  # the body's middle from that of all that is drawn
        bound = np.array([self.certificate.of(each).bound for each in used])
        return Tracks(
            frames,
            times_s,
            self.selection.to_recording(position)[:, used],
            self.selection.to_recording(seen.z)[:, used],
            seen.box[:, used] / self.scale,
            bound + (seen.leakage + np.nan_to_num(seen.residual) + aside)[:, used] / self.scale,
            seen.residual[:, used] / self.scale,
            seen.present[:, used],
            reasons(seen, self.certificate)[:, used] == "",
            *self.recording,
        )


def frames_of(images: ByteImages, backdrops: Pictures, backdrop: BackgroundModel, device: torch.device) -> Frames:
    """Frames as the network takes them."""
    changed = torch.from_numpy(backdrop.changed(images, backdrops)).to(device)
    return Frames(_planes(images, device), _planes(backdrops, device), changed)


def _planes(pictures: ByteImages | Pictures, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(pictures)).to(device).permute(0, 3, 1, 2)


def save_clip_detector(folder: Path, detector: Detector, source: str) -> None:
    """Write the detector folder; the description last, so that a folder with one is whole."""
    tensors = {"images": detector.background.images[:1], "threshold": detector.background.threshold}
    backdrop = save_arrays({name: np.ascontiguousarray(value) for name, value in tensors.items()})
    write_atomically(folder / BACKDROP, backdrop)
    still = (detector.background.images[0] * 255).round().astype(np.uint8)
    picture = BytesIO()
    Image.fromarray(still.squeeze()).save(picture, "PNG")
    write_atomically(folder / BACKGROUND, picture.getvalue())
    certificate = dumps(detector.certificate).encode()
    write_atomically(folder / CERTIFICATE, certificate)
    about = {
        "kind": "clip",
        "selection": asdict(detector.selection),
        "recording": detector.recording,
        "shift": [_described(each) for each in detector.shift],
        "moving_camera": detector.moving_camera,
        "background_sha256": hashlib.sha256(backdrop).hexdigest(),
        "certificate_sha256": hashlib.sha256(certificate).hexdigest(),
        "data": source,
        "version": __version__,
    }
    save_detector(folder, detector.model, about)


def _described(shift: Shift) -> dict[str, Any]:
    return {"places": shift.places.tolist(), "steps": shift.steps.tolist(), "reach": shift.reach}


def _shift(described: dict[str, Any]) -> Shift:
    places, steps = (np.array(described[name], dtype=np.float64).reshape(-1, 2) for name in ("places", "steps"))
    return Shift(places, steps, float(described["reach"]))


def load_clip_detector(folder: Path) -> tuple[Detector, dict[str, Any]]:
    """A detector that ``track`` made, and all that its description says."""
    model, about = load_detector(folder)
    if about.get("kind") != "clip":
        raise InputError(f"{folder} is no detector of a clip: make one with  withinpx track CLIP --out FOLDER.")
    try:
        tensors = load_arrays(read_checked(folder / BACKDROP, about["background_sha256"]))
        certified = read_checked(folder / CERTIFICATE, about["certificate_sha256"]).decode()
        selection = dict(about["selection"])
        selection["crop"] = tuple(selection["crop"]) if selection["crop"] else None
        detector = Detector(
            model,
            BackgroundModel(tensors["images"], tensors["threshold"]),
            Selection(**selection),
            (int(about["recording"][0]), int(about["recording"][1])),
            tuple(_shift(each) for each in about["shift"]),
            Certificate.from_json(json.loads(certified)),
            bool(about["moving_camera"]),
        )
        _check_sizes(detector)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, SafetensorError) as error:
        raise InputError(f"The detector {folder} cannot be loaded ({type(error).__name__}): track again.") from None
    return detector, about


def _check_sizes(detector: Detector) -> None:
    """Do its parts fit together?"""
    network, backdrop = detector.model.config, detector.background
    size = (network.height, network.width)
    objects = sorted([*(each.object for each in detector.certificate.objects), *detector.certificate.unused])
    if (
        backdrop.images.shape != (1, *size, network.colours)
        or backdrop.threshold.shape != size
        or {backdrop.images.dtype, backdrop.threshold.dtype} != {np.dtype(np.float32)}
        or len(detector.shift) != network.objects
        or any(each.places.shape != each.steps.shape for each in detector.shift)
        or objects != list(range(network.objects))
    ):
        raise ValueError
