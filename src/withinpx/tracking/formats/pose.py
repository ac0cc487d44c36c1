"""Pose tools: SLEAP's labels, and movement's dataset."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from withinpx import __version__
from withinpx.files import atomic_file, naming_file
from withinpx.tracking.formats.run import (
    BODY_PART,
    ORIGIN,
    SOFTWARE,
    Run,
    centred,
    link_probability,
)

SLEAP = "tracks.slp"
MOVEMENT = "movement.nc"
UNNAMED_CLIP = "recording.mp4"  # SLEAP asks where it is


def write_sleap(run: Run, folder: Path) -> None:
    """Labels with one predicted instance per object that is present, and one track per object.

    SLEAP puts (0, 0) at the centre of the first pixel. The scores are 1 where certified and 0.5 where refused; the
    tracking score is the probability of the link to the previous row, NaN if unknown.
    """
    sleap: Any = import_module("sleap_io")
    tracks = run.tracks
    shape = [int(tracks.frames[-1]) + 1, tracks.height, tracks.width, 3]
    clip = UNNAMED_CLIP if run.clip is None else str(run.clip)
    about_video = {"shape": shape} if Path(clip).is_dir() else {"shape": shape, "type": "MediaVideo"}
    video = sleap.Video(filename=clip, backend_metadata=about_video, open_backend=False)
    skeleton = sleap.Skeleton(nodes=[BODY_PART], name="object")
    identities = [sleap.Track(run.name_of(index)) for index in range(tracks.objects)]
    positions, scores, links = centred(tracks), tracks.scores, link_probability(tracks)
    frames = []
    for row in np.flatnonzero(tracks.present.any(axis=1)).tolist():
        instances = [
            sleap.PredictedInstance.from_numpy(
                points_data=positions[row, index][None],
                skeleton=skeleton,
                point_scores=scores[row, index][None],
                score=float(scores[row, index]),
                track=identities[index],
                tracking_score=float(links[row, index]),
            )
            for index in np.flatnonzero(tracks.present[row]).tolist()
        ]
        frames.append(sleap.LabeledFrame(video=video, frame_idx=int(tracks.frames[row]), instances=instances))
    about = {
        "source_software": f"{SOFTWARE} {__version__}",
        "scores": "1: the position is certified; 0.5: it is refused; no probability. Bounds are in verdicts.csv.",
    }
    labels = sleap.Labels(frames, videos=[video], skeletons=[skeleton], tracks=identities, provenance=about)
    path = folder / SLEAP
    with naming_file(path), atomic_file(path) as part:
        sleap.save_slp(labels, str(part), verbose=False)


def write_movement(run: Run, folder: Path) -> None:
    """movement's dataset of poses as netCDF; its confidence is NaN, for a bound is no probability.

    (0, 0) is the centre of the first pixel, as in the data that movement reads from SLEAP and DeepLabCut.
    """
    path = folder / MOVEMENT
    with naming_file(path), atomic_file(path) as part:
        part.write_bytes(movement_dataset(run).to_netcdf(engine="scipy"))


def movement_dataset(run: Run) -> Any:
    """``Tracks.to_xarray`` from the centre of the first pixel, with all that is known of each position."""
    tracks = run.tracks
    names = [run.name_of(index) for index in range(tracks.objects)]
    dataset = tracks.to_xarray().assign_coords(individuals=names)
    position = dataset["position"]
    dims = dataset["bound_px"].dims
    extra = {
        "reason": tracks.reasons,
        "identity_certified": tracks.identity_certified,
        "identity_p": tracks.identity_p,
    }
    dataset["position"] = position.copy(data=centred(tracks).transpose(0, 2, 1)[:, :, None])
    dataset = dataset.assign({name: (dims, values[:, None]) for name, values in extra.items()})
    dataset["frame"] = ("time", tracks.frames)
    dataset["bound_px"].attrs["description"] = "proved half-width around the position, px; NaN where it is refused"
    return dataset.assign_attrs(origin=ORIGIN)
