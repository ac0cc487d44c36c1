"""The verdict: for each object what the theorem promises, which of its assumptions were met, and by what numbers."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.observation import Observations


@dataclass(frozen=True)
class Check:
    """One assumption as one measurement."""

    name: str  # distinct, places, reconstruction, heatmap, steady, equivariance
    value: float
    limit: float
    unit: str
    met: bool
    message: str  # a sentence with the number


@dataclass(frozen=True)
class Limits:
    """What one frame must keep to, in px of the pictures that the network sees."""

    residual: float  # from what is drawn to what the frame shows
    explained: float = 0.5  # at least this share of what the frame shows there is drawn
    leakage: float = 1.0  # how far z may be pulled from outside the theorem's window
    outside_mass: float = 0.1  # the heatmap's mass out there


@dataclass(frozen=True)
class ObjectCertificate:
    """What is promised of one object. All px are the recording's."""

    object: int
    size: tuple[float, float]  # range of the larger side of what is drawn
    bound: float  # thm 4.1: the most that z can be off, before leak, residual and aside are added frame by frame
    shift: tuple[float, float]  # middle of the body minus z
    limits: Limits
    checks: tuple[Check, ...]

    @property
    def certified(self) -> bool:
        """Are all assumptions met?"""
        return all(check.met for check in self.checks)

    @property
    def failed(self) -> str:
        """The first assumption that is not met; nothing if all are."""
        return next((check.name for check in self.checks if not check.met), "")


@dataclass(frozen=True)
class Certificate:
    """For a detector on its clip."""

    source: str
    frames: int  # that were looked at
    kept_out: int  # of them, that training never saw; the checks are made on these
    encoder_rf: int  # measured, with the pixel around that decides what is background
    decoder_rf: int
    sigma: float
    support: float
    scale: float  # px of the network's pictures per px of the recording
    objects: tuple[ObjectCertificate, ...]
    unused: tuple[int, ...] = ()  # heatmaps that follow nothing
    warnings: tuple[str, ...] = ()
    version: str = ""
    n_sigma: None = field(default=None)  # the bound is deterministic

    @property
    def certified(self) -> bool:
        """Is every object that is followed certified?"""
        return bool(self.objects) and all(each.certified for each in self.objects)

    def of(self, heatmap: int) -> ObjectCertificate:
        """The certificate of one heatmap's object."""
        return next(each for each in self.objects if each.object == heatmap)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        whole = asdict(self)
        whole["certified"] = self.certified
        for each, objects in zip(self.objects, whole["objects"], strict=True):
            objects |= {"certified": each.certified, "failed": each.failed}
        return whole

    @classmethod
    def from_json(cls, whole: dict[str, Any]) -> "Certificate":
        """Back from ``to_json``."""
        known = {key: value for key, value in whole.items() if key != "certified"}
        objects = tuple(
            ObjectCertificate(
                each["object"],
                tuple(each["size"]),
                each["bound"],
                tuple(each["shift"]),
                Limits(**each["limits"]),
                tuple(Check(**check) for check in each["checks"]),
            )
            for each in whole["objects"]
        )
        rest: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in known.items()}
        rest["objects"] = objects
        return cls(**rest)

    def text(self) -> str:
        """For a person to read."""
        lines = [
            f"Certificate for {self.source}",
            f"  {'CERTIFIED' if self.certified else 'NOT CERTIFIED'}: {len(self.objects)} object(s), "
            f"{self.frames} frames looked at, {self.kept_out} of them never trained on",
            f"  receptive fields measured: encoder {self.encoder_rf} px, decoder {self.decoder_rf} px; Gaussian of "
            f"sigma {self.sigma:g} px, zero beyond {self.support:g} px; scale {self.scale:g}",
        ]
        for each in self.objects:
            verdict = "certified" if each.certified else f"refused: {each.failed}"
            low, high = each.size
            lines += [
                "",
                f"  object {each.object}: {verdict}. {low:.1f} to {high:.1f} px large; z is within {each.bound:.2f} px "
                f"(deterministic); drawn ({each.shift[0]:+.2f}, {each.shift[1]:+.2f}) px from z",
            ]
            lines += [
                f"    {'met    ' if check.met else 'NOT MET'}  {check.name}: {check.message}" for check in each.checks
            ]
        if self.unused:
            lines += ["", f"  unused heatmaps, no objects: {', '.join(map(str, self.unused))}"]
        lines += [f"  warning: {each}" for each in self.warnings]
        return "\n".join(lines) + "\n"


def reasons(seen: Observations, certificate: Certificate) -> NDArray[np.str_]:
    """Why each frame's position is refused, by the assumption's name: (f, n); empty where it is certified."""
    verdict = np.full(seen.present.shape, "", dtype="<U16")
    for each in certificate.objects:
        verdict[:, each.object] = frame_reasons(seen, each.object, each.limits)
        if not each.certified:
            verdict[seen.present[:, each.object], each.object] = each.failed
    verdict[:, list(certificate.unused)] = "unused"
    return verdict


def frame_reasons(seen: Observations, index: int, limits: Limits) -> NDArray[np.str_]:
    """Why each frame's position of one object is refused by itself: (f,); empty where it keeps to the limits."""
    verdict = np.full(len(seen), "", dtype="<U16")
    verdict[seen.cut[:, index]] = "border"
    verdict[(seen.leakage[:, index] > limits.leakage) | (seen.outside_mass[:, index] > limits.outside_mass)] = "heatmap"
    moved = np.nan_to_num(seen.residual[:, index], nan=np.inf) > limits.residual
    verdict[moved | (seen.explained[:, index] < limits.explained)] = "reconstruction"
    verdict[~seen.present[:, index]] = "absent"
    return verdict


def dumps(certificate: Certificate) -> str:
    """JSON that a person can read too."""
    return json.dumps(certificate.to_json(), indent=2) + "\n"
