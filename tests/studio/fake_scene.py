"""What the fake server answers: a generated clip of three things, and made-up findings about it."""

import io
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.data.scenes import leaving
from withinpx.data.stage import Camera, GeneratedClip

FRAMES, WIDTH, HEIGHT = 90, 320, 240
BOUND, SHIFT = 8.6, (0.4, -0.3)
REFUSED = slice(34, 44)  # frames in which object 1 is refused
CHECKS = (
    ("distinct", 0.62, 0.15, "share", "moved over the most similar other, its drawing differs by 62 %"),
    ("places", 214.0, 8.6, "px", "it was seen at places 214 px apart"),
    ("reconstruction", 0.97, 0.8, "share", "in 97 % of the kept-out frames it is drawn where it is seen"),
    ("heatmap", 0.11, 1.0, "px", "in nine frames of ten, what lies elsewhere moves z by at most 0.11 px"),
    ("steady", 0.24, 2.6, "px", "the drawn centre strays from z by at most 0.24 px"),
    ("equivariance", 0.31, 8.6, "px", "drawn at 25 moved places, z moves along to within 0.31 px"),
)
Column = list[Any]


@dataclass(frozen=True)
class FakeScene:
    """A clip and what is said about it."""

    generated: GeneratedClip

    @property
    def objects(self) -> int:
        """How many things there are."""
        return len(self.generated.stage.objects)

    def jpeg(self, number: int, crop: tuple[int, int, int, int] | None) -> bytes:
        """One frame, or a part of it."""
        picture = Image.fromarray(self.generated.clip.frames[number])
        if crop is not None:
            left, top, width, height = crop
            picture = picture.crop((left, top, left + width, top + height))
        return _encoded(picture, "JPEG")

    def drawn(self, positions: list[list[float] | None]) -> NDArray[np.uint8]:
        """What a decoder would draw: the things at these places and no others, without noise."""
        stage = self.generated.stage
        far = [-999.0, -999.0]
        things = tuple(
            replace(thing, path=np.array([far if place is None else place]))
            for thing, place in zip(stage.objects, positions, strict=True)
        )
        return np.asarray(replace(stage, objects=things, camera=Camera(0.0)).render().clip.frames[0])

    def preview(self, number: int) -> bytes:
        """Frame, reconstruction and heatmaps side by side."""
        places = self.generated.truth[number].tolist()
        rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5
        heat = sum(np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / 60) for x, y in places)
        maps = np.repeat((np.clip(heat, 0, 1) * 255).astype(np.uint8)[..., None], 3, axis=2)
        beside = [self.generated.clip.frames[number], self.drawn(places), maps]
        return _encoded(Image.fromarray(np.concatenate(beside, axis=1)), "PNG")

    @cached_property
    def tracks(self) -> dict[str, Any]:
        """As ``/tracks`` answers."""
        clip, truth = self.generated.clip, self.generated.truth
        random = np.random.default_rng(7)
        positions = truth + random.normal(0, 0.1, truth.shape)
        present = self.generated.visible > 0.3
        cut = present & (self.generated.visible < 0.99)
        reason = np.where(present, np.where(cut, "border", ""), "absent").astype("<U16")
        covered = np.zeros_like(present)
        covered[REFUSED, 1] = True
        reason[covered & present] = "reconstruction"
        reason[present[:, -1], -1] = "heatmap"  # the object as a whole
        residual = np.abs(random.normal(0.08, 0.04, present.shape)) + 2.4 * covered
        table = {
            "x": positions[..., 0],
            "y": positions[..., 1],
            "z_x": positions[..., 0] - SHIFT[0],
            "z_y": positions[..., 1] - SHIFT[1],
            "bound_px": BOUND + residual,
            "residual_px": residual,
        }
        return {
            "frames": list(range(len(clip))),
            "times_s": clip.times_s.tolist(),
            "width": clip.width,
            "height": clip.height,
            "objects": self.objects,
            "numbers": list(range(self.objects)),
            **{name: _columns(np.where(present, values, np.nan)) for name, values in table.items()},
            "present": present.T.tolist(),
            "certified": (reason == "").T.tolist(),
            "reason": reason.T.tolist(),
        }

    def csv(self) -> str:
        """The table, as far as the page's tests read it."""
        tracks, lines = self.tracks, ["frame,time_s,object,x,y,z_x,z_y,bound_px,present,certified"]
        for row, frame in enumerate(tracks["frames"]):
            for each in range(self.objects):
                numbers = [tracks[name][each][row] for name in ("x", "y", "z_x", "z_y", "bound_px")]
                cells = ["" if value is None else f"{value:.3f}" for value in numbers]
                said = [int(tracks[name][each][row]) for name in ("present", "certified")]
                lines.append(",".join(map(str, [frame, f"{tracks['times_s'][row]:.4f}", each, *cells, *said])))
        return "\n".join(lines) + "\n"

    def certificate(self, source: str) -> dict[str, Any]:
        """As ``certificate.json``; the last object is refused, for the page has to show that too."""
        objects = [self._object(each) for each in range(self.objects)]
        return {
            "source": source,
            "frames": FRAMES,
            "kept_out": FRAMES // 5,
            "encoder_rf": 11,
            "decoder_rf": 17,
            "sigma": 0.8,
            "support": 3.2,
            "scale": 1.0,
            "objects": objects,
            "unused": [],
            "warnings": ["object 2 is missing in 30 frames"],
            "version": "0.0",
            "n_sigma": None,
            "certified": all(each["certified"] for each in objects),
        }

    def _object(self, each: int) -> dict[str, Any]:
        failed = "heatmap" if each == self.objects - 1 else ""
        checks = [
            {"name": name, "value": value, "limit": limit, "unit": unit, "met": name != failed, "message": says}
            for name, value, limit, unit, says in CHECKS
        ]
        for check in checks:
            if not check["met"]:
                check |= {
                    "value": 1.62,
                    "message": "in one frame of ten, what lies elsewhere moves z by 1.62 px or more",
                }
        size = self.generated.stage.objects[each].size
        return {
            "object": each,
            "size": [size - 0.4, size + 1.1],
            "bound": BOUND,
            "shift": list(SHIFT),
            "limits": {"residual": 1.3, "explained": 0.5, "leak": 1.0, "astray": 0.1},
            "checks": checks,
            "certified": not failed,
            "failed": failed,
        }

    def inspection(self, crop: list[int] | None) -> dict[str, Any]:
        """As ``/inspection`` answers; only what is inside the crop moves."""
        left, top, width, height = crop or [0, 0, WIDTH, HEIGHT]
        movers: list[dict[str, Any]] = []
        for thing in range(self.objects):
            places = [self._place(frame, thing) for frame in range(0, FRAMES, 3)]
            inside = [
                place
                for place in places
                if left <= place["box"][0] + 6 <= left + width and top <= place["box"][1] + 6 <= top + height
            ]
            size = self.generated.stage.objects[thing].size
            if inside:
                movers.append(
                    {
                        "number": len(movers),
                        "size_px": [size - 1, size + 1],
                        "frames": 3 * len(inside),
                        "places": inside,
                    }
                )
        return {
            "frame": 30,
            "movers": movers,
            "noise_levels": 2.6,
            "camera_moves": False,
            "warnings": ["MovingObject 2 is missing in a third of the frames: nothing is promised of it there."],
            "sentence": "For objects of 10 to 15 px: an encoder that sees 11 px, a decoder of 17 px that holds the "
            "largest, and a Gaussian of 0.8 px that ends at 3.2 px. Every position is within 8.6 px, always.",
            "bound_px": BOUND,
            "network": {"encoder_rf": 11, "decoder_rf": 17, "sigma": 0.8, "support": 3.2},
        }

    def _place(self, frame: int, thing: int) -> dict[str, Any]:
        x, y = self.generated.truth[frame, thing]
        width, height = self.generated.sizes[frame, thing]
        return {"frame": frame, "box": [round(float(v), 1) for v in (x - width / 2, y - height / 2, width, height)]}


@cache
def make_scene(seed: int = 3) -> FakeScene:
    """The clip of every fake run; its triangle leaves the view."""
    generated = leaving(FRAMES, WIDTH, HEIGHT, seed)
    larger = tuple(replace(thing, size=2 * thing.size) for thing in generated.stage.objects)
    return FakeScene(replace(generated.stage, objects=larger).render())


def _columns(values: NDArray[np.float64]) -> list[Column]:
    return [[None if np.isnan(value) else round(float(value), 4) for value in column] for column in values.T]


def _encoded(picture: Image.Image, kind: str) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **({"quality": 92} if kind == "JPEG" else {}))
    return content.getvalue()
