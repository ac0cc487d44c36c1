"""The web page."""

from dataclasses import dataclass
from pathlib import Path

from withinpx.errors import InputError

HOME = Path.home() / ".withinpx" / "studio"


@dataclass(frozen=True)
class StudioCommand:
    """Open a local page: drop a clip, watch its objects being found, read the certificate, drag them elsewhere."""

    port: int = 8765
    """Where the page is; 0 takes a free one."""
    host: str = "127.0.0.1"
    """The address to listen at; others than 127.0.0.1 can be reached from other machines, by those with the token."""
    home: Path = HOME
    """Where clips and results are kept."""
    upload_limit_mb: int = 4096
    """The largest clip that is taken, MB."""
    open: bool = True
    """Open the page in a browser."""

    def run(self) -> None:
        """Serve until interrupted."""
        try:
            from withinpx.studio.serving import serve  # noqa: PLC0415  (FastAPI and uvicorn are an extra)
        except ImportError:
            raise InputError("The studio is not installed: pip install 'withinpx[studio]'.") from None
        if self.upload_limit_mb < 1:
            raise InputError(f"The upload limit is {self.upload_limit_mb} MB: give one at least.")
        serve(self.home, self.host, self.port, self.upload_limit_mb * 1_000_000, browse=self.open)
