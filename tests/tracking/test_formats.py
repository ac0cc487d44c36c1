"""Each exported file is read by its own program's library, where it is installed, and holds the same positions."""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from tests.tracking.scenes import HEIGHT, WIDTH, alike, made_up, never_present
from tests.tracking.test_trackmate import read_xml
from withinpx.tracking.exports import FORMATS, export
from withinpx.tracking.options import Format
from withinpx.tracking.tracks import Tracks


def needing(*packages: str) -> list[Any]:
    return [pytest.importorskip(package, reason=f"{package} is not in the test extra") for package in packages]


# --- readers: one row per position, with the columns frame, object, x, y, and bound_px if the format has a place for it


def read_trackpy(folder: Path) -> pd.DataFrame:
    (trackpy,) = needing("trackpy")
    table = pd.read_csv(folder / "trackpy.csv", keep_default_na=False, na_values={"bound_px": [""]})
    complete = trackpy.filter_stubs(table, threshold=1)  # checks that there are frames and particles
    return complete.rename(columns={"particle": "object"}).reset_index(drop=True)


def read_napari(folder: Path) -> pd.DataFrame:
    (reader,) = needing("napari_builtins.io._read")
    data, options, kind = reader.csv_to_layer_data(str(folder / "napari_points.csv"))
    assert kind == "points"
    return pd.DataFrame({"frame": data[:, 0], "y": data[:, 1], "x": data[:, 2], **options["properties"]})


def read_napari_tracks(folder: Path) -> pd.DataFrame:
    (layers,) = needing("napari.layers")
    table = pd.read_csv(folder / "napari_tracks.csv", keep_default_na=False, na_values={"bound_px": ["nan"]})
    layer = layers.Tracks(table[["track_id", "t", "y", "x"]].to_numpy(), features=table.drop(columns="track_id"))
    read = pd.DataFrame(layer.data, columns=["object", "frame", "y", "x"])
    return read.assign(bound_px=layer.features["bound_px"], certified=layer.features["certified"])


def read_idtracker(folder: Path) -> pd.DataFrame:
    (loader,) = needing("trajectorytools.trajectories")
    content = loader.load_trajectories(folder / "trajectories_csv")
    trajectories = loader.Trajectories.from_idtrackerai(folder / "trajectories_csv", interpolate_nans=False)
    assert trajectories.number_of_individuals == 3
    positions = content["trajectories"]
    frame, number = np.nonzero(np.isfinite(positions[..., 0]))
    x, y = positions[frame, number].T
    rest = {name: content[name][frame, number] for name in ("bound_px", "certified")}
    return pd.DataFrame({"frame": frame, "object": number, "x": x, "y": y, **rest})


def read_sleap(folder: Path) -> pd.DataFrame:
    (sleap,) = needing("sleap_io")
    labels = sleap.load_slp(str(folder / "tracks.slp"))
    rows = [
        (frame.frame_idx, labels.tracks.index(instance.track), *instance.numpy()[0], instance.score == 1)
        for frame in labels
        for instance in frame.instances
    ]
    return pd.DataFrame(rows, columns=["frame", "object", "x", "y", "certified"])


def read_nwb(folder: Path) -> pd.DataFrame:
    nwb, _ = needing("pynwb", "ndx_pose")
    assert not nwb.validate(path=str(folder / "tracks.nwb"))
    with nwb.NWBHDF5IO(str(folder / "tracks.nwb"), "r") as reader:
        module = reader.read().processing["behavior"]
        table = module["verdicts"].to_dataframe()
        for number, some in table.groupby("object"):
            series = module[f"object{number}"]["centre"]
            table.loc[some.index, ["x", "y"]] = series.data[:]
            table.loc[some.index, "confidence"] = series.confidence[:]
    present = table[table.present].reset_index(drop=True)
    assert present.confidence.tolist() == present.certified.tolist()
    assert table.confidence[~table.present].isna().all()
    return present


def read_movement(folder: Path) -> pd.DataFrame:
    xarray, validators = needing("xarray", "movement.validators.datasets")
    dataset = xarray.load_dataset(folder / "movement.nc")
    validators.ValidPosesInputs.validate(dataset)
    return movement_rows(dataset)


def movement_rows(dataset: Any) -> pd.DataFrame:
    assert np.isnan(dataset["confidence"]).all()  # unknown, never 1
    positions = dataset["position"].transpose("time", "individuals", "keypoints", "space").values[:, :, 0]
    row, number = np.nonzero(np.isfinite(positions[..., 0]))
    x, y = positions[row, number].T
    rest = {name: dataset[name].values[row, 0, number] for name in ("bound_px", "certified")}
    return pd.DataFrame({"frame": dataset["frame"].values[row], "object": number, "x": x, "y": y, **rest})


def read_netcdf(folder: Path) -> pd.DataFrame:
    return movement_rows(import_module("xarray").load_dataset(folder / "movement.nc", engine="scipy"))


def read_trackmate(folder: Path) -> pd.DataFrame:
    (trackmate,) = needing("pytrackmate")
    table = trackmate.trackmate_peak_import(str(folder / "trackmate.xml"), get_tracks=True)
    return table.rename(columns={"t_stamp": "frame", "label": "object"}).assign(certified=table.q == 1)


READERS: list[tuple[Format, Callable[[Path], pd.DataFrame]]] = [
    ("trackpy", read_trackpy),
    ("napari", read_napari),
    ("napari", read_napari_tracks),
    ("idtracker", read_idtracker),
    ("sleap", read_sleap),
    ("nwb", read_nwb),
    ("movement", read_movement),
    ("movement", read_netcdf),
    ("trackmate", read_trackmate),
    ("trackmate", read_xml),
]


@pytest.mark.filterwarnings("ignore:numpy.ndarray size changed")  # netCDF4, which movement brings
@pytest.mark.parametrize("tracks", [made_up(), alike()], ids=["distinct", "alike"])
@pytest.mark.parametrize(("name", "read"), READERS, ids=[read.__name__ for _, read in READERS])
def test_the_positions_that_are_present_come_back_from_the_centre_of_the_first_pixel(
    name: Format, read: Callable[[Path], pd.DataFrame], tracks: Tracks, tmp_path: Path
) -> None:
    needing(*FORMATS[name].needs)
    export(tracks, tmp_path, [name])
    found = read(tmp_path).sort_values(["frame", "object"], ignore_index=True)
    row, number = np.nonzero(tracks.present)
    assert found.frame.tolist() == tracks.frames[row].tolist()
    assert found.object.tolist() == number.tolist()
    np.testing.assert_allclose(found[["x", "y"]], tracks.positions[row, number] - 0.5, rtol=0, atol=1e-4)
    assert found.certified.astype(bool).tolist() == tracks.certified[row, number].tolist()
    if "bound_px" in found:
        np.testing.assert_allclose(found.bound_px, tracks.bounds[row, number], rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", get_args(Format))
def test_each_format_writes_the_files_that_are_listed(name: Format, tmp_path: Path) -> None:
    assert set(FORMATS) == set(get_args(Format))
    needing(*FORMATS[name].needs)
    written = export(made_up(), tmp_path, [name, name])
    assert sorted(written) == sorted(path for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", get_args(Format))
@pytest.mark.parametrize("tracks", [made_up(1), never_present(made_up())], ids=["one frame", "no object"])
def test_the_shortest_tracks_are_written(name: Format, tracks: Tracks, tmp_path: Path) -> None:
    needing(*FORMATS[name].needs)
    untimed = replace(tracks, times_s=np.full(len(tracks), np.nan), unordered=True)
    for some in (tracks, untimed):
        assert all(path.stat().st_size for path in export(some, tmp_path, [name]) if path.name != "mot.txt")


# --- what is particular to one format


@pytest.mark.filterwarnings("ignore")  # trackpy 0.7 calls pandas as was usual before its version 3
def test_trackpy_measures_the_displacements(tmp_path: Path) -> None:
    (trackpy,) = needing("trackpy")
    export(made_up(), tmp_path, ["trackpy"])
    squared = trackpy.imsd(pd.read_csv(tmp_path / "trackpy.csv"), mpp=1, fps=1, max_lagtime=2)
    np.testing.assert_allclose(squared.loc[2], [3**2, 2**2 + 1**2, 1**2])  # px between frames 10, 12, 14 ...


def test_tables_say_why_a_position_is_refused_and_what_is_known_of_identities(tmp_path: Path) -> None:
    tracks = alike()
    export(tracks, tmp_path, ["trackpy", "napari"])
    for file, names in (("trackpy.csv", ("frame", "particle")), ("napari_tracks.csv", ("t", "track_id"))):
        table = pd.read_csv(tmp_path / file).sort_values(list(names))
        row, number = np.nonzero(tracks.present)
        assert table.reason.fillna("").tolist() == tracks.reasons[row, number].tolist()
        np.testing.assert_array_equal(table.identity_certified, tracks.identity_certified[row, number])
        np.testing.assert_array_equal(table.identity_p, tracks.identity_p[row, number])


def linked(tracks: Tracks) -> Any:
    """1 where the link to the previous row is proved, its probability where it is guessed, else unknown."""
    return np.where(tracks.identity_certified == 1, 1, tracks.identity_p)


def test_the_tracking_score_of_sleap_is_the_probability_of_the_link(tmp_path: Path) -> None:
    (sleap,) = needing("sleap_io")
    tracks = alike()
    export(tracks, tmp_path, ["sleap"])
    labels = sleap.load_slp(str(tmp_path / "tracks.slp"))
    scores = [instance.tracking_score for frame in labels for instance in frame.instances]
    np.testing.assert_allclose(scores, linked(tracks)[tracks.present], rtol=1e-6)


def test_idtracker_has_a_line_for_every_frame_and_the_probability_of_each_identity(tmp_path: Path) -> None:
    tracks = alike()
    export(tracks, tmp_path, ["idtracker"])
    table = pd.read_csv(tmp_path / "trajectories_csv" / "id_probabilities.csv")
    assert len(table) == 25  # frames 10, 12 ... 24 are tracked
    assert table.iloc[[0, 9, 11, 23], 1:].isna().all(axis=None)
    found = table.iloc[tracks.frames, 1:]
    np.testing.assert_allclose(found, np.where(tracks.present, linked(tracks), 0))  # idtracker.ai's 0 where absent


def test_a_bound_is_rounded_up(tmp_path: Path) -> None:
    tracks = made_up()
    tracks = replace(tracks, bounds=tracks.bounds + 0.00003)
    names: list[Format] = ["coco", "trackpy", "idtracker", "trackmate"]
    export(tracks, tmp_path, names)
    row, number = np.nonzero(tracks.certified)
    exact = tracks.bounds[row, number]
    assert (pd.read_csv(tmp_path / "trackpy.csv").bound_px.dropna() >= exact).all()
    lines = pd.read_csv(tmp_path / "trajectories_csv" / "bound_px.csv").iloc[tracks.frames, 1:]
    assert (lines.to_numpy()[row, number] >= exact).all()
    assert (read_xml(tmp_path).bound_px.dropna() >= exact).all()
    assert (pd.read_json(tmp_path / "coco_results.json").bound_px.dropna() >= exact).all()


def test_nwb_defines_its_confidence_and_names_the_origin(tmp_path: Path) -> None:
    nwb, _ = needing("pynwb", "ndx_pose")
    export(made_up(), tmp_path, ["nwb"])
    with nwb.NWBHDF5IO(str(tmp_path / "tracks.nwb"), "r") as reader:
        file = reader.read()
        estimation = file.processing["behavior"]["object1"]
        series = estimation["centre"]
        assert "1 where the position is proved" in series.confidence_definition
        assert "no probability" in series.confidence_definition
        assert "centre of the first pixel" in series.reference_frame
        assert series.unit == "pixels"
        assert estimation.source_software == "withinpx"
        assert estimation.skeleton.nodes[:].tolist() == ["centre"]
        np.testing.assert_allclose(series.timestamps[:], made_up().times_s)
        assert "start is not known" in file.session_description


def test_movement_reads_sleap_and_nwb(tmp_path: Path) -> None:
    (loaders, *_) = needing("movement.io.load_poses", "sleap_io", "pynwb", "ndx_pose")
    tracks = made_up()
    export(tracks, tmp_path, ["sleap", "nwb"])
    expected = np.where(tracks.present[..., None], tracks.positions - 0.5, np.nan)
    labels = loaders.from_sleap_file(tmp_path / "tracks.slp")
    found = labels.position.transpose("time", "individuals", "keypoints", "space").values[tracks.frames, :, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    for number in range(tracks.objects):
        poses = loaders.from_nwb_file(tmp_path / "tracks.nwb", pose_estimation_key=f"object{number}")
        found = poses.position.transpose("time", "individuals", "keypoints", "space").values[:, 0, 0]
        np.testing.assert_allclose(found, expected[:, number], rtol=0, atol=1e-4)


def test_sleap_shows_the_clip_behind_the_tracks(tmp_path: Path) -> None:
    (sleap,) = needing("sleap_io")
    export(made_up(), tmp_path, ["sleap"], clip=Path("clips/fish.mp4"))
    video = sleap.load_slp(str(tmp_path / "tracks.slp"), open_videos=False).video
    assert video.filename == "clips/fish.mp4"
    assert tuple(video.backend_metadata["shape"]) == (25, HEIGHT, WIDTH, 3)


# --- the libraries


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    heavy = "{'torch', 'sleap_io', 'pynwb', 'ndx_pose', 'h5py', 'xarray'}"
    code = f"import sys, withinpx.tracking.exports; print(*sorted({heavy} & set(sys.modules)))"
    run = import_module("subprocess").run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"
