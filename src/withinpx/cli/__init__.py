"""The commands. Each is a few lines that call the library; a mistake of the user's is one line and exit status 2."""

import sys
from typing import Annotated, Any

import tyro
from rich.console import Console
from tyro.conf import subcommand

from withinpx import __version__
from withinpx.cli.baseline import BaselineCommand
from withinpx.cli.clips import DemoCommand, EditCommand, ExportCommand, InspectCommand, TrackCommand
from withinpx.cli.data import DataCommand
from withinpx.cli.detect import DetectCommand
from withinpx.cli.reproduce import ReproduceCommand
from withinpx.cli.squares import EvaluateCommand, FitCommand
from withinpx.cli.studio import StudioCommand
from withinpx.cli.theory import BoundCommand, DesignCommand
from withinpx.errors import InputError

NO_MEMORY = ("can't allocate memory", "out of memory")  # what PyTorch says, on a CPU and on a GPU

Command = (
    Annotated[TrackCommand, subcommand("track")]
    | Annotated[InspectCommand, subcommand("inspect")]
    | Annotated[DetectCommand, subcommand("detect")]
    | Annotated[EditCommand, subcommand("edit")]
    | Annotated[ExportCommand, subcommand("export")]
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
    """Entry point."""
    given = sys.argv[1:] if arguments is None else arguments
    if given == ["--version"]:
        print(f"withinpx {__version__}")
        return
    command: Any = tyro.cli(
        Command,
        prog="withinpx",
        description="Find moving objects without labels, and know within how many pixels each position is right.",
        args=given,
    )
    try:
        command.run()
    except InputError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print(f"withinpx: {error}", markup=False)
        sys.exit(2)
    except OSError as error:  # a full disk, a file taken away: not the user's mistake, but theirs to mend
        what = error.filename or "A file"
        print(f"withinpx: {what} could not be read or written: {error.strerror or error}.", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(said in str(error) for said in NO_MEMORY):
            raise
        print("withinpx: there is not enough memory for this: ask for less, or for smaller pictures.", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        said = "stopped; a training goes on with --resume, a sweep or a rendering with the same command."
        print(f"withinpx: {said}", file=sys.stderr)
        sys.exit(130)
