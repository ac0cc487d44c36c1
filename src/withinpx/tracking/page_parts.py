"""What the pages share: the document, wide tables, embedded images, shares."""

import base64
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.tracking.page_style import STYLE


def document(title: str, sections: Sequence[str], style: str = "") -> str:
    """A page that loads nothing from elsewhere. The title is HTML already."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n<main>\n{chr(10).join(sections)}\n</main>\n</body>\n</html>\n"
    )


def wide_table(headings: Sequence[str], body: str, kind: str = "wide") -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f'<div class="{kind}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def embedded(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def as_png(pixels: NDArray[np.uint8]) -> bytes:
    """An image (height, width, colours) as a PNG file."""
    content = BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(content, "PNG")
    return content.getvalue()


def percent(share: float) -> str:
    """Rounded, but never up to 100 % nor down to 0 %."""
    rounded = min(max(round(100 * share), int(share > 0)), 100 if share >= 1 else 99)
    return f"{rounded}%"
