"""Find moving objects without labels, and know within how many pixels each position is right.

The public names. Those that need torch are imported when they are first used, so that ``withinpx bound`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from withinpx.errors import InputError
from withinpx.theory import CompactSupport, Gaussian, SizeRange, design, error_bound

if TYPE_CHECKING:
    from withinpx.certificate.calibration import measured_shift
    from withinpx.data.clip import Clip
    from withinpx.data.images import read_images
    from withinpx.data.recording import read_clip
    from withinpx.data.squares import Squares
    from withinpx.discovery.inspection import inspect
    from withinpx.model import Autoencoder, BackgroundMode, NetworkConfig
    from withinpx.tracking.detect import detect
    from withinpx.tracking.detector import Detector, load_clip_detector
    from withinpx.tracking.exports import to_supervision
    from withinpx.tracking.track import TrackSettings, track
    from withinpx.tracking.tracks import Tracks, read_tracks
    from withinpx.training.fit import FitSettings, fit
    from withinpx.training.recipe import PAPER, WARM

__version__ = "0.1.0"
__all__ = [
    "PAPER",
    "WARM",
    "Autoencoder",
    "BackgroundMode",
    "Clip",
    "CompactSupport",
    "Detector",
    "FitSettings",
    "Gaussian",
    "InputError",
    "NetworkConfig",
    "SizeRange",
    "Squares",
    "TrackSettings",
    "Tracks",
    "design",
    "detect",
    "error_bound",
    "fit",
    "inspect",
    "load_clip_detector",
    "measured_shift",
    "read_clip",
    "read_images",
    "read_tracks",
    "to_supervision",
    "track",
]

_ROOMS = {
    "measured_shift": "withinpx.certificate.calibration",
    "Clip": "withinpx.data.clip",
    "read_images": "withinpx.data.images",
    "Squares": "withinpx.data.squares",
    "read_clip": "withinpx.data.recording",
    "inspect": "withinpx.discovery.inspection",
    "detect": "withinpx.tracking.detect",
    "Detector": "withinpx.tracking.detector",
    "load_clip_detector": "withinpx.tracking.detector",
    "to_supervision": "withinpx.tracking.exports",
    "TrackSettings": "withinpx.tracking.track",
    "track": "withinpx.tracking.track",
    "Tracks": "withinpx.tracking.tracks",
    "read_tracks": "withinpx.tracking.tracks",
    "Autoencoder": "withinpx.model",
    "BackgroundMode": "withinpx.model",
    "NetworkConfig": "withinpx.model",
    "FitSettings": "withinpx.training.fit",
    "fit": "withinpx.training.fit",
    "PAPER": "withinpx.training.recipe",
    "WARM": "withinpx.training.recipe",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"withinpx has no {name}")
    return getattr(import_module(_ROOMS[name]), name)
