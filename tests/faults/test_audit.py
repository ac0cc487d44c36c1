"""No source runs what it reads: no eval, no shell, no plain pickle; and no package has a known vulnerability."""

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
SAFE = {"torch.load": ("weights_only", True), "yaml.load": ("Loader", None)}  # required arguments of a call
UNSAFE = {"allow_pickle": True, "shell": True, "trust_remote_code": True}  # forbidden in any call


def dangers(source: str) -> list[str]:
    """Imports and calls that could run what they read."""
    return [danger for node in ast.walk(ast.parse(source)) for danger in _dangers(node)]


def _dangers(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names if name.name.split(".")[0] in MODULES)
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
        yield str(node.module)
    if not isinstance(node, ast.Call):
        return
    called, given = ast.unparse(node.func), {keyword.arg: keyword.value for keyword in node.keywords}
    if isinstance(node.func, ast.Name) and called in NAMES:
        yield called
    if called in SAFE:
        name, value = SAFE[called]
        if not (name in given and (value is None or ast.unparse(given[name]) == str(value))):
            yield f"{called} without {name}"
    yield from (name for name, value in UNSAFE.items() if name in given and ast.unparse(given[name]) == str(value))


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
def test_a_danger_is_found(source: str) -> None:
    assert dangers(source)


def test_no_source_runs_what_it_reads(torture: Torture) -> None:
    """One reads pickles, idtracker.ai's, with an unpickler that makes arrays and plain values only."""
    found = {path.name: unsafe for path in SOURCES if (unsafe := dangers(path.read_text(encoding="utf-8")))}
    assert found.pop("arrays.py") == ["pickle"]
    torture.count(ROW, sources=len(SOURCES), pickle_eval_or_shell=sum(map(len, found.values())))
    assert found == {}


def output_of(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout  # noqa: S603


def test_ruff_finds_nothing_unsafe(torture: Torture) -> None:
    findings = json.loads(output_of("ruff", "check", "--select", "S", "--output-format", "json", "src", "benchmarks"))
    torture.count(ROW, findings_of_ruff=len(findings))
    assert findings == []


def test_no_installed_package_has_a_known_vulnerability(torture: Torture) -> None:
    torture.skip_in_short()
    if importlib.util.find_spec("pip_audit") is None:
        torture.fact(ROW, advisories="pip-audit is not installed")
        pytest.skip("pip-audit is not installed")
    output = output_of("pip_audit", "--progress-spinner", "off", "--format", "json", "--timeout", "20")
    listed = json.loads(output)["dependencies"] if output.startswith("{") else []
    audited = [package for package in listed if "vulns" in package]
    if not audited:
        torture.fact(ROW, advisories="could not be reached from this machine")
        pytest.skip("the advisories could not be reached")
    unsafe = [f"{package['name']} {package['version']}" for package in audited if package["vulns"]]
    torture.fact(ROW, advisories=f"{len(audited)} packages audited, {len(unsafe)} with an advisory")
    assert unsafe == []
