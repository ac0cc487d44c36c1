"""The commands, one file each: they parse options and call the library.

Exit status: 0 done, 2 bad input (one sentence on standard error), 3 nothing could be certified, 4 an
audit proved something wrong, 130 interrupted.
"""

import os
import sys
from typing import Annotated, Any

import tyro
from rich.console import Console
from tyro.conf import subcommand

from withinpx import __version__
from withinpx.cli.audit import AuditCommand
from withinpx.cli.baseline import BaselineCommand
from withinpx.cli.data import DataCommand
from withinpx.cli.demo import DemoCommand
from withinpx.cli.detect import DetectCommand
from withinpx.cli.edit import EditCommand
from withinpx.cli.evaluate import EvaluateCommand
from withinpx.cli.export import ExportCommand
from withinpx.cli.fit import FitCommand
from withinpx.cli.inspect import InspectCommand
from withinpx.cli.measure import MeasureCommand
from withinpx.cli.reproduce import ReproduceCommand
from withinpx.cli.studio import StudioCommand
from withinpx.cli.theory import BoundCommand, DesignCommand
from withinpx.cli.track import TrackCommand
from withinpx.errors import InputError

NO_MEMORY = ("can't allocate memory", "out of memory")  # in PyTorch's messages, on a CPU and on a GPU

Command = (
    Annotated[TrackCommand, subcommand("track")]
    | Annotated[InspectCommand, subcommand("inspect")]
    | Annotated[DetectCommand, subcommand("detect")]
    | Annotated[AuditCommand, subcommand("audit")]
    | Annotated[EditCommand, subcommand("edit")]
    | Annotated[ExportCommand, subcommand("export")]
    | Annotated[MeasureCommand, subcommand("measure")]
    | Annotated[StudioCommand, subcommand("studio")]
    | Annotated[BoundCommand, subcommand("bound")]
    | Annotated[DesignCommand, subcommand("design")]
    | Annotated[DataCommand, subcommand("data")]
    | Annotated[FitCommand, subcommand("fit")]
    | Annotated[EvaluateCommand, subcommand("evaluate")]
    | Annotated[BaselineCommand, subcommand("baseline")]
    | Annotated[ReproduceCommand, subcommand("reproduce")]
    | Annotated[DemoCommand, subcommand("demo")]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command line."""
    given = sys.argv[1:] if arguments is None else arguments
    if given == ["--version"]:
        print(f"withinpx {__version__}")
        return
    try:
        _parse_and_run(given)
        sys.stdout.flush()
    except InputError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader of our output has gone, as in `withinpx --help | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a file that was removed
        _fail(f"{error.filename or 'A file'} could not be read or written: {error.strerror or error}.")
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(text in str(error) for text in NO_MEMORY):
            raise
        _fail("there is not enough memory: use smaller frames or fewer of them.")
    except KeyboardInterrupt:
        print(
            "withinpx: interrupted; continue a training with --resume, a sweep or a rendering with the same command.",
            file=sys.stderr,
        )
        sys.exit(130)


def _parse_and_run(arguments: list[str]) -> None:
    command: Any = tyro.cli(
        Command,
        prog="withinpx",
        description="Find moving objects without labels, and prove within how many pixels each position is right.",
        args=arguments,
    )
    command.run()


def _fail(message: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"withinpx: {message}", markup=False)
    sys.exit(2)
