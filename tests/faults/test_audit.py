"""Nothing that is read can run: no pickle, no eval, no shell; and nothing is installed that is known to be unsafe."""

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.torture import Torture

ROW = "audit"
ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
NAMES = {"eval", "exec", "compile", "__import__"}
SAFE = {"torch.load": ("weights_only", True), "yaml.load": ("Loader", None)}  # what must be said with a call
UNSAFE = {"allow_pickle": True, "shell": True, "trust_remote_code": True}  # what must not be said with any


def dangers(source: str) -> list[str]:
    """What could run something that it reads."""
    return [danger for node in ast.walk(ast.parse(source)) for danger in _dangers(node)]


def _dangers(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names if name.name.split(".")[0] in MODULES)
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
        yield str(node.module)
    if not isinstance(node, ast.Call):
        return
    called, said = ast.unparse(node.func), {each.arg: each.value for each in node.keywords}
    if isinstance(node.func, ast.Name) and called in NAMES:
        yield called
    if called in SAFE:
        name, value = SAFE[called]
        if not (name in said and (value is None or ast.unparse(said[name]) == str(value))):
            yield f"{called} without {name}"
    yield from (name for name, value in UNSAFE.items() if name in said and ast.unparse(said[name]) == str(value))


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "eval('1')",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(line, shell=True)",
    ],
)
def test_a_danger_is_seen(source: str) -> None:
    assert dangers(source)


def test_no_source_runs_what_it_reads(torture: Torture) -> None:
    found = {path.name: seen for path in SOURCES if (seen := dangers(path.read_text(encoding="utf-8")))}
    torture.count(ROW, sources=len(SOURCES), pickle_eval_or_shell=sum(map(len, found.values())))
    assert found == {}


def test_ruff_finds_nothing_unsafe(torture: Torture) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--select", "S", "--output-format", "json", "src", "benchmarks"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    findings = json.loads(told.stdout)
    torture.count(ROW, findings_of_ruff=len(findings))
    assert findings == []


def test_nothing_installed_is_known_to_be_unsafe(torture: Torture) -> None:
    if not torture.full:
        pytest.skip("asks for advisories, by make torture only")
    if importlib.util.find_spec("pip_audit") is None:
        torture.fact(ROW, advisories="pip-audit is not installed")
        pytest.skip("pip-audit is not installed")
    command = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json", "--timeout", "20"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    listed = json.loads(told.stdout)["dependencies"] if told.stdout.startswith("{") else []
    asked = [each for each in listed if "vulns" in each]
    if not asked:
        torture.fact(ROW, advisories="could not be reached from this machine")
        pytest.skip("the advisories could not be reached")
    unsafe = [f"{each['name']} {each['version']}" for each in asked if each["vulns"]]
    torture.fact(ROW, advisories=f"{len(asked)} packages asked about, {len(unsafe)} with an advisory")
    assert unsafe == []
