"""What ``observe`` measures around each object, in operations of fixed shape, without shortcuts: for exporters."""

import copy

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from withinpx.inference.comparison import Comparison, compare
from withinpx.inference.rendering import windows_around
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.model.sparse import gaussians_in
from withinpx.model.windows import Windows, cut_at


class DenseComparison(nn.Module):
    """The objects rendered at z by a layered network, compared with the frames in a window around each.

    The decoder runs without padding over each window and its own reach around it. No pixel of the image depends on
    padding, since the canvas is by as much larger than the image (``Autoencoder.margin``).
    """

    def __init__(self, model: Autoencoder, background: Float[Tensor, "1 c h w"]) -> None:
        super().__init__()
        self._model, self._background = copy.deepcopy(model).cpu(), background
        for layer in self._model.decoder:
            if isinstance(layer, nn.Conv2d):
                layer.padding = (0, 0)
        config, margin = model.config, model.margin
        self._size = config.height, config.width
        self._canvas = config.height + 2 * margin, config.width + 2 * margin
        self._own = torch.eye(config.objects, dtype=torch.bool)
        empty = torch.zeros(1, config.objects, *self._canvas)
        self._joining = self._model.background.decoder_input(empty)[:, config.objects :]

    def forward(
        self, cleaned: Float[Tensor, "b c h w"], z: Float[Tensor, "b n 2"], present: Bool[Tensor, "b n"]
    ) -> Comparison:
        """``cleaned`` are the frames with every unchanged pixel set to the background."""
        objects = self._model.config.objects
        windows = windows_around(z.flatten(end_dim=1), self._model)
        windows = windows.in_images(windows.image // objects)
        rows, columns = windows.clamped(self._size)
        background = cut_at(self._background, rows, columns)
        tall = cleaned.transpose(0, 1).flatten(start_dim=1, end_dim=2).unsqueeze(0)  # the frames below one another
        shown = cut_at(tall, rows + self._size[0] * windows.image[:, None, None], columns)
        inside = windows.pixels_inside(self._size)
        without, complete = (
            LayeredBackground.over(self._maps(z, rendered.flatten(end_dim=1), windows), background) * inside
            for rendered in (present[:, None] & ~self._own, present[:, None] | self._own)
        )
        return compare(complete, without, shown * inside, windows, objects)

    def _maps(
        self, z: Float[Tensor, "b n 2"], rendered: Bool[Tensor, "m n"], windows: Windows
    ) -> Float[Tensor, "m o h w"]:
        """The decoder's output in each window, for the objects that are ``rendered`` there."""
        config, margin = self._model.config, self._model.margin
        wider = windows.grown(margin)
        gaussians = gaussians_in(wider, z, config.sigma, config.support) * rendered[..., None, None]
        inputs = [gaussians]
        if self._model.background.input_maps:
            inputs.append(cut_at(self._joining, *wider.moved(margin).clamped(self._canvas)))
        maps: Tensor = self._model.decoder(torch.cat(inputs, dim=1))
        return maps
