"""A preview of a network in training: frame, reconstruction and heatmaps side by side, and the current positions."""

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

GAP = 6  # px between two panels
MIN_SIDE = 240  # px; smaller panels are enlarged
COLUMNS = 5
ARM = 7  # px of a cross
Positions = list[list[float] | None]


@torch.no_grad()
def render_preview(engine: SparseEngine, number: int) -> tuple[bytes, Positions]:
    """A PNG for one of the training images, and the positions in it. The model is left as it was."""
    model, chosen = engine.model, torch.tensor([number], device=engine.latest_z.device)
    training = model.training
    model.eval()
    heatmaps = engine.scene.only(chosen).heatmaps(model)
    z, _ = sparse_softargmax(heatmaps, model.config.temperature)
    present = torch.ones_like(z[..., 0], dtype=torch.bool) if engine.present is None else engine.present[chosen]
    backgrounds = engine.scene.backgrounds
    reconstruction = reconstruct(model, z, present, backgrounds if len(backgrounds) == 1 else backgrounds[chosen])[0]
    model.train(training)
    maps = dense_maps(heatmaps)[0].unsqueeze(1)
    low, high = (edge(maps, dim=(-2, -1), keepdim=True) for edge in (torch.amin, torch.amax))
    maps = (maps - low) / (high - low).clamp(min=1e-6)
    panels = [_to_uint8(image) for image in (engine.scene.images[number], reconstruction, *maps)]
    positions = [
        position if there else None for position, there in zip(z[0].tolist(), present[0].tolist(), strict=True)
    ]
    return _side_by_side(panels, positions), positions


def _to_uint8(image: Tensor) -> NDArray[np.uint8]:
    """(c, h, w) from 0 to 1 as (h, w, 3)."""
    levels = (image.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).cpu().numpy()
    return np.broadcast_to(levels, (*levels.shape[:2], 3))


def _side_by_side(panels: list[NDArray[np.uint8]], positions: Positions) -> bytes:
    height, width = panels[0].shape[:2]
    zoom = max(1, ceil(MIN_SIDE / max(height, width)))
    across, down = zoom * width + GAP, zoom * height + GAP
    columns, rows = min(COLUMNS, len(panels)), ceil(len(panels) / COLUMNS)
    sheet = Image.new("RGBA", (columns * across - GAP, rows * down - GAP))
    draw = ImageDraw.Draw(sheet)
    for index, panel in enumerate(panels):
        left, top = index % COLUMNS * across, index // COLUMNS * down
        enlarged = Image.fromarray(panel).resize((zoom * width, zoom * height), Image.Resampling.NEAREST)
        sheet.paste(enlarged, (left, top))
        for number, position in enumerate(positions):
            if position is not None and index in (0, 1, number + 2):  # a heatmap shows only its own object
                x, y = left + zoom * position[0], top + zoom * position[1]
                for line_width, colour in ((4, "#000000"), (2, colour_of(number))):
                    draw.line((x - ARM, y, x + ARM, y), fill=colour, width=line_width)
                    draw.line((x, y - ARM, x, y + ARM), fill=colour, width=line_width)
    content = BytesIO()
    sheet.save(content, "PNG", compress_level=1)
    return content.getvalue()
