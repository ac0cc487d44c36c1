"""A detector as modules of operations that ONNX has: its heatmaps alone, or all that a frame says about each object."""

import copy
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from withinpx.certificate.certificate import COVERED, Certificate, Limits
from withinpx.discovery.background import NEIGHBOURS
from withinpx.inference.comparison import Comparison, moments, outside_window
from withinpx.inference.dense import DenseComparison
from withinpx.tracking.detector import ROUNDING_PX, Detector
from withinpx.tracking.onnx_input import NetworkInput


class Heatmaps(nn.Module):
    """Foreground and encoder, for frames of the network's size."""

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        self._encoder = nn.Sequential(*copy.deepcopy(detector.model.encoder).cpu())
        self.background = torch.from_numpy(detector.background.images[:1].transpose(0, 3, 1, 2).copy())
        self._threshold = torch.from_numpy(detector.background.threshold)

    def forward(self, frames: UInt8[Tensor, "b h w c"]) -> Float[Tensor, "b n h w"]:
        images = frames.permute(0, 3, 1, 2).float() / 255
        return self.encode(images, self.changed(images))

    def encode(self, images: Float[Tensor, "b c h w"], changed: Float[Tensor, "b 1 h w"]) -> Float[Tensor, "b n h w"]:
        maps: Tensor = self._encoder((images + 1) * changed)  # as foreground_only
        return maps

    def changed(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b 1 h w"]:
        """As ``BackgroundModel.changed``: 1 where a pixel changed."""
        beyond = ((images - self.background).abs().amax(dim=1, keepdim=True) > self._threshold).float()
        neighbours = F.conv2d(beyond, torch.ones(1, 1, 3, 3), padding=1)
        return beyond * (neighbours > NEIGHBOURS - 0.5)


class Verdicts(NamedTuple):
    """Of each heatmap's object, in px of the recording."""

    positions: Float[Tensor, "b n 2"]
    z: Float[Tensor, "b n 2"]
    heatmaps: Float[Tensor, "b n h w"]
    present: Bool[Tensor, "b n"]
    certified: Bool[Tensor, "b n"]
    bound_px: Float[Tensor, "b n"]  # around the position, larger axis; NaN where it is not certified


class DetectorGraph(nn.Module):
    """Frames of the recording to verdicts: ``Detector.observe`` without sets and ``Detector.tracks``."""

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        config, certificate = detector.model.config, detector.certificate
        self._input, self._network = NetworkInput(detector), Heatmaps(detector)
        self._compare = DenseComparison(detector.model, self._network.background)
        self._limits = _FrameLimits(certificate)
        self._shifts = [
            (torch.from_numpy(shift.positions), torch.from_numpy(shift.shifts), shift.bandwidth)
            for shift in detector.shifts
        ]
        self._others = ~torch.eye(config.objects, dtype=torch.bool)  # of each object
        self._used = torch.tensor([heatmap not in certificate.unused for heatmap in range(config.objects)])
        self._temperature, self._reach = config.temperature, certificate.encoder_rf / 2 - 1
        self._size, self._scale = (config.height, config.width), detector.scale
        self._pixels = (
            torch.arange(config.width, dtype=torch.float64) + 0.5,
            torch.arange(config.height, dtype=torch.float64) + 0.5,
        )
        self._corner = torch.tensor((detector.selection.crop or (0, 0))[:2])

    def forward(self, frames: UInt8[Tensor, "b h w c"]) -> Verdicts:
        images = self._input(frames) / 255
        changed = self._network.changed(images)
        heatmaps = self._network.encode(images, changed)
        weights = (heatmaps.flatten(start_dim=2).double() / self._temperature).softmax(dim=-1)  # eq. 5
        weights = weights.view_as(heatmaps)
        z = moments(weights, *self._pixels)
        cleaned = torch.where(changed > 0, images, self._network.background)
        seen, present = self._objects(cleaned, z.float())
        leakage, outside_mass = outside_window(
            weights, self._pixels, z, seen, reach=self._reach, furthest=float(max(self._size))
        )
        centre = z + torch.stack([self._shift(z[:, index], index) for index in range(len(self._shifts))], dim=1)
        residual = seen.offset.abs().amax(dim=-1) * present
        off_centre = (centre - seen.centre).abs().amax(dim=-1)
        theorem_px = self._limits.theorem_px + (leakage + residual + off_centre) / self._scale + ROUNDING_PX
        whole = present & ~seen.at_border(*self._size)
        certified = (
            whole
            & self._limits.met(seen, z, leakage, outside_mass, residual)
            & ~_covered(seen, present.unsqueeze(1) & self._others)
        )
        positions = self._in_recording(centre + seen.offset * present[..., None])
        z = self._in_recording(z)
        bound_px = torch.where(certified, theorem_px + (positions - z).abs().amax(dim=-1), torch.nan)
        return Verdicts(positions.float(), z.float(), heatmaps, present, certified, bound_px.float())

    def _objects(
        self, cleaned: Float[Tensor, "b c h w"], z: Float[Tensor, "b n 2"]
    ) -> tuple[Comparison, Bool[Tensor, "b n"]]:
        """The objects compared with the frames, and which are present. Absent ones must not be rendered over them."""
        present = self._used.expand(z.shape[0], -1)
        for _ in range(2):
            seen: Comparison = self._compare(cleaned, z, present)
            present = present & seen.visible
        return seen, present

    def _shift(self, z: Float[Tensor, "b 2"], index: int) -> Float[Tensor, "b 2"]:
        """As ``Shift.at``."""
        positions, shifts, bandwidth = self._shifts[index]
        exponent = ((z[:, None] - positions) ** 2).sum(dim=-1) / (-2 * bandwidth**2)
        return exponent.softmax(dim=-1) @ shifts

    def _in_recording(self, points: Float[Tensor, "b n 2"]) -> Float[Tensor, "b n 2"]:
        return points / self._scale + self._corner


class _FrameLimits:
    """What a frame must satisfy, for each heatmap: ``refusal_reasons`` without feasible sets.

    Objects that have none are never certified: the graph does not know whether all else is reconstructed.
    """

    def __init__(self, certificate: Certificate) -> None:
        known = {obj.object: obj for obj in certificate.objects}
        objects = [known.get(heatmap) for heatmap in range(len(known) + len(certificate.unused))]
        limits = [asdict(Limits(residual=0.0) if obj is None else obj.limits) for obj in objects]
        self._limit = {
            name: _float64([own[name] for own in limits]) for name in limits[0] if limits[0][name] is not None
        }
        self._certified = torch.tensor(
            [obj is not None and obj.certified and obj.membership is not None for obj in objects]
        )
        self.theorem_px = _float64([0.0 if obj is None else obj.theorem_px for obj in objects])

    def met(self, seen: Comparison, z: Tensor, leakage: Tensor, outside_mass: Tensor, residual: Tensor) -> Tensor:
        """(b, n): which objects are certified, if they are present and not at the border."""
        limit, drift = self._limit, (seen.centre - z - self._limit["rendered"]).abs().amax(dim=-1)
        heatmap = (leakage <= limit["leakage"]) & (outside_mass <= limit["outside_mass"])
        reconstruction = (residual <= limit["residual"]) & (seen.explained >= limit["explained"])
        return self._certified & heatmap & (drift <= limit["drift"]) & reconstruction


def _covered(seen: Comparison, others: Bool[Tensor, "b n n"]) -> Bool[Tensor, "b n"]:
    """Which objects are mostly inside the box of one of the others that are present: ``covered_share``."""
    centre, box = seen.centre.double(), seen.box.double()
    low, high = centre - box / 2, centre + box / 2
    ends = torch.minimum(high.unsqueeze(2), high.unsqueeze(1)) - torch.maximum(low.unsqueeze(2), low.unsqueeze(1))
    shared = ends[..., 0].clamp(min=0) * ends[..., 1].clamp(min=0)  # (b, n, n)
    return ((shared > COVERED * (box[..., 0] * box[..., 1]).unsqueeze(2)) & others).any(dim=-1)


def _float64(values: list[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
