"""A detector as a file for other programs."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from withinpx.errors import InputError


@dataclass(frozen=True)
class ExportCommand:
    """Write a detector as one file for programs without PyTorch: frames in, positions with their verdicts out."""

    detector: Positional[Path]
    """A folder that `withinpx track` made."""
    onnx: bool = False
    """As ONNX."""
    out: Path | None = None
    """The file to write; detector.onnx in the detector's folder if not given."""

    def run(self) -> None:
        from withinpx.tracking.detector import Detector  # noqa: PLC0415
        from withinpx.tracking.onnx_file import NAME, write_onnx  # noqa: PLC0415
        from withinpx.tracking.onnx_graph import Verdicts  # noqa: PLC0415

        if not self.onnx:
            raise InputError("Choose the format to write the detector in: --onnx.")
        path = self.out or self.detector / NAME
        if path.exists():
            raise InputError(f"{path} exists already: name another file with --out, nothing was overwritten.")
        detector = Detector.load(self.detector)
        write_onnx(path, detector)
        width, height = detector.recording
        outputs = ", ".join(f"`{name}`" for name in Verdicts._fields)
        print(f"Wrote {path}: `frames` ({width}x{height} px, uint8) in; {outputs} out")
