"""A disk that is full, or may not be written to, at every write of every command: a sentence, and nothing lost."""

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from tests.data.test_clevr import DrawnStage
from tests.faults.disk import Calls
from tests.faults.reading import read_everything, unfinished
from tests.faults.small import TRACK, TRACK_COMMAND, CrashAfter, CrashError, quick, small_clip
from tests.faults.torture import Torture
from tests.tracked_clip import one_thread
from withinpx.cli import main
from withinpx.data import clevr_render
from withinpx.data.clevr import DATASETS
from withinpx.data.scenes import make_demo
from withinpx.errors import InputError
from withinpx.tracking import track as track_module
from withinpx.tracking.track import track
from withinpx.training.fit import FitSettings

ROW = "full disk"
RESULTS = Path(__file__).parents[2] / "results"
REFUSALS = {errno.ENOSPC: "full", errno.EROFS: "read_only", errno.EACCES: "not_permitted"}
DISK_KB, STEPS = 8192, 8
TIMED = ("runs.csv", "log.jsonl", "about.json", "summary.md")  # say when something was: never twice the same
Act = Callable[[Path, Path], None]  # with the things there are in the first folder, into the second

FIT = "fit squares --recipe paper --encoder-rf 3 --decoder-rf 5 --object-size 3 --image-size 16 --epochs 3 --device cpu"
TRACKED = f"track CLIP --out OUT/run --export coco mot dlc {TRACK_COMMAND}"
DETECT = "detect --every 4 --device cpu --out OUT/run DETECTOR CLIP"
EDIT = "edit DETECTOR --out OUT/new.mp4 --superimpose OUT/new.png --frames 3 --path object=0:10,8"
CENTRAL = "reproduce central --recipe paper --out OUT --epochs 2 --device cpu --seeds"
RENDER = clevr_render.render_datasets


def typed(command: str) -> Act:
    """A command as a person types it; it goes on if there is something to go on with."""

    def act(things: Path, out: Path) -> None:
        names = {"CLIP": "clip", "OTHER": "other", "MORE": "more", "DETECTOR": "detector", "BOXES": "boxes.json"}
        words = command.replace("OUT", str(out))
        for name, path in names.items():
            words = words.replace(name, str(things / path))
        resumed = ["--resume"] if words.startswith(("fit", "track")) and (out / "run").exists() else []
        main([*words.split(), *resumed])

    return act


def nothing(things: Path, out: Path) -> None:
    pass


def another_picture(name: str, things: Path, out: Path) -> None:
    Image.new("RGB", (3, 2)).save(out / name)


def interrupted_fit(things: Path, out: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(CrashError):
        patch.setattr("withinpx.training.progress.ProgressBar.on_epoch", lambda _, *of: CrashAfter(2).on_epoch(*of))
        typed(f"{FIT} --out OUT/run")(things, out)


def interrupted_track(things: Path, out: Path) -> None:
    """Trained, and nothing else."""

    def crash(*_: object, **__: object) -> None:
        raise CrashError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CrashError):
        patch.setattr(track_module, "finish", crash)
        typed(TRACKED)(things, out)


def interrupted_rendering(things: Path, out: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        RENDER({out / "set": replace(DATASETS["shapes-09-19"], train=2, test=1)}, partial(DrawnStage, most=1))


@dataclass(frozen=True)
class Case:
    """Something that writes, and what was there before it, which it must not lose."""

    act: Act
    before: Act = nothing


CASES = {
    "fit": Case(typed(f"{FIT} --out OUT/run")),
    "fit, resumed": Case(typed(f"{FIT} --out OUT/run"), interrupted_fit),
    "track": Case(typed(TRACKED), interrupted_track),
    "track, once more": Case(typed(TRACKED), typed(TRACKED)),
    "detect": Case(typed(f"{DETECT} --export coco mot dlc")),
    "detect in several": Case(typed(f"{DETECT} OTHER"), typed(f"{DETECT} MORE")),
    "export": Case(typed("export DETECTOR --onnx --out OUT/detector.onnx")),
    "edit": Case(typed(f"{EDIT}:30,8"), typed(f"{EDIT}:20,8")),
    "inspect": Case(typed("inspect CLIP --out OUT/seen.png"), typed("inspect OTHER --out OUT/seen.png")),
    "sweep": Case(typed(f"{CENTRAL} 2"), typed(f"{CENTRAL} 1")),
    "curves": Case(typed("reproduce fig3 --out OUT"), partial(another_picture, "fig3.png")),
    "figure 4": Case(
        typed(f"reproduce fig4a --out OUT --from {RESULTS / 'synthetic'}"),
        typed(f"reproduce fig4a --out OUT --from {RESULTS / 'synthetic' / 'full'}"),
    ),
    "table 1": Case(
        typed(f"reproduce table1 --out OUT --from {RESULTS / 'clevr'}"), partial(another_picture, "fig6.png")
    ),
    "data": Case(typed("data clevr --name shapes-09-19 --train 2 --test 1 --out OUT/set"), interrupted_rendering),
    "baseline": Case(typed("baseline --method coco --images CLIP --results BOXES --out OUT/boxes")),
    "demo clip": Case(lambda things, out: make_demo(out)),
}
IN_SHORT = ("fit, resumed", "detect", "edit", "curves", "data")


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Clips, a detector, boxes of another detector; and a renderer that is not Blender."""
    folder = tmp_path_factory.mktemp("things")
    clip = small_clip(folder / "clip")
    for name in ("other", "more"):
        shutil.copytree(clip, folder / name)
        (folder / name / "000.png").unlink()
    boxes = [{"image_id": number, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1} for number in range(16)]
    (folder / "boxes.json").write_text(json.dumps(boxes))
    with one_thread(), quick(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(clevr_render, "render_datasets", partial(RENDER, stage_of=DrawnStage))
        track(clip, folder / "detector", TRACK, FitSettings())
        yield folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own, where that may be had."""
    place = tmp_path / "disk"
    place.mkdir()
    if not mounted(place, f"size={DISK_KB}k"):
        pytest.skip("only root may make a disk: calls that fail are tried without one")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # noqa: S603, S607


def mounted(place: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_refused(capsys: pytest.CaptureFixture[str], act: Act, things: Path, out: Path) -> bool:
    """Did it fail? Then with status 2 and a sentence."""
    capsys.readouterr()
    try:
        act(things, out)
    except SystemExit as stop:
        said = capsys.readouterr().err
        assert stop.code == 2
        assert "Traceback" not in said
        last = said.splitlines()[-1]
        assert last.startswith("withinpx: ")
        assert last.endswith(".")
        return True
    except (OSError, InputError) as error:  # of a function, which is no command
        assert getattr(error, "filename", True)
        return True
    return False


def check_kept(out: Path, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Every file is what it was, or whole and what it would have become; nothing half is left."""
    assert not unfinished(out.parent)
    found = content(out)
    assert before.keys() & after.keys() <= found.keys() <= before.keys() | after.keys()
    for name, now in found.items():
        if now != before.get(name) and Path(name).name not in TIMED:
            wanted = after[name]
            assert wanted.startswith(now) if name.endswith(".jsonl") else wanted == now, (
                name
            )  # which grows line by line
    read_everything(out)


def prepared(case: Case, things: Path, folder: Path) -> tuple[Path, dict[str, bytes], dict[str, bytes], int]:
    """What was there before, as a folder and as files; what there is in the end; with how many calls."""
    before, whole = folder / "before", folder / "whole"
    before.mkdir(parents=True)
    case.before(things, before)
    shutil.copytree(before, whole)
    with Calls(whole, 0, lambda: None).watched() as calls:
        case.act(things, whole)
    return before, content(before), content(whole), calls.count


@pytest.mark.parametrize("name", CASES)
def test_every_call_that_writes_may_fail(
    things: Path, tmp_path: Path, torture: Torture, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    if not torture.full and name not in IN_SHORT:
        pytest.skip("in full only")
    case = CASES[name]
    template, before, after, count = prepared(case, things, tmp_path)
    assert count
    for number in range(1, count + 1) if torture.full else sorted({1, count // 2 + 1, count}):
        refusal = list(REFUSALS)[number % len(REFUSALS)]
        out = shutil.copytree(template, tmp_path / f"{number}" / "out")

        def fail(refusal: int = refusal) -> None:
            raise OSError(refusal, os.strerror(refusal))

        with Calls(out.parent, number, fail).watched():
            assert is_refused(capsys, case.act, things, out), number
        check_kept(out, before, after)
        case.act(things, out)
        assert content(out).keys() == after.keys()
        assert not unfinished(out.parent)
        shutil.rmtree(out.parent)
        torture.count(ROW, calls_failed=1, intact=1, **{REFUSALS[refusal]: 1})


@pytest.mark.parametrize("name", CASES)
def test_a_disk_may_be_full_at_any_byte(
    things: Path, disk: Path, torture: Torture, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A real one, which also refuses what is written by FFmpeg. First one that is mounted read-only."""
    if not torture.full and name not in IN_SHORT:
        pytest.skip("in full only")
    case = CASES[name]
    template, before, after, _ = prepared(case, things, disk.parent)
    need = sum(len(now) for each, now in after.items() if now != before.get(each))
    ballast, out = disk / "ballast", disk / "place" / "out"
    shutil.copytree(template, out)
    assert mounted(disk, "remount,ro")
    assert is_refused(capsys, case.act, things, out)
    check_kept(out, before, after)
    assert mounted(disk, "remount,rw")
    shutil.rmtree(out.parent)
    full = 0
    for free in range(0, 4 * need + 100_000, max(4096, need // torture.of(2, STEPS))):
        shutil.copytree(template, out)
        room = os.statvfs(disk)
        ballast.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - free)))
        if not is_refused(capsys, case.act, things, out):
            break
        full += 1
        check_kept(out, before, after)
        ballast.unlink()
        case.act(things, out)
        assert content(out).keys() == after.keys()
        shutil.rmtree(out.parent)
    else:
        pytest.fail("it never succeeded")
    assert full
    torture.count(ROW, disks_full=full, disks_read_only=1, intact=full + 1)


@pytest.mark.parametrize(
    "command",
    ["bound --encoder-rf 9 --decoder-rf 25 --object-size 9", "design --object-size 6 10", "inspect CLIP"],
)
def test_what_writes_nothing_does_not_mind(things: Path, command: str) -> None:
    with Calls(things, 0, lambda: None).watched() as calls:
        typed(command)(things, things)
    assert calls.count == 0
