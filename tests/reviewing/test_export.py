"""A reviewed run in other tools' formats: a person's position has no bound and no certified verdict in any of them."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from tests.reviewing.test_operations import CORRECT, DELETE, RENAME, SWAP, reviewed
from tests.tracking.scenes import made_up
from tests.tracking.test_formats import READERS, needing
from withinpx.cli import main
from withinpx.reviewing.log import REVIEW, read_log
from withinpx.reviewing.reviewed import Reviewed
from withinpx.tracking.exports import FORMATS, export
from withinpx.tracking.options import Format
from withinpx.tracking.tracks import write_tracks

TEXT: list[Format] = ["coco", "mot", "dlc", "trackpy", "idtracker", "napari", "trackmate"]  # need no library
ABSENT_BEFORE = {"op": "correct", "frame": 10, "object": 2, "x": 30.5, "y": 20.25}
REVIEWS = (CORRECT, ABSENT_BEFORE, SWAP, DELETE)


@pytest.fixture
def review() -> Reviewed:
    """A corrected certified position, one set where the object was absent, a swap, and a deletion."""
    return reviewed(made_up(), *REVIEWS)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a reviewed run."""
    folder = tmp_path / "run"
    write_tracks(folder / "tracks.csv", made_up())
    log = read_log(folder / REVIEW, folder / "tracks.csv")
    for entry in (*REVIEWS, RENAME):
        log = log.after(entry)
    log.save(folder / REVIEW)
    return folder


@pytest.mark.filterwarnings("ignore:numpy.ndarray size changed")  # netCDF4, which movement brings
@pytest.mark.parametrize(("name", "read"), READERS, ids=[read.__name__ for _, read in READERS])
def test_other_programs_find_no_verdict_on_a_persons_position(
    name: Format, read: Callable[[Path], pd.DataFrame], review: Reviewed, tmp_path: Path
) -> None:
    needing(*FORMATS[name].needs)
    export(review.tracks, tmp_path, [name])
    found = read(tmp_path).set_index(["frame", "object"]).sort_index()
    tracks = review.tracks
    row, number = np.nonzero(tracks.present)
    assert found.index.tolist() == list(zip(tracks.frames[row].tolist(), number.tolist(), strict=True))
    np.testing.assert_allclose(found[["x", "y"]], tracks.positions[row, number] - 0.5, rtol=0, atol=1e-4)
    assert found.certified.astype(bool).tolist() == tracks.certified[row, number].tolist()
    for position in ((14, 0), (10, 2)):
        assert not found.certified.loc[position]
        assert "bound_px" not in found or np.isnan(found.bound_px.loc[position])
    assert found.certified.loc[(20, 0)]  # a swapped position of the network keeps its verdict


def test_text_formats_have_no_verdict_on_a_persons_position(review: Reviewed, tmp_path: Path) -> None:
    export(review.tracks, tmp_path, ["coco", "mot", "dlc"])
    written = json.loads((tmp_path / "coco_results.json").read_text())
    results = {(item["image_id"], item["category_id"]): item for item in written}
    for frame, number in ((14, 0), (10, 2)):
        found = [results[frame, number + 1][name] for name in ("certified", "bound_px", "reason", "score")]
        assert found == [False, None, "person", 0.5]
    mot = {(int(line[0]), int(line[1])): line for line in np.loadtxt(tmp_path / "mot.txt", delimiter=",")}
    assert [mot[15, 1][6], mot[11, 3][6], mot[21, 1][6]] == [0.5, 0.5, 1]
    dlc = pd.read_csv(tmp_path / "dlc.csv", header=[0, 1, 2, 3], index_col=0)["withinpx"]
    assert [dlc.loc[frame, ("object0", "centre", "likelihood")] for frame in (14, 20)] == [0.5, 1]
    verdicts = pd.read_csv(tmp_path / "verdicts.csv").set_index(["frame", "object"])
    person = verdicts[verdicts.reason == "person"]
    assert person.index.tolist() == [(10, 2), (14, 0)]
    assert (person.certified == 0).all()
    assert person.bound_px.isna().all()
    assert verdicts.loc[(12, 1)].reason == "deleted"


def test_the_spot_of_a_person_says_so(review: Reviewed, tmp_path: Path) -> None:
    export(review.tracks, tmp_path, ["trackmate"], names={0: "left"})
    spots = ElementTree.parse(tmp_path / "trackmate.xml").iter("Spot")  # noqa: S314  (ours)
    names = {(int(spot.attrib["FRAME"]), spot.attrib["name"]) for spot in spots}
    assert (14, "left, set by a person, not certified") in names
    assert (20, "left") in names


def test_the_names_that_a_person_gave_are_exported(tmp_path: Path) -> None:
    names = reviewed(made_up(), RENAME).renamed
    export(made_up(), tmp_path, TEXT, names=names)
    dlc = pd.read_csv(tmp_path / "dlc.csv", header=[0, 1, 2, 3], index_col=0)
    assert dlc.columns.get_level_values(1).unique().tolist() == ["object0", "the red one", "object2"]
    categories = json.loads((tmp_path / "coco_images.json").read_text())["categories"]
    assert [category["name"] for category in categories] == ["object 0", "the red one", "object 2"]
    attributes = json.loads((tmp_path / "trajectories_csv" / "attributes.json").read_text())
    assert attributes["identities_labels"] == ["object0", "the red one", "object2"]
    tracks = ElementTree.parse(tmp_path / "trackmate.xml").iter("Track")  # noqa: S314
    assert [track.attrib["name"] for track in tracks] == ["object 0", "the red one", "object 2"]


@pytest.mark.parametrize(("name", "needs"), [("movement", "xarray"), ("sleap", "sleap_io"), ("nwb", "pynwb")])
def test_libraries_read_the_names_that_a_person_gave(name: Format, needs: str, tmp_path: Path) -> None:
    (library,) = needing(needs)
    names = {1: "the red one"}
    (path,) = [path for path in export(made_up(), tmp_path, [name], names=names) if path.name != "verdicts.csv"]
    if name == "movement":
        found = library.load_dataset(path, engine="scipy").individuals.values.tolist()
    elif name == "sleap":
        found = [track.name for track in library.load_slp(str(path)).tracks]
    else:
        with library.NWBHDF5IO(str(path), "r") as reader:
            parts = reader.read().processing["behavior"].data_interfaces
            found = [part for part in ("object0", "the red one", "object1", "object2") if part in parts]
    assert found == ["object0", "the red one", "object2"]


def test_export_writes_the_reviewed_tracks_and_says_so(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["export", str(run), "--to", *TEXT, "--out", str(tmp_path / "out")])
    said, *_, masks = capsys.readouterr().out.splitlines()
    assert said.startswith("These are the reviewed tracks: a person set 2 positions and put")
    assert "--unreviewed" in said
    assert masks == "The COCO results are without masks: reviewed tracks have none."
    result = reviewed(made_up(), *REVIEWS, RENAME)
    export(result.tracks, tmp_path / "expected", TEXT, names=result.renamed)
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")


def test_unreviewed_gives_the_networks_own_tracks(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["export", str(run), "--to", *TEXT, "--unreviewed", "--out", str(tmp_path / "out")])
    assert "reviewed tracks" not in capsys.readouterr().out
    export(made_up(), tmp_path / "expected", TEXT)
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")


def test_a_review_that_was_undone_is_none(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = read_log(run / REVIEW, run / "tracks.csv")
    for _ in range(len(log.operations)):
        log = log.after({"op": "undo"})
    log.save(run / REVIEW)
    main(["export", str(run), "--to", "mot"])
    assert "reviewed tracks" not in capsys.readouterr().out


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
