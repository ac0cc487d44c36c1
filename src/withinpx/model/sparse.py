"""The same network, run only where its input differs from the background. Exact, not an approximation.

A layer's activations differ from the background's only within reach of a changed pixel. So the background is computed
once for the whole batch, and each image only in windows around its changes, which grow by each filter's reach.
Batch-norm's statistics and the softargmax's sum take the rest from the background. Zero padding at the border is
exact: pixels of a window outside the image are set to zero before every filter.

Windows of one image must stay apart until the last layer: join those closer than ``2 * (receptive_field // 2)``.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from withinpx.model.appearance import bounded, object_maps
from withinpx.model.autoencoder import Autoencoder, Latents
from withinpx.model.cnn import CNN, reach_of
from withinpx.model.field import Base, Field, Patch, dense_maps, masked
from withinpx.model.render import Peak, faintest_exponent, profile
from withinpx.model.softargmax import Softargmax, softargmax
from withinpx.model.windows import Windows, group_windows


def first_layer_reach(cnn: CNN) -> int:
    """Px around a window of change that the first filter reads to compute every output that the change affects."""
    first = next(layer for layer in cnn if isinstance(layer, nn.Conv2d))
    return 2 * reach_of(first)


def sparse_cnn(cnn: CNN, inputs: Field) -> Field:
    """The CNN over a field whose patches cover each window of change and ``first_layer_reach`` px around it."""
    first, *others = (layer for layer in cnn if isinstance(layer, nn.Conv2d))
    norms = [layer for layer in cnn if isinstance(layer, nn.BatchNorm2d)]
    patches = [patch.with_values(masked(patch.values, patch.windows, inputs.size)) for patch in inputs.patches]
    maps = _convolved(first, Field(inputs.count, inputs.base, patches))
    for norm, conv in zip(norms, others, strict=True):
        maps = _layer(norm, conv, maps)
    return maps


def _convolved(conv: nn.Conv2d, maps: Field) -> Field:
    reach, dilation = reach_of(conv), conv.dilation
    base = F.conv2d(maps.base.values, conv.weight, conv.bias, padding=reach, dilation=dilation)
    patches = [
        Patch(
            patch.windows.grown(-reach),
            F.conv2d(patch.values, conv.weight, conv.bias, dilation=dilation),
            patch.copies,
        )
        for patch in maps.patches
    ]
    return Field(maps.count, maps.base.with_values(base), patches)


def _layer(norm: nn.BatchNorm2d, conv: nn.Conv2d, maps: Field) -> Field:
    """Batch-norm, ReLU and the next filter, for which the windows grow."""
    around = 2 * reach_of(conv)
    wider = [patch.windows.grown(around) for patch in maps.patches]
    composites = [maps.base.cut(windows) for windows in wider]
    base_values = [_middle(composite, around).clone() for composite in composites]
    scale, shift = _normalisation(norm, maps, base_values)
    base = maps.base.with_values(F.relu(torch.addcmul(shift, maps.base.values, scale)))
    patches = []
    for windows, composite, patch in zip(wider, composites, maps.patches, strict=True):
        if around:
            _middle(composite, around).copy_(patch.values)
        values = F.relu(torch.addcmul(shift, composite if around else patch.values, scale))
        patches.append(Patch(windows, masked(values, windows, maps.size), patch.copies))
    return _convolved(conv, Field(maps.count, base, patches))


def sparse_softargmax(heatmaps: Field, temperature: float) -> tuple[Float[Tensor, "b n 2"], Float[Tensor, "b n"]]:
    """Eq. 5 over the whole map, from the base's sums and the windows; and the logarithm of its denominator."""
    base = heatmaps.base.with_values(heatmaps.base.values / temperature)
    counts, (y, x) = base.counts(), (axis.centres.to(base.values.dtype) for axis in (base.rows, base.columns))
    shared = (base.values + counts.log()).flatten(start_dim=-2)  # minus infinity for stored pixels outside the map
    everywhere = shared.logsumexp(dim=-1)  # (1, n)
    weights = shared.softmax(dim=-1).view_as(base.values)
    centre = torch.stack([(weights.sum(dim=-2) * x).sum(dim=-1), (weights.sum(dim=-1) * y).sum(dim=-1)], dim=-1)
    largest = base.values.detach().amax(dim=(-2, -1)).repeat(heatmaps.count, 1)
    for patch in heatmaps.patches:
        peaks = (patch.values.detach() / temperature).amax(dim=(-2, -1))
        largest.scatter_reduce_(0, patch.windows.image[:, None].expand_as(peaks), peaks, "amax")
    mass = torch.exp(everywhere - largest)  # (b, n)
    moments = mass.unsqueeze(-1) * centre
    for patch in heatmaps.patches:
        image = patch.windows.image
        highest = largest[image][..., None, None]
        excess = _exp(patch.values / temperature - highest) - _exp(base.cut(patch.windows) - highest)
        excess = masked(excess, patch.windows, heatmaps.size)
        columns, rows = patch.windows.columns()[:, None] + 0.5, patch.windows.rows()[:, None] + 0.5
        x, y = (excess.sum(dim=-2) * columns).sum(dim=-1), (excess.sum(dim=-1) * rows).sum(dim=-1)
        mass = mass.index_add(0, image, excess.sum(dim=(-2, -1)))
        moments = moments.index_add(0, image, torch.stack([x, y], dim=-1))
    return moments / mass.unsqueeze(-1), mass.log() + largest


def sparse_latents(model: Autoencoder, maps: Field) -> tuple[Latents, Float[Tensor, "b n"]]:
    """``Autoencoder.read`` from the encoder's maps, and the logarithm of the softargmax's denominator."""
    objects, temperature = model.config.objects, model.config.temperature
    heatmaps, shared = maps.channels(slice(objects)), maps.channels(slice(objects, None))
    if model.config.softargmax is not Softargmax.JOINT:  # these treat every line of the map apart
        full = dense_maps(heatmaps)
        positions, log_mass = (
            softargmax(full, temperature, model.config.softargmax),
            (full / temperature).logsumexp((-2, -1)),
        )
    else:
        positions, log_mass = sparse_softargmax(heatmaps, temperature)
    if not model.config.appearance:
        return Latents(positions, positions.new_zeros(*positions.shape[:2], 0)), log_mass
    return Latents(positions, bounded(_means(heatmaps, shared, temperature, log_mass))), log_mass


def _means(heatmaps: Field, maps: Field, temperature: float, log_mass: Float[Tensor, "b n"]) -> Float[Tensor, "b n k"]:
    """The mean of each map under each heatmap's softargmax weights, whose denominator is known."""
    base, values = heatmaps.base.with_values(heatmaps.base.values / temperature), maps.base.values
    shared = (base.values + base.counts().log()).flatten(start_dim=-2)
    weights = shared.softmax(dim=-1).view_as(base.values)
    everywhere = torch.einsum("nhw,khw->nk", weights[0], values[0])
    means = torch.exp(shared.logsumexp(dim=-1) - log_mass).unsqueeze(-1) * everywhere
    for patch, own in zip(heatmaps.patches, maps.patches, strict=True):
        image = patch.windows.image
        mass = log_mass[image][..., None, None]
        here = masked(_exp(patch.values / temperature - mass), patch.windows, heatmaps.size)
        before = masked(_exp(base.cut(patch.windows) - mass), patch.windows, heatmaps.size)
        excess = torch.einsum("mnhw,mkhw->mnk", here, own.values)
        excess = excess - torch.einsum("mnhw,mkhw->mnk", before, maps.base.cut(patch.windows))
        means = means.index_add(0, image, excess)
    return means


def _exp(values: Tensor) -> Tensor:
    return torch.exp(values.clamp(min=faintest_exponent(values.dtype)))


def sparse_decoder_maps(
    model: Autoencoder,
    positions: Float[Tensor, "b n 2"],
    present: Bool[Tensor, "b n"] | None = None,
    codes: Float[Tensor, "b n k"] | None = None,
) -> Field:
    """``Autoencoder.decoder_maps`` as one map for the whole batch and a window around each object."""
    config, margin = model.config, model.margin
    canvas = (config.height + 2 * margin, config.width + 2 * margin)
    if model.background.input_maps:
        base = Base.whole(model.background.decoder_input(positions.new_zeros(1, config.object_maps, *canvas)))
    else:
        base = Base.uniform(canvas, config.object_maps, config.decoder_rf // 2, positions)
    patches = []
    for windows in _windows_around(positions.detach() + margin, model):
        wider = windows.grown(first_layer_reach(model.decoder))
        others = base.cut(wider)[:, config.object_maps :]
        gaussians = gaussians_in(wider, positions + margin, config.sigma, config.support, config.peak)
        if present is not None:
            gaussians = gaussians * present[wider.image][..., None, None]
        own = object_maps(gaussians, None if codes is None else codes[wider.image], config.appearance)
        patches.append(Patch(wider, torch.cat([own, others], dim=1)))
    maps = sparse_cnn(model.decoder, Field(len(positions), base, patches))
    moved = [Patch(patch.windows.moved(-margin), patch.values) for patch in maps.patches]
    return Field(len(positions), maps.base.cropped(margin), moved)


def _normalisation(norm: nn.BatchNorm2d, maps: Field, base_values: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Batch-norm as ``scale * x + shift``; in training from the statistics of all pixels of all images."""
    mean, variance, _ = _running(norm)
    if norm.training:
        count = maps.count * maps.size[0] * maps.size[1]
        mean = maps.base.mean(maps.base.values)
        pairs = [
            (masked(patch.values, patch.windows, maps.size), masked(base, patch.windows, maps.size))
            for patch, base in zip(maps.patches, base_values, strict=True)
        ]
        shares = [patch.copies / count for patch in maps.patches]
        for (value, base), share in zip(pairs, shares, strict=True):
            mean = mean + (value - base).sum(dim=(0, -2, -1)) * share
        centre = mean[:, None, None]
        variance = maps.base.mean((maps.base.values - centre) ** 2)
        for (value, base), share in zip(pairs, shares, strict=True):
            # (value - mean)^2 - (base - mean)^2, without cancellation
            excess = ((value - base) * (value + base - 2 * centre)).sum(dim=(0, -2, -1))
            variance = variance + excess * share
        _update_running(norm, mean.detach(), variance.detach() * (count / (count - 1)))
    scale = norm.weight * torch.rsqrt(variance + norm.eps)
    return scale[:, None, None], (norm.bias - mean * scale)[:, None, None]


def _update_running(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor) -> None:
    """The running averages, as nn.BatchNorm2d computes them."""
    running_mean, running_variance, batches = _running(norm)
    batches += 1
    weight = 1 / batches.to(mean.dtype) if norm.momentum is None else torch.full_like(mean, norm.momentum)
    running_mean.lerp_(mean, weight)
    running_variance.lerp_(variance, weight)


def _running(norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor, Tensor]:
    mean, variance, batches = norm.running_mean, norm.running_var, norm.num_batches_tracked
    if mean is None or variance is None or batches is None:
        raise TypeError("a batch-norm without running statistics")
    return mean, variance, batches


def _windows_around(positions: Tensor, model: Autoencoder) -> list[Windows]:
    """Windows of all pixels where a Gaussian at one of these positions is not zero, near ones joined."""
    reach = int(gaussian_reach(model, positions.dtype) + 0.5)
    corners = positions.floor().long() - reach
    side = 2 * reach + 1
    if corners.shape[1] == 1:
        left, top = corners[:, 0].T
        return [Windows(torch.arange(len(corners), device=positions.device), top, left, side, side)]
    boxes = [[(top, left, top + side, left + side) for left, top in image] for image in corners.tolist()]
    return group_windows(boxes, 2 * (model.config.decoder_rf // 2), positions.device)


def gaussian_reach(model: Autoencoder, dtype: torch.dtype) -> float:
    """The radius beyond which a Gaussian is zero to the precision of ``dtype``, px."""
    config = model.config
    if config.support is not None:
        return config.support
    smallest = 1e-3 * torch.finfo(dtype).eps  # the layers may amplify it a few hundred times: batch-norm's 1 / eps
    return config.sigma * math.sqrt(2 * math.log(1 / smallest))


def gaussians_in(
    windows: Windows,
    positions: Float[Tensor, "b n 2"],
    sigma: float,
    support: float | None = None,
    peak: Peak = Peak.ONE,
) -> Float[Tensor, "m n h w"]:
    """``render`` of these positions in each window."""
    own = positions[windows.image]
    x, y = own[..., :1] - (windows.columns()[:, None] + 0.5), own[..., 1:] - (windows.rows()[:, None] + 0.5)
    along_y = profile(y, sigma, support) * peak.height(sigma)
    return along_y.unsqueeze(-1) * profile(x, sigma, support).unsqueeze(-2)


def _middle(values: Tensor, around: int) -> Tensor:
    height, width = values.shape[-2:]
    return values[..., around : height - around, around : width - around]
