"""Geometry of the rendered data: solids with rounded edges and a pinhole camera, independent of the renderer."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Shape = Literal["sphere", "cube", "cylinder"]
Material = Literal["metal", "rubber"]
Colour = Literal["red", "green", "blue"]

LONGITUDES, LATITUDES = 128, 64  # of a mesh; a sphere's silhouette is then exact to 0.06 % of its radius
BEVEL: dict[Shape, float] = {"sphere": 1.0, "cube": 0.09, "cylinder": 0.11}  # radius of the edges, over the solid's
CUBE_SIDE = np.sqrt(0.5)  # half side over radius: the cube's base is inscribed in the cylinder's


@dataclass(frozen=True)
class Solid:
    shape: Shape
    colour: Colour
    material: Material

    @property
    def name(self) -> str:
        return f"{self.colour} {self.material} {self.shape}"


@dataclass(frozen=True)
class Pose:
    """Position on the ground, and rotation about the vertical axis."""

    x: float
    y: float
    turn: float  # radians


@dataclass(frozen=True)
class Mesh:
    """The surface of a convex solid around (0, 0, 0), as one grid and a cap at either end."""

    vertices: Floats  # (vertices, 3)
    normals: Floats  # (vertices, 3), of length 1
    faces: tuple[tuple[int, ...], ...]  # vertex indices, counter-clockwise from outside


@cache
def solid_mesh(shape: Shape) -> Mesh:
    """A solid of radius 1: all points within a bevel of its core, which is a point, a cylinder or a cube.

    Every vertex is a point of the core plus the bevel along the normal. No normal lies along an axis, where the nearest
    corner of a cube would be ambiguous.
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


def centre(shape: Shape, radius: float, pose: Pose) -> tuple[float, float, float]:
    """The centre of a solid that stands on the ground."""
    return pose.x, pose.y, radius * float(solid_mesh(shape).vertices[:, 2].max())


def posed_vertices(shape: Shape, radius: float, pose: Pose) -> Floats:
    """The vertices of a solid that stands on the ground: (vertices, 3)."""
    cosine, sine = np.cos(pose.turn), np.sin(pose.turn)
    turned = solid_mesh(shape).vertices @ np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]])
    return np.asarray(radius * turned + centre(shape, radius, pose))


def _faces() -> tuple[tuple[int, ...], ...]:
    indices = np.arange(LONGITUDES * LATITUDES).reshape(LATITUDES, LONGITUDES)
    lower, upper = indices[:-1], indices[1:]
    sides = np.stack([lower, np.roll(lower, -1, 1), np.roll(upper, -1, 1), upper], axis=-1).reshape(-1, 4)
    return (*(tuple(side) for side in sides.tolist()), tuple(indices[0, ::-1].tolist()), tuple(indices[-1].tolist()))


@dataclass(frozen=True)
class Camera:
    """An upright pinhole camera that takes square images.

    The defaults are CLEVR's base scene (Johnson et al. 2017) without its jitter.
    """

    position: tuple[float, float, float] = (7.48113, -6.50764, 5.34367)
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    lens_mm: float = 35.0
    sensor_mm: float = 32.0  # width
    pixels: int = 128  # width and height of an image

    @cached_property
    def axes(self) -> Floats:
        """(3, 3): unit vectors to the right, down and forward in an image, one per row."""
        forward = np.subtract(self.target, self.position)
        right = np.cross(forward, [0, 0, 1])
        rows = np.stack([right, np.cross(forward, right), forward])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def project(self, points: Floats) -> Floats:
        """Points (..., 3) in the image: (..., 2) in px, (0, 0) the top-left corner of the first pixel."""
        right_down, forward = np.split((points - np.array(self.position)) @ self.axes.T, [2], axis=-1)
        return np.asarray(self.pixels * (0.5 + self.lens_mm / self.sensor_mm * right_down / forward))

    def box(self, points: Floats) -> Floats:
        """The bounding box of points (..., n, 3) in the image: (..., 4), centre x, y, width and height, px."""
        projected = self.project(points)
        low, high = projected.min(axis=-2), projected.max(axis=-2)
        return np.concatenate([(low + high) / 2, high - low], axis=-1)
