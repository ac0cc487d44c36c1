"""Packages import downwards only, and the packages that run on a bare GPU machine import nothing they lack there."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import withinpx

ROOT = Path(withinpx.__file__).parent
LEVELS = {
    **dict.fromkeys(("errors", "files", "figures", "palette", "shadow"), 0),
    "theory": 1,
    "model": 2,
    **dict.fromkeys(("data", "jobs"), 3),
    "discovery": 4,
    "training": 5,
    "inference": 6,
    "certificate": 7,
    "tracking": 8,
    "reviewing": 9,
    **dict.fromkeys(("auditing", "browser", "experiments", "baselines", "studio"), 10),
    "cli": 11,
}
SAME_LEVEL = {("files", "errors"), ("figures", "files"), ("data", "jobs")}
BARE = ("theory", "model", "training", "inference", "certificate")
ABSENT = {"cv2", "av", "pandas", "tyro", "rich"}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Modules that a file imports, and whether at its top."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        top = node in tree.body
        if isinstance(node, ast.Import):
            yield from ((alias.name, top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, top


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


FILES = [path for path in sorted(ROOT.rglob("*.py")) if package_of(path) in LEVELS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_package_imports_only_those_below_it(path: Path) -> None:
    own = package_of(path)
    for module, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "withinpx" and len(parts) > 1 and parts[1] != own:
            allowed = LEVELS[parts[1]] < LEVELS[own] or (own, parts[1]) in SAME_LEVEL
            assert allowed, f"{own} imports {module}"


@pytest.mark.parametrize("package", BARE)
def test_training_and_inference_need_torch_only(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        found = {module.split(".")[0] for module, top in imports(path) if top} & ABSENT
        assert not found, f"{path.relative_to(ROOT)} imports {', '.join(found)}"


def test_the_options_of_the_command_line_load_without_torch() -> None:
    path = ROOT / "tracking" / "options.py"
    assert "torch" not in {module.split(".")[0] for module, _ in imports(path)}
