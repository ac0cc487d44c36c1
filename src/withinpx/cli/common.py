"""What the commands share."""

import json
import sys
from typing import Annotated, Any, Literal

from tyro.conf import arg

from withinpx.errors import InputError
from withinpx.theory import SizeRange

Device = Literal["auto", "cpu", "cuda", "mps"]
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
