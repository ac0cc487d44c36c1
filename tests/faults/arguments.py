"""Arguments that the parser admits, drawn from the types of the commands themselves."""

import dataclasses
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro
from hypothesis import strategies as st

from withinpx.cli import Command

INTEGERS = (-(10**12), -1, 0, 1, 2, 3, 7, 9, 25, 31, 33, 1000, 10**6, 10**12, 2**63)
FLOATS = ("nan", "inf", "-inf", "-1", "0", "1e-300", "1e-9", "0.1", "0.5", "0.8", "1", "2.5", "9", "1e6", "1e300")
TEXTS = (
    *("", " ", "auto", "0", "-3", "2", "99999999999999999999", "²", "½", "a b", "../..", "/", "localhost:1"),
    *("127.0.0.1", "256.1.1.1", "::1", "object=0:8,8:20,20", "object=0:1,1", "object=9:1,1:2,2", "object=x:1:2"),
    *("object=0:nan,inf:1,1", "object=0:1e300,0:0,1e300", "object=-1:1,1:2,2", "spheres-06-10", "all", "shapes"),
)


@dataclasses.dataclass(frozen=True)
class Places:
    """What paths may point to."""

    there: tuple[str, ...]  # clips, detectors, tables, and what is none of these
    new: tuple[str, ...]  # where something can, or cannot, be written


def commands() -> dict[str, type]:
    """The commands by their names."""
    named = {}
    for each in get_args(Command):
        command, *about = get_args(each)
        named[next(one.name for one in about if hasattr(one, "name"))] = command
    return named


def command_lines(name: str, places: Places) -> st.SearchStrategy[list[str]]:
    """All positional arguments, and any of the options."""
    command = commands()[name]
    hints = get_type_hints(command, include_extras=True)
    positional, options = [], []
    for field in dataclasses.fields(command):
        kind, flag, first = _unwrapped(hints[field.name], field.name)
        value = _values(kind, field.name, places)
        if first:
            positional.append(value)
            continue
        named = st.tuples(st.just([flag]), value).map(lambda parts: parts[0] + parts[1])
        if kind is bool:
            named = st.sampled_from([[flag], [flag.replace("--", "--no-", 1)]])
        needed = field.default is dataclasses.MISSING or field.name in ("out", "home")
        options.append(named if needed else st.one_of(st.just([]), named))
    parts = st.tuples(*positional, *options)
    return parts.map(lambda given: [name, *(word for part in given for word in part)])


def _unwrapped(kind: Any, name: str) -> tuple[Any, str, bool]:
    """The plain type, the option's name, and whether it is given by its place."""
    flag, first = f"--{name.strip('_').replace('_', '-')}", False
    while get_origin(kind) is Annotated:
        kind, *about = get_args(kind)
        first = first or any(one in get_args(tyro.conf.Positional[int])[1:] for one in about)
    return kind, flag, first


def _values(kind: Any, name: str, places: Places) -> st.SearchStrategy[list[str]]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _values(next(one for one in inner if one is not type(None)), name, places)
    if origin is tuple and inner[-1] is Ellipsis:
        several = st.lists(_values(inner[0], name, places), min_size=1, max_size=3)
        return several.map(lambda each: [word for words in each for word in words])
    if origin is tuple:
        return st.tuples(*(_values(one, name, places) for one in inner)).map(lambda parts: [part[0] for part in parts])
    if kind is str:
        return st.one_of(st.sampled_from(TEXTS), st.text(max_size=8)).map(lambda text: [text.replace("\0", "")])
    choices: dict[Any, tuple[Any, ...]] = {
        bool: ("",),
        int: INTEGERS,
        float: FLOATS,
        Path: places.new if name in ("out", "home", "superimpose") else places.there,
    }
    return st.sampled_from([[str(one)] for one in (inner if origin is Literal else choices[kind])])
