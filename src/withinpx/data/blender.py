"""The scene in Blender (Cycles): ground and backdrop, lamps, materials, solids. Only this module imports ``bpy``.

The places of the lamps and the colours are CLEVR's (Johnson et al. 2017; the lamps as the Kubric project lists them).
The scene itself is built here, from nothing.
"""

import contextlib
import importlib
import io
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.data.solids import Camera, Colour, Floats, Material, Pose, Solid, middle, solid_mesh
from withinpx.errors import InputError

Pixels = NDArray[np.uint8]

VERSION, PYTHON = "5.0.1", (3, 11)  # of bpy, and the only Python it has wheels for
LIBRARIES = "libx11-6 libxrender1 libxfixes3 libxi6 libxkbcommon0 libgl1 libsm6"
SAMPLES = 16  # a pixel, then denoised
FINER = 4  # silhouettes are rendered so many times larger
OUTLINE_STEPS = 5  # their greys, from black to white

COLOURS: dict[Colour, tuple[int, int, int]] = {"red": (173, 35, 35), "green": (29, 105, 20), "blue": (42, 75, 215)}
LOOKS: dict[Material, dict[str, float]] = {
    "metal": {"Metallic": 1.0, "Roughness": 0.22},
    "rubber": {"Metallic": 0.0, "Roughness": 0.7, "Specular IOR Level": 0.3},
}
GROUND = {"Roughness": 0.9, "Specular IOR Level": 0.1}
GREY = 0.30  # share of the light that the ground gives back
BACKDROP, BEND = 12.0, 12.0  # how far behind the middle the ground begins to curve up, and the radius of the curve
WIDTH = 40.0  # half the ground's
SKY = 0.16  # what comes from everywhere else


@dataclass(frozen=True)
class Lamp:
    """A square that shines towards the middle of the ground."""

    position: tuple[float, float, float]
    power_w: float
    side: float
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)


LAMPS = {
    "key": Lamp((6.44671, -2.90517, 4.2584), 260, 0.8, (1.0, 0.93, 0.82)),
    "fill": Lamp((-4.67112, -4.0136, 3.01122), 80, 1.0, (0.76, 0.82, 1.0)),
    "back": Lamp((-1.1685, 2.64602, 5.81574), 260, 0.8),
}
SUN, SUN_STRENGTH, SUN_ANGLE = (11.6608, -6.62799, 25.8232), 1.6, 0.1  # the angle is its breadth, radians


@dataclass(frozen=True)
class Rendered:
    """A picture, and which solid each of its finer pixels shows."""

    picture: Pixels  # (height, width, 3)
    silhouettes: Pixels  # (FINER height, FINER width): 0 for none, else the solid's number + 1


class BlenderStage:
    """Some solids of one radius before one camera in one light; they are moved from picture to picture.

    A picture depends on what it shows and on nothing else: neither on those before it nor on the number of threads.
    """

    def __init__(
        self, camera: Camera, solids: Sequence[Solid], radius: float, samples: int = SAMPLES, threads: int = 0
    ) -> None:
        self._bpy = blender()
        with _quietly():
            self._bpy.ops.wm.read_factory_settings(use_empty=True)
            self._scene = self._bpy.context.scene
            self._radius, self._shapes = radius, tuple(solid.shape for solid in solids)
            self._aim(camera)
            self._light()
            self._lay_ground(camera)
            self._solids = [self._add_solid(number, solid) for number, solid in enumerate(solids, 1)]
            self._expose(camera.pixels, samples, threads)
            self._outlines = self._outline_scene()

    def background(self) -> Pixels:
        """The scene without solids."""
        for solid in self._solids:
            solid.hide_render = True
        return self._taken(self._scene)

    def render(self, poses: Sequence[Pose]) -> Rendered:
        """The scene with every solid in its place."""
        for solid, shape, pose in zip(self._solids, self._shapes, poses, strict=True):
            solid.location = middle(shape, self._radius, pose)
            solid.rotation_euler = (0, 0, pose.turn)
            solid.hide_render = False
        drawn = self._taken(self._outlines)[..., 0]
        return Rendered(self._taken(self._scene), np.round(drawn / 255 * OUTLINE_STEPS).astype(np.uint8))

    def _aim(self, camera: Camera) -> None:
        lens = self._bpy.data.cameras.new("camera")
        lens.lens, lens.sensor_width = camera.lens_mm, camera.sensor_mm
        to_device = self._add("camera", lens)
        right, down, forward = camera.axes
        to_device.matrix_world = [(*right, 0), (*-down, 0), (*-forward, 0), (*camera.position, 1)]  # its columns
        self._scene.camera = to_device

    def _light(self) -> None:
        for name, lamp in LAMPS.items():
            light = self._bpy.data.lights.new(name, "AREA")
            light.energy, light.size, light.color = lamp.power_w, lamp.side, lamp.colour
            self._turn_to_middle(self._add(name, light), lamp.position)
        sun = self._bpy.data.lights.new("sun", "SUN")
        sun.energy, sun.angle = SUN_STRENGTH, SUN_ANGLE
        self._turn_to_middle(self._add("sun", sun), SUN)
        self._scene.world = self._bpy.data.worlds.new("sky")
        self._scene.world.use_nodes = True
        self._scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (SKY, SKY, SKY, 1)

    def _lay_ground(self, camera: Camera) -> None:
        away = np.array([camera.axes[2, 0], camera.axes[2, 1], 0])
        away /= np.linalg.norm(away)
        ground = self._add("ground", self._surface("ground", *_curved_ground(away)))
        ground.data.materials.append(self._material("ground", (GREY, GREY, GREY), GROUND))

    def _add_solid(self, number: int, solid: Solid) -> Any:
        mesh = solid_mesh(solid.shape)
        surface = self._surface(solid.name, self._radius * mesh.vertices, mesh.faces)
        surface.normals_split_custom_set_from_vertices(mesh.normals.tolist())
        colour = tuple(share / 255 for share in COLOURS[solid.colour])
        surface.materials.append(self._material(solid.name, colour, LOOKS[solid.material]))
        added = self._add(solid.name, surface)
        added.pass_index = number
        return added

    def _expose(self, pixels: int, samples: int, threads: int) -> None:
        scene = self._scene
        scene.view_settings.view_transform = "Standard"
        _square(scene, pixels, samples, threads)
        scene.cycles.use_denoising = True
        scene.cycles.denoiser = "OPENIMAGEDENOISE"
        scene.cycles.denoising_prefilter = "FAST"

    def _outline_scene(self) -> Any:
        """The same solids before the same camera, each in a grey of its own, and nothing else."""
        outlines = self._bpy.data.scenes.new("outlines")
        for thing in (self._scene.camera, *self._solids):
            outlines.collection.objects.link(thing)
        outlines.camera = self._scene.camera
        outlines.view_settings.view_transform = "Raw"
        outlines.view_layers[0].material_override = self._number_material()
        _square(outlines, FINER * self._scene.render.resolution_x, 1, self._scene.render.threads)
        outlines.cycles.pixel_filter_type, outlines.cycles.filter_width = "BOX", 0.01  # each sample amid its pixel
        return outlines

    def _number_material(self) -> Any:
        """Shines with a solid's number."""
        material = self._bpy.data.materials.new("number")
        material.use_nodes = True
        nodes, links = material.node_tree.nodes, material.node_tree.links
        nodes.clear()
        about, shine = nodes.new("ShaderNodeObjectInfo"), nodes.new("ShaderNodeEmission")
        share, out = nodes.new("ShaderNodeMath"), nodes.new("ShaderNodeOutputMaterial")
        share.operation, share.inputs[1].default_value = "DIVIDE", OUTLINE_STEPS
        links.new(about.outputs["Object Index"], share.inputs[0])
        links.new(share.outputs[0], shine.inputs["Color"])
        links.new(shine.outputs[0], out.inputs["Surface"])
        return material

    def _material(self, name: str, colour: tuple[float, ...], looks: dict[str, float]) -> Any:
        material = self._bpy.data.materials.new(name)
        material.use_nodes = True
        inputs = material.node_tree.nodes["Principled BSDF"].inputs
        inputs["Base Color"].default_value = (*colour, 1)
        for look, value in looks.items():
            inputs[look].default_value = value
        return material

    def _surface(self, name: str, vertices: Floats, faces: Sequence[tuple[int, ...]]) -> Any:
        surface = self._bpy.data.meshes.new(name)
        surface.from_pydata(vertices.tolist(), [], list(faces))
        surface.shade_smooth()
        return surface

    def _add(self, name: str, what: Any) -> Any:
        added = self._bpy.data.objects.new(name, what)
        self._scene.collection.objects.link(added)
        return added

    def _turn_to_middle(self, lamp: Any, position: tuple[float, float, float]) -> None:
        lamp.location = position
        lamp.rotation_euler = (-lamp.location).to_track_quat("-Z", "Y").to_euler()

    def _taken(self, scene: Any) -> Pixels:
        """Render, through a file: Blender hands out the pixels of no render. What else it writes there is dropped."""
        with tempfile.TemporaryDirectory() as folder, finishing_first(), _quietly():
            scene.render.filepath = str(Path(folder) / "picture.png")
            self._bpy.ops.render.render(write_still=True, scene=scene.name)
            with Image.open(scene.render.filepath) as picture:
                return np.asarray(picture.convert("RGB"))


def _square(scene: Any, pixels: int, samples: int, threads: int) -> None:
    """Square pictures of so many pixels, by Cycles on the CPU, the same each time."""
    scene.render.engine = "CYCLES"
    scene.render.resolution_x = scene.render.resolution_y = pixels
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format = "PNG"
    scene.render.dither_intensity = 0
    scene.render.threads_mode = "FIXED" if threads else "AUTO"
    if threads:
        scene.render.threads = threads
    scene.cycles.device, scene.cycles.seed = "CPU", 0
    scene.cycles.samples, scene.cycles.use_adaptive_sampling = samples, False
    scene.cycles.use_denoising = False


def _curved_ground(away: Floats) -> tuple[Floats, list[tuple[int, int, int, int]]]:
    """A ground that curves up far behind the middle: the horizon cannot be seen."""
    bend = np.linspace(0, np.pi / 2, 33)
    along = np.concatenate([[-WIDTH], BACKDROP + BEND * np.sin(bend), [BACKDROP + BEND]])
    up = np.concatenate([[0], BEND * (1 - np.cos(bend)), [WIDTH]])
    aside = np.cross(away, [0, 0, 1])
    middle_line = along[:, None] * away + up[:, None] * np.array([0, 0, 1])
    left, right = middle_line - WIDTH * aside, middle_line + WIDTH * aside
    count = len(along)
    faces = [(step, count + step, count + step + 1, step + 1) for step in range(count - 1)]
    return np.concatenate([left, right]), faces


def blender() -> Any:
    """The module ``bpy``, or the sentence why there is none."""
    try:
        with _quietly(), contextlib.redirect_stderr(io.StringIO()):  # its sound does not know NumPy 2, and says so
            return importlib.import_module("bpy")
    except ModuleNotFoundError:
        if sys.version_info[:2] != PYTHON:
            raise InputError(
                f"Blender comes for Python {PYTHON[0]}.{PYTHON[1]} only, and this is Python {sys.version_info[0]}."
                f"{sys.version_info[1]}: make an environment with that one and install 'withinpx[clevr]' there."
            ) from None
        raise InputError("Rendering needs Blender: pip install 'withinpx[clevr]' (some 0.8 GB).") from None
    except ImportError as error:
        raise InputError(f"Blender cannot be loaded ({error}): on Debian, apt-get install {LIBRARIES}.") from None


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Blender tells standard output of every file it saves; what a command prints there is for pipes."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def finishing_first() -> Iterator[None]:
    """Ctrl-C waits for the end of this: Blender would drop it, and half of the picture with it."""
    if threading.current_thread() is not threading.main_thread():  # only that one is interrupted
        yield
        return
    stops: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: stops.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if stops:
        raise KeyboardInterrupt
