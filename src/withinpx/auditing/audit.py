"""From a clip and another program's tracks to an audit."""

from collections.abc import Iterator
from os import PathLike
from typing import Any

from withinpx.auditing.evidence import Evidence, measured_offsets
from withinpx.auditing.foreign import ForeignTracks, read_foreign
from withinpx.auditing.identity import follow
from withinpx.auditing.options import AuditOptions
from withinpx.auditing.result import Audit
from withinpx.auditing.verdicts import judge
from withinpx.data.recording import Recording, Source, open_recording
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.errors import InputError
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.progress import Report
from withinpx.tracking.result import Result, load_result
from withinpx.tracking.track import changed, track
from withinpx.tracking.tracks import Tracks

MOST_OUTSIDE = 0.5  # of the positions may be outside the frame, or the tracks are of larger frames


def audit(
    source: Source,
    tracks: Any,
    options: AuditOptions | None = None,
    *,
    run: Result | str | PathLike[str] | None = None,
    track_options: TrackOptions | None = None,
    device: str = "auto",
    progress: bool | Report = True,
    **changes: Any,
) -> Audit:
    """Judge another program's ``tracks`` of a clip by what can be proved of it.

    ``source`` is a video file, a folder of images or an array; ``tracks`` a file (docs/audit.md lists the formats) or a
    data frame with frame, id, x and y. The objects of the clip are learned without labels, unless ``run`` is a
    ``Result`` of the same clip or its folder. Further keywords are fields of ``AuditOptions``. Nothing is written.

    >>> import withinpx
    >>> audit = withinpx.audit("clip", "tracked/mot.txt", run="tracked")
    >>> audit
    Audit(mot.txt: 7... of 7... positions right, 0 wrong, 0 swaps)
    """
    options = changed(options or AuditOptions(), changes)
    recording = open_recording(source)
    foreign = read_foreign(tracks, options)  # a mistake here is found before anything is trained
    if run is None:
        result = track(recording, track_options or TrackOptions(), device=device, progress=progress)
    else:
        result = run if isinstance(run, Result) else load_result(run)
    check_same_clip(result, recording, given=run is not None)
    return compare(foreign, result.tracks, options, recording=recording, learned=result if run is None else None)


def compare(
    foreign: ForeignTracks,
    tracks: Tracks,
    options: AuditOptions | None = None,
    *,
    recording: Recording | None = None,
    learned: Result | None = None,
) -> Audit:
    """Judge foreign tracks by certified tracks of the same clip. The recording is for images on the page."""
    options = options or AuditOptions()
    _check_frames(foreign, tracks, recording)
    plain = Evidence(foreign, tracks)
    measured = measured_offsets(plain)
    evidence = Evidence(foreign, tracks, measured) if options.offset == "measured" else plain
    following = follow(evidence)
    if tracks.present.any() and (following.homes < 0).all():
        raise InputError(
            f"No identity of {foreign.source} is near any of the {tracks.objects} objects that were found: are these "
            f"tracks of this clip, in px of its frames ({tracks.width}x{tracks.height}), and numbered as its frames?"
        )
    verdicts = judge(evidence, following, options.within)
    return Audit(evidence, following, verdicts, measured, options, recording, learned)


def check_same_clip(result: Result, recording: Recording, *, given: bool) -> None:
    """A finished run must be of the clip: the same frames of the same size."""
    if not given:
        return
    tracks, numbers, size = result.tracks, [], (0, 0)
    for frame in recording.stream(result.detector.watched):
        numbers.append(frame.number)
        size = frame.size
    if size != (tracks.width, tracks.height):
        made, found = f"{tracks.width}x{tracks.height}", "x".join(map(str, size))
        raise InputError(f"The run is of a clip of {made} px, {recording.name} has {found}: name the run of this clip.")
    if numbers != tracks.frames.tolist():
        raise InputError(
            f"The run has {len(tracks)} frames, {recording.name} has {len(numbers)}: name the run of this clip."
        )


def _check_frames(foreign: ForeignTracks, tracks: Tracks, recording: Recording | None) -> None:
    x, y = foreign.positions.T
    outside = (x < 0) | (y < 0) | (x > tracks.width) | (y > tracks.height)
    if outside.mean() > MOST_OUTSIDE:
        raise InputError(
            f"{int(outside.sum())} of {len(foreign)} positions of {foreign.source} are outside the clip's frames of "
            f"{tracks.width}x{tracks.height} px: these tracks are of another size, or not in px."
        )
    last = int(foreign.frames.max())
    if last <= tracks.frames[-1]:
        return
    count = int(tracks.frames[-1]) + 1
    if recording is not None:
        count = max(count, sum(1 for _ in _numbers(recording)))
    if last >= count:
        first = "; if its frames count from 1, give --first-frame 1" if last == count else ""
        raise InputError(
            f"{foreign.source} has frame {last}, but the clip has {count}, from 0: the tracks are of another clip, or "
            f"of another frame rate{first}."
        )


def _numbers(recording: Recording, selection: Selection = EVERYTHING) -> Iterator[int]:
    for frame in recording.stream(selection):
        yield frame.number
