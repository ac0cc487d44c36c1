"""The certificate: for each object which assumptions of the theorem hold, by what measurement, and what follows."""

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.observation import Observations
from withinpx.inference.overlap import covered_share
from withinpx.theory.bound import GATE_PX

ADVICE = {  # what to do where an object, or its position in one frame, is refused for this reason
    "absent": "nothing if it is out of view or hidden there, else film it with more light or contrast",
    "border": "film a wider scene or widen --crop, so that all of it is in the frame",
    "heatmap": "crop what else moves out of the frame with --crop, or give the number of all objects with --objects",
    "reconstruction": (
        "keep a part of the recording in which it looks the same with --start and --end, or try --background "
        "perspective if its size depends on where it is"
    ),
    "distinct": "mark one of the objects so that they look different, or keep one of them out with --crop",
    "displacement": "use a longer part of the recording, in which it moves further than its bound",
    "drift": "track again with --background layered, which renders an object alike wherever it is",
    "equivariance": "track again with another --seed, or with more --channels",
    "touching": "nothing: it is certified again where most of it is apart from the other objects",
    "mismatch": "nothing if it is partly hidden or lit otherwise there; if all of it is refused, try more --channels",
}
UNEXPLAINED = 0.5  # of an object's area: a larger changed region that no object explains may be that object
COVERED = 0.5  # of an object's box: where another object's holds more, most of what is seen there may be the other


@dataclass(frozen=True)
class Check:
    """One assumption as one measurement."""

    name: str  # distinct, displacement, reconstruction, heatmap, drift, equivariance, mismatch
    value: float
    limit: float
    unit: str
    met: bool
    message: str  # a sentence with the number


@dataclass(frozen=True)
class Limits:
    """What a single frame must satisfy, in px of the network's input."""

    residual: float  # largest distance from the reconstructed object to the one in the frame
    explained: float = 0.5  # smallest share of the object in the frame that the reconstruction accounts for
    leakage: float = 1.0  # largest displacement of z by heatmap values where the encoder cannot see the object
    outside_mass: float = 0.1  # largest heatmap mass there
    drift: float = math.inf  # largest displacement of the rendered centre against z from
    rendered: tuple[float, float] = (0.0, 0.0)  # the usual one
    sizes: tuple[float, float] | None = None  # that the bound covers; None where an object has one appearance only


@dataclass(frozen=True)
class SetMembership:
    """How an object's feasible sets are found, in px of the network's input (theory/set_membership.py)."""

    eps: float  # the largest residual of a rendering that is where it belongs; a norm over pixels and colours
    tolerance: tuple[float, float]  # g: the largest distance between the object's centre and the position
    middle: tuple[float, float]  # from where its template is rendered to the position
    reach: float  # sets are searched around z by so much along each axis
    floor: float | None  # the Cramer-Rao limit of the position, a standard deviation; None if unknown
    strength: float | None = None  # of an object without a template, whose outlines are the sets: by how much it
    # usually differs from the background; ``eps`` is then the noise of a pixel,
    sizes: tuple[float, float] | None = None  # and this is what the larger side of its outlines can be

    @property
    def furthest(self) -> float:
        """The largest distance between the object's centre and where its template is rendered, along an axis."""
        return max(abs(middle) + g for middle, g in zip(self.middle, self.tolerance, strict=True))


@dataclass(frozen=True)
class ObjectCertificate:
    """The result for one object, in px of the recording except for the limits."""

    object: int
    size: tuple[float, float]  # smallest and largest side of the reconstructed object
    theorem_px: float  # thm 4.1 alone; leakage, residual and offset are added per frame (Tracks.theorem_px)
    shift: tuple[float, float]  # object centre minus z, median
    limits: Limits
    checks: tuple[Check, ...]
    membership: SetMembership | None = None  # None where the theorem's bound is all there is
    bound_px: float | None = None  # of the positions in the inspected frames, median; None if none is certified

    @property
    def certified(self) -> bool:
        return all(check.met for check in self.checks)

    @property
    def outlined(self) -> bool:
        """Are its sets outlines?"""
        return self.membership is not None and self.membership.strength is not None

    def with_membership(self, membership: SetMembership, check: Check) -> "ObjectCertificate":
        """With set membership and the check that belongs to it."""
        return replace(self, membership=membership, checks=(*self.checks, check))

    def with_check(self, check: Check) -> "ObjectCertificate":
        """With another measurement of an assumption instead of the one of its name."""
        return replace(self, checks=tuple(check if own.name == check.name else own for own in self.checks))

    @property
    def failed(self) -> str:
        """The first assumption that does not hold, or an empty string."""
        return next((check.name for check in self.checks if not check.met), "")

    def result(self, scale: float) -> str:
        """The verdict with its bounds; ``scale`` is in px of the network's input per px of the recording."""
        if not self.certified:
            return f"refused: {self.failed}"
        theorem = f"theorem 4.1 for z: {self.theorem_px:.2f} px, plus what is measured per frame"
        if self.bound_px is None:
            return f"certified; {theorem}"
        known = self.membership
        if known is None:
            return f"certified, half of the positions to within {self.bound_px:.2f} px; {theorem}"
        if known.strength is not None:
            return f"certified, half of the positions to within {self.bound_px:.2f} px by its outline; {theorem}"
        floor = "" if known.floor is None else f", statistical floor {known.floor / scale:.3f} px"
        return (
            f"certified, half of the positions to within {self.bound_px:.2f} px (centre known to "
            f"{max(known.tolerance) / scale:.2f} px{floor}); {theorem}"
        )

    @property
    def advice(self) -> str:
        """What to do about the refusal, or an empty string."""
        return ADVICE.get(self.failed, "")


@dataclass(frozen=True, repr=False)
class Certificate:
    """What is proved about a detector on its clip, and what is refused.

    >>> import withinpx
    >>> certificate = withinpx.Detector.load("tracked").certificate
    >>> certificate
    Certificate(clip: 3 of 3 objects certified)
    >>> certificate.certified
    True
    >>> print(certificate)
    Certificate for clip
      CERTIFIED: 3 objects, ...
    """

    source: str  # name of the file or folder, without its path
    frames: int  # frames inspected
    kept_out: int  # of these, held out from training; 0 if the clip is too short
    encoder_rf: int  # px of the network's input, as are the next three; measured, plus GATE_PX (theory/bound.py)
    decoder_rf: int  # measured
    sigma: float
    support: float
    scale: float  # px of the network's input per px of the recording
    objects: tuple[ObjectCertificate, ...]
    unused: tuple[int, ...] = ()  # heatmaps that follow no object
    warnings: tuple[str, ...] = ()
    version: str = ""

    @property
    def certified(self) -> bool:
        """Is every object certified?"""
        return bool(self.objects) and all(obj.certified for obj in self.objects)

    @property
    def verdict(self) -> str:
        """One line, such as "2 of 3 objects certified; object 1 refused: distinct"."""
        refused = [f"object {obj.object} refused: {obj.failed}" for obj in self.objects if not obj.certified]
        return "; ".join([f"{len(self.objects) - len(refused)} of {len(self.objects)} objects certified", *refused])

    def of(self, heatmap: int) -> ObjectCertificate:
        return next(obj for obj in self.objects if obj.object == heatmap)

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON values."""
        return {
            **asdict(self),
            "certified": self.certified,
            "objects": [
                {**asdict(obj), "certified": obj.certified, "failed": obj.failed, "advice": obj.advice}
                for obj in self.objects
            ],
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Certificate":
        """The inverse of ``to_json``."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
        }
        del values["certified"]
        values["objects"] = tuple(
            ObjectCertificate(
                obj["object"],
                tuple(obj["size"]),
                obj["theorem_px"],
                tuple(obj["shift"]),
                _read_limits(obj["limits"]),
                tuple(Check(**check) for check in obj["checks"]),
                _read_membership(obj["membership"]),
                obj["bound_px"],
            )
            for obj in content["objects"]
        )
        return cls(**values)

    def dumps(self) -> str:
        """Indented JSON, for certificate.json."""
        return json.dumps(self.to_json(), indent=2) + "\n"

    def __repr__(self) -> str:
        return f"Certificate({self.source}: {self.verdict})"

    def __str__(self) -> str:
        count = len(self.objects)
        lines = [
            f"Certificate for {self.source}",
            f"  {'CERTIFIED' if self.certified else 'NOT CERTIFIED'}: {count} object{'s' * (count != 1)}, "
            f"{self.frames} frames inspected, {self.kept_out} of them held out from training",
            f"  receptive fields: encoder {self.encoder_rf} px (with {GATE_PX} px for the foreground gate), decoder "
            f"{self.decoder_rf} px; Gaussian of sigma {self.sigma:g} px, zero beyond {self.support:g} px; "
            f"scale {self.scale:g}",
        ]
        for obj in self.objects:
            low, high = obj.size
            lines += ["", f"  object {obj.object}, {low:.1f} to {high:.1f} px: {obj.result(self.scale)}"]
            lines += [
                f"    {'met    ' if check.met else 'NOT MET'}  {check.name}: {check.message}" for check in obj.checks
            ]
            if obj.advice:
                lines.append(f"    what to do: {obj.advice}")
        if self.unused:
            lines += ["", f"  unused heatmaps: {', '.join(map(str, self.unused))}"]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)


def _read_limits(content: dict[str, Any]) -> Limits:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    return Limits(**values)


def _read_membership(content: dict[str, Any] | None) -> SetMembership | None:
    if content is None:
        return None
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    return SetMembership(**values)


def refusal_reasons(seen: Observations, certificate: Certificate) -> NDArray[np.str_]:
    """Why each position is refused, by the name of the assumption: (f, n); empty where it is certified."""
    reasons = np.full(seen.present.shape, "", dtype="<U16")
    for obj in certificate.objects:
        reasons[:, obj.object] = frame_reasons(seen, obj.object, obj.limits, outlined=obj.outlined)
        reasons[mismatched_frames(seen, obj.object) & (reasons[:, obj.object] == ""), obj.object] = "mismatch"
        if obj.membership is None:
            elsewhere = may_be_elsewhere(seen, obj.object) & (reasons[:, obj.object] == "")
            reasons[elsewhere, obj.object] = "reconstruction"
        if not obj.certified:
            reasons[seen.present[:, obj.object], obj.object] = obj.failed
    reasons[:, list(certificate.unused)] = "unused"
    return reasons


def frame_reasons(seen: Observations, index: int, limits: Limits, *, outlined: bool = False) -> NDArray[np.str_]:
    """Why each frame's position of one object is refused by the frame itself: (f,).

    What is rendered reaches the border up to a px of the network's input early. Where the object's sets are outlines
    (``outlined``), the recording itself shows whether the object does: one that is cut off has none there.
    """
    reasons = np.full(len(seen), "", dtype="<U16")
    shown_whole = np.isfinite(seen.sets.low[:, index]).all(axis=1) & outlined
    reasons[seen.at_border[:, index] & ~shown_whole] = "border"
    pulled = (seen.leakage[:, index] > limits.leakage) | (seen.outside_mass[:, index] > limits.outside_mass)
    reasons[pulled] = "heatmap"
    reasons[~undrifted_frames(seen, index, limits)] = "drift"
    reasons[covered_share(seen)[:, index] > COVERED] = "touching"
    reasons[~explained_frames(seen, index, limits)] = "reconstruction"
    reasons[~seen.present[:, index]] = "absent"
    return reasons


def mismatched_frames(seen: Observations, index: int) -> NDArray[np.bool_]:
    """Where the object was searched for, and every rendering of it leaves too large a residual: (f,)."""
    if seen.feasible is None:
        return np.zeros(len(seen), np.bool_)
    searched = np.isfinite(seen.feasible.residual[:, index])
    return np.asarray(searched & np.isnan(seen.feasible.low[:, index]).any(axis=1))


def may_be_elsewhere(seen: Observations, index: int) -> NDArray[np.bool_]:
    """Where something as large as the object is not reconstructed: (f,).

    The theorem's first assumption is that all objects are. Else the network may have found another in its place, and
    nothing but a feasible set would say that it is not the object.
    """
    return np.asarray(seen.unexplained[:, 0] > UNEXPLAINED * seen.box[:, index].prod(axis=-1))


def undrifted_frames(seen: Observations, index: int, limits: Limits) -> NDArray[np.bool_]:
    """Where the object is rendered as far from z as it usually is: (f,)."""
    drift = np.abs((seen.centre - seen.z)[:, index] - limits.rendered).max(axis=-1)
    return np.asarray(np.nan_to_num(drift, nan=np.inf) <= limits.drift)


def explained_frames(seen: Observations, index: int, limits: Limits) -> NDArray[np.bool_]:
    """Where the object is reconstructed at its position in the frame, in a size that the bound covers: (f,)."""
    near = np.nan_to_num(seen.residual[:, index], nan=np.inf) <= limits.residual
    if limits.sizes is not None:
        smallest, largest = limits.sizes
        near &= (seen.size[:, index] >= smallest) & (seen.size[:, index] <= largest)
    return np.asarray(near & (seen.explained[:, index] >= limits.explained))
