"""Solids with round edges, and the camera that sees them: the geometry of rendered data, without a renderer."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Shape = Literal["sphere", "cube", "cylinder"]
Material = Literal["metal", "rubber"]
Colour = Literal["red", "green", "blue"]

LONGITUDES, LATITUDES = 128, 64  # of a mesh; a sphere's silhouette is then right to 0.06 % of its radius
BEVEL: dict[Shape, float] = {"sphere": 1.0, "cube": 0.09, "cylinder": 0.11}  # radius of the edges, of the solid's
CUBE_SIDE = np.sqrt(0.5)  # half of it, of the radius: a cube's base fits into the circle on which a cylinder stands


@dataclass(frozen=True)
class Solid:
    """What an object is, not where."""

    shape: Shape
    colour: Colour
    material: Material

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.colour} {self.material} {self.shape}"


@dataclass(frozen=True)
class Pose:
    """Where a solid stands on the ground."""

    x: float
    y: float
    turn: float  # radians


@dataclass(frozen=True)
class Mesh:
    """The surface of a convex solid around (0, 0, 0), as one grid and a cap at either end."""

    vertices: Floats  # (vertices, 3)
    normals: Floats  # (vertices, 3), of length 1
    faces: tuple[tuple[int, ...], ...]  # numbers of vertices, counter-clockwise from outside


@cache
def solid_mesh(shape: Shape) -> Mesh:
    """A solid of radius 1: all that is within a bevel of its core, which is a point, a cylinder or a cube.

    So every vertex is a point of the core and, from there, the bevel along the normal. No normal is along an axis:
    there a cube would not know which of its corners is meant.
    """
    longitudes = (np.arange(LONGITUDES) + 0.5) * 2 * np.pi / LONGITUDES
    latitudes = (np.arange(LATITUDES) + 0.5) * np.pi / LATITUDES - np.pi / 2
    latitude, longitude = (grid.ravel() for grid in np.meshgrid(latitudes, longitudes, indexing="ij"))
    around = np.stack([np.cos(longitude), np.sin(longitude)], axis=1)
    normals = np.column_stack([np.cos(latitude)[:, None] * around, np.sin(latitude)])
    bevel = BEVEL[shape]
    cores = {
        "sphere": np.zeros_like(normals),
        "cube": (CUBE_SIDE - bevel) * np.sign(normals),
        "cylinder": (1 - bevel) * np.column_stack([around, np.sign(normals[:, 2])]),
    }
    return Mesh(cores[shape] + bevel * normals, normals, _faces())


def middle(shape: Shape, radius: float, pose: Pose) -> tuple[float, float, float]:
    """The middle of a solid that stands on the ground."""
    return pose.x, pose.y, radius * float(solid_mesh(shape).vertices[:, 2].max())


def stood(shape: Shape, radius: float, pose: Pose) -> Floats:
    """The vertices of a solid that stands on the ground: (vertices, 3)."""
    cosine, sine = np.cos(pose.turn), np.sin(pose.turn)
    turned = solid_mesh(shape).vertices @ np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]])
    return np.asarray(radius * turned + middle(shape, radius, pose))


def _faces() -> tuple[tuple[int, ...], ...]:
    number = np.arange(LONGITUDES * LATITUDES).reshape(LATITUDES, LONGITUDES)
    lower, upper = number[:-1], number[1:]
    sides = np.stack([lower, np.roll(lower, -1, 1), np.roll(upper, -1, 1), upper], axis=-1).reshape(-1, 4)
    return (*(tuple(side) for side in sides.tolist()), tuple(number[0, ::-1].tolist()), tuple(number[-1].tolist()))


@dataclass(frozen=True)
class Camera:
    """A pinhole that looks at a point, upright, and takes square pictures.

    As it stands it is CLEVR's (Johnson et al. 2017), without the jitter: lens and place are those of its base scene.
    """

    position: tuple[float, float, float] = (7.48113, -6.50764, 5.34367)
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    lens_mm: float = 35.0
    sensor_mm: float = 32.0  # width
    pixels: int = 128  # width and height of a picture

    @cached_property
    def axes(self) -> Floats:
        """(3, 3): the directions that are right, down and forward in a picture, one a row, of length 1."""
        forward = np.subtract(self.target, self.position)
        right = np.cross(forward, [0, 0, 1])
        rows = np.stack([right, np.cross(forward, right), forward])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def seen(self, points: Floats) -> Floats:
        """Where points (..., 3) are in the picture: (..., 2) in px, (0, 0) the top-left corner of the first pixel."""
        right_down, forward = np.split((points - np.array(self.position)) @ self.axes.T, [2], axis=-1)
        return np.asarray(self.pixels * (0.5 + self.lens_mm / self.sensor_mm * right_down / forward))

    def box(self, points: Floats) -> Floats:
        """The box around points (..., n, 3) in the picture: (..., 4), its centre x, y and its width and height, px."""
        seen = self.seen(points)
        low, high = seen.min(axis=-2), seen.max(axis=-2)
        return np.concatenate([(low + high) / 2, high - low], axis=-1)
