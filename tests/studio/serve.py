"""``python -m tests.studio.serve HOME TOKEN MODULE WORK`` serves a studio and prints its port.

The training processes import this module too, so it must be quick to import.
"""

import sys
from importlib import import_module
from pathlib import Path

import uvicorn

from withinpx.studio.app import create_app
from withinpx.studio.server import bind


def main() -> None:
    home, token, module, work = sys.argv[1:]
    bound_socket = bind("127.0.0.1", 0)
    print(bound_socket.getsockname()[1], flush=True)
    app = create_app(Path(home), token, work=getattr(import_module(module), work))
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[bound_socket])


if __name__ == "__main__":
    main()
