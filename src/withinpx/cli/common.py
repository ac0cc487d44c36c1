"""What the commands share."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from withinpx.errors import InputError
from withinpx.theory import SizeRange

if TYPE_CHECKING:
    from withinpx.jobs.job import Engine

Device = Literal["auto", "cpu", "cuda", "mps"]
EngineName = Literal["local", "ray"]
RecipeName = Literal["warm", "paper"]
Json = Annotated[bool, arg(name="json")]


def size_range(object_size: tuple[float, ...]) -> SizeRange:
    """One size, or two for a range."""
    if not 1 <= len(object_size) <= 2:
        raise InputError(f"The object size is one number, or two for a range; {len(object_size)} were given.")
    return SizeRange(object_size[0], object_size[-1])


def print_json(value: Any) -> None:
    """One line of JSON."""
    print(json.dumps(value))


def tell(what: str) -> None:
    """A line for the person, apart from what can be piped."""
    print(f"withinpx: {what}", file=sys.stderr)


def tell_losses(lost: tuple[str, ...], clip: Path) -> None:
    """Stretches of a clip that could not be read."""
    for stretch in lost:
        tell(f"{clip}: {stretch}")


def engine_named(name: EngineName, address: str | None, device: Device, workers: int = 1) -> "Engine":
    """This machine, or a Ray cluster; there a GPU for each job, if it has any and may use it."""
    if name == "local":
        if address is not None:
            raise InputError("An address is that of a Ray cluster: give --engine ray as well.")
        from withinpx.jobs.local import LocalEngine  # noqa: PLC0415

        return LocalEngine(workers)
    from withinpx.jobs.ray_cluster import RayEngine  # noqa: PLC0415

    return RayEngine(address, gpu=device in ("auto", "cuda"))
