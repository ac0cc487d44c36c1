"""Command lines that the parser accepts, generated from the types of the commands."""

import dataclasses
import types
from collections.abc import Iterator
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
POSITIONAL = get_args(tyro.conf.Positional[int])[1:]
OUTPUTS = ("out", "home", "superimpose")  # options that name what is written


@dataclasses.dataclass(frozen=True)
class Paths:
    """Values for arguments that are paths."""

    existing: tuple[str, ...]  # clips, detectors, tables, and files that are none of these
    outputs: tuple[str, ...]  # some can be written, some cannot


def commands() -> dict[str, type]:
    """Commands and their subcommands by name."""
    return dict(_commands(Command, ""))


def _commands(kind: Any, name: str) -> Iterator[tuple[str, type]]:
    if get_origin(kind) is Annotated:
        kind, *about = get_args(kind)
        own = next((one.name for one in about if hasattr(one, "name")), "")
        name = f"{name} {own}".strip()
    if _is_union(kind):
        for member in get_args(kind):
            yield from _commands(member, name)
        return
    nested = [hint for hint in get_type_hints(kind, include_extras=True).values() if _are_commands(hint)]
    for union in nested:
        yield from _commands(union, name)
    if not nested:
        yield name, kind


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _are_commands(kind: Any) -> bool:
    kind = _plain(kind)
    return _is_union(kind) and all(dataclasses.is_dataclass(_plain(member)) for member in get_args(kind))


def _plain(kind: Any) -> Any:
    return _plain(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def command_lines(name: str, paths: Paths) -> st.SearchStrategy[list[str]]:
    """All positional arguments, and any of the options."""
    command = commands()[name]
    hints = get_type_hints(command, include_extras=True)
    positional, options = [], []
    for field in dataclasses.fields(command):
        if tyro.conf.Fixed in get_args(hints[field.name]):
            continue
        kind, is_positional = _plain(hints[field.name]), _is_positional(hints[field.name])
        flag = f"--{field.name.strip('_').replace('_', '-')}"
        value = _values(kind, field.name, paths)
        if is_positional:
            positional.append(value)
            continue
        option = st.tuples(st.just([flag]), value).map(lambda parts: parts[0] + parts[1])
        if kind is bool:
            option = st.sampled_from([[flag], [flag.replace("--", "--no-", 1)]])
        required = field.default is dataclasses.MISSING or field.name in ("out", "home")
        options.append(option if required else st.one_of(st.just([]), option))
    parts = st.tuples(*positional, *options)
    return parts.map(lambda given: [*name.split(), *(word for part in given for word in part)])


def _is_positional(kind: Any) -> bool:
    if get_origin(kind) is not Annotated:
        return False
    inner, *about = get_args(kind)
    return any(one in POSITIONAL for one in about) or _is_positional(inner)


def _values(kind: Any, name: str, paths: Paths) -> st.SearchStrategy[list[str]]:
    origin, inner = get_origin(kind), get_args(kind)
    if _is_union(kind):
        return _values(next(one for one in inner if one is not type(None)), name, paths)
    if origin is tuple and inner[-1] is Ellipsis:
        several = st.lists(_values(inner[0], name, paths), min_size=1, max_size=3)
        return several.map(lambda values: [word for words in values for word in words])
    if origin is tuple:
        return st.tuples(*(_values(one, name, paths) for one in inner)).map(lambda parts: [part[0] for part in parts])
    if kind is str:
        return st.one_of(st.sampled_from(TEXTS), st.text(max_size=8)).map(lambda text: [text.replace("\0", "")])
    choices: dict[Any, tuple[Any, ...]] = {
        bool: ("",),
        int: INTEGERS,
        float: FLOATS,
        Path: paths.outputs if name in OUTPUTS else paths.existing,
    }
    return st.sampled_from([[str(one)] for one in (inner if origin is Literal else choices[kind])])
