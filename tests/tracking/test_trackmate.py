"""The layout of TrackMate's XML, as its reader takes it: elements, declared features, links."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from tests.tracking.scenes import HEIGHT, WIDTH, alike, made_up
from withinpx.tracking.exports import export

KINDS = ("Spot", "Edge", "Track")
ENDS = ("SPOT_SOURCE_ID", "SPOT_TARGET_ID")


def document(folder: Path) -> Any:
    return ElementTree.parse(folder / "trackmate.xml").getroot()  # noqa: S314  (written by the test)


def spots_of(root: Any) -> list[dict[str, str]]:
    return [spot.attrib for spot in root.iterfind("Model/AllSpots/SpotsInFrame/Spot")]


def features_of(root: Any, kind: str) -> dict[str, dict[str, str]]:
    declared = root.find(f"Model/FeatureDeclarations/{kind}Features")
    return {feature.get("feature"): feature.attrib for feature in declared}


def read_xml(folder: Path) -> pd.DataFrame:
    spots = spots_of(document(folder))
    table = pd.DataFrame([{name: float(spot[name]) for name in spot if name != "name"} for spot in spots])
    table["object"] = [int(spot["name"].split(",")[0].removeprefix("object ")) for spot in spots]
    names = {"FRAME": "frame", "POSITION_X": "x", "POSITION_Y": "y", "BOUND_PX": "bound_px", "CERTIFIED": "certified"}
    return table.rename(columns=names)


def test_trackmate_finds_every_element_that_it_reads(tmp_path: Path) -> None:
    export(made_up(), tmp_path, ["trackmate"], clip=Path("clips/fish & chips.mp4"))
    root = document(tmp_path)
    assert root.tag == "TrackMate"
    assert tuple(map(int, root.get("version").split("."))) >= (2, 1, 0)  # older ones are refused
    settings = ["ImageData", "BasicSettings", "DetectorSettings", "InitialSpotFilter", "SpotFilterCollection"]
    settings += ["TrackerSettings", "TrackFilterCollection"]
    settings += [f"AnalyzerCollection/{kind}Analyzers" for kind in KINDS]
    model = ["AllSpots", "AllTracks", "FilteredTracks", *(f"FeatureDeclarations/{kind}Features" for kind in KINDS)]
    for path in [*(f"Settings/{name}" for name in settings), *(f"Model/{name}" for name in model)]:
        assert len(root.findall(path)) == 1, path
    image = root.find("Settings/ImageData")
    assert (image.get("folder"), image.get("filename")) == ("clips", "fish & chips.mp4")
    assert (image.get("width"), image.get("height"), image.get("nframes")) == (str(WIDTH), str(HEIGHT), "25")


def test_trackmate_declares_every_feature_and_each_is_a_number(tmp_path: Path) -> None:
    export(alike(), tmp_path, ["trackmate"])
    root = document(tmp_path)
    for about in [about for kind in KINDS for about in features_of(root, kind).values()]:
        assert set(about) == {"feature", "name", "shortname", "dimension", "isint"}
    for spot in spots_of(root):
        assert set(spot) == {"ID", "name", *features_of(root, "Spot")}  # none may be missing
        assert all(np.isfinite(float(value)) for key, value in spot.items() if key not in ("name", "BOUND_PX"))
        assert float(spot["TIME_S"]) == alike().times_s[alike().frames == int(spot["FRAME"])]
    for kind, path in (("Edge", "AllTracks/Track/Edge"), ("Track", "AllTracks/Track")):
        declared, elements = features_of(root, kind), root.findall(f"Model/{path}")
        assert elements
        for element in elements:
            assert set(element.attrib) - {"name"} <= set(declared)
            assert all(np.isfinite(float(value)) for key, value in element.attrib.items() if key != "name")


def test_trackmate_links_each_object_to_its_next_position(tmp_path: Path) -> None:
    tracks = alike()
    export(tracks, tmp_path, ["trackmate"])
    root = document(tmp_path)
    spots = {spot["ID"]: spot for spot in spots_of(root)}
    assert len(spots) == tracks.present.sum() == int(root.find("Model/AllSpots").get("nspots"))
    filtered = root.iterfind("Model/FilteredTracks/TrackID")
    assert [track.get("TRACK_ID") for track in filtered] == ["0", "1", "2"]
    for track, seen in zip(root.iterfind("Model/AllTracks/Track"), tracks.present.T, strict=True):
        edges = [edge.attrib for edge in track]
        linked = [[spots[edge[end]] for end in ENDS] for edge in edges]
        frames = [int(source["FRAME"]) for source, _ in linked]
        assert [*frames, int(linked[-1][1]["FRAME"])] == tracks.frames[seen].tolist()
        assert {spot["name"].split(",")[0] for pair in linked for spot in pair} == {track.get("name")}
        assert edges[-1]["IDENTITY_CERTIFIED"] == "0"
        assert float(edges[-1]["IDENTITY_P"]) == tracks.identity_p[-1, int(track.get("TRACK_ID"))]
        assert "IDENTITY_P" not in edges[0]


def test_the_clock_of_trackmate_is_even(tmp_path: Path) -> None:
    export(made_up(), tmp_path, ["trackmate"])
    root = document(tmp_path)
    interval = float(root.find("Settings/ImageData").get("timeinterval"))
    for spot in spots_of(root):
        assert float(spot["POSITION_T"]) == pytest.approx(int(spot["FRAME"]) * interval)


@pytest.mark.filterwarnings("ignore")  # pycellin leaves the file open
def test_pycellin_reads_positions_links_and_verdicts(tmp_path: Path) -> None:
    pycellin: Any = pytest.importorskip("pycellin", reason="pycellin is not in the test extra")
    tracks = made_up()
    export(tracks, tmp_path, ["trackmate"])
    lineages = pycellin.load_TrackMate_XML(str(tmp_path / "trackmate.xml")).data.cell_data
    assert len(lineages) == 3
    for number, lineage in lineages.items():
        seen, spots = tracks.present[:, number], sorted((spot for _, spot in lineage.nodes(data=True)), key=frame_of)
        assert [frame_of(spot) for spot in spots] == tracks.frames[seen].tolist()
        assert lineage.number_of_edges() == seen.sum() - 1
        bounds = [float(spot["BOUND_PX"]) for spot in spots]
        np.testing.assert_allclose(bounds, tracks.bounds[seen, number])


def frame_of(spot: dict[str, Any]) -> int:
    return int(spot["FRAME"])


def test_a_refused_spot_says_why_and_has_no_bound(tmp_path: Path) -> None:
    export(made_up(), tmp_path, ["trackmate"])
    refused = [spot for spot in spots_of(document(tmp_path)) if spot["CERTIFIED"] == "0"]
    assert [spot["FRAME"] for spot in refused] == ["16", "18"]
    assert {(spot["name"], spot["BOUND_PX"]) for spot in refused} == {("object 1, refused: border", "NaN")}


def test_an_object_that_is_seen_once_is_no_track_of_trackmate(tmp_path: Path) -> None:
    tracks = made_up(3)  # the third object appears in the last frame
    export(tracks, tmp_path, ["trackmate"])
    root = document(tmp_path)
    assert len(spots_of(root)) == 7
    assert [track.get("name") for track in root.iterfind("Model/AllTracks/Track")] == ["object 0", "object 1"]
