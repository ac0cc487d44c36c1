"""The web page."""

from dataclasses import dataclass
from pathlib import Path

from withinpx.errors import InputError

HOME = Path.home() / ".withinpx" / "studio"


@dataclass(frozen=True)
class StudioCommand:
    """Open a local web page: upload a clip, watch the training, read the certificate, move the objects."""

    port: int = 8765
    """Port of the page; 0 takes a free one."""
    host: str = "127.0.0.1"
    """Address to listen at. Others than 127.0.0.1 can be reached from other machines, with the token."""
    home: Path = HOME
    """Folder of the clips and results."""
    upload_limit_mb: int = 4096
    """Largest clip that is accepted, MB."""
    open: bool = True
    """Open the page in a browser."""

    def run(self) -> None:
        """Serve until interrupted."""
        try:
            from withinpx.studio.server import serve  # noqa: PLC0415  (FastAPI and uvicorn are an extra)
        except ImportError:
            raise InputError("The studio is not installed: pip install 'withinpx[studio]'.") from None
        if self.upload_limit_mb < 1:
            raise InputError(f"The upload limit is {self.upload_limit_mb} MB: give at least 1.")
        serve(self.home, self.host, self.port, self.upload_limit_mb * 1_000_000, browse=self.open)
