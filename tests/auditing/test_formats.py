"""Tracks in the formats of other programs: each is recognised by its content, and half pixels are not lost."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.auditing.made import HEIGHT, WIDTH, as_table, made_tracks
from withinpx import InputError
from withinpx.auditing.foreign import ForeignTracks, read_foreign
from withinpx.auditing.options import AuditOptions
from withinpx.tracking.exports import export
from withinpx.tracking.tracks import write_tracks

TRUTH = np.round(made_tracks(objects=2, frames=6)[1], 3)  # (6, 2, 2), in our origin


def read(path: Path, **options: Any) -> ForeignTracks:
    return read_foreign(path, AuditOptions(**options))


def is_truth(found: ForeignTracks, shift: float = 0.0) -> None:
    """Both identities in all frames, at these positions in our origin."""
    assert len(found.names) == 2
    for index in range(2):
        own = found.ids == index
        assert found.frames[own].tolist() == list(range(6))
        np.testing.assert_allclose(found.positions[own], TRUTH[:, index] + shift, atol=6e-4)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(("name", "program"), [("mot", "MOTChallenge"), ("dlc", "DeepLabCut"), ("coco", "COCO")])
def test_our_exports_come_back_where_they_were(tmp_path: Path, name: Any, program: str) -> None:
    tracks, _ = made_tracks(objects=2, frames=6)
    found = read(export(tracks, tmp_path, [name])[0])
    assert found.program == program
    for index in range(2):
        np.testing.assert_allclose(found.positions[found.ids == index], tracks.positions[:, index], atol=1e-4)
        assert found.frames[found.ids == index].tolist() == tracks.frames.tolist()


def test_our_own_table_without_what_is_absent(tmp_path: Path) -> None:
    tracks, _ = made_tracks(objects=2, frames=6)
    present = tracks.present.copy()
    present[3, 1] = False
    reasons = np.where(present, "", "absent")
    tracks = type(tracks)(**{**vars(tracks), "present": present, "reasons": reasons})
    write_tracks(tmp_path / "tracks.csv", tracks)
    found = read(tmp_path / "tracks.csv")
    assert (found.program, found.origin, found.gaps) == ("withinpx", "corner", 1)
    assert found.frames[found.ids == 1].tolist() == [0, 1, 2, 4, 5]


def test_trackpy_counts_from_the_centre_of_the_first_pixel(tmp_path: Path) -> None:
    table = as_table(TRUTH - 0.5).assign(particle=lambda own: own.id.str[-1].astype(float), mass=100.0)
    table.drop(columns="id").to_csv(tmp_path / "linked.csv")
    found = read(tmp_path / "linked.csv")
    assert (found.program, found.names) == ("trackpy", ("0", "1"))
    is_truth(found)
    is_truth(read(tmp_path / "linked.csv", origin="corner"), shift=-0.5)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("columns", ["Frame ID X Y", "frame_idx track_id x_px y_px", "t label cx cy"])
def test_any_table_with_usual_names(tmp_path: Path, delimiter: str, columns: str) -> None:
    table = as_table(TRUTH)
    table.columns = pd.Index(columns.split())
    table.to_csv(tmp_path / "any.csv", index=False, sep=delimiter)
    found = read(tmp_path / "any.csv")
    assert (found.program, found.names) == ("table", ("fly 0", "fly 1"))  # names are no numbers, and need not be
    is_truth(found)


def test_one_identity_needs_no_column(tmp_path: Path) -> None:
    table = as_table(TRUTH[:, :1]).drop(columns="id")
    assert read_foreign(table).names == ("0",)
    with pytest.raises(InputError, match="no column for the identity"):
        read_foreign(as_table(TRUTH).drop(columns="id"))


def sleap_csv(path: Path) -> Path:
    table = as_table(TRUTH - 0.5).rename(
        columns={"id": "track", "frame": "frame_idx", "x": "thorax.x", "y": "thorax.y"}
    )
    table.assign(**{"head.x": 3.0, "head.y": 4.0, "instance.score": 0.9}).to_csv(path, index=False)
    return path


def test_sleap_needs_a_body_part(tmp_path: Path) -> None:
    path = sleap_csv(tmp_path / "sleap.csv")
    with pytest.raises(InputError, match="several body parts: choose one of thorax, head with --bodypart"):
        read(path)
    with pytest.raises(InputError, match="no body part 'tail': it has thorax, head"):
        read(path, bodypart="tail")
    found = read(path, bodypart="thorax")
    assert (found.program, found.part) == ("SLEAP", "thorax")
    is_truth(found)


def test_deeplabcut_with_one_animal_and_several_parts(tmp_path: Path) -> None:
    cells = TRUTH[:, 0] - 0.5
    lines = ["scorer" + ",net" * 6, "bodyparts,nose,nose,nose,tail,tail,tail", "coords" + ",x,y,likelihood" * 2]
    lines += [f"{frame},1,2,0.9,{x},{y},0.8" for frame, (x, y) in enumerate(cells.tolist())]
    path = write(tmp_path / "dlc.csv", "\n".join(lines))
    with pytest.raises(InputError, match="choose one of nose, tail"):
        read(path)
    found = read(path, bodypart="tail")
    np.testing.assert_allclose(found.positions, TRUTH[:, 0], atol=1e-9)


def test_idtracker_arrays_have_gaps(tmp_path: Path) -> None:
    gappy = TRUTH - 0.5
    np.save(tmp_path / "plain.npy", gappy)
    is_truth(read(tmp_path / "plain.npy"))
    gappy = gappy.copy()
    gappy[2, 1] = np.nan
    content: Any = {"trajectories": gappy, "version": "6", "identities_labels": ["1", "2"], "stats": {"accuracy": 0.99}}
    np.save(tmp_path / "trajectories.npy", content)
    found = read(tmp_path / "trajectories.npy")
    assert (found.program, found.gaps, len(found)) == ("idtracker.ai", 1, 11)
    np.savez(tmp_path / "trajectories.npz", trajectories=gappy)
    assert len(read(tmp_path / "trajectories.npz")) == 11


class Dangerous:
    """An object whose unpickling would run code."""

    ran = False

    def __reduce__(self) -> Any:
        return (setattr, (Dangerous, "ran", True))


def test_a_file_of_arrays_cannot_run_code(tmp_path: Path) -> None:
    content: Any = {"trajectories": Dangerous()}
    np.save(tmp_path / "trajectories.npy", content)
    with pytest.raises(InputError, match="can be read safely"):
        read(tmp_path / "trajectories.npy")
    assert not Dangerous.ran


def test_idtracker_csv(tmp_path: Path) -> None:
    rows = np.column_stack([np.arange(6) / 25, (TRUTH - 0.5).reshape(6, 4)])
    pd.DataFrame(rows, columns=["time", "x1", "y1", "x2", "y2"]).to_csv(tmp_path / "trajectories.csv", index=False)
    found = read(tmp_path / "trajectories.csv")
    assert (found.program, found.names) == ("idtracker.ai", ("1", "2"))
    is_truth(found)


def test_trex_is_one_file_per_individual_in_cm(tmp_path: Path) -> None:
    for index in range(2):
        x, y = (TRUTH[:, index] - 0.5).T * 0.02
        fields = {"frame": np.arange(6.0), "X": x + 1, "Y": y + 1, "X#wcentroid": x, "Y#wcentroid": y}
        fields |= {"cm_per_pixel": np.array(0.02), "missing": np.zeros(6)}
        np.savez(tmp_path / f"video_fish{index}.npz", **fields)
    found = read(tmp_path)
    assert (found.program, found.part, found.names) == ("TRex", "wcentroid", ("0", "1"))
    is_truth(found)
    np.testing.assert_allclose(read(tmp_path, bodypart="head").positions, found.positions + 50)


def test_trex_as_csv_is_read_in_px_only(tmp_path: Path) -> None:
    x, y = (TRUTH[:, 0] - 0.5).T
    table = pd.DataFrame({"frame": range(6), "X#wcentroid (px)": x, "Y#wcentroid (px)": y, "missing": 0})
    table.loc[4, ["X#wcentroid (px)", "Y#wcentroid (px)"]] = np.inf
    table.to_csv(tmp_path / "a_fish3.csv", index=False)
    found = read(tmp_path / "a_fish3.csv")
    assert (found.program, found.names, found.gaps) == ("TRex", ("3",), 1)
    in_cm = table.rename(columns=lambda name: name.replace("(px)", "(cm)"))
    in_cm.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match=r"X#wcentroid \(cm\) in cm.*npz"):
        read(tmp_path / "b.csv")


def test_sleap_hdf5_in_either_order(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    tracks = np.stack([np.full_like(TRUTH, 7.0), TRUTH - 0.5], axis=2)  # frame, track, node, xy
    for name, order, dims in (
        ("old", (1, 3, 2, 0), None),
        ("new", (0, 1, 2, 3), ["frame", "track", "node", "xy"]),
    ):
        path = tmp_path / f"{name}.h5"
        with h5py.File(path, "w") as file:
            file["tracks"] = tracks.transpose(order)
            file["node_names"], file["track_names"] = [b"head", b"thorax"], [b"a", b"b"]
            if dims is not None:
                file["tracks"].attrs["dims"] = json.dumps(dims)
        found = read(path, bodypart="thorax")
        assert found.names == ("a", "b")
        is_truth(found)


def test_deeplabcut_hdf5(tmp_path: Path) -> None:
    pytest.importorskip("tables")
    pytest.importorskip("h5py")
    names = ["scorer", "individuals", "bodyparts", "coords"]
    columns = pd.MultiIndex.from_product([["net"], ["a", "b"], ["tail"], ["x", "y", "likelihood"]], names=names)
    cells = np.concatenate([TRUTH - 0.5, np.ones((6, 2, 1))], axis=2).reshape(6, 6)
    pd.DataFrame(cells, columns=columns).to_hdf(tmp_path / "dlc.h5", key="df_with_missing", format="table")
    is_truth(read(tmp_path / "dlc.h5"))


def test_hdf5_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    path = tmp_path / "analysis.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(InputError, match=r"h5py is not installed: pip install 'withinpx\[hdf5\]'"):
        read(path)


HEAD = "frame,id,x,y\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD + "0,a,1,2\n1,a,3,4\n0,a,1,2\n", "'a' in frame 0 twice, in line 2 and in line 4"),
        (HEAD + "0,a,1,2\n1,a,three,4\n", "'three' for x in line 3: a number is needed"),
        (HEAD + "0.5,a,1,2\n", "0.5 for the frame in line 2: a whole number"),
        (HEAD + "0,,1,2\n", "no id in line 2"),
        (HEAD + "0,a,1\n", "3 values in line 2 where its header names 4"),
        (HEAD + "0,a,nan,nan\n", "no position: every row is empty"),
        (HEAD + "-1,a,1,2\n", "frame -1 in line 2, but its first frame is 0"),
        ("frame,id\n0,a\n", "no column for x, such as x"),
        ("", "no rows"),
        (HEAD, "no rows"),
        ("1,1,10,10\n", "no column for the frame|no rows"),
        ("1,1,10,10,5,5,1,-1,-1,-1\n1,1,ten,10,5,5,1,-1,-1,-1\n", "no MOTChallenge text in line 2"),
        ("1,-1,10,10,5,5,1,-1,-1,-1\n", "detections without identities"),
        ("0,3,10,10,5,5,1,-1,-1,-1\n", "frame 0 in line 1, but its first frame is 1: give --first-frame"),
        ("[]", "no COCO results"),
        ('[{"image_id": 1, "category_id": 1}]', "bbox of four numbers in result 0"),
        ("{", "cannot be read as JSON"),
        ("scorer,net\n0,1\n", "begins as a table of DeepLabCut"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read(write(tmp_path / "tracks.csv", text))


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\xff\xfe")
    with pytest.raises(InputError, match="in no format that is known"):
        read(tmp_path / "image.png")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "nowhere.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.npz or \.csv files"):
        read(tmp_path / "empty")
    with pytest.raises(InputError, match="a path, or a data frame"):
        read_foreign(42)


def test_a_body_part_is_refused_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no body parts"):
        read(write(tmp_path / "a.csv", HEAD + "0,a,1,2\n"), bodypart="thorax")


def test_empty_cells_are_gaps(tmp_path: Path) -> None:
    found = read(write(tmp_path / "a.csv", HEAD + "0,a,1,2\n1,a,,\n2,a,nan,NaN\n3,a,5,6\n"))
    assert (found.frames.tolist(), found.gaps) == ([0, 3], 2)


def test_sizes_are_those_of_the_made_tracks() -> None:
    assert (TRUTH >= 0).all()
    assert (TRUTH <= [WIDTH, HEIGHT]).all()
