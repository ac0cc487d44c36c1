"""ES modules as one script, for a page that can load none: opened from a disk, it has no origin to load them from."""

import re
from pathlib import Path

IMPORT = re.compile(r'^import \{([^}]+)\} from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def bundle(entry: Path) -> str:
    """The script of a module and of all that it imports, each after those that it needs.

    Every module becomes a function that is called once and returns what the module exports.
    """
    parts: dict[Path, str] = {}
    _add(entry.resolve(), parts)
    return "\n".join(['"use strict";', *parts.values()])


def _add(path: Path, parts: dict[Path, str]) -> None:
    text = path.read_text(encoding="utf-8")
    imported = []
    for names, module in IMPORT.findall(text):
        needed = (path.parent / module).resolve()
        if needed not in parts:
            _add(needed, parts)
        imported.append(f"const {{{names}}} = {_name(needed)};\n")
    body = IMPORT.sub("", text)
    exported = ", ".join(EXPORT.findall(body))
    body = EXPORT.sub("", body)
    if other := OTHER.search(body):
        raise ValueError(f"{path} cannot be part of one script: {other.group()}")
    parts[path] = f"const {_name(path)} = (() => {{\n{''.join(imported)}{body}\nreturn {{{exported}}};\n}})();"


def _name(path: Path) -> str:
    """Modules of different folders may have the same file name."""
    return re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}")
