"""Find the moving objects of a fixed camera without labels, and prove how far off each position can be.

>>> import withinpx
>>> result = withinpx.load_result("tracked")  # or withinpx.track("clip.mp4")
>>> result.tracks
Tracks(24 frames, 3 objects, 7... of 72 positions certified)
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from withinpx.errors import InputError
from withinpx.theory import CompactSupport, Gaussian, SizeRange, design, error_bound

if TYPE_CHECKING:
    from withinpx.auditing.audit import audit
    from withinpx.auditing.options import AuditOptions
    from withinpx.auditing.result import Audit
    from withinpx.certificate.calibration import measured_shift
    from withinpx.certificate.certificate import Certificate
    from withinpx.data.clip import Clip
    from withinpx.data.recording import read_clip
    from withinpx.data.selection import Selection
    from withinpx.data.squares import Squares
    from withinpx.discovery.inspection import Inspection
    from withinpx.model import Autoencoder, BackgroundMode, NetworkConfig
    from withinpx.tracking.detector import Detector
    from withinpx.tracking.measure import measure
    from withinpx.tracking.motion import Motion
    from withinpx.tracking.options import TrackOptions
    from withinpx.tracking.progress import Event
    from withinpx.tracking.result import Result, load_result
    from withinpx.tracking.track import inspect, track
    from withinpx.tracking.tracks import Tracks, read_tracks
    from withinpx.training.fit import FitSettings, fit
    from withinpx.training.recipe import PAPER, WARM

# Threads that wait for others spin for long by default: beside one other busy process on two cores, training would
# nearly come to a halt. So many spins cost nothing where the cores are free. The variable is read when torch is first
# imported, and changes no result.
if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = "3000"

__version__ = "0.2.0"

# Names that need torch are imported when they are first used, so that `withinpx bound` starts quickly.
_MODULES = {
    "PAPER": "training.recipe",
    "WARM": "training.recipe",
    "Audit": "auditing.result",
    "AuditOptions": "auditing.options",
    "Autoencoder": "model",
    "BackgroundMode": "model",
    "Certificate": "certificate.certificate",
    "Clip": "data.clip",
    "Detector": "tracking.detector",
    "Event": "tracking.progress",
    "FitSettings": "training.fit",
    "Inspection": "discovery.inspection",
    "Motion": "tracking.motion",
    "NetworkConfig": "model",
    "Result": "tracking.result",
    "Selection": "data.selection",
    "Squares": "data.squares",
    "TrackOptions": "tracking.options",
    "Tracks": "tracking.tracks",
    "audit": "auditing.audit",
    "fit": "training.fit",
    "inspect": "tracking.track",
    "load_result": "tracking.result",
    "measure": "tracking.measure",
    "measured_shift": "certificate.calibration",
    "read_clip": "data.recording",
    "read_tracks": "tracking.tracks",
    "track": "tracking.track",
}
__all__ = [
    "PAPER",
    "WARM",
    "Audit",
    "AuditOptions",
    "Autoencoder",
    "BackgroundMode",
    "Certificate",
    "Clip",
    "CompactSupport",
    "Detector",
    "Event",
    "FitSettings",
    "Gaussian",
    "InputError",
    "Inspection",
    "Motion",
    "NetworkConfig",
    "Result",
    "Selection",
    "SizeRange",
    "Squares",
    "TrackOptions",
    "Tracks",
    "audit",
    "design",
    "error_bound",
    "fit",
    "inspect",
    "load_result",
    "measure",
    "measured_shift",
    "read_clip",
    "read_tracks",
    "track",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'withinpx' has no attribute {name!r}")
    return getattr(import_module(f"withinpx.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
