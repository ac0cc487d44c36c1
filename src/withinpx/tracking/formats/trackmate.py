"""TrackMate's XML: a spot per position, a track per object, an edge per pair of consecutive positions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from withinpx.files import atomic_file, naming_file
from withinpx.tracking.formats.run import Run, bounds, centred, frame_interval_s
from withinpx.tracking.tracks import PERSON, Tracks

FILE = "trackmate.xml"
VERSION = "7.11.1"  # of TrackMate's layout
Declared = tuple[str, str, str, bool]  # the name that people read, a short one, the dimension, whether it is whole
SPOT_FEATURES: dict[str, Declared] = {
    "QUALITY": ("Quality", "Quality", "QUALITY", False),
    "POSITION_X": ("X", "X", "POSITION", False),
    "POSITION_Y": ("Y", "Y", "POSITION", False),
    "POSITION_Z": ("Z", "Z", "POSITION", False),
    "POSITION_T": ("T", "T", "TIME", False),
    "FRAME": ("Frame", "Frame", "NONE", True),
    "RADIUS": ("Radius", "R", "LENGTH", False),
    "VISIBILITY": ("Visibility", "Visibility", "NONE", True),
    "BOUND_PX": ("Proved bound on the error", "Bound", "LENGTH", False),
    "CERTIFIED": ("Certified", "Certified", "NONE", True),
    "TIME_S": ("Time in the recording", "Time", "TIME", False),
}
EDGE_FEATURES: dict[str, Declared] = {
    "SPOT_SOURCE_ID": ("Source spot ID", "Source ID", "NONE", True),
    "SPOT_TARGET_ID": ("Target spot ID", "Target ID", "NONE", True),
    "EDGE_TIME": ("Edge time", "Edge T", "TIME", False),
    "IDENTITY_CERTIFIED": ("Identity is proved", "Identity", "NONE", True),
    "IDENTITY_P": ("Probability of a guessed identity", "Identity p", "NONE", False),
}
TRACK_FEATURES: dict[str, Declared] = {
    "TRACK_INDEX": ("Track index", "Index", "NONE", True),
    "TRACK_ID": ("Track ID", "ID", "NONE", True),
    "NUMBER_SPOTS": ("Number of spots in track", "N spots", "NONE", True),
}


def write_trackmate(run: Run, folder: Path) -> None:
    """TrackMate puts (0, 0) at the centre of the first pixel; lengths are in pixels.

    Its features are numbers: ``BOUND_PX`` is NaN where a position is refused, and the spot's name has the reason.
    """
    path = folder / FILE
    with naming_file(path), atomic_file(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _lines(run))


def _lines(run: Run) -> Iterator[str]:
    """Line by line: the document of a long recording is larger than the tracks."""
    tracks = run.tracks
    units = "frame" if frame_interval_s(tracks) is None else "sec"
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<TrackMate version="{VERSION}">'
    yield f'<Model spatialunits="pixel" timeunits="{units}">'
    yield "<FeatureDeclarations>"
    yield from _declarations("SpotFeatures", SPOT_FEATURES)
    yield from _declarations("EdgeFeatures", EDGE_FEATURES)
    yield from _declarations("TrackFeatures", TRACK_FEATURES)
    yield "</FeatureDeclarations>"
    yield from _spots(run)
    yield from _tracks(run)
    yield "</Model>"
    yield from _settings(run)
    yield '<GUIState state="ConfigureViews" />'
    yield "</TrackMate>"


def _element(name: str, attributes: Mapping[str, object]) -> str:
    values = {key: _text(value) for key, value in attributes.items()}
    return ElementTree.tostring(ElementTree.Element(name, values), encoding="unicode")


def _text(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return "NaN" if np.isnan(value) else f"{value:.15g}"  # as Java reads it
    return str(value)


def _declarations(kind: str, features: Mapping[str, Declared]) -> Iterator[str]:
    yield f"<{kind}>"
    for feature, (name, short, dimension, whole) in features.items():
        about = {"feature": feature, "name": name, "shortname": short, "dimension": dimension}
        yield _element("Feature", about | {"isint": "true" if whole else "false"})
    yield f"</{kind}>"


def _spot_id(tracks: Tracks, row: int, index: int) -> int:
    return row * tracks.objects + index


def _times(tracks: Tracks) -> list[float]:
    """TrackMate's clock is even: the number of a frame times the interval. The recording's own time is ``TIME_S``."""
    interval = frame_interval_s(tracks) or 1.0
    return [frame * interval for frame in tracks.frames.tolist()]


def _verdict(reason: str) -> str:
    """What a spot's name adds where its position is not certified."""
    if reason == PERSON:
        return ", set by a person, not certified"
    return f", refused: {reason}" if reason else ""


def _spots(run: Run) -> Iterator[str]:
    tracks = run.tracks
    positions, times, scores, bound = centred(tracks).round(4), _times(tracks), tracks.scores, bounds(tracks)
    yield f'<AllSpots nspots="{int(tracks.present.sum())}">'
    for row, frame in enumerate(tracks.frames.tolist()):
        yield f'<SpotsInFrame frame="{frame}">'
        for index in np.flatnonzero(tracks.present[row]).tolist():
            name = run.title_of(index)
            spot = {
                "ID": _spot_id(tracks, row, index),
                "name": name + _verdict(str(tracks.reasons[row, index])),
                "QUALITY": float(scores[row, index]),
                "POSITION_X": float(positions[row, index, 0]),
                "POSITION_Y": float(positions[row, index, 1]),
                "POSITION_Z": 0.0,
                "POSITION_T": times[row],
                "FRAME": frame,
                "RADIUS": float(tracks.sizes[row, index].max() / 2),
                "VISIBILITY": 1,
                "BOUND_PX": float(bound[row, index]),
                "CERTIFIED": bool(tracks.certified[row, index]),
                "TIME_S": float(tracks.times_s[row]),
            }
            yield _element("Spot", spot)
        yield "</SpotsInFrame>"
    yield "</AllSpots>"


def _tracks(run: Run) -> Iterator[str]:
    """A track needs two spots at least; an object that is seen once has its spot only."""
    tracks = run.tracks
    several = np.flatnonzero(tracks.present.sum(axis=0) > 1).tolist()
    yield "<AllTracks>"
    for index in several:
        rows = np.flatnonzero(tracks.present[:, index]).tolist()
        name = run.title_of(index)
        about = {"name": name, "TRACK_ID": index, "TRACK_INDEX": index, "NUMBER_SPOTS": len(rows)}
        yield _element("Track", about).removesuffix(" />") + ">"
        yield from _edges(tracks, index, rows)
        yield "</Track>"
    yield "</AllTracks>"
    yield "<FilteredTracks>"
    yield from (_element("TrackID", {"TRACK_ID": index}) for index in several)
    yield "</FilteredTracks>"


def _edges(tracks: Tracks, index: int, rows: Sequence[int]) -> Iterator[str]:
    times, proved, guessed = _times(tracks), tracks.identity_certified[:, index], tracks.identity_p[:, index]
    for source, target in pairwise(rows):
        edge: dict[str, object] = {
            "SPOT_SOURCE_ID": _spot_id(tracks, source, index),
            "SPOT_TARGET_ID": _spot_id(tracks, target, index),
            "EDGE_TIME": (times[source] + times[target]) / 2,
        }
        if not np.isnan(proved[target]):
            edge["IDENTITY_CERTIFIED"] = int(proved[target])
        if not np.isnan(guessed[target]):
            edge["IDENTITY_P"] = float(guessed[target])
        yield _element("Edge", edge)


def _settings(run: Run) -> Iterator[str]:
    """The image, and the filters and methods that TrackMate expects: none, and annotation by hand."""
    tracks, interval = run.tracks, frame_interval_s(run.tracks)
    frames = int(tracks.frames[-1]) + 1
    named = {"filename": "", "folder": ""}
    if run.clip is not None:
        named = {"filename": run.clip.name, "folder": "" if run.clip.parent == Path() else str(run.clip.parent)}
    size = {"width": tracks.width, "height": tracks.height, "nslices": 1, "nframes": frames}
    scale = {"pixelwidth": 1.0, "pixelheight": 1.0, "voxeldepth": 1.0, "timeinterval": interval or 1.0}
    last = {"xend": tracks.width - 1, "yend": tracks.height - 1, "zend": 0, "tend": frames - 1}
    yield "<Settings>"
    yield _element("ImageData", {**named, **size, **scale})
    yield _element("BasicSettings", {"xstart": 0, "ystart": 0, "zstart": 0, "tstart": 0, **last})
    yield _element("DetectorSettings", {"DETECTOR_NAME": "MANUAL_DETECTOR", "RADIUS": _radius(tracks)})
    yield _element("InitialSpotFilter", {"feature": "QUALITY", "value": 0.0, "isabove": "true"})
    yield _element("SpotFilterCollection", {})
    yield _element("TrackerSettings", {"TRACKER_NAME": "MANUAL_TRACKER"})
    yield _element("TrackFilterCollection", {})
    yield "<AnalyzerCollection><SpotAnalyzers /><EdgeAnalyzers /><TrackAnalyzers /></AnalyzerCollection>"
    yield "</Settings>"


def _radius(tracks: Tracks) -> float:
    """Half the larger side of the median box."""
    return float(np.median(tracks.sizes[tracks.present].max(axis=-1)) / 2) if tracks.present.any() else 1.0
