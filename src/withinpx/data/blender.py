"""The CLEVR scene in Blender (Cycles): ground, lamps, materials, solids. Only this module imports ``bpy``.

Lamp positions and colours are CLEVR's (Johnson et al. 2017; lamps as listed by the Kubric project). The scene itself is
built here, without any of their files.
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

from withinpx.data.solids import Camera, Colour, Floats, Material, Pose, Solid, centre, solid_mesh
from withinpx.errors import InputError

Pixels = NDArray[np.uint8]

VERSION, PYTHON = "5.0.1", (3, 11)  # of bpy, and the only Python it has wheels for
LIBRARIES = "libx11-6 libxrender1 libxfixes3 libxi6 libxkbcommon0 libgl1 libsm6"
SAMPLES = 16  # per pixel, then denoised
MASK_SCALE = 4  # resolution of the silhouettes over that of the images
MASK_LEVELS = 5  # grey levels of the silhouettes, from black to white

COLOURS: dict[Colour, tuple[int, int, int]] = {"red": (173, 35, 35), "green": (29, 105, 20), "blue": (42, 75, 215)}
MATERIALS: dict[Material, dict[str, float]] = {
    "metal": {"Metallic": 1.0, "Roughness": 0.22},
    "rubber": {"Metallic": 0.0, "Roughness": 0.7, "Specular IOR Level": 0.3},
}
GROUND = {"Roughness": 0.9, "Specular IOR Level": 0.1}
GREY = 0.30  # albedo of the ground
BEND_START, BEND_RADIUS = 12.0, 12.0  # the ground curves up this far behind the middle, with this radius
WIDTH = 40.0  # half the ground's
SKY = 0.16  # ambient light


@dataclass(frozen=True)
class Lamp:
    """A square area light that points at the middle of the ground."""

    position: tuple[float, float, float]
    power_w: float
    side: float
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)


LAMPS = {
    "key": Lamp((6.44671, -2.90517, 4.2584), 260, 0.8, (1.0, 0.93, 0.82)),
    "fill": Lamp((-4.67112, -4.0136, 3.01122), 80, 1.0, (0.76, 0.82, 1.0)),
    "back": Lamp((-1.1685, 2.64602, 5.81574), 260, 0.8),
}
SUN, SUN_STRENGTH, SUN_ANGLE = (11.6608, -6.62799, 25.8232), 1.6, 0.1  # angular diameter in radians


@dataclass(frozen=True)
class Rendered:
    image: Pixels  # (height, width, 3)
    silhouettes: Pixels  # (MASK_SCALE height, MASK_SCALE width): 0 is background, else the solid's number + 1


class BlenderRenderer:
    """Solids of one radius, one camera and one light; only the poses change between images.

    An image depends on the poses alone: not on earlier images, and not on the number of threads.
    """

    def __init__(
        self, camera: Camera, solids: Sequence[Solid], radius: float, samples: int = SAMPLES, threads: int = 0
    ) -> None:
        self._bpy = import_bpy()
        with _silent_stdout():
            self._bpy.ops.wm.read_factory_settings(use_empty=True)
            self._scene = self._bpy.context.scene
            self._radius, self._shapes = radius, tuple(solid.shape for solid in solids)
            self._add_camera(camera)
            self._add_lights()
            self._add_ground(camera)
            self._solids = [self._add_solid(label, solid) for label, solid in enumerate(solids, 1)]
            self._scene.view_settings.view_transform = "Standard"
            _configure(self._scene, camera.pixels, samples, threads)
            self._scene.cycles.use_denoising = True
            self._scene.cycles.denoiser = "OPENIMAGEDENOISE"
            self._scene.cycles.denoising_prefilter = "FAST"
            self._mask_scene = self._add_mask_scene()

    def background(self) -> Pixels:
        """The scene without solids."""
        for solid in self._solids:
            solid.hide_render = True
        return self._render(self._scene)

    def render(self, poses: Sequence[Pose]) -> Rendered:
        for solid, shape, pose in zip(self._solids, self._shapes, poses, strict=True):
            solid.location = centre(shape, self._radius, pose)
            solid.rotation_euler = (0, 0, pose.turn)
            solid.hide_render = False
        greys = self._render(self._mask_scene)[..., 0]
        return Rendered(self._render(self._scene), np.round(greys / 255 * MASK_LEVELS).astype(np.uint8))

    def _add_camera(self, camera: Camera) -> None:
        lens = self._bpy.data.cameras.new("camera")
        lens.lens, lens.sensor_width = camera.lens_mm, camera.sensor_mm
        added = self._add("camera", lens)
        right, down, forward = camera.axes
        added.matrix_world = [(*right, 0), (*-down, 0), (*-forward, 0), (*camera.position, 1)]  # its columns
        self._scene.camera = added

    def _add_lights(self) -> None:
        for name, lamp in LAMPS.items():
            light = self._bpy.data.lights.new(name, "AREA")
            light.energy, light.size, light.color = lamp.power_w, lamp.side, lamp.colour
            self._point_at_middle(self._add(name, light), lamp.position)
        sun = self._bpy.data.lights.new("sun", "SUN")
        sun.energy, sun.angle = SUN_STRENGTH, SUN_ANGLE
        self._point_at_middle(self._add("sun", sun), SUN)
        self._scene.world = self._bpy.data.worlds.new("sky")
        self._scene.world.use_nodes = True
        self._scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (SKY, SKY, SKY, 1)

    def _add_ground(self, camera: Camera) -> None:
        away = np.array([camera.axes[2, 0], camera.axes[2, 1], 0])
        away /= np.linalg.norm(away)
        ground = self._add("ground", self._mesh("ground", *_curved_ground(away)))
        ground.data.materials.append(self._material("ground", (GREY, GREY, GREY), GROUND))

    def _add_solid(self, label: int, solid: Solid) -> Any:
        mesh = solid_mesh(solid.shape)
        surface = self._mesh(solid.name, self._radius * mesh.vertices, mesh.faces)
        surface.normals_split_custom_set_from_vertices(mesh.normals.tolist())
        colour = tuple(value / 255 for value in COLOURS[solid.colour])
        surface.materials.append(self._material(solid.name, colour, MATERIALS[solid.material]))
        added = self._add(solid.name, surface)
        added.pass_index = label
        return added

    def _add_mask_scene(self) -> Any:
        """The same solids and camera without lights, each solid in a grey of its own."""
        scene = self._bpy.data.scenes.new("outlines")
        for obj in (self._scene.camera, *self._solids):
            scene.collection.objects.link(obj)
        scene.camera = self._scene.camera
        scene.view_settings.view_transform = "Raw"
        scene.view_layers[0].material_override = self._label_material()
        _configure(scene, MASK_SCALE * self._scene.render.resolution_x, 1, self._scene.render.threads)
        scene.cycles.pixel_filter_type, scene.cycles.filter_width = "BOX", 0.01  # samples at the pixel centres
        return scene

    def _label_material(self) -> Any:
        """Emits a grey that encodes the solid's label."""
        material = self._bpy.data.materials.new("number")
        material.use_nodes = True
        nodes, links = material.node_tree.nodes, material.node_tree.links
        nodes.clear()
        info, emission = nodes.new("ShaderNodeObjectInfo"), nodes.new("ShaderNodeEmission")
        level, out = nodes.new("ShaderNodeMath"), nodes.new("ShaderNodeOutputMaterial")
        level.operation, level.inputs[1].default_value = "DIVIDE", MASK_LEVELS
        links.new(info.outputs["Object Index"], level.inputs[0])
        links.new(level.outputs[0], emission.inputs["Color"])
        links.new(emission.outputs[0], out.inputs["Surface"])
        return material

    def _material(self, name: str, colour: tuple[float, ...], properties: dict[str, float]) -> Any:
        material = self._bpy.data.materials.new(name)
        material.use_nodes = True
        inputs = material.node_tree.nodes["Principled BSDF"].inputs
        inputs["Base Color"].default_value = (*colour, 1)
        for key, value in properties.items():
            inputs[key].default_value = value
        return material

    def _mesh(self, name: str, vertices: Floats, faces: Sequence[tuple[int, ...]]) -> Any:
        mesh = self._bpy.data.meshes.new(name)
        mesh.from_pydata(vertices.tolist(), [], list(faces))
        mesh.shade_smooth()
        return mesh

    def _add(self, name: str, data: Any) -> Any:
        added = self._bpy.data.objects.new(name, data)
        self._scene.collection.objects.link(added)
        return added

    def _point_at_middle(self, lamp: Any, position: tuple[float, float, float]) -> None:
        lamp.location = position
        lamp.rotation_euler = (-lamp.location).to_track_quat("-Z", "Y").to_euler()

    def _render(self, scene: Any) -> Pixels:
        """Render through a temporary file: Blender gives no access to the pixels of a render."""
        with tempfile.TemporaryDirectory() as folder, delayed_interrupt(), _silent_stdout():
            scene.render.filepath = str(Path(folder) / "image.png")
            self._bpy.ops.render.render(write_still=True, scene=scene.name)
            with Image.open(scene.render.filepath) as image:
                return np.asarray(image.convert("RGB"))


def _configure(scene: Any, pixels: int, samples: int, threads: int) -> None:
    """Square images by Cycles on the CPU, deterministic."""
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
    """A ground that curves up behind the middle, so that there is no horizon: vertices and faces."""
    bend = np.linspace(0, np.pi / 2, 33)
    along = np.concatenate([[-WIDTH], BEND_START + BEND_RADIUS * np.sin(bend), [BEND_START + BEND_RADIUS]])
    up = np.concatenate([[0], BEND_RADIUS * (1 - np.cos(bend)), [WIDTH]])
    sideways = np.cross(away, [0, 0, 1])
    middle_line = along[:, None] * away + up[:, None] * np.array([0, 0, 1])
    left, right = middle_line - WIDTH * sideways, middle_line + WIDTH * sideways
    count = len(along)
    faces = [(step, count + step, count + step + 1, step + 1) for step in range(count - 1)]
    return np.concatenate([left, right]), faces


def import_bpy() -> Any:
    try:
        with _silent_stdout(), contextlib.redirect_stderr(io.StringIO()):  # its audio module warns about NumPy 2
            return importlib.import_module("bpy")
    except ModuleNotFoundError:
        if sys.version_info[:2] != PYTHON:
            raise InputError(
                f"Blender is available for Python {PYTHON[0]}.{PYTHON[1]} only, and this is {sys.version_info[0]}."
                f"{sys.version_info[1]}: make an environment with that version and install 'withinpx[clevr]' there."
            ) from None
        raise InputError("Rendering needs Blender: pip install 'withinpx[clevr]' (some 0.8 GB).") from None
    except ImportError as error:
        raise InputError(f"Blender cannot be loaded ({error}): on Debian, apt-get install {LIBRARIES}.") from None


@contextlib.contextmanager
def _silent_stdout() -> Iterator[None]:
    """Discard what Blender's C code prints for every file it saves."""
    sys.stdout.flush()
    saved, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(null)


@contextlib.contextmanager
def delayed_interrupt() -> Iterator[None]:
    """Handle Ctrl-C at the end: Blender would ignore it and leave half an image."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    signals: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if signals:
        raise KeyboardInterrupt
