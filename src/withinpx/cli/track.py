"""withinpx track: from a clip, or many, to certified tracks."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from withinpx.cli.common import Device, EngineName, Json, engine_named, exit_if_nothing, log, print_json
from withinpx.data.recording import open_recording
from withinpx.errors import InputError
from withinpx.tracking.options import Format, TrackOptions, only
from withinpx.tracking.progress import Event, reporting
from withinpx.tracking.sources import find_clips

if TYPE_CHECKING:
    from collections.abc import Sequence

    from withinpx.jobs.job import Row

SHOWN = {"status": "status", "objects": "objects", "certified_share": "certified", "median_bound_px": "bound px"}


@dataclass(frozen=True, kw_only=True)
class TrackCommand(TrackOptions):
    """Find everything that moves in a clip, and prove within how many pixels each position is right.

    Of many clips, each gets its own run, and one that fails stops no other. Exit status: 0 if something was certified
    in any, 3 if nothing was, 2 for bad input.
    """

    clips: Positional[tuple[Path, ...]]
    """A video file or a folder of images; or several of them, a folder of videos, or a pattern like 'day1/*.mp4'."""
    out: Path = Path("tracked")
    """A new folder for the detector, the certificate, the tracks, the overlay and the summary. For many clips, a folder
    with one for each and the table clips.csv: a finished run there is not repeated."""
    device: Device = "auto"
    """Where to train."""
    export: tuple[Format, ...] = ()
    """Formats of other tools to write as well, as `withinpx export --to` does."""
    resume: bool = False
    """Continue an interrupted run in --out; many clips are always continued."""
    json: Json = False
    """Print the certificate as JSON; of many clips, the table."""
    workers: int = 1
    """Clips that are tracked at a time on this machine."""
    engine: EngineName = "local"
    """Many clips on this machine, or on a Ray cluster whose nodes see the same files."""
    address: str | None = None
    """HOST:PORT of the Ray cluster; a new one on this machine when not given."""

    def run(self) -> None:
        sources = find_clips(self.clips, self.out)  # a mistyped name is refused before anything else
        for note in sources.notes:
            log(note)
        if sources.alone and self.engine == "local" and self.address is None:
            self._track_one(sources.clips[0])
        else:
            self._track_many(sources.clips)

    def _track_one(self, clip: Path) -> None:
        recording = open_recording(clip)
        with reporting(True) as report:
            report(Event("reading"))
            from withinpx.tracking.exports import check_formats, export  # noqa: PLC0415  (takes seconds)
            from withinpx.tracking.track import track  # noqa: PLC0415

            check_formats(self.export)
            options = only(TrackOptions, self)
            result = track(recording, options, out=self.out, device=self.device, resume=self.resume, progress=report)
        if self.export:
            export(result.tracks, self.out, self.export, result.detector, clip)
        if self.json:
            print_json(result.certificate.to_json())
        else:
            certified, positions = int(result.tracks.certified.sum()), int(result.tracks.present.sum())
            print(result.certificate)
            print(f"{certified} of {positions} positions are certified: {self.out / 'tracks.csv'}. ", end="")
            print(f"See {self.out / 'certificate.html'}")
        exit_if_nothing(bool(result.tracks.certified.any()))

    def _track_many(self, clips: "Sequence[Path]") -> None:
        engine = engine_named(self.engine, self.address, self.device, self.workers)
        from withinpx.jobs.progress import JobProgress  # noqa: PLC0415
        from withinpx.tracking.exports import check_formats  # noqa: PLC0415
        from withinpx.tracking.many import FAILED, TABLE, track_many  # noqa: PLC0415

        check_formats(self.export)
        options = only(TrackOptions, self)
        with JobProgress(unit="clips") as callback:
            rows = track_many(
                clips, self.out, options, engine=engine, device=self.device, export=self.export, callback=callback
            )
        if self.json:
            print_json(rows)
        else:
            print("\n".join(table_lines(rows)))
            print(f"See {self.out / TABLE}")
        if all(row["status"] == FAILED for row in rows):
            raise InputError(f"None of the {len(rows)} clips could be used, for the reasons given above.")
        exit_if_nothing(any(row["status"] == "certified" for row in rows))


def table_lines(rows: "Sequence[Row]") -> list[str]:
    """The table for a terminal: a line per clip, columns aligned, what there is to say last."""
    cells = [["clip", *SHOWN.values(), "s", "message"]]
    for row in rows:
        share = row["certified_share"]
        shown = row | {"certified_share": share if share == "" else f"{float(share):.1%}"}
        cells.append([str(value) for value in (row["clip"], *(shown[name] for name in SHOWN))])
        cells[-1] += [str(row["seconds"]), str(row["message"])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
