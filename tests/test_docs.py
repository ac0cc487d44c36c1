"""README and docs: links lead somewhere, commands are accepted, numbers are those of the committed tables."""

import contextlib
import io
import itertools
import json
import math
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import tyro

from withinpx import Squares
from withinpx.cli import Command

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *RESULTS.rglob("*.md")])
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
MODULE_PATH = re.compile(r"\b(?:src/withinpx/)?[a-z_]+/(?:[a-z0-9_]+/)*[a-z0-9_]+\.py\b")

# The left column of the words that this project replaced, each with the files in which it may stay.
REPLACED_WORDS: dict[str, tuple[str, ...]] = {
    "aside": ("docs/figure4.md", "src/withinpx/experiments/fig4*.py"),  # a value in results/synthetic/runs.csv
    "asked": (),
    "astray": (),
    "backdrops?": ("src/withinpx/data/blender.py",),  # the curved wall behind a rendered scene
    "drawn(?! from)": (),  # samples are drawn from a seed
    "in no order": (),
    "is told|are told": (),
    "looked at": (),
    "louder|softer": (),
    "lies? behind": (),
    "movers?": (),
    "nobody": (),
    "pictures?": (),
    "redrawn|redraws?": (),
    "told apart": (),
    "things?": ("src/withinpx/experiments/generated.py",),  # a column of results/generated/runs.csv
    "wishes": (),
}


def is_file_named(path: str) -> bool:
    return any((base / path).exists() for base in (ROOT, ROOT / "src" / "withinpx"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = [re.sub(r"\]\([^)]*\)", "", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_and_module_paths_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken = []
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    if page in GUIDES:
        broken += [path for path in MODULE_PATH.findall(LINK.sub("]", text)) if not is_file_named(path)]
    assert not broken


def answer(words: list[str]) -> tuple[int, str]:
    """Exit status of the parser, 0 if it accepts these arguments, and what it prints. Nothing is run."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            tyro.cli(Command, prog="withinpx", args=words)
    except SystemExit as end:
        return int(end.code or 0), printed.getvalue().strip()
    return 0, ""


def refusal(words: list[str], *, complete: bool) -> str:
    """Why the parser refuses this command; empty if it does not. An incomplete one may lack required arguments."""
    status, printed = answer(words)
    if status == 0 or complete or not printed.startswith("Required options"):
        return printed if status else ""
    before_options = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    _, described = answer([*before_options, "--help"])
    return " ".join(word for word in words if word.startswith("--") and word not in described)


def commands_in(code: str) -> list[list[str]]:
    lines = code.replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in line.split("&&")]
    return [shlex.split(part, comments=True)[1:] for part in parts if part.startswith("withinpx ")]


def refused(commands: list[list[str]], *, complete: bool) -> dict[str, str]:
    return {" ".join(words): why for words in commands if (why := refusal(words, complete=complete))}


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_commands_are_accepted(page: Path) -> None:
    """In a code block a command must be complete; within a sentence required arguments may be missing."""
    text = page.read_text(encoding="utf-8")
    in_blocks = [words for block in CODE_BLOCK.findall(text) for words in commands_in(block)]
    mentioned = re.findall(r"`(withinpx [^`]+)`", CODE_BLOCK.sub("", text))
    in_sentences = commands_in("\n".join(" ".join(command.split()) for command in mentioned))
    assert not refused(in_blocks, complete=True) | refused(in_sentences, complete=False)


def test_a_wrong_command_is_refused() -> None:
    (words,) = commands_in("pip install . && withinpx bound --encoder-size 9  # no such option")
    assert words == ["bound", "--encoder-size", "9"]
    assert refusal(words, complete=False) == "--encoder-size"
    assert refusal(["detect", "--backend", "onnx"], complete=False) == ""
    assert refusal(["detect", "--backend", "onnx"], complete=True)
    assert refusal(["reproduce", "fig99"], complete=False)


@pytest.mark.parametrize("about", sorted(RESULTS.rglob("about.json")), ids=lambda path: path.parent.name)
def test_recorded_commands_are_accepted(about: Path) -> None:
    """Commands of the package; a benchmark is a script of the repository."""
    recorded = [sweep["command"] for sweep in json.loads(about.read_text(encoding="utf-8"))["sweeps"]]
    commands = commands_in("\n".join(recorded))
    scripts = [command.split()[1] for command in recorded if command.startswith("python benchmarks/")]
    assert len(commands) + len(scripts) >= len(recorded) > 0
    assert not refused(commands, complete=True)
    assert all((ROOT / script).is_file() for script in scripts)


def written_files() -> list[Path]:
    source = ROOT / "src" / "withinpx"
    code = [path for ending in ("py", "js", "html") for path in source.rglob(f"*.{ending}") if "demo" not in path.parts]
    return sorted([*GUIDES, *code])


@pytest.mark.parametrize("words", REPLACED_WORDS)
def test_replaced_words_are_gone(words: str) -> None:
    pattern = re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    found = []
    for path in written_files():
        name = path.relative_to(ROOT).as_posix()
        if any(Path(name).match(allowed) for allowed in REPLACED_WORDS[words]):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [f"{name}:{number}: {line.strip()}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    assert not found, f"{len(found)} lines:\n" + "\n".join(found[:40])


# --- numbers --------------------------------------------------------------------------------------------------------


def prose(name: str) -> str:
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(RESULTS / name)


NETWORK = ["encoder_rf", "decoder_rf", "object_size", "sigma", "seed"]


def test_figure_4_counts_networks_rows_and_starts() -> None:
    rows, text = table("synthetic/runs.csv"), prose("docs/figure4.md")
    networks = rows.drop_duplicates(NETWORK)
    accepted = networks[networks.accepted]
    first, second, third = ((accepted.start == start).sum() for start in ("random", "aside", "centre"))
    assert f"| trained | {len(networks):,} | {len(rows):,}:" in text
    assert f"random start | {first:,} ({first / len(networks):.0%} |".replace("%", " %)") in text
    assert f"second start | {second} |" in text
    assert f"third start | {third} |" in text
    assert f"after three starts | {len(networks) - len(accepted)} |" in text
    assert f"All {rows.accepted.sum():,} accepted rows are inside the bound" in text
    bounds = rows.bound_encoder.combine(rows.bound_decoder_mean + 4 * rows.sigma, min)
    assert (rows.position_error <= bounds + 1.01e-4)[rows.accepted].all()


def test_figure_4_random_starts_at_the_narrow_setting() -> None:
    rows, text = table("synthetic/runs.csv"), prose("docs/figure4.md")
    setting = rows[(rows.experiment == "d") & (rows.sigma == 0.8)]
    first = setting[setting.start == "random"]
    assert f"| {first.accepted.sum()} of {len(setting)} | {first.epochs.min()} to {first.epochs.max()} |" in text
    central = table("central/runs.csv")
    for precision, label in (("half", "half precision"), ("tf32 compiled", "TensorFloat-32, compiled")):
        runs = central[(central.precision == precision) & (central.recipe == "paper") & (central.decoder_rf == 11)]
        assert re.search(
            rf"the paper's, {label} \([^|]*\| {runs.accepted.sum()} of {len(runs)} \| {runs.epochs.max()} \|", text
        )


def test_figure_4_networks_at_the_limit_of_steps() -> None:
    """A test for convergence every 50 steps in whole epochs; at most 1,800 steps or 500 epochs."""
    networks, text = table("synthetic/runs.csv").drop_duplicates(NETWORK), prose("docs/figure4.md")
    limits = []
    for encoder_rf, decoder_rf, size in networks[NETWORK[:3]].itertuples(index=False):
        images = Squares(object_size=size, padding=max(encoder_rf, decoder_rf) - 1, image_size=80).train().images
        steps = max(1, len(images) // 128)
        interval = math.ceil(50 / steps)
        limits.append(min(500, math.ceil(math.ceil(1800 / steps) / interval) * interval))
    at_limit = networks[networks.epochs >= limits]
    assert f"{len(at_limit)} of the {len(networks):,} networks reached the limit" in text
    assert f"{at_limit.accepted.sum()} of them are accepted" in text


@pytest.mark.parametrize(("experiment", "letter"), [("b", "197 runs there"), ("c", "155 runs"), ("d", "658 of 658")])
def test_figure_4_within_standard_deviations(experiment: str, letter: str) -> None:
    rows = table("synthetic/runs.csv")
    some = rows[rows.accepted & (rows.experiment == experiment) & (rows.bound_decoder_mean < rows.bound_encoder)]
    within = [(some.position_error <= some.bound_decoder_mean + n * some.sigma + 1e-4).sum() for n in (1, 2, 3, 4)]
    assert letter.startswith(str(len(some)))
    assert within[3] == len(some)
    line = prose("docs/figure4.md")
    assert f"{within[0]} within 1 s.d., {within[1]} within 2, {within[2]} within 3" in line


def test_calibrated_errors_on_squares() -> None:
    figure, central, text = table("synthetic/runs.csv"), table("central/runs.csv"), prose("docs/method.md")
    errors = figure[figure.accepted].calibrated_error
    exact = f"{(errors <= 1e-4).sum():,}"
    assert f"| {len(errors):,} of {len(figure):,} | {errors.max():.2f} px |" in text
    assert (errors > 0.3).sum() == 1
    assert f"at most 0.3 px in all but one run, at most 0.0001 px in {exact}" in text
    assert f"at most {errors.max():.2f} px in any of the {len(errors):,} accepted rows" in prose("docs/figure4.md")
    assert f"0.0001 px in {exact}" in prose("docs/figure4.md")
    accepted = central[central.accepted]
    assert f"| {len(accepted)} of {len(central)} | {accepted.calibrated_error.max():.4f} px |" in text
    assert f"by at most {central.leakage.max() * 1e5:.1f}e-5 px" in text


def test_figure_5_learned_and_inside() -> None:
    rows, text = table("clevr/runs.csv"), prose("docs/figure5.md")
    ours, papers = (rows[(rows.method == "withinpx") & (rows.recipe == recipe)] for recipe in ("ours", "paper"))
    run = ["experiment", "dataset", "encoder_rf", "decoder_rf", "sigma", "seed"]
    networks = [some.groupby(run).learned.sum() for some in (ours, papers)]
    learned = [some[some.learned] for some in (ours, papers)]
    inside = [(some.position_error <= some.bound_2sigma).sum() for some in learned]
    assert f"| networks | {len(networks[0])} | {len(networks[1])} |" in text
    assert f"learned all three objects | {(networks[0] == 3).sum()} | {(networks[1] == 3).sum()} |" in text
    assert f"| {len(learned[0])} of {len(ours)} | {len(learned[1])} of {len(papers)} |" in text
    assert f"all panels | {inside[0]} of {len(learned[0])} | {inside[1]} of {len(learned[1])} |" in text


def test_table_1_in_the_text() -> None:
    text = prose("docs/figure5.md")
    methods = {line["method"]: line for line in json.loads((RESULTS / "clevr/table1.json").read_text())["methods"]}
    for method, sentence in (
        ("withinpx, our recipe", "{inside} of {of} ({percent} %)"),
        ("withinpx, the paper's recipe", "| {inside} of {of} |"),
        ("MobileSAM", "MobileSAM {inside} of {of} ({percent} %)"),
        ("MOG2 and contours", "MOG2 has {inside} of {of} errors inside the bound ({percent} %)"),
    ):
        inside, of = methods[method]["inside"][0], methods[method]["of"][0]
        assert sentence.format(inside=inside, of=of, percent=f"{100 * inside / of:.1f}") in text
    ours = methods["withinpx, our recipe"]
    assert ours["inside"][1:] == ours["of"][1:]  # 100 % in every size bin
    assert "eight of the 90 errors lie in no bin" in text
    assert ours["of"][0] - sum(ours["of"][1:]) == 8


def test_central_settings_in_half_precision() -> None:
    rows, text = table("central/runs.csv"), prose("results/central/README.md")
    paper = rows[rows.recipe == "paper"]
    half, compiled = (paper[paper.precision == name] for name in ("half", "tf32 compiled"))
    pairs = half.merge(compiled, on=["decoder_rf", "seed"])
    same = ((pairs.position_error_x - pairs.position_error_y).abs() < 1e-3).sum()
    assert f"equal to 0.001 px in {same} of the {len(pairs)} runs" in text
    assert f"one row per training, {len(rows)} in all" in text
