"""Neurodata Without Borders, by its extension for poses (ndx-pose)."""

from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np

from withinpx import __version__
from withinpx.files import atomic_file, naming_file
from withinpx.tracking.formats.run import BODY_PART, ORIGIN, SOFTWARE, Run, centred, seconds
from withinpx.tracking.tracks import Tracks

FILE = "tracks.nwb"
UNKNOWN_START = datetime(1970, 1, 1, tzinfo=UTC)  # NWB requires one, and a recording does not say
CONFIDENCE = (
    "1 where the position is proved to be within bound_px (table 'verdicts') of the object's true centre along each "
    "axis, 0 where that is not proved, NaN where the object is absent. It is a verdict and no probability."
)
COLUMNS = {
    "frame": "number of the frame in the recording, from 0",
    "object": "number of the object, from 0; its positions are in the PoseEstimation of that name",
    "present": "whether the frame shows the object",
    "certified": "whether a bound on the error of the position is proved",
    "bound_px": "proved half-width around the position, worst case, larger axis, px; NaN where refused",
    "reason": "why a position is refused; empty where it is certified",
    "identity_certified": "1 if it is proved to be the object of the previous row, 0 if not, NaN where undefined",
    "identity_p": "probability of a guessed link to the previous row; NaN where it is proved, or none is guessed",
}


def write_nwb(run: Run, folder: Path) -> None:
    """A ``PoseEstimation`` per object with one body part, and the table ``verdicts``, in the module ``behavior``."""
    nwb, pose, hdf5 = (import_module(name) for name in ("pynwb", "ndx_pose", "h5py"))
    tracks, clock = run.tracks, _clock(run.tracks)
    file = nwb.NWBFile(
        session_description=f"Trajectories of {tracks.objects} objects by {SOFTWARE}. {clock} The start is not known.",
        identifier=str(uuid5(NAMESPACE_OID, str(tracks.positions.tobytes()))),
        session_start_time=UNKNOWN_START,
    )
    module = file.create_processing_module("behavior", "Positions with proved bounds on their error.")
    skeleton = pose.Skeleton(name="object", nodes=[BODY_PART])
    module.add(pose.Skeletons(skeletons=[skeleton]))
    for index in range(tracks.objects):
        module.add(_estimation(pose, run, index, skeleton))
    table = _verdicts(tracks)
    columns = [nwb.core.VectorData(name=name, description=about, data=table[name]) for name, about in COLUMNS.items()]
    module.add(nwb.core.DynamicTable(name="verdicts", description="What is proved of each position.", columns=columns))
    path = folder / FILE
    with (
        naming_file(path),
        atomic_file(path) as part,
        hdf5.File(part, "w") as handle,  # pynwb itself warns of a name that does not end in .nwb
        nwb.NWBHDF5IO(file=handle, mode="w") as writer,
    ):
        writer.write(file)


def _estimation(pose: Any, run: Run, index: int, skeleton: Any) -> Any:
    tracks = run.tracks
    times = seconds(tracks)
    series = pose.PoseEstimationSeries(
        name=BODY_PART,
        description="Centre of the object.",
        data=centred(tracks)[:, index],
        unit="pixels",
        reference_frame=ORIGIN,
        timestamps=tracks.frames.astype(np.float64) if times is None else times,
        comments=_clock(tracks),
        confidence=np.where(tracks.present[:, index], tracks.certified[:, index], np.nan),
        confidence_definition=CONFIDENCE,
    )
    return pose.PoseEstimation(
        name=run.name_of(index),
        pose_estimation_series=[series],
        description=f"Positions of object {index} in {tracks.width}x{tracks.height} px.",
        scorer=SOFTWARE,
        source_software=SOFTWARE,
        source_software_version=__version__,
        skeleton=skeleton,
    )


def _clock(tracks: Tracks) -> str:
    known = seconds(tracks) is not None
    return "Times are those of the recording." if known else "Times are frame numbers: there is no clock."


def _verdicts(tracks: Tracks) -> dict[str, Any]:
    table = tracks.to_dataframe()
    flags = {name: table[name].to_numpy(np.bool_) for name in ("present", "certified")}
    numbers = {name: table[name].to_numpy(np.float64, na_value=np.nan) for name in ("bound_px", "identity_p")}
    identity = table["identity_certified"].to_numpy(np.float64, na_value=np.nan)
    whole = {name: table[name].to_numpy(np.int64) for name in ("frame", "object")}
    return {**whole, **flags, **numbers, "identity_certified": identity, "reason": table["reason"].tolist()}
