"""``python -m tests.studio.serve_alone HOME TOKEN MODULE WORK`` serves a studio and prints its port.

Each training's process imports this too: nothing here takes long.
"""

import sys
from importlib import import_module
from pathlib import Path

import uvicorn

from withinpx.studio.app import create_app
from withinpx.studio.serving import listen


def main() -> None:
    home, token, module, work = sys.argv[1:]
    listening = listen("127.0.0.1", 0)
    print(listening.getsockname()[1], flush=True)
    app = create_app(Path(home), token, work=getattr(import_module(module), work))
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main()
