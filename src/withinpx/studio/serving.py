"""From a command to a page: a socket, a token, and the address that has both in it."""

import secrets
import socket
import webbrowser
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Timer
from types import FrameType

import uvicorn

from withinpx.errors import InputError
from withinpx.files import locked_folder
from withinpx.studio.app import create_app

GRACE_S = 2  # that open connections have when the server ends: event streams never end by themselves
BROWSE_AFTER_S = 0.5


def serve(home: Path, host: str, port: int, upload_limit: int, *, browse: bool) -> None:
    """Serve until interrupted; the address is printed once the server listens."""
    home = home.expanduser().resolve()
    with locked_folder(home):  # before anything is touched: another studio may be at work there
        pass
    listening = listen(host, port)
    token = secrets.token_urlsafe(24)
    app = create_app(home, token, host=host, upload_limit=upload_limit)
    address = f"http://{shown(host)}:{listening.getsockname()[1]}/?token={token}"
    print(f"withinpx studio: open {address}", flush=True)
    print("Clips and results stay on this machine. Stop with Ctrl+C; a training goes on at the next start.", flush=True)
    if browse:
        Timer(BROWSE_AFTER_S, webbrowser.open, [address]).start()
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE_S, server_header=False)
    with listening, suppress(KeyboardInterrupt):  # the way to end it
        Server(config, app.state.studio.ending).run(sockets=[listening])


class Server(uvicorn.Server):
    """Tells those who would wait for ever that it ends."""

    def __init__(self, config: uvicorn.Config, ending: Event) -> None:
        super().__init__(config)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """An interrupt."""
        self._ending.set()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that no other program can take the port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as stack:
            listening = stack.enter_context(socket.socket(family, kind, protocol))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            stack.pop_all()  # it stays open
    except (OSError, OverflowError, UnicodeError) as error:  # the last: a host that no name can be
        said = getattr(error, "strerror", None) or error
        raise InputError(f"The server cannot listen at {host}, port {port}: {said}. Choose another --port.") from None
    return listening


def shown(host: str) -> str:
    """The host as an address has it: one of this machine's own names where it listens at all of them."""
    if host in ("0.0.0.0", "::"):  # noqa: S104
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
