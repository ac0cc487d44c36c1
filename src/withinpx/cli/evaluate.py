"""``withinpx evaluate``: the error of a network trained on squares, against its bound."""

from dataclasses import asdict, dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.cli.common import Device, Json, print_json


@dataclass(frozen=True)
class EvaluateCommand:
    """The position error of a network trained on squares, against its bound."""

    folder: Positional[Path]
    """What `withinpx fit squares --out` made."""
    device: Device = "auto"
    """Where to compute."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        from withinpx.experiments.run_folder import load_run  # noqa: PLC0415  (torch takes seconds to import)
        from withinpx.experiments.synthetic import evaluate  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415

        model, run = load_run(self.folder)
        found = evaluate(model.to(choose_device(self.device)), run)
        if self.json:
            return print_json(asdict(found))
        certainty = "always" if found.bound_n_sigma is None else f"at {found.bound_n_sigma:g} sigma"
        verdict = "accepted" if found.accepted else "discarded: below 99.9 %, the object was not found"
        print(f"Position error {found.position_error:.3f} px; the theorem allows {found.bound:g} px, {certainty}.")
        x, y = found.shift
        print(f"After label-free calibration {found.calibrated_error:.3f} px (shift {x:.3f}, {y:.3f} px).")
        print(f"Reconstruction accuracy {found.reconstruction_accuracy:.4%}: {verdict}.")
