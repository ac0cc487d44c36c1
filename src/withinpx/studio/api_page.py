"""``/docs``: what can be asked of the server, as one page that loads nothing from anywhere."""

from html import escape
from typing import Any

HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>withinpx studio: API</title>
<meta name="viewport" content="width=device-width"></head><body><h1>withinpx studio: API</h1>
<p>Every request wants the cookie that the page has, or <code>Authorization: Bearer TOKEN</code>. A refusal is
<code>{"error": "One sentence."}</code>. For programs: <a href="/openapi.json">openapi.json</a>.</p>"""


def api_page(described: dict[str, Any]) -> str:
    """The OpenAPI description of a server, for people."""
    parts = [
        _request(method.upper(), path, known)
        for path, methods in described["paths"].items()
        for method, known in methods.items()
    ]
    return f"{HEAD}{''.join(parts)}</body></html>"


def _request(method: str, path: str, known: dict[str, Any]) -> str:
    said = escape(known.get("description") or known.get("summary", ""))
    answers = ", ".join(
        f"{escape(status)} {escape(answer.get('description', ''))}" for status, answer in known["responses"].items()
    )
    rows = "".join(_parameter(each) for each in known.get("parameters", []))
    table = f"<table><tr><th>parameter</th><th>in</th><th>type</th></tr>{rows}</table>" if rows else ""
    return f"<h2><code>{method} {escape(path)}</code></h2><p>{said}</p>{table}<p>Answers: {answers}</p>"


def _parameter(known: dict[str, Any]) -> str:
    schema = known.get("schema", {})
    kinds = [schema, *schema.get("anyOf", [])]
    kind = " or ".join(str(each["type"]) for each in kinds if "type" in each)
    cells = (known["name"], known["in"], kind)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
