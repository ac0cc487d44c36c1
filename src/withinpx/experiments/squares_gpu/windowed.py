"""Sparse execution (model/sparse.py) on a GPU: one window in every image, forward and backward by Triton kernels.

Filters and maps are stored in float32, or in half precision, whose ten bits are those of TensorFloat-32.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from withinpx.experiments.squares_gpu import kernels
from withinpx.model.cnn import CNN
from withinpx.model.render import Peak, faintest_exponent

SUM_BLOCK = 256  # pixels of one partial sum
ROWS = 64  # partial sums that are added at once
FEWEST_OUTPUTS = 8  # of a filter on a tensor core; fewer are padded with zeros


@dataclass(frozen=True)
class SquareWindows:
    """One window in each image: square, ``side`` px, beginning ``grow`` px up and left of its corner (x, y)."""

    corner: Int[Tensor, "m 2"]
    grow: int
    side: int
    copies: int = 1  # images that each window stands for

    def __len__(self) -> int:
        return len(self.corner)

    def grown(self, by: int) -> "SquareWindows":
        """Larger by ``by`` px on every side."""
        return SquareWindows(self.corner, self.grow + by, self.side + 2 * by, self.copies)

    @property
    def pixels(self) -> int:
        return len(self) * self.side**2

    @property
    def images(self) -> int:
        return len(self) * self.copies


@dataclass(frozen=True)
class LayerState:
    """What the backward pass of a layer needs; its ``values`` lie within ``windows``."""

    windows: SquareWindows
    values: Float[Tensor, "m c h w"]
    base: Float[Tensor, "1 c H W"]
    norm: Float[Tensor, "4 c"]  # scale, shift, mean and 1 / s.d. of batch-norm
    active: Float[Tensor, "m c a a"]  # in windows widened for the filter that follows
    active_base: Float[Tensor, "1 c H W"]
    weight: Float[Tensor, "o c k k"]  # of the filter that follows, as it was used


def windowed_cnn(
    cnn: CNN,
    base: Float[Tensor, "1 c H W"],
    patch: Float[Tensor, "m c h w"],
    windows: SquareWindows,
    *,
    stored: torch.dtype,
    full_output: bool,
) -> tuple[Float[Tensor, "1 o H W"], Float[Tensor, "m o s s"], SquareWindows]:
    """The CNN over a background and over windows in it; ``full_output``: its last filter is not rounded.

    Maps between the filters are ``stored`` in this format. Channels of the input that the CNN lacks are ignored.
    """
    convs = [layer for layer in cnn if isinstance(layer, nn.Conv2d)]
    norms = [layer for layer in cnn if isinstance(layer, nn.BatchNorm2d)]
    first = F.pad(convs[0].weight, (0, 0, 0, 0, 0, base.shape[1] - convs[0].in_channels))
    weights = [first, *(conv.weight for conv in convs[1:])]
    parameters = [*weights, convs[-1].bias, *(p for n in norms for p in (n.weight, n.bias))]
    base_out, patch_out = _WindowedCNN.apply(base, patch, windows, norms, stored, full_output, *parameters)  # type: ignore[no-untyped-call]
    reaches = [conv.kernel_size[0] // 2 for conv in convs]
    return base_out, patch_out, windows.grown(sum(reaches[1:]) - reaches[0])


class _WindowedCNN(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[no-untyped-def]  # noqa: PLR0917
        ctx,
        base: Tensor,
        patch: Tensor,
        windows: SquareWindows,
        norms: list[nn.BatchNorm2d],
        stored: torch.dtype,
        full_output: bool,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        count = len(norms) + 1
        weights, bias = parameters[:count], parameters[count]
        reach = weights[0].shape[-1] // 2
        base, patch = _channels_last(base), _channels_last(patch)
        ctx.first = base, patch
        values, base = F.conv2d(patch, weights[0]).to(stored), F.conv2d(base, weights[0], padding=reach).to(stored)
        windows = windows.grown(-reach)
        ctx.layers = []
        for norm, weight in zip(norms, weights[1:], strict=True):
            last = weight is weights[-1]
            factor = weight.detach() if last and full_output else _wide(weight.detach().to(stored))
            layer = _activated(norm, values, base, windows, factor)
            ctx.layers.append(layer)
            reach = weight.shape[-1] // 2
            window_maps, base_maps = layer.active.to(factor.dtype), layer.active_base.to(factor.dtype)
            values, base = F.conv2d(window_maps, factor), F.conv2d(base_maps, factor, padding=reach)
            windows = windows.grown(reach)
        outputs = len(weights[-1])
        ctx.shapes = [weight.shape for weight in weights]
        ctx.weight, ctx.stored = weights[0], stored
        values, base = values[:, :outputs].float(), base[:, :outputs].float()
        return base + bias[:, None, None], values + bias[:, None, None]

    @staticmethod
    def backward(ctx, of_base: Tensor, of_values: Tensor) -> tuple[Any, ...]:  # type: ignore[no-untyped-def]
        of_bias = of_base.sum(dim=(0, 2, 3)) + of_values.sum(dim=(0, 2, 3))
        of_weights: list[Tensor] = []
        of_norms: list[Tensor] = []
        unit = of_base.new_ones(1)
        factor = ctx.layers[-1].weight
        fill = (0, 0, 0, 0, 0, len(factor) - of_base.shape[1])
        of_base, of_values = F.pad(of_base, fill), F.pad(of_values, fill)
        if factor.dtype is torch.half:
            largest = torch.maximum(of_base.abs().amax(), of_values.abs().amax())
            unit = kernels.HEADROOM.value * largest.clamp(min=1e-30).view(1)
            of_base, of_values = ((gradient / unit).to(factor.dtype) for gradient in (of_base, of_values))
        for index in range(len(ctx.layers) - 1, -1, -1):
            layer, shape = ctx.layers[index], ctx.shapes[index + 1]
            of_active, from_windows = _filter_back(of_values, layer.active, layer.weight, padded=False)
            of_active_base, from_base = _filter_back(of_base, layer.active_base, layer.weight, padded=True)
            of_weights.insert(0, (from_windows.float() + from_base.float())[: shape[0]] * unit)
            of_values, of_base, unit, of_scale, of_shift = _gradients(
                layer, of_active, of_active_base, unit, to=ctx.stored if index else torch.float32
            )
            of_norms[:0] = [of_scale, of_shift]
        base, patch = ctx.first
        wanted = ctx.needs_input_grad[1]
        of_patch, from_windows = _filter_back(of_values, patch, ctx.weight, padded=False, of_maps=wanted)
        of_base_in, from_base = _filter_back(of_base, base, ctx.weight, padded=True, of_maps=wanted)
        of_weights.insert(0, from_windows + from_base)
        return of_base_in, of_patch, None, None, None, None, *of_weights, of_bias, *of_norms


def _activated(
    module: nn.BatchNorm2d, values: Tensor, base: Tensor, windows: SquareWindows, weight: Tensor
) -> LayerState:
    """Batch-norm and ReLU, in windows widened for the filter that follows."""
    values, base = _channels_last(values), _channels_last(base)
    channels, (height, width) = values.shape[1], base.shape[-2:]
    images = windows.images
    count = images * height * width
    in_windows, in_base = _blocks(windows.pixels, SUM_BLOCK), _blocks(height * width, SUM_BLOCK)
    partial = values.new_empty((in_windows + in_base, 2, channels), dtype=torch.float32)
    side, grow = windows.side, windows.grow
    kernels.statistics[(in_windows + in_base,)](
        values, base, windows.corner, partial, windows.pixels, side, side, grow, height, width, in_windows,
        windows.copies, images, C=channels, BLOCK=SUM_BLOCK, num_warps=8,
    )  # fmt: skip
    norm = values.new_empty((4, channels), dtype=torch.float32)
    momentum = -1.0 if module.momentum is None else module.momentum
    kernels.normalisation[(1,)](
        partial, len(partial), base, module.weight, module.bias, module.running_mean, module.running_var,
        module.num_batches_tracked, norm, float(count), momentum, module.eps, height, width, C=channels, ROWS=ROWS,
        num_warps=8,
    )  # fmt: skip
    around = 2 * (weight.shape[-1] // 2)
    wider = windows.grown(around)
    active = _empty(len(windows), channels, wider.side, wider.side, like=values)
    active_base = torch.empty_like(base)
    in_windows, in_base = _blocks(wider.pixels, kernels.BLOCK), _blocks(height * width, kernels.BLOCK)
    kernels.activation[(in_windows + in_base,)](
        values, base, windows.corner, norm, active, active_base, wider.pixels, side, side, grow, around, height, width,
        in_windows, C=channels, BLOCK=kernels.BLOCK,
    )  # fmt: skip
    return LayerState(windows, values, base, norm, active, active_base, weight)


def _gradients(
    layer: LayerState, of_active: Tensor, of_active_base: Tensor, unit: Tensor, *, to: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the maps before batch-norm, divided by their unit (one in float32), and of weight and bias."""
    windows, values, base = layer.windows, layer.values, layer.base
    of_active, of_active_base = _channels_last(of_active), _channels_last(of_active_base)
    channels, (height, width) = values.shape[1], base.shape[-2:]
    side, grow = windows.side, windows.grow
    around = (layer.active.shape[-1] - side) // 2
    wider = windows.grown(around)
    in_windows, in_base = _blocks(wider.pixels, SUM_BLOCK), _blocks(height * width, SUM_BLOCK)
    partial = values.new_empty((in_windows + in_base, 3, channels), dtype=torch.float32)
    kernels.gradient_sums[(in_windows + in_base,)](
        values, base, layer.active, layer.active_base, of_active, of_active_base, windows.corner, partial,
        wider.pixels, side, side, grow, around, height, width, in_windows, C=channels, BLOCK=SUM_BLOCK, num_warps=8,
    )  # fmt: skip
    of_scale, of_shift = partial.new_empty(channels), partial.new_empty(channels)
    terms, new_unit = partial.new_empty((2, channels)), torch.empty_like(unit)
    images = windows.images
    kernels.gradient_terms[(1,)](
        partial, len(partial), base, layer.norm, unit, new_unit, of_scale, of_shift, terms,
        float(images * height * width), images, height, width, C=channels, ROWS=ROWS, num_warps=8,
    )  # fmt: skip
    if to is torch.float32:
        new_unit = torch.ones_like(unit)
    of_values, of_base = torch.empty_like(values, dtype=to), torch.empty_like(base, dtype=to)
    in_windows, in_base = _blocks(windows.pixels, kernels.BLOCK), _blocks(height * width, kernels.BASE)
    kernels.gradient[(in_windows + in_base,)](
        values, base, layer.active, layer.active_base, of_active, of_active_base, windows.corner, layer.norm, terms,
        unit, new_unit, of_values, of_base, windows.pixels, len(windows), side, side, grow, around, height, width,
        in_windows, windows.copies, images, C=channels, BLOCK=kernels.BLOCK, BASE=kernels.BASE,
    )  # fmt: skip
    return of_values, of_base, new_unit, of_scale, of_shift


def spread(
    base: Float[Tensor, "1 1 H W"], patch: Float[Tensor, "m 1 h w"], windows: SquareWindows
) -> Float[Tensor, "b 1 H W"]:
    """The map of every image in full; a single patch serves all windows."""
    maps: Tensor = _Spread.apply(base, patch, windows)  # type: ignore[no-untyped-call]
    return maps


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx, base: Tensor, patch: Tensor, windows: SquareWindows) -> Tensor:  # type: ignore[no-untyped-def]
        height, width = base.shape[-2:]
        maps = base.new_empty(len(windows), 1, height, width)
        kernels.spread[(len(windows), _blocks(height * width, SUM_BLOCK))](
            patch.contiguous(), base.contiguous(), windows.corner, maps, windows.side, windows.side, windows.grow,
            height, width, int(len(patch) > 1), BLOCK=SUM_BLOCK,
        )  # fmt: skip
        ctx.windows, ctx.one_for_all = windows, len(patch) < len(windows)
        return maps

    @staticmethod
    def backward(ctx, of_maps: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[no-untyped-def]
        windows, (height, width) = ctx.windows, of_maps.shape[-2:]
        of_patch = of_maps.new_empty(len(windows), 1, windows.side, windows.side)
        of_base = of_maps.new_empty(1, 1, height, width)
        in_windows = _blocks(windows.pixels, kernels.BLOCK)
        kernels.spread_back[(in_windows + _blocks(height * width, kernels.BLOCK),)](
            of_maps.contiguous(), windows.corner, of_patch, of_base, len(windows), windows.pixels, windows.side,
            windows.side, windows.grow, height, width, in_windows, BLOCK=kernels.BLOCK,
        )  # fmt: skip
        return of_base, of_patch.sum(dim=0, keepdim=True) if ctx.one_for_all else of_patch, None


def decoder_input(
    positions: Float[Tensor, "m 2"], base: Float[Tensor, "1 c H W"], windows: SquareWindows, sigma: float, peak: Peak
) -> Float[Tensor, "m c h w"]:
    """The base's maps in each window, the first of them replaced by a Gaussian."""
    patch: Tensor = _DecoderInput.apply(positions, base, windows, sigma, peak.height(sigma))  # type: ignore[no-untyped-call]
    return patch


class _DecoderInput(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[no-untyped-def]  # noqa: PLR0917
        ctx, positions: Tensor, base: Tensor, windows: SquareWindows, sigma: float, peak: float
    ) -> Tensor:
        positions, base = positions.contiguous(), _channels_last(base)
        channels, (height, width) = base.shape[1], base.shape[-2:]
        patch = _empty(len(windows), channels, windows.side, windows.side, like=base)
        ctx.windows, ctx.over, ctx.size = windows, 1 / (2 * sigma**2), (height, width)
        kernels.decoder_input[(_blocks(windows.pixels, kernels.BLOCK),)](
            positions, base, windows.corner, patch, windows.pixels, windows.side, windows.side, windows.grow, height,
            width, ctx.over, peak, faintest_exponent(positions.dtype), C=channels, BLOCK=kernels.BLOCK,
        )  # fmt: skip
        ctx.save_for_backward(positions, patch)
        return patch

    @staticmethod
    def backward(ctx, of_patch: Tensor) -> tuple[Tensor, Tensor, None, None, None]:  # type: ignore[no-untyped-def]
        positions, patch = ctx.saved_tensors
        windows, (height, width), channels = ctx.windows, ctx.size, patch.shape[1]
        of_positions = torch.empty_like(positions)
        of_base = _empty(1, channels, height, width, like=patch)
        kernels.decoder_input_back[(len(windows) + _blocks(height * width, kernels.BLOCK),)](
            positions, _channels_last(of_patch), patch, windows.corner, of_positions, of_base, len(windows),
            windows.side, windows.side, windows.grow, height, width, ctx.over, C=channels, BLOCK=kernels.BLOCK,
        )  # fmt: skip
        return of_positions, of_base, None, None, None


def _filter_back(
    gradient: Tensor, maps: Tensor, weight: Tensor, *, padded: bool, of_maps: bool = True
) -> tuple[Any, Tensor]:
    """The gradients of a convolution's maps, if ``of_maps``, and of its weight."""
    padding = [weight.shape[-1] // 2 if padded else 0] * 2
    gradient, maps, wanted = _channels_last(gradient), maps.to(weight.dtype), [of_maps, True, False]
    found, of_weight, _ = torch.ops.aten.convolution_backward(
        gradient, maps, weight, None, [1, 1], padding, [1, 1], False, [0, 0], 1, wanted
    )
    return found, of_weight


def _channels_last(maps: Tensor) -> Tensor:
    return maps.contiguous(memory_format=torch.channels_last)


def _empty(count: int, channels: int, height: int, width: int, *, like: Tensor) -> Tensor:
    return like.new_empty(count, height, width, channels).permute(0, 3, 1, 2)


def _wide(weight: Tensor) -> Tensor:
    """Padded to enough outputs for a tensor core."""
    missing = FEWEST_OUTPUTS - len(weight)
    return _channels_last(F.pad(weight, (0, 0, 0, 0, 0, 0, 0, missing)) if missing > 0 else weight)


def _blocks(pixels: int, block: int) -> int:
    return -(-pixels // block)
