"""A full or read-only disk at every write of every command: a one-line message, and nothing is lost."""

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

from tests.data.test_clevr import SilhouetteRenderer
from tests.faults.file_calls import FileCalls
from tests.faults.output_files import contents, partial_files, read_everything, timeless_run
from tests.faults.small import TRACK, TRACK_COMMAND, CrashAfter, CrashError, quick, run_command, small_clip
from tests.faults.torture import Torture
from tests.tracked_clip import one_thread
from withinpx.data import clevr_render
from withinpx.data.clevr import DATASETS
from withinpx.data.scenes import make_demo
from withinpx.errors import InputError
from withinpx.tracking import track as track_module
from withinpx.tracking.track import track
from withinpx.training.fit import FitSettings

ROW = "full disk"
RESULTS = Path(__file__).parents[2] / "results"
ERRORS = {errno.ENOSPC: "full", errno.EROFS: "read_only", errno.EACCES: "not_permitted"}
DISK_KB, STEPS = 8192, 8
TIMED = ("runs.csv", "log.jsonl", "about.json", "summary.md")  # contain times, so two runs differ
Action = Callable[[Path, Path], None]  # from the inputs in the first folder into the second

FIT = "fit squares --recipe paper --encoder-rf 3 --decoder-rf 5 --object-size 3 --image-size 16 --epochs 3 --device cpu"
TRACKED = f"track CLIP --out OUT/run --export coco mot dlc {TRACK_COMMAND}"
DETECT = "detect --every 4 --device cpu --out OUT/run DETECTOR CLIP"
EDIT = "edit DETECTOR --out OUT/new.mp4 --superimpose OUT/new.png --frames 3 --path object=0:10,8"
CENTRAL = "reproduce central --recipe paper --out OUT --epochs 2 --device cpu --seeds"
RENDER = clevr_render.render_datasets


def command(line: str) -> Action:
    """A command line; it resumes if there is something to resume."""

    def run(inputs: Path, out: Path) -> None:
        names = {"CLIP": "clip", "OTHER": "other", "MORE": "more", "DETECTOR": "detector", "BOXES": "boxes.json"}
        words = line.replace("OUT", str(out))
        for name, path in names.items():
            words = words.replace(name, str(inputs / path))
        resume = ["--resume"] if words.startswith(("fit", "track")) and (out / "run").exists() else []
        run_command([*words.split(), *resume])

    return run


def nothing(inputs: Path, out: Path) -> None:
    pass


def another_image(name: str, inputs: Path, out: Path) -> None:
    Image.new("RGB", (3, 2)).save(out / name)


def interrupted_fit(inputs: Path, out: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(CrashError):
        patch.setattr("withinpx.tracking.progress.TrainingEvents.on_epoch", lambda _, *of: CrashAfter(2).on_epoch(*of))
        command(f"{FIT} --out OUT/run")(inputs, out)


def interrupted_track(inputs: Path, out: Path) -> None:
    """Interrupted after the training."""

    def crash(*_: object, **__: object) -> None:
        raise CrashError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CrashError):
        patch.setattr(track_module, "detect", crash)
        command(TRACKED)(inputs, out)


def interrupted_rendering(inputs: Path, out: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        RENDER({out / "set": replace(DATASETS["shapes-09-19"], train=2, test=1)}, partial(SilhouetteRenderer, most=1))


@dataclass(frozen=True)
class Case:
    """An action that writes, and what is written before it, which must not be lost."""

    act: Action
    before: Action = nothing


CASES = {
    "fit": Case(command(f"{FIT} --out OUT/run")),
    "fit, resumed": Case(command(f"{FIT} --out OUT/run"), interrupted_fit),
    "track": Case(command(TRACKED), interrupted_track),
    "track, once more": Case(command(TRACKED), command(TRACKED)),
    "detect": Case(command(f"{DETECT} --export coco mot dlc")),
    "detect in several": Case(command(f"{DETECT} OTHER"), command(f"{DETECT} MORE")),
    "export": Case(command("export DETECTOR --onnx --out OUT/detector.onnx")),
    "page": Case(command("export DETECTOR --html --out OUT/detector.html")),
    "edit": Case(command(f"{EDIT}:30,8"), command(f"{EDIT}:20,8")),
    "inspect": Case(command("inspect CLIP --out OUT/seen.png"), command("inspect OTHER --out OUT/seen.png")),
    "sweep": Case(command(f"{CENTRAL} 2"), command(f"{CENTRAL} 1")),
    "curves": Case(command("reproduce fig3 --out OUT"), partial(another_image, "fig3.png")),
    "figure 4": Case(
        command(f"reproduce fig4a --out OUT --from {RESULTS / 'synthetic'}"),
        command(f"reproduce fig4a --out OUT --from {RESULTS / 'synthetic' / 'full'}"),
    ),
    "table 1": Case(
        command(f"reproduce table1 --out OUT --from {RESULTS / 'clevr'}"), partial(another_image, "fig6.png")
    ),
    "data": Case(command("data clevr --name shapes-09-19 --train 2 --test 1 --out OUT/set"), interrupted_rendering),
    "baseline": Case(command("baseline --method coco --images CLIP --results BOXES --out OUT/boxes")),
    "demo clip": Case(lambda inputs, out: make_demo(out)),
}
IN_SHORT = ("fit, resumed", "detect", "edit", "curves", "data")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Clips, a detector, boxes of another detector; and a renderer that replaces Blender."""
    folder = tmp_path_factory.mktemp("inputs")
    clip = small_clip(folder / "clip")
    for name in ("other", "more"):
        shutil.copytree(clip, folder / name)
        (folder / name / "000.png").unlink()
    boxes = [{"image_id": number, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1} for number in range(16)]
    (folder / "boxes.json").write_text(json.dumps(boxes))
    with one_thread(), quick(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(clevr_render, "render_datasets", partial(RENDER, make_renderer=SilhouetteRenderer))
        track(clip, TRACK, out=folder / "detector", settings=FitSettings(), progress=False)
        yield folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    if not is_mounted(mount_point, f"size={DISK_KB}k"):
        pytest.skip("only root may mount a disk; failing calls are tested without one")
    yield mount_point
    subprocess.run(["umount", "--lazy", str(mount_point)], check=True)  # noqa: S603, S607


def is_mounted(mount_point: Path, options: str) -> bool:
    """Mount a file system in memory; whether that worked."""
    words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(mount_point)]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0  # noqa: S603


def is_refused(capsys: pytest.CaptureFixture[str], act: Action, inputs: Path, out: Path) -> bool:
    """Whether it failed; if so, with status 2 and a one-line message."""
    capsys.readouterr()
    try:
        act(inputs, out)
    except SystemExit as stop:
        printed = capsys.readouterr().err
        assert stop.code == 2
        assert "Traceback" not in printed
        last = printed.splitlines()[-1]
        assert last.startswith("withinpx: ")
        assert last.endswith(".")
        return True
    except (OSError, InputError) as error:  # of a function that is not a command
        assert getattr(error, "filename", True)
        return True
    return False


def check_kept(out: Path, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Every file is unchanged, or complete and what it should become; no partial file is left."""
    assert not partial_files(out.parent)
    found = contents(out)
    assert before.keys() & after.keys() <= found.keys() <= before.keys() | after.keys()
    for name, content in found.items():
        if content != before.get(name) and Path(name).name not in TIMED:
            if name.endswith(".jsonl"):  # grows line by line
                assert after[name].startswith(content), name
            elif Path(name).name == "run.json":  # holds the seconds of each attempt
                assert timeless_run(after[name]) == timeless_run(content), name
            else:
                assert after[name] == content, name
    read_everything(out)


def check_completed(case: Case, inputs: Path, out: Path, after: dict[str, bytes]) -> None:
    """The same command succeeds once the disk can be written to again."""
    case.act(inputs, out)
    assert contents(out).keys() == after.keys()
    assert not partial_files(out.parent)
    shutil.rmtree(out.parent)


def prepared(case: Case, inputs: Path, folder: Path) -> tuple[Path, dict[str, bytes], dict[str, bytes], int]:
    """A folder with the files before, these files, the files after, and the number of calls in between."""
    before, whole = folder / "before", folder / "whole"
    before.mkdir(parents=True)
    case.before(inputs, before)
    shutil.copytree(before, whole)
    with FileCalls(whole, 0, lambda: None).watched() as calls:
        case.act(inputs, whole)
    return before, contents(before), contents(whole), calls.count


@pytest.mark.parametrize("name", CASES)
def test_every_call_that_writes_may_fail(
    inputs: Path, tmp_path: Path, torture: Torture, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    torture.skip_in_short(name not in IN_SHORT)
    case = CASES[name]
    template, before, after, count = prepared(case, inputs, tmp_path)
    assert count
    for number in range(1, count + 1) if torture.full else sorted({1, count // 2 + 1, count}):
        code = list(ERRORS)[number % len(ERRORS)]
        out = shutil.copytree(template, tmp_path / f"{number}" / "out")

        def fail(code: int = code) -> None:
            raise OSError(code, os.strerror(code))

        with FileCalls(out.parent, number, fail).watched():
            assert is_refused(capsys, case.act, inputs, out), number
        check_kept(out, before, after)
        check_completed(case, inputs, out, after)
        torture.count(ROW, calls_failed=1, intact=1, **{ERRORS[code]: 1})


@pytest.mark.parametrize("name", CASES)
def test_a_disk_may_be_full_at_any_byte(
    inputs: Path, disk: Path, torture: Torture, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A real file system, which also limits what FFmpeg writes; first mounted read-only, then nearly full."""
    torture.skip_in_short(name not in IN_SHORT)
    case = CASES[name]
    template, before, after, _ = prepared(case, inputs, disk.parent)
    need = sum(len(content) for file, content in after.items() if content != before.get(file))
    ballast, out = disk / "ballast", disk / "folder" / "out"
    shutil.copytree(template, out)
    assert is_mounted(disk, "remount,ro")
    assert is_refused(capsys, case.act, inputs, out)
    check_kept(out, before, after)
    assert is_mounted(disk, "remount,rw")
    shutil.rmtree(out.parent)
    full = 0
    for free in range(0, 4 * need + 100_000, max(4096, need // torture.of(2, STEPS))):
        shutil.copytree(template, out)
        available = os.statvfs(disk)
        ballast.write_bytes(bytes(max(0, available.f_bavail * available.f_frsize - free)))
        if not is_refused(capsys, case.act, inputs, out):
            break
        full += 1
        check_kept(out, before, after)
        ballast.unlink()
        check_completed(case, inputs, out, after)
    else:
        pytest.fail("it never succeeded")
    assert full
    torture.count(ROW, disks_full=full, disks_read_only=1, intact=full + 1)


@pytest.mark.parametrize(
    "line", ["bound --encoder-rf 9 --decoder-rf 25 --object-size 9", "design --object-size 6 10", "inspect CLIP"]
)
def test_some_commands_write_nothing(inputs: Path, line: str) -> None:
    with FileCalls(inputs, 0, lambda: None).watched() as calls:
        command(line)(inputs, inputs)
    assert calls.count == 0
