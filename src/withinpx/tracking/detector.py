"""A trained detector: the network, the background, the calibration and the certificate."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from withinpx import __version__
from withinpx.certificate.calibration import Shift, reported_centres
from withinpx.certificate.certificate import Certificate, refusal_reasons
from withinpx.certificate.membership import Templates, searches_of
from withinpx.data.recording import Source, open_recording
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.discovery.background import BackgroundModel, ByteImages, FloatImages
from withinpx.discovery.classes import Classes
from withinpx.discovery.exposure import in_light_of
from withinpx.errors import InputError
from withinpx.files import write_atomically
from withinpx.inference.feasible import Search
from withinpx.inference.observation import Observations
from withinpx.inference.outline import Outline
from withinpx.inference.run import Encoder, Sharp, run
from withinpx.inference.template import Template
from withinpx.model.autoencoder import Autoencoder
from withinpx.theory.set_membership import half_width, position_bound
from withinpx.theory.touching import Silhouette
from withinpx.tracking.progress import Report, reporting
from withinpx.tracking.tracks import DECIMALS, Tracks
from withinpx.training.detector_folder import load_detector, read_checked, save_detector

BACKGROUND = "background.safetensors"
BACKGROUND_IMAGE = "background.png"
TEMPLATES = "templates.safetensors"
CERTIFICATE = "certificate.json"
CHANGES = ("#", "+", "-", ".")  # of a silhouette's pixels, in detector.json: sure, possible, faint, none
ROUNDING_PX = 0.5 * 10**-DECIMALS  # z and positions are rounded to what the table holds


@dataclass(frozen=True, eq=False, repr=False)
class Detector:
    """Finds its objects in footage of its camera.

    >>> import withinpx
    >>> detector = withinpx.Detector.load("tracked")
    >>> detector
    Detector(clip: 3 objects in 64x54 px, 3 of 3 objects certified)
    >>> detector.detect("clip")
    Tracks(24 frames, 3 objects, 7... of 72 positions certified)
    """

    model: Autoencoder
    background: BackgroundModel  # of a fixed camera; for a moving one it holds the threshold only
    selection: Selection  # the part of the recording that it knows, and the scale it works at
    recording: tuple[int, int]  # width and height of the recording's frames, px
    shifts: tuple[Shift, ...]  # of each heatmap, from z to the object's centre
    certificate: Certificate
    templates: Templates = ()  # of each heatmap's object, at the resolution at which feasible sets are searched
    sharp: FloatImages | None = None  # the background at that resolution, None if the network works at it
    sharp_scale: float = 1.0  # px of it per px of the recording
    moving_camera: bool = False
    unordered: bool = False  # was it trained on unordered images?
    appearances: tuple[
        NDArray[np.float64], ...
    ] = ()  # of each heatmap, codes (m, k) that it showed, the usual one first
    classes: Classes | None = None  # of objects that look alike, one heatmap each; None if every heatmap has one object

    def __repr__(self) -> str:
        size, count = "x".join(map(str, self.recording)), len(self.certificate.objects)
        return f"Detector({self.certificate.source}: {count} objects in {size} px, {self.certificate.verdict})"

    @property
    def scale(self) -> float:
        """Px of the network's input per px of the recording."""
        return self.selection.scale

    def detect(
        self,
        source: Source,
        *,
        out: str | PathLike[str] | None = None,
        progress: bool | Report = False,
        mm_per_px: float | None = None,
        selection: Selection = EVERYTHING,
    ) -> Tracks:
        """The objects in other footage of the same camera; with ``out``, the table and an overlay are written there.

        ``selection`` says which of its frames; crop and scale are the detector's own.
        """
        from withinpx.tracking.detect import Collected, detect  # noqa: PLC0415  (detect needs this class)

        collected = Collected()
        with reporting(progress) as report:
            folder = None if out is None else Path(out)
            recording = open_recording(source)
            own = self.over(selection)
            detect(own, recording, folder, report=report, on_chunk=collected.add, mm_per_px=mm_per_px)
        return collected.tracks()

    @cached_property
    def searches(self) -> list[Search | Outline | None]:
        """How feasible sets of the objects are searched for."""
        return searches_of(self.certificate, self.templates)

    @property
    def usual_codes(self) -> NDArray[np.float64]:
        """The code that each heatmap's object usually shows (n, k); zeros where that is not known."""
        network = self.model.config
        if not self.appearances:
            return np.zeros((network.objects, network.appearance))
        return np.stack([codes[0] for codes in self.appearances])

    @property
    def watched(self) -> Selection:
        """The part of the recording that ``observe`` takes, at the resolution at which feasible sets are searched."""
        return self.selection if self.sharp is None else replace(self.selection, scale=self.sharp_scale)

    def observe(
        self,
        images: ByteImages,
        backgrounds: FloatImages | None = None,
        encoder: Encoder | None = None,
        *,
        sets: bool = True,
    ) -> Observations:
        """Run the network over frames (f, h, w, c) of ``watched``; without ``sets``, for the theorem's bound only."""
        sharp = None
        if self.sharp is None:
            images = in_light_of(self.background, images)
        else:
            sharp_images = in_light_of(replace(self.background, images=self.sharp), images)
            sharp = Sharp(sharp_images, self.sharp, self.sharp_scale / self.scale)
            images = self.scaled(sharp_images)
        return run(
            self.model,
            images,
            self.background,
            backgrounds,
            encoder_rf=self.certificate.encoder_rf,
            unused=self.certificate.unused,
            encoder=encoder,
            searches=self.searches if sets else (),
            sharp=sharp,
        )

    def scaled(self, images: ByteImages) -> ByteImages:
        """Frames of ``watched`` at the scale of the network."""
        if self.sharp is None:
            return images
        resize = Selection(scale=self.scale / self.sharp_scale)
        return np.stack([resize.apply(image) for image in images])

    def tracks(self, seen: Observations, frames: NDArray[np.int64], times_s: NDArray[np.float64]) -> Tracks:
        """Observations in pixels of the recording, with their bounds.

        theorem_px = theorem 4.1 + leakage + residual + distance between the object's centre and its rendering's, which
        is what the theorem is about. Around the position: by set membership, or theorem_px plus the distance from z.
        Where the border cuts the rendering off, but not the object, that centre is not the rendering's: theorem_px is
        then no less than the distance from z to all of the object's set.
        """
        used = [obj.object for obj in self.certificate.objects]
        centre = reported_centres(seen, self.shifts)
        off_centre = np.abs(centre - seen.centre).max(axis=-1)
        z = self.selection.to_recording(seen.z)[:, used].round(DECIMALS)
        theorem = np.array([self.certificate.of(heatmap).theorem_px for heatmap in used])
        added = (seen.leakage + np.nan_to_num(seen.residual) + off_centre)[:, used] / self.scale
        reasons = refusal_reasons(seen, self.certificate)[:, used]
        theorem_px = np.where(reasons == "", theorem + added + ROUNDING_PX, np.nan)
        furthest = half_width(seen.sets.low, seen.sets.high, seen.z).max(axis=-1)[:, used] / self.scale + ROUNDING_PX
        theorem_px = np.where(seen.at_border[:, used], np.maximum(theorem_px, furthest), theorem_px)
        rendered = (centre + np.where(seen.present[..., None], seen.offset, 0))[:, used]
        found, set_px = self._positions_and_sets(seen, rendered, theorem_px)
        positions = self.selection.to_recording(found).round(DECIMALS)
        tolerance, floor = self._tolerance_and_floor
        return Tracks(
            frames=frames,
            times_s=times_s,
            positions=positions,
            sizes=self._boxes(seen)[:, used] / self.scale,
            bounds=position_bound(set_px, tolerance, theorem_px, np.abs(positions - z).max(axis=-1)),
            z=z,
            theorem_px=theorem_px,
            residual_px=seen.residual[:, used] / self.scale,
            present=seen.present[:, used],
            reasons=reasons,
            sigma_px=np.where(reasons == "", floor, np.nan),
            set_px=set_px.max(axis=-1),
            codes=seen.codes[:, used],
            width=self.recording[0],
            height=self.recording[1],
            unordered=self.unordered,
        )

    def elongations(self, seen: Observations) -> NDArray[np.float64]:
        """How elongated each object's outline is (f, n, 2); NaN where it has none, and where motion has no meaning."""
        elongations = seen.sets.elongation[:, [obj.object for obj in self.certificate.objects]]
        return np.full_like(elongations, np.nan) if self.unordered or self.moving_camera else elongations

    def _boxes(self, seen: Observations) -> NDArray[np.float64]:
        """Width and height of each object (f, n, 2), px of the network's input: as rendered, or of its outline."""
        boxes = seen.box.copy()
        for obj in self.certificate.objects:
            if obj.outlined:
                larger = np.nan_to_num(seen.sets.size[:, obj.object] / seen.size[:, obj.object], nan=1.0)
                boxes[:, obj.object] *= larger[:, None]
        return boxes

    @property
    def _tolerance_and_floor(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """g (n, 2) and the statistical floor (n,) of each object, px of the recording; infinity and NaN if unknown."""
        known = [obj.membership for obj in self.certificate.objects]
        tolerances = [(np.inf, np.inf) if own is None else own.tolerance for own in known]
        floors = [np.nan if own is None or own.floor is None else own.floor for own in known]
        return np.array(tolerances) / self.scale, np.array(floors) / self.scale

    def _positions_and_sets(
        self, seen: Observations, rendered: NDArray[np.float64], theorem_px: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where each object is (f, n, 2), px of the network's input, and the half-width of its set around there.

        It is where its template fits the frame best; or, where that says less than the theorem, where the frame shows
        what the network rendered. Half-widths are per axis, px of the recording; NaN where there is no set. They allow
        for the centre's tolerance growing with an object that is seen in perspective.
        """
        positions, widths = rendered.copy(), np.full(rendered.shape, np.nan)
        for column, obj in enumerate(self.certificate.objects):
            known, index = obj.membership, obj.object
            if known is None:
                continue
            sets, size = seen.sets, seen.sets.size[:, index, None]
            best, low, high = (values[:, index] + size * known.middle for values in (sets.best, sets.low, sets.high))
            theorem, resized = theorem_px[:, column] * self.scale, np.abs(size - 1)
            complete = theorem + known.furthest * (1 + resized[:, 0]) <= known.reach  # all that the theorem allows
            added = resized * known.tolerance
            bound = (half_width(low, high, best) + added + known.tolerance).max(axis=-1)
            positions[:, column] = np.where((complete & (bound <= theorem))[:, None], best, rendered[:, column])
            own = (half_width(low, high, positions[:, column]) + added) / self.scale + ROUNDING_PX
            widths[:, column] = np.where(complete[:, None], own, np.nan)
        return positions, widths

    def over(self, selection: Selection) -> "Detector":
        """The same detector for other frames of a recording; crop and scale stay its own."""
        return replace(self, selection=self.selection.within(selection))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the detector's files; detector.json comes last, so a folder that has it is complete."""
        folder = Path(folder)
        arrays = {"images": self.background.images[:1], "threshold": self.background.threshold}
        if self.sharp is not None:
            arrays["sharp"] = self.sharp
        background = save_arrays({name: np.ascontiguousarray(values) for name, values in arrays.items()})
        write_atomically(folder / BACKGROUND, background)
        image = BytesIO()
        Image.fromarray((self.background.images[0] * 255).round().astype(np.uint8).squeeze()).save(image, "PNG")
        write_atomically(folder / BACKGROUND_IMAGE, image.getvalue())
        certificate = self.certificate.dumps().encode()
        write_atomically(folder / CERTIFICATE, certificate)
        templates = save_arrays(_template_arrays(self.templates))
        write_atomically(folder / TEMPLATES, templates)
        about = {
            "kind": "clip",
            "selection": asdict(self.selection),
            "recording": self.recording,
            "shifts": [
                {
                    "positions": shift.positions.tolist(),
                    "shifts": shift.shifts.tolist(),
                    "bandwidth": shift.bandwidth,
                }
                for shift in self.shifts
            ],
            "light_varies": self.background.light_varies,
            "pools": [None if template is None else template.pool for template in self.templates],
            "sizes": [None if template is None else template.size for template in self.templates],
            "sharp_scale": self.sharp_scale,
            "moving_camera": self.moving_camera,
            "unordered": self.unordered,
            "appearances": [codes.tolist() for codes in self.appearances],
            "classes": None if self.classes is None else _classes_json(self.classes),
            "background_sha256": hashlib.sha256(background).hexdigest(),
            "templates_sha256": hashlib.sha256(templates).hexdigest(),
            "certificate_sha256": hashlib.sha256(certificate).hexdigest(),
            "data": self.certificate.source,
            "version": __version__,
        }
        save_detector(folder, self.model, about)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "Detector":
        """A detector that ``track`` made. Its files are checked against their hashes; nothing in them is executed."""
        folder = Path(folder)
        model, about = load_detector(folder)
        if about.get("kind") != "clip":
            raise InputError(f"{folder} is no detector of a clip: make one with  withinpx track CLIP --out FOLDER.")
        try:
            arrays = load_arrays(read_checked(folder / BACKGROUND, about["background_sha256"]))
            certificate = read_checked(folder / CERTIFICATE, about["certificate_sha256"]).decode()
            selection = {"frames": None, **about["selection"]}  # detectors of 0.1 have no frames
            for name in ("crop", "frames"):
                selection[name] = tuple(selection[name]) if selection[name] else None
            detector = cls(
                model,
                BackgroundModel(arrays["images"], arrays["threshold"], bool(about.get("light_varies", False))),
                Selection(**selection),
                (int(about["recording"][0]), int(about["recording"][1])),
                tuple(_read_shift(shift) for shift in about["shifts"]),
                Certificate.from_json(json.loads(certificate)),
                _read_templates(
                    load_arrays(read_checked(folder / TEMPLATES, about["templates_sha256"])),
                    about["pools"],
                    about["sizes"],
                ),
                arrays.get("sharp"),
                float(about["sharp_scale"]),
                bool(about["moving_camera"]),
                bool(about["unordered"]),
                tuple(
                    np.array(codes, np.float64).reshape(-1, model.config.appearance)
                    for codes in about.get("appearances", [])
                    if model.config.appearance
                ),
                _read_classes(about.get("classes")),
            )
            detector._check_shapes()
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, SafetensorError) as error:
            raise InputError(f"The detector {folder} cannot be loaded ({type(error).__name__}): track again.") from None
        return detector

    def _check_shapes(self) -> None:
        network, background = self.model.config, self.background
        size = (network.height, network.width)
        heatmaps = sorted([*(obj.object for obj in self.certificate.objects), *self.certificate.unused])
        if (
            background.images.shape != (1, *size, network.colours)
            or background.threshold.shape != size
            or {background.images.dtype, background.threshold.dtype} != {np.dtype(np.float32)}
            or len(self.shifts) != network.objects
            or any(shift.positions.shape != shift.shifts.shape for shift in self.shifts)
            or heatmaps != list(range(network.objects))
            or len(self.templates) not in (0, network.objects)
            or len(self.appearances) not in (0, network.objects)
            or any(
                template.colour.shape != (*template.opacity.shape, network.colours)
                for template in self.templates
                if template
            )
            or (self.sharp is not None and (self.sharp.ndim, self.sharp.dtype) != (4, np.dtype(np.float32)))
        ):
            raise ValueError


def _classes_json(classes: Classes) -> dict[str, Any]:
    finite = [float(value) if np.isfinite(value) else None for value in classes.residuals]
    silhouettes = [None if own is None else _silhouette_json(own) for own in classes.silhouettes]
    return {"areas": classes.areas, "residuals": finite, "silhouettes": silhouettes}


def _read_classes(content: dict[str, Any] | None) -> Classes | None:
    if content is None:
        return None
    low, high = content["areas"]
    residuals = tuple(np.inf if value is None else float(value) for value in content["residuals"])
    silhouettes = tuple(None if own is None else _read_silhouette(own) for own in content.get("silhouettes", ()))
    return Classes((float(low), float(high)), residuals, silhouettes)


def _silhouette_json(silhouette: Silhouette) -> dict[str, Any]:
    """One string per row, with a sign for each pixel that the object changes."""
    masks = silhouette.sure, silhouette.possible, silhouette.faint
    rows = np.select(masks, CHANGES[:-1], CHANGES[-1])
    return {"level": silhouette.level, "rows": ["".join(row) for row in rows.tolist()]}


def _read_silhouette(content: dict[str, Any]) -> Silhouette:
    pixels = np.array([list(row) for row in content["rows"]])
    if pixels.ndim != 2 or pixels.shape[0] != pixels.shape[1] or not len(pixels) % 2:
        raise ValueError("a silhouette is a square with a middle")
    sure, possible, faint = (np.isin(pixels, CHANGES[: count + 1]) for count in range(3))
    return Silhouette(sure, possible, faint, float(content["level"]))


def _read_shift(content: dict[str, Any]) -> Shift:
    positions, shifts = (np.array(content[name], np.float64).reshape(-1, 2) for name in ("positions", "shifts"))
    return Shift(positions, shifts, float(content["bandwidth"]))


def _template_arrays(templates: Templates) -> dict[str, NDArray[np.float32]]:
    arrays: dict[str, NDArray[np.float64]] = {}
    for index, template in enumerate(templates):
        if template is not None:
            arrays |= {f"opacity_{index}": template.opacity, f"colour_{index}": template.colour}
    return {name: np.ascontiguousarray(values, np.float32) for name, values in arrays.items()}


def _read_templates(
    arrays: dict[str, NDArray[np.float32]], pools: list[int | None], sizes: list[list[float] | None]
) -> Templates:
    values = {name: array.astype(np.float64) for name, array in arrays.items()}
    templates: list[Template | None] = []
    for index, (pool, size) in enumerate(zip(pools, sizes, strict=True)):
        if pool is None or size is None:
            templates.append(None)
            continue
        at_origin, x, y = map(float, size)
        templates.append(Template(values[f"opacity_{index}"], values[f"colour_{index}"], int(pool), (at_origin, x, y)))
    return tuple(templates)
