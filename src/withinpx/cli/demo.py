"""withinpx demo: track the clip that comes with the package."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DemoCommand:
    """Track the clip that comes with withinpx, in a minute or two on a laptop, and compare with its truth."""

    out: Path = Path("demo")
    """A new folder; an earlier demo there is replaced."""

    def run(self) -> None:
        from withinpx.experiments.demo import run_demo  # noqa: PLC0415

        run_demo(self.out)
