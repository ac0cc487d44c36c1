"""What the commands share."""

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from withinpx.errors import InputError
from withinpx.theory import SizeRange
from withinpx.tracking.options import DeviceName as Device

if TYPE_CHECKING:
    from withinpx.jobs.job import Engine

EngineName = Literal["local", "ray"]
RecipeName = Literal["warm", "paper"]
Json = Annotated[bool, arg(name="json")]
NOTHING_CERTIFIED = 3  # exit status
PROVED_WRONG = 4  # of an audit

__all__ = ["Device", "EngineName", "Json", "RecipeName"]


def size_range(object_size: tuple[float, ...]) -> SizeRange:
    """One size, or two for a range."""
    if not 1 <= len(object_size) <= 2:
        raise InputError(f"The object size is one number, or two for a range; {len(object_size)} were given.")
    return SizeRange(object_size[0], object_size[-1])


def print_json(value: Any) -> None:
    print(json.dumps(value))


def log(message: str) -> None:
    """A line on standard error, apart from what can be piped."""
    print(f"withinpx: {message}", file=sys.stderr)


def log_losses(source: object, losses: Iterable[str]) -> None:
    """Gaps of a recording that could not be decoded."""
    for gap in losses:
        log(f"{source}: {gap}")


def exit_if_nothing(certified: bool) -> None:
    """Exit status 3 where nothing could be certified."""
    if not certified:
        sys.exit(NOTHING_CERTIFIED)


def engine_named(name: EngineName, address: str | None, device: Device, workers: int = 1) -> "Engine":
    """This machine, or a Ray cluster with one GPU per job if it has any and the device allows it."""
    if name == "local":
        if address is not None:
            raise InputError("An address is that of a Ray cluster: give --engine ray as well.")
        from withinpx.jobs.local import LocalEngine  # noqa: PLC0415

        return LocalEngine(workers)
    from withinpx.jobs.ray_cluster import RayEngine  # noqa: PLC0415

    return RayEngine(address, gpu=device in ("auto", "cuda"))
