"""The CNN that both the encoder and the decoder are (app. C.1)."""

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn

from withinpx.theory.receptive_field import filters_for

CHANNELS = 32


class CNN(nn.Sequential):
    """Five conv-BN-ReLU layers with exactly the receptive field asked for, and no stride or pooling.

    The last layer has neither BN nor ReLU: its output is a heatmap or a picture, and a ReLU would cut off its
    gradient. Zero padding keeps the size, so translation equivariance is exact for whatever is at least half a
    receptive field away from the border.
    """

    def __init__(self, inputs: int, outputs: int, receptive_field: int, channels: int = CHANNELS) -> None:
        self.receptive_field = receptive_field
        super().__init__(*self._layers(inputs, outputs, filters_for(receptive_field), channels))

    @staticmethod
    def _layers(inputs: int, outputs: int, filters: tuple[int, ...], channels: int) -> Iterator[nn.Module]:
        *hidden, last = filters
        for size in hidden:
            # BN subtracts any constant, so a bias before it would be dead weight
            yield nn.Conv2d(inputs, channels, size, padding=size // 2, bias=False)
            yield nn.BatchNorm2d(channels)
            yield nn.ReLU()
            inputs = channels
        yield nn.Conv2d(inputs, outputs, last, padding=last // 2)

    def forward(self, maps: Float[Tensor, "b i h w"]) -> Float[Tensor, "b o h w"]:
        """One pass; the picture keeps its size."""
        for layer in self:
            maps = layer(maps)
        return maps
