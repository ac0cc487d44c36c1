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
    from withinpx.data.squares import Squares
    from withinpx.model import Autoencoder, BackgroundMode, NetworkConfig
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
    "FitSettings",
    "Gaussian",
    "InputError",
    "NetworkConfig",
    "SizeRange",
    "Squares",
    "design",
    "error_bound",
    "fit",
    "measured_shift",
    "read_images",
]

_ROOMS = {
    "measured_shift": "withinpx.certificate.calibration",
    "Clip": "withinpx.data.clip",
    "read_images": "withinpx.data.images",
    "Squares": "withinpx.data.squares",
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
