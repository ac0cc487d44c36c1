"""The same network, run only where its input differs from the background. Exact, not an approximation.

A layer's activations differ from the background's only within reach of what changed. So the background is computed
once, for one picture, and beside it only windows around the changes, which grow by half a filter per layer. The
statistics of batch-norm and the sum of the softargmax take the rest from the background. Zero padding at the border is
honoured layer by layer: what a window has outside the picture is zero before every filter.

Windows of one picture must stay apart until the last layer: join those closer than ``2 * (receptive_field // 2)``.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.model.cnn import CNN
from withinpx.model.field import Base, Field, Patch, masked
from withinpx.model.render import faintest_exponent, profile
from withinpx.model.windows import Windows, cut, group_windows


def first_layer_reach(cnn: CNN) -> int:
    """How far around a window of change the first filter has to look to see all that it touches, px."""
    first = next(layer for layer in cnn if isinstance(layer, nn.Conv2d))
    return 2 * (first.kernel_size[0] // 2)


def sparse_cnn(cnn: CNN, inputs: Field) -> Field:
    """The CNN over a field whose patches show each window of change and ``first_layer_reach`` px around it."""
    first, *others = (layer for layer in cnn if isinstance(layer, nn.Conv2d))
    norms = [layer for layer in cnn if isinstance(layer, nn.BatchNorm2d)]
    patches = [patch.holding(masked(patch.values, patch.windows, inputs.size)) for patch in inputs.patches]
    maps = _convolved(first, Field(inputs.pictures, inputs.base, patches))
    for norm, conv in zip(norms, others, strict=True):
        maps = _layer(norm, conv, maps)
    return maps


def _convolved(conv: nn.Conv2d, maps: Field) -> Field:
    reach = conv.kernel_size[0] // 2
    base = maps.base.holding(F.conv2d(maps.base.values, conv.weight, conv.bias, padding=reach))
    patches = [
        Patch(patch.windows.grown(-reach), F.conv2d(patch.values, conv.weight, conv.bias), patch.times)
        for patch in maps.patches
    ]
    return Field(maps.pictures, base, patches)


def _layer(norm: nn.BatchNorm2d, conv: nn.Conv2d, maps: Field) -> Field:
    """Batch-norm, ReLU and the filter that follows, for which the windows grow."""
    around = 2 * (conv.kernel_size[0] // 2)
    wider = [patch.windows.grown(around) for patch in maps.patches]
    composites = [maps.base.cut(windows) for windows in wider]
    behind = [_middle(composite, around) for composite in composites]
    scale, shift = _normalisation(norm, maps, behind)
    base = maps.base.holding(F.relu(torch.addcmul(shift, maps.base.values, scale)))
    patches = []
    for windows, composite, patch in zip(wider, composites, maps.patches, strict=True):
        values = F.relu(torch.addcmul(shift, _with_middle(composite, patch.values, around), scale))
        patches.append(Patch(windows, masked(values, windows, maps.size), patch.times))
    return _convolved(conv, Field(maps.pictures, base, patches))


def sparse_softargmax(heatmaps: Field, temperature: float) -> tuple[Float[Tensor, "b n 2"], Float[Tensor, "b n"]]:
    """Eq. 5 over the whole map, from the background's sums and the windows; and the logarithm of its denominator."""
    base = heatmaps.base.holding(heatmaps.base.values / temperature)
    counts, (y, x) = base.counts(), (lines.centres.to(base.values.dtype) for lines in (base.rows, base.columns))
    shared = (base.values + counts.log()).flatten(start_dim=-2)  # minus infinity for what is kept but not in the map
    everywhere = shared.logsumexp(dim=-1)  # (1, n)
    weights = shared.softmax(dim=-1).view_as(base.values)
    centre = torch.stack([(weights.sum(dim=-2) * x).sum(dim=-1), (weights.sum(dim=-1) * y).sum(dim=-1)], dim=-1)
    largest = base.values.detach().amax(dim=(-2, -1)).repeat(heatmaps.pictures, 1)
    for patch in heatmaps.patches:
        peaks = (patch.values.detach() / temperature).amax(dim=(-2, -1))
        largest.scatter_reduce_(0, patch.windows.picture[:, None].expand_as(peaks), peaks, "amax")
    mass = torch.exp(everywhere - largest)  # (b, n)
    moments = mass.unsqueeze(-1) * centre
    for patch in heatmaps.patches:
        picture = patch.windows.picture
        highest = largest[picture][..., None, None]
        more = _exp(patch.values / temperature - highest) - _exp(base.cut(patch.windows) - highest)
        more = masked(more, patch.windows, heatmaps.size)
        columns, rows = patch.windows.columns()[:, None] + 0.5, patch.windows.rows()[:, None] + 0.5
        x, y = (more.sum(dim=-2) * columns).sum(dim=-1), (more.sum(dim=-1) * rows).sum(dim=-1)
        mass = mass.index_add(0, picture, more.sum(dim=(-2, -1)))
        moments = moments.index_add(0, picture, torch.stack([x, y], dim=-1))
    return moments / mass.unsqueeze(-1), mass.log() + largest


def _exp(values: Tensor) -> Tensor:
    return torch.exp(values.clamp(min=faintest_exponent(values.dtype)))


def sparse_decoder_maps(
    model: Autoencoder, positions: Float[Tensor, "b n 2"], present: Bool[Tensor, "b n"] | None = None
) -> Field:
    """The decoder's own maps for objects at these positions, as one map for all and a window around each object."""
    config, margin = model.config, model.margin
    canvas = (config.height + 2 * margin, config.width + 2 * margin)
    if model.background.input_maps:
        base = Base.whole(model.background.beside(positions.new_zeros(1, config.objects, *canvas), None))
    else:
        base = Base.even(canvas, config.objects, config.decoder_rf // 2, positions)
    patches = []
    for windows in _windows_around(positions.detach() + margin, model):
        wider = windows.grown(first_layer_reach(model.decoder))
        known = base.cut(wider)[:, config.objects :]
        gaussians = gaussians_in(wider, positions + margin, config.sigma, config.support)
        if present is not None:
            gaussians = gaussians * present[wider.picture][..., None, None]
        patches.append(Patch(wider, torch.cat([gaussians, known], dim=1)))
    drawn = sparse_cnn(model.decoder, Field(len(positions), base, patches))
    inner = drawn.base.inner(margin)
    moved = [Patch(patch.windows.moved(-margin), patch.values) for patch in drawn.patches]
    return Field(len(positions), inner, moved)


def sparse_decode(model: Autoencoder, positions: Float[Tensor, "b n 2"]) -> Field:
    """Pictures with the objects at these positions, as one background and a window around each object."""
    drawn = sparse_decoder_maps(model, positions)
    if not isinstance(model.background, LayeredBackground):
        return drawn
    still = model.background.still.unsqueeze(0)
    over = LayeredBackground.over
    patches = [Patch(p.windows, over(p.values, cut(still, p.windows))) for p in drawn.patches]
    return Field(drawn.pictures, Base.whole(over(drawn.base.spread(), still)), patches)


def _normalisation(norm: nn.BatchNorm2d, maps: Field, behind: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Batch-norm as ``scale * x + shift``; in training from the statistics of all pixels of all pictures."""
    mean, variance, _ = _running(norm)
    if norm.training:
        count = maps.pictures * maps.size[0] * maps.size[1]
        mean = maps.base.mean(maps.base.values)
        pairs = [
            (masked(patch.values, patch.windows, maps.size), masked(base, patch.windows, maps.size))
            for patch, base in zip(maps.patches, behind, strict=True)
        ]
        times = [patch.times for patch in maps.patches]
        for (value, base), often in zip(pairs, times, strict=True):
            mean = mean + (value - base).sum(dim=(0, -2, -1)) * (often / count)
        centre = mean[:, None, None]
        variance = maps.base.mean((maps.base.values - centre) ** 2)
        for (value, base), often in zip(pairs, times, strict=True):  # (value - mean)^2 - (base - mean)^2, no cancelling
            more = ((value - base) * (value + base - 2 * centre)).sum(dim=(0, -2, -1))
            variance = variance + more * (often / count)
        _remember(norm, mean.detach(), variance.detach() * (count / (count - 1)))
    scale = norm.weight * torch.rsqrt(variance + norm.eps)
    return scale[:, None, None], (norm.bias - mean * scale)[:, None, None]


def _remember(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor) -> None:
    """The running averages, as nn.BatchNorm2d keeps them."""
    running_mean, running_variance, seen = _running(norm)
    seen += 1
    weight = 1 / seen.to(mean.dtype) if norm.momentum is None else torch.full_like(mean, norm.momentum)
    running_mean.lerp_(mean, weight)
    running_variance.lerp_(variance, weight)


def _running(norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor, Tensor]:
    mean, variance, seen = norm.running_mean, norm.running_var, norm.num_batches_tracked
    if mean is None or variance is None or seen is None:
        raise TypeError("a batch-norm without running statistics")
    return mean, variance, seen


def _windows_around(positions: Tensor, model: Autoencoder) -> list[Windows]:
    """Windows of all pixels that a Gaussian at one of these positions touches, near ones joined."""
    reach = int(gaussian_reach(model, positions.dtype) + 0.5)
    corners = positions.floor().long() - reach
    side = 2 * reach + 1
    pictures, objects = corners.shape[:2]
    if objects == 1:
        left, top = corners[:, 0].T
        return [Windows(torch.arange(pictures, device=positions.device), top, left, side, side)]
    boxes = [[(top, left, top + side, left + side) for left, top in places] for places in corners.tolist()]
    return group_windows(boxes, 2 * (model.config.decoder_rf // 2), positions.device)


def gaussian_reach(model: Autoencoder, dtype: torch.dtype) -> float:
    """How far from its centre a Gaussian is anything but zero to the precision of ``dtype``, px."""
    config = model.config
    if config.support is not None:
        return config.support
    smallest = 1e-3 * torch.finfo(dtype).eps  # what follows may enlarge it a few hundred times: batch-norm's 1 / eps
    return float(config.sigma * (2 * torch.log(torch.tensor(1 / smallest, dtype=torch.float64))).sqrt())


def gaussians_in(
    windows: Windows, positions: Float[Tensor, "b n 2"], sigma: float, support: float | None = None
) -> Float[Tensor, "m n h w"]:
    """What ``render`` shows of these positions in each window."""
    there = positions[windows.picture]
    x, y = there[..., :1] - (windows.columns()[:, None] + 0.5), there[..., 1:] - (windows.rows()[:, None] + 0.5)
    return profile(y, sigma, support).unsqueeze(-1) * profile(x, sigma, support).unsqueeze(-2)


def _middle(values: Tensor, around: int) -> Tensor:
    height, width = values.shape[-2:]
    return values[..., around : height - around, around : width - around].clone()


def _with_middle(values: Tensor, middle: Tensor, around: int) -> Tensor:
    if not around:
        return middle
    height, width = values.shape[-2:]
    values[..., around : height - around, around : width - around] = middle
    return values
