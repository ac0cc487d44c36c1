"""What mkdocs (mkdocs.yml) does beside rendering docs/, whose pages read on a code host as they are.

Links that leave docs/ lead to results/, which becomes a part of the site, or to source files, which are named by their
path instead. Notebooks become pages. Formulas become MathML, which browsers render themselves.
"""

import html
import json
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SHOWN = {".md", ".png", ".jpg", ".csv", ".json"}  # of results/

CODE_BLOCK = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"<td((?: style=\"[^\"]*\")?)>(.*?)</td>", re.DOTALL)
NUMBERS = re.compile(r"[-+±]?\d[\d.,]*(?: ?%| px| s)?(?: / [\d.,]+| \([\d,]+ of [\d,]+\)|, \d+)?")
OPTION = re.compile(r"(?<=[\s(>])--[a-z][a-z-]*")
BAR = re.compile(r"<mo(?: stretchy=\"false\")?>(&#x0007C;|&#x02016;)</mo>")
OUTSIDE_SCRIPT = re.compile(r"https://[\w.-]+/(?:mermaid|iframe-worker)[^\"'`]*")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in sorted((ROOT / "results").rglob("*")):
        if path.suffix in SHOWN:
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    for path in sorted(DOCS.glob("*.ipynb")):
        files.append(File.generated(config, f"{path.stem}.md", content=notebook_page(path)))
    return files


def notebook_page(path: Path) -> str:
    """The cells of a notebook as text and code; the notebooks are kept without output."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        code = "\n".join(line for line in source.splitlines() if not line.startswith("%"))
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{code.strip()}\n```")
    about = f"This page is the notebook [{path.name}]({path.name}), which the tests run from top to bottom."
    parts.insert(1, f"*{about} The output is not shown here.*")
    return "\n\n".join(parts)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    source = Path(page.file.abs_src_path or DOCS / page.file.src_uri)
    names = titles(config.nav or [])
    parts = CODE_BLOCK.split(markdown)
    for index in range(0, len(parts), 2):
        lines = parts[index].split("\n")
        parts[index] = "\n".join(with_links(line, source, page.file.src_uri, files, names) for line in lines)
    return "".join(parts)


def with_links(line: str, source: Path, uri: str, files: Files, names: dict[str, str]) -> str:
    heading = line.startswith("#")

    def in_site(match: re.Match[str]) -> str:
        mark, text, link = match.groups()
        path, hash_sign, anchor = link.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        target = Path(posixpath.normpath(source.parent / path))
        base = DOCS if target.is_relative_to(DOCS) else ROOT
        there = target.relative_to(base).as_posix()
        if (target / "README.md").is_file():
            there = f"{there}/README.md"
        if (
            there.endswith(".ipynb") and uri != f"{Path(there).stem}.md"
        ):  # only its own page leads to the notebook itself
            there = f"{Path(there).stem}.md"
        if files.get_file_from_path(there) or not target.exists():  # mkdocs reports what does not exist
            if text.endswith(".md"):  # a title says more to a reader than a file's name
                text = names.get(there, text)
            return f"{mark}[{text}]({posixpath.relpath(there, posixpath.dirname(uri) or '.')}{hash_sign}{anchor})"
        return text if heading else named(text, there)

    return LINK.sub(in_site, line)


def titles(nav: list[Any]) -> dict[str, str]:
    """The navigation's title of each page."""
    found: dict[str, str] = {}
    for name, entry in (pair for item in nav for pair in item.items()):
        found |= titles(entry) if isinstance(entry, list) else {entry: name}
    return found


def named(text: str, path: str) -> str:
    """The text of a link to a source file, with the file's path in the repository."""
    return f"`{path}`" if path.endswith(text.strip("`/")) else f"{text} (`{path}`)"


def on_page_content(content: str, **_: Any) -> str:
    return CELL.sub(unbroken, FORMULA.sub(mathml, content))


def unbroken(cell: re.Match[str]) -> str:
    """A narrow column breaks a line neither within an option's name nor between the numbers of a cell."""
    attributes, text = cell[1], cell[2]
    if NUMBERS.fullmatch(text):
        return f'<td{attributes} class="numbers">{text}</td>'
    return f"<td{attributes}>" + OPTION.sub(r'<span class="option">\g<0></span>', text) + "</td>"


def mathml(match: re.Match[str]) -> str:
    latex = html.unescape(match[2]).strip().replace("`", "").replace(r"\_", "_")
    display = "inline" if match[1] == "span" else "block"
    # A bar is taken for an operator between two terms, or stretched over the whole line.
    formula = BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', convert(latex, display=display))
    return formula if display == "inline" else f'<div class="formula">{formula}</div>'


class ExamplesAsCode(griffe.Extension):
    """Examples in docstrings are code, which Markdown would take for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)


def on_post_build(config: MkDocsConfig) -> None:
    """The theme's script would load what this site does not use (diagrams, help for old browsers) from another host."""
    for path in Path(config.site_dir).rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        if OUTSIDE_SCRIPT.search(text):
            path.write_text(OUTSIDE_SCRIPT.sub("", text), encoding="utf-8")
