"""The examples in docstrings are run, in a folder with a clip and its run."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import withinpx
from tests.tracked_clip import TrackedClip, small_training

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
pytestmark = pytest.mark.usefixtures("alone")


def modules() -> list[str]:
    root = Path(withinpx.__file__).parent
    files = (path for path in sorted(root.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8"))
    names = (".".join(("withinpx", *path.relative_to(root).with_suffix("").parts)) for path in files)
    return [name.removesuffix(".__init__") for name in names]


@pytest.mark.parametrize("name", modules())
def test_examples(name: str, tracked: TrackedClip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clip").symlink_to(tracked.images)
    (tmp_path / "tracked").symlink_to(tracked.folder)
    monkeypatch.chdir(tmp_path)
    with small_training():
        result = doctest.testmod(import_module(name), optionflags=FLAGS)
    assert result.attempted
    assert not result.failed
