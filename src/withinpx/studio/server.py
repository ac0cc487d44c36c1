"""``withinpx studio``: bind a socket, print the address with its token, serve."""

import secrets
import socket
import webbrowser
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from types import FrameType

import uvicorn

from withinpx.errors import InputError
from withinpx.files import locked_folder
from withinpx.studio.app import create_app
from withinpx.studio.security import ALL_ADDRESSES

SHUTDOWN_S = 2  # for open connections: event streams do not end by themselves
BROWSE_AFTER_S = 0.5


def serve(home: Path, host: str, port: int, upload_limit: int, *, browse: bool) -> None:
    """Serve until interrupted."""
    home = home.expanduser().resolve()
    with locked_folder(home):  # fail early if another studio uses the folder
        pass
    with bind(host, port) as bound_socket, suppress(KeyboardInterrupt):
        token = secrets.token_urlsafe(24)
        app = create_app(home, token, host=host, upload_limit=upload_limit)
        address = f"http://{url_host(host)}:{bound_socket.getsockname()[1]}/?token={token}"
        print(f"withinpx studio: open {address}", flush=True)
        print(
            "Clips and results stay on this machine. Stop with Ctrl+C; training resumes at the next start.", flush=True
        )
        if browse:
            Timer(BROWSE_AFTER_S, webbrowser.open, [address]).start()
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=SHUTDOWN_S, server_header=False)
        Server(config, app.state.studio.closing).run(sockets=[bound_socket])


class Server(uvicorn.Server):
    """Sets an event at an interrupt, before it waits for open connections."""

    def __init__(self, config: uvicorn.Config, closing: Event) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket: the port is known, and taken, before anything else starts."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
        return listening
    except (OSError, OverflowError, UnicodeError, TypeError) as error:  # the last two for a host that cannot be a name
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"The server cannot listen at {host}, port {port}: {reason}. Choose another --port.") from None


def url_host(host: str) -> str:
    """The host as it stands in a URL: loopback for a server that listens on all addresses."""
    if host in ALL_ADDRESSES:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
