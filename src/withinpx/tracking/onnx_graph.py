"""A detector as modules of operations that ONNX has: its heatmaps alone, or all that a frame says about each object."""

import copy
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64, UInt8
from torch import Tensor, nn

from withinpx.certificate.certificate import COVERED, Certificate, Limits
from withinpx.discovery.background import NEIGHBOURS
from withinpx.inference.comparison import Comparison, moments, outside_window
from withinpx.inference.dense import DenseComparison
from withinpx.tracking.detector import ROUNDING_PX, Detector
from withinpx.tracking.onnx_input import NetworkInput

FRAME_REASONS = ("", "border", "heatmap", "drift", "touching", "reconstruction", "absent", "unused")


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
    theorem_px: Float[Tensor, "b n"]  # around z; NaN where it is not certified
    residual_px: Float[Tensor, "b n"]  # from the rendered object to the one in the frame; NaN where it is absent
    sizes: Float[Tensor, "b n 2"]  # width and height of what is rendered
    reasons: Int64[Tensor, "b n"]  # why it is not certified, a place in ``reason_names``; 0 where it is
    changed: Float[Tensor, " b"]  # share of the frame that differs from the background


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
        refusals = {
            "border": seen.at_border(*self._size),
            **self._limits.exceeded(seen, z, leakage, outside_mass, residual),
            "touching": _covered(seen, present.unsqueeze(1) & self._others),
        }
        reasons = self._limits.reasons(refusals, present)
        certified = reasons == 0
        positions = self._in_recording(centre + seen.offset * present[..., None])
        z = self._in_recording(z)
        theorem_px = torch.where(certified, theorem_px, torch.nan)
        return Verdicts(
            positions.float(),
            z.float(),
            heatmaps,
            present,
            certified,
            (theorem_px + (positions - z).abs().amax(dim=-1)).float(),
            theorem_px.float(),
            torch.where(present, residual / self._scale, torch.nan).float(),
            (seen.box / self._scale).float(),
            reasons,
            changed.mean(dim=(1, 2, 3)),
        )

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


def reason_names(certificate: Certificate) -> tuple[str, ...]:
    """What each number in ``Verdicts.reasons`` says; the first is that of certified positions."""
    failed = dict.fromkeys(obj.failed for obj in certificate.objects if not obj.certified)
    return (*FRAME_REASONS, *(name for name in failed if name not in FRAME_REASONS))


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
        names = reason_names(certificate)
        self._number = {name: torch.tensor(number) for number, name in enumerate(names)}
        self._failed = torch.tensor(
            [0 if obj is None or obj.certified else names.index(obj.failed) for obj in objects]
        )  # 0: the object is certified
        self._without_sets = torch.tensor([obj is not None and obj.membership is None for obj in objects])
        self._unused = torch.tensor([obj is None for obj in objects])
        self.theorem_px = _float64([0.0 if obj is None else obj.theorem_px for obj in objects])

    def exceeded(
        self, seen: Comparison, z: Tensor, leakage: Tensor, outside_mass: Tensor, residual: Tensor
    ) -> dict[str, Tensor]:
        """(b, n) for each limit: which objects exceed it."""
        limit, drift = self._limit, (seen.centre - z - self._limit["rendered"]).abs().amax(dim=-1)
        return {
            "heatmap": ~((leakage <= limit["leakage"]) & (outside_mass <= limit["outside_mass"])),
            "drift": ~(drift <= limit["drift"]),
            "reconstruction": ~((residual <= limit["residual"]) & (seen.explained >= limit["explained"])),
        }

    def reasons(self, refusals: dict[str, Tensor], present: Bool[Tensor, "b n"]) -> Int64[Tensor, "b n"]:
        """The last of ``FRAME_REASONS`` that applies, but for objects that are refused as a whole."""
        found = torch.zeros_like(present, dtype=torch.int64)
        for name in ("border", "heatmap", "drift", "touching", "reconstruction"):
            found = torch.where(refusals[name], self._number[name], found)
        found = torch.where(self._without_sets & (found == 0), self._number["reconstruction"], found)
        found = torch.where(self._failed > 0, self._failed, found)
        found = torch.where(present, found, self._number["absent"])
        return torch.where(self._unused, self._number["unused"], found)


def _covered(seen: Comparison, others: Bool[Tensor, "b n n"]) -> Bool[Tensor, "b n"]:
    """Which objects are mostly inside the box of one of the others that are present: ``covered_share``."""
    centre, box = seen.centre.double(), seen.box.double()
    low, high = centre - box / 2, centre + box / 2
    ends = torch.minimum(high.unsqueeze(2), high.unsqueeze(1)) - torch.maximum(low.unsqueeze(2), low.unsqueeze(1))
    shared = ends[..., 0].clamp(min=0) * ends[..., 1].clamp(min=0)  # (b, n, n)
    return ((shared > COVERED * (box[..., 0] * box[..., 1]).unsqueeze(2)) & others).any(dim=-1)


def _float64(values: list[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
