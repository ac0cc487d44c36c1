"""Arrays: idtracker.ai's trajectories, TRex's individuals, and HDF5 of SLEAP, idtracker.ai and DeepLabCut."""

import json
import pickle
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from withinpx.auditing.foreign import (
    DEEPLABCUT,
    IDTRACKER,
    SLEAP,
    TREX,
    Array,
    Format,
    Table,
    chosen_part,
    without_parts,
)
from withinpx.auditing.options import AuditOptions
from withinpx.auditing.text import HEAD, USUAL_SOURCE, individual_of
from withinpx.errors import InputError

SLEAP_AXES = 4  # frame, track, node and axis, in an order that the file may name


class _ArraysOnly(pickle.Unpickler):
    """Loads arrays and plain values; refuses every other class, so that a file cannot run code."""

    allowed = ("_reconstruct", "scalar", "ndarray", "dtype", "OrderedDict", "_frombuffer", "encode")

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] in ("numpy", "collections", "_codecs") and name in self.allowed:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def read_npy(path: Path, options: AuditOptions) -> Table:
    """idtracker.ai's dictionary, or an array of frames, animals and two coordinates."""
    without_parts(path, options.bodypart)
    try:
        with path.open("rb") as file:
            content = _dictionary_or_array(file)
    except (ValueError, EOFError, OSError, pickle.UnpicklingError, AttributeError, ImportError, IndexError, TypeError):
        raise InputError(f"{path} is no array of trajectories that can be read safely: export it as CSV.") from None
    if isinstance(content, Mapping):
        return _trajectories(path, content)
    return _stacked(path, IDTRACKER, np.asarray(content), None)


def _dictionary_or_array(file: BinaryIO) -> Any:
    """An array of numbers, or the one object that an array of objects holds."""
    version = np.lib.format.read_magic(file)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    _, _, dtype = reader(file)
    if dtype.hasobject:
        loaded = _ArraysOnly(file).load()
        return loaded.item() if isinstance(loaded, np.ndarray) else loaded
    file.seek(0)
    return np.load(file, allow_pickle=False)


def _trajectories(path: Path, content: Mapping[str, Any]) -> Table:
    if "trajectories" not in content:
        raise InputError(f"{path} has no trajectories: name a file of idtracker.ai's folder trajectories.")
    labels = content.get("identities_labels")
    return _stacked(path, IDTRACKER, np.asarray(content["trajectories"]), None if labels is None else list(labels))


def _stacked(
    path: Path, kind: Format, positions: Array, labels: Sequence[Any] | None, part: str | None = None
) -> Table:
    """(frames, animals, 2), NaN where there is none."""
    if positions.ndim != 3 or positions.shape[2] != 2 or not positions.size or positions.dtype.kind not in "fiu":
        raise InputError(f"{path} has an array {positions.shape} where (frames, animals, 2) is needed.")
    frames, animals = positions.shape[:2]
    names = [str(name) for name in labels] if labels is not None and len(labels) == animals else None
    names = names or [str(number + 1) for number in range(animals)]
    return Table(
        kind,
        np.tile(np.arange(frames, dtype=np.float64), animals),
        [name for name in names for _ in range(frames)],
        positions.transpose(1, 0, 2).reshape(-1, 2).astype(np.float64),
        lambda row: f"for animal {names[row // frames]}",
        part,
    )


def read_npz(path: Path, options: AuditOptions) -> Table:
    """One individual of TRex, whose positions are in cm; the file says how many cm a pixel has."""
    try:
        with np.load(path, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
    except (ValueError, OSError, KeyError):
        raise InputError(f"{path} is no archive of arrays that can be read safely: export it as CSV.") from None
    if "trajectories" in content:
        without_parts(path, options.bodypart)
        return _trajectories(path, content)
    kinds = {name.partition("#")[2] or HEAD: name for name in content if name == "X" or name.startswith("X#")}
    if not kinds or "frame" not in content:
        raise InputError(f"{path} has no frame and X of TRex, and no trajectories: it has {', '.join(content)}.")
    part = chosen_part(path, list(kinds), options.bodypart, default=USUAL_SOURCE)
    return _individual(path, content, kinds[part], part)


def _individual(path: Path, content: Mapping[str, Any], column: str, part: str) -> Table:
    scale = np.asarray(content.get("cm_per_pixel", np.nan), np.float64).ravel()
    if len(scale) != 1 or not scale[0] > 0:
        raise InputError(f"{path} has positions in cm but no cm_per_pixel: export it from TRex as output_fields.")
    frames = np.asarray(content["frame"], np.float64).ravel()
    axes = [np.asarray(content.get(f"{axis}{column[1:]}", ()), np.float64).ravel() for axis in "XY"]
    if any(len(axis) != len(frames) for axis in axes):
        raise InputError(f"{path} has {column} and its Y of other lengths than its frames.")
    positions = np.stack(axes, axis=-1) / scale[0]
    missing = np.asarray(content.get("missing", np.zeros(len(frames)))).ravel()
    positions[missing == 1] = np.nan
    named = np.asarray(content.get("id", ())).ravel()
    name = str(int(named[0])) if len(named) == 1 and np.issubdtype(named.dtype, np.number) else individual_of(path)
    return Table(TREX, frames, [name] * len(frames), positions, lambda row: f"in row {row} of {path.name}", part)


def read_hdf5(path: Path, options: AuditOptions) -> Table:
    h5py = _extra("h5py", path)
    with h5py.File(path, "r") as file:
        if "tracks" in file and "node_names" in file:
            return _sleap(path, file, options)
        if "trajectories" in file:
            without_parts(path, options.bodypart)
            return _trajectories(path, {"trajectories": file["trajectories"][()]})
        deeplabcut = "df_with_missing" in file
    if not deeplabcut:
        raise InputError(f"{path} is HDF5, but of none of SLEAP's analysis, idtracker.ai and DeepLabCut.")
    _extra("tables", path)
    return _deeplabcut(path, options)


def _extra(package: str, path: Path) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise InputError(
            f"{path} is HDF5, and {package} is not installed: pip install 'withinpx[hdf5]', or export it as CSV."
        ) from None


def _sleap(path: Path, file: Any, options: AuditOptions) -> Table:
    """Analysis HDF5: tracks, xy, nodes, frames; newer files may name another order."""
    nodes, names = (_texts(file[name][()]) if name in file else [] for name in ("node_names", "track_names"))
    part = chosen_part(path, nodes, options.bodypart)
    tracks = np.asarray(file["tracks"][()], np.float64)
    dims = file["tracks"].attrs.get("dims")
    if dims is None:
        order = (3, 0, 2, 1)
    else:
        listed = np.asarray(json.loads(dims)).tolist()
        order = tuple(listed.index(name) for name in ("frame", "track", "node", "xy"))
    if tracks.ndim != SLEAP_AXES:
        raise InputError(f"{path} has tracks of {tracks.ndim} axes where tracks, xy, nodes and frames are needed.")
    return _stacked(path, SLEAP, tracks.transpose(order)[:, :, nodes.index(part)], names or None, part)


def _texts(values: Any) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in np.asarray(values).ravel().tolist()]


def _deeplabcut(path: Path, options: AuditOptions) -> Table:
    import pandas as pd  # noqa: PLC0415

    table = pd.read_hdf(path)
    levels = table.columns.names
    parts = table.columns.get_level_values("bodyparts")
    part = chosen_part(path, list(parts), options.bodypart)
    own = table.loc[:, parts == part]
    by_animal = "individuals" in levels
    animals = list(dict.fromkeys(own.columns.get_level_values("individuals"))) if by_animal else ["0"]
    positions = []
    for animal in animals:
        one = own.xs(animal, axis=1, level="individuals", drop_level=False) if by_animal else own
        axes = [one.loc[:, one.columns.get_level_values("coords") == axis].to_numpy(np.float64) for axis in "xy"]
        positions.append(np.concatenate(axes, axis=1))
    frames = np.asarray(table.index, np.float64)
    count = len(frames)
    return Table(
        DEEPLABCUT,
        np.tile(frames, len(animals)),
        [str(animal) for animal in animals for _ in range(count)],
        np.concatenate(positions),
        lambda row: f"in row {row % count}",
        part,
    )
