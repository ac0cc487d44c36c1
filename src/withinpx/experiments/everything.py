"""What ``withinpx reproduce all`` makes, in order: every figure and table of the paper that can be made from squares,
and from rendered scenes where there are images of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Part:
    """One subcommand of ``withinpx reproduce``."""

    name: str
    folder: str  # below --out; as the committed results have it
    options: dict[str, Any]


def parts(data: Path | None, *, quick: bool) -> Iterator[Part]:
    """All parts; ``quick`` ones are small."""
    for name in ("fig2", "fig3", "fig7"):
        yield Part(name, "theory", {})
    yield Part("central", "central", {"seeds": 2, "epochs": 20} if quick else {"together": True, "fast": True})
    yield Part("fig4", "synthetic", {"quick": True} if quick else {})
    small: dict[str, Any] = {"seeds": 1, "epochs": 2, "settings": ("object-21", "object-25")}
    yield Part("choices", "choices", small if quick else {})
    if not quick:
        yield Part("fig4", "synthetic/paper", {"recipe": "paper"})
    if data is None:
        return
    for name in ("fig5", "fig9", "table1", "fig6"):
        yield Part(name, "clevr", {"data": data, "quick": quick, "seeds": 1 if quick else 5})
