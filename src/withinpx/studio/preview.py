"""A look into a network while it learns: the frame, what it draws, its heatmaps, and where it thinks things are."""

from io import BytesIO
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from torch import Tensor

from withinpx.inference.observation import reconstruct
from withinpx.model.field import dense_maps
from withinpx.model.sparse import sparse_softargmax
from withinpx.palette import colour_of
from withinpx.training.engine import SparseEngine

GAP = 6  # px between two pictures
SIDE = 240  # px; smaller pictures are enlarged to at least this
COLUMNS = 5
ARM = 7  # px of a cross


@torch.no_grad()
def draw_preview(engine: SparseEngine, number: int) -> tuple[bytes, list[list[float] | None]]:
    """A PNG of one of the pictures that are learned from, and the positions in it; nothing learns by being looked at.

    The pictures stand side by side: frame, reconstruction, one heatmap per object.
    """
    model, chosen = engine.model, torch.tensor([number], device=engine.latest_z.device)
    training = model.training
    model.eval()
    heatmaps = engine.scene.only(chosen).heatmaps(model)
    positions, _ = sparse_softargmax(heatmaps, model.config.temperature)
    present = torch.ones_like(positions[..., 0], dtype=torch.bool) if engine.present is None else engine.present[chosen]
    backgrounds = engine.scene.backgrounds
    behind = backgrounds if len(backgrounds) == 1 else backgrounds[chosen]
    drawn = reconstruct(model, positions, present, behind)[0]
    maps = dense_maps(heatmaps)[0].unsqueeze(1)
    lowest, highest = (edge(maps, dim=(-2, -1), keepdim=True) for edge in (torch.amin, torch.amax))
    maps = (maps - lowest) / (highest - lowest).clamp(min=1e-6)
    model.train(training)
    panels = [_pixels(picture) for picture in (engine.scene.images[number], drawn, *maps)]
    places = [place if there else None for place, there in zip(positions[0].tolist(), present[0].tolist(), strict=True)]
    return _side_by_side(panels, places), places


def _pixels(picture: Tensor) -> NDArray[np.uint8]:
    """(c, h, w) from 0 to 1 as (h, w, 3)."""
    levels = (picture.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).cpu().numpy()
    return np.broadcast_to(levels, (*levels.shape[:2], 3))


def _side_by_side(panels: list[NDArray[np.uint8]], places: list[list[float] | None]) -> bytes:
    height, width = panels[0].shape[:2]
    factor = max(1, ceil(SIDE / max(height, width)))
    across, down = factor * width + GAP, factor * height + GAP
    columns, rows = min(COLUMNS, len(panels)), ceil(len(panels) / COLUMNS)
    sheet = Image.new("RGBA", (columns * across - GAP, rows * down - GAP))
    pen = ImageDraw.Draw(sheet)
    for each, panel in enumerate(panels):
        left, top = each % COLUMNS * across, each // COLUMNS * down
        sheet.paste(
            Image.fromarray(panel).resize((factor * width, factor * height), Image.Resampling.NEAREST), (left, top)
        )
        for number, place in enumerate(places):
            if place is not None and each in (0, 1, number + 2):  # a heatmap shows its own object alone
                _cross(pen, left + factor * place[0], top + factor * place[1], colour_of(number))
    content = BytesIO()
    sheet.save(content, "PNG", compress_level=1)
    return content.getvalue()


def _cross(pen: ImageDraw.ImageDraw, x: float, y: float, colour: str) -> None:
    for width, fill in ((4, "#000000"), (2, colour)):
        pen.line((x - ARM, y, x + ARM, y), fill=fill, width=width)
        pen.line((x, y - ARM, x, y + ARM), fill=fill, width=width)
