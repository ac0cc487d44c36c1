"""Broken or altered detector files: refused with a one-line message, or the same detector. No code is run."""

import hashlib
import json
import os
import pickle
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from tests.certificate.test_shift import a_detector, places
from tests.faults.small import is_one_line, refused_command
from tests.faults.torture import Torture
from tests.faults.worker import Worker
from withinpx.certificate.calibration import Shift
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel
from withinpx.errors import InputError
from withinpx.studio.app import DEMO
from withinpx.tracking.detector import BACKGROUND, CERTIFICATE, Detector
from withinpx.training.detector_folder import DESCRIPTION, SEAL, WEIGHTS, sealed

ROW = "detector files"
FILES = (DESCRIPTION, CERTIFICATE, WEIGHTS, BACKGROUND)
HASHES = {WEIGHTS: "weights_sha256", BACKGROUND: "background_sha256", CERTIFICATE: "certificate_sha256"}
Random = np.random.Generator
Tensors = dict[str, np.ndarray[Any, Any]]


def save(folder: Path, seed: int) -> Path:
    folder.mkdir()
    shift = (Shift(places(9, seed), places(9, seed + 1), 3.0), Shift.constant(np.array([1 / 3, seed - 2.0])))
    torch.manual_seed(seed)
    made = a_detector(shift, Selection(crop=(1, 2, 28, 24), scale=0.5))
    for value in made.model.parameters():
        torch.nn.init.normal_(value)
    background = BackgroundModel(made.background.images + np.float32(seed / 99), made.background.threshold)
    certificate = replace(made.certificate, source=f"clip {seed}")
    replace(made, background=background, certificate=certificate).save(folder)
    return folder


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("detectors") / "good", 0)


@pytest.fixture(scope="module")
def other(good: Path) -> Path:
    """Another detector, of the same sizes."""
    return save(good.parent / "other", 7)


@pytest.fixture
def copy(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "copy"))


class Spy:
    """Files that the process opens and code that it runs, while it is watched."""

    FORBIDDEN = ("pickle.find_class", "exec", "import", "os.system", "os.posix_spawn", "subprocess.Popen", "os.exec")

    def __init__(self) -> None:
        self._is_active = False
        self.opened: list[str] = []
        self.ran: list[str] = []
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_active and event == "open":
            self.opened.append(str(arguments[0]))
        elif self._is_active and event in self.FORBIDDEN:
            self.ran.append(f"{event} {arguments}")

    @contextmanager
    def active(self) -> Iterator[None]:
        self.opened, self.ran, self._is_active = [], [], True
        try:
            yield
        finally:
            self._is_active = False


@pytest.fixture(scope="module")
def spy(good: Path) -> Spy:
    Detector.load(good)  # imports what it needs
    return Spy()


def parts(detector: Detector) -> tuple[dict[str, Any], tuple[object, ...]]:
    """Everything in a detector: arrays by name, and the rest."""
    arrays: dict[str, Any] = dict(detector.model.state_dict())
    arrays |= {"images": detector.background.images, "threshold": detector.background.threshold}
    for index, shift in enumerate(detector.shifts):
        arrays |= {
            f"positions{index}": shift.positions,
            f"shifts{index}": shift.shifts,
            f"bandwidth{index}": shift.bandwidth,
        }
    rest = (detector.model.config, detector.selection, detector.recording, detector.certificate, detector.moving_camera)
    return arrays, rest


def is_same(one: Detector, other: Detector) -> bool:
    (arrays, rest), (other_arrays, other_rest) = parts(one), parts(other)
    same = all(np.array_equal(np.asarray(arrays[name]), np.asarray(other_arrays[name])) for name in arrays)
    return same and arrays.keys() == other_arrays.keys() and repr(rest) == repr(other_rest)


def loaded(spy: Spy, folder: Path) -> Detector | None:
    """The detector, or None if it is refused. No code is run, and no file outside its folder is opened."""
    with spy.active():
        try:
            detector = Detector.load(folder)
        except InputError as error:
            assert is_one_line(str(error))
            detector = None
    assert not spy.ran
    assert all(Path(path).parent == folder for path in spy.opened), spy.opened
    return detector


def check_refused(spy: Spy, folder: Path) -> None:
    assert loaded(spy, folder) is None


def check_refused_even_resealed(spy: Spy, folder: Path, name: str) -> None:
    """Refused with a changed file as it is, and with all hashes corrected."""
    check_refused(spy, folder)
    if name != DESCRIPTION:
        reseal(folder)
        check_refused(spy, folder)


# --- thousands of mutations -----------------------------------------------------------------------------------------


def cut(content: bytes, random: Random) -> bytes:
    return content[: random.integers(len(content))]


def flip(content: bytes, random: Random) -> bytes:
    changed = np.frombuffer(content, np.uint8).copy()
    for index in random.integers(len(changed), size=random.choice([1, 1, 1, 2, 8, 64])):
        changed[index] ^= 1 << random.integers(8)
    return changed.tobytes()


def overwrite(content: bytes, random: Random) -> bytes:
    start, length = random.integers(len(content)), int(random.integers(1, 64))
    return content[:start] + random.bytes(length) + content[start + length :]


def insert(content: bytes, random: Random) -> bytes:
    index = random.integers(len(content) + 1)
    return content[:index] + random.bytes(int(random.integers(1, 16))) + content[index:]


def delete(content: bytes, random: Random) -> bytes:
    start = random.integers(len(content))
    return content[:start] + content[start + random.integers(1, 16) :]


def retype(content: bytes, random: Random) -> bytes:
    """Replace one digit or letter: JSON stays JSON."""
    index = int(random.choice([index for index, letter in enumerate(content) if chr(letter).isalnum()]))
    letters = b"0123456789" if chr(content[index]).isdigit() else b"abcdefghijklmnopqrstuvwxyz"
    return content[:index] + bytes([random.choice(list(letters))]) + content[index + 1 :]


def respace(content: bytes, random: Random) -> bytes:
    """Change white space, which has no meaning."""
    return content.replace(b"\n", bytes(random.choice(list(b" \n\t\r"), size=random.integers(1, 4)).tolist()))


MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...]
MUTATIONS = (cut, flip, flip, overwrite, insert, delete, retype, respace)


def test_a_mutated_file_is_refused_or_the_same_detector(good: Path, copy: Path, spy: Spy, torture: Torture) -> None:
    before = Detector.load(good)
    contents = {name: (good / name).read_bytes() for name in FILES}
    count, refused, unchanged = torture.of(400, 10_000), 0, 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        mutate = MUTATIONS[seed % len(MUTATIONS)]
        names = FILES[:2] if mutate in (retype, respace) else FILES
        name = names[random.integers(len(names))]
        (copy / name).write_bytes(mutate(contents[name], random))
        after = loaded(spy, copy)
        assert after is None or is_same(before, after), f"mutation {seed} of {name} is loaded silently"
        refused += after is None
        unchanged += after is not None
        (copy / name).write_bytes(contents[name])
    assert refused > count // 2
    assert unchanged > 0, "white space has no effect"
    torture.count(ROW, mutations=count, refused=refused, the_same_detector=unchanged)


# --- deliberate changes, with all hashes corrected ------------------------------------------------------------------


def description(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / DESCRIPTION).read_text())
    return content


def write_sealed(folder: Path, about: dict[str, Any]) -> None:
    (folder / DESCRIPTION).write_text(json.dumps({**about, SEAL: sealed(about)}))


def reseal(folder: Path, **changes: Any) -> None:
    """Change the description and correct every hash, which does not happen by accident."""
    about = {**description(folder), **changes}
    for name, key in HASHES.items():
        if (folder / name).is_file():
            about[key] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    write_sealed(folder, about)


def test_a_resealed_detector_loads(good: Path, copy: Path, spy: Spy) -> None:
    reseal(copy)
    after = loaded(spy, copy)
    assert after is not None and is_same(Detector.load(good), after)


@pytest.mark.parametrize("name", [WEIGHTS, BACKGROUND])
def test_tensors_of_wrong_shape_or_type_are_refused(
    good: Path, copy: Path, spy: Spy, name: str, torture: Torture
) -> None:
    whole = load_arrays((good / name).read_bytes())
    for tensor, value in list(whole.items())[:: torture.of(5, 1)]:
        changes: list[Tensors] = [
            {name: other for name, other in whole.items() if name != tensor},
            {**whole, "another": value},
            {**whole, tensor: np.stack([value, value])},
            {**whole, tensor: value.reshape(1, *value.shape)},
            {**whole, tensor: value.astype(np.float64 if value.dtype == np.float32 else np.float32)},
            {**whole, tensor: value.astype(np.int8)},
        ]
        if value.ndim and min(value.shape) > 1:
            changes += [{**whole, tensor: value[:-1]}, {**whole, tensor: value[..., :-1]}, {**whole, tensor: value[:0]}]
        for changed in changes:
            contiguous = {key: np.ascontiguousarray(array) for key, array in changed.items()}
            (copy / name).write_bytes(save_arrays(contiguous))
            reseal(copy)
            extra_in_background = name == BACKGROUND and "another" in changed
            assert (loaded(spy, copy) is None) != extra_in_background
            torture.count(ROW, wrong_sizes=1)


SIZES: tuple[Any, ...]
SIZES = (0, -1, 5000, 100_000, 2**31, 10**12, 10**40, 1e300, 3.5, float("nan"), True, "3", None, [], {})


def test_a_network_of_wrong_sizes_is_refused_before_it_takes_memory(
    good: Path, copy: Path, worker: Worker, torture: Torture
) -> None:
    network = description(copy)["network"]
    assert worker.refusal_and_growth_mb(Detector.load, good)[0] == ""
    for field in ("height", "width", "objects", "colours", "channels", "encoder_rf", "decoder_rf"):
        for value in SIZES:
            reseal(copy, network={**network, field: value})
            message, grown_mb = worker.refusal_and_growth_mb(Detector.load, copy)
            assert is_one_line(message)
            assert grown_mb < 100
            torture.count(ROW, wrong_sizes=1)


@pytest.mark.parametrize(
    "key", ["selection", "recording", "shifts", "moving_camera", "unordered", "network", "kind", *HASHES.values()]
)
def test_a_description_with_a_missing_or_wrong_entry_is_refused(copy: Path, spy: Spy, key: str) -> None:
    about = description(copy)
    others: tuple[Any, ...] = (None, [], {}, "x", [[]], [{}], 5)
    for value in () if key in ("moving_camera", "unordered") else others:  # any value is true or false
        write_sealed(copy, {**about, key: value})
        check_refused(spy, copy)
    del about[key]
    write_sealed(copy, about)
    check_refused(spy, copy)


@pytest.mark.parametrize("name", [WEIGHTS, BACKGROUND])
@pytest.mark.parametrize("length", [0, 1, 2**20, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1])
def test_a_huge_header_is_refused(copy: Path, spy: Spy, name: str, length: int, torture: Torture) -> None:
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(struct.pack("<Q", length) + content[8:])
    check_refused_even_resealed(spy, copy, name)
    torture.count(ROW, huge_headers=2)


@pytest.mark.parametrize("name", [WEIGHTS, BACKGROUND])
def test_a_header_beyond_the_file_is_refused(copy: Path, spy: Spy, name: str, torture: Torture) -> None:
    for shape in ([2**40], [2**63, 2**63], [0, 2**62]):
        header = json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, 2**42]}}).encode()
        (copy / name).write_bytes(struct.pack("<Q", len(header)) + header + bytes(64))
        reseal(copy)
        check_refused(spy, copy)
        torture.count(ROW, huge_headers=1)


class Payload:
    """Creates a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_is_not_loaded(copy: Path, spy: Spy, tmp_path: Path, name: str, torture: Torture) -> None:
    target = tmp_path / "created by the payload"
    torch.save({"x": Payload(target)}, tmp_path / "saved.pt")
    pickles = [pickle.dumps(Payload(target), protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    pickles.append((tmp_path / "saved.pt").read_bytes())
    before = (copy / DESCRIPTION).read_bytes()
    for content in pickles:
        (copy / name).write_bytes(content)
        check_refused_even_resealed(spy, copy, name)
        (copy / DESCRIPTION).write_bytes(before)
        torture.count(ROW, pickles=1)
    assert not target.exists()
    pickle.loads(pickles[0])  # noqa: S301  (the payload works)
    assert target.exists()


@pytest.mark.parametrize("prefix", ["../other/", "/etc/", "file:///etc/", "..\\other\\", "~/"])
def test_a_description_cannot_point_outside_its_folder(
    good: Path, copy: Path, spy: Spy, prefix: str, torture: Torture
) -> None:
    shutil.copytree(good, copy.parent / "other")
    before = Detector.load(good)
    keys = ("weights", "backdrop", "certificate", "model", "path", "file", "data", "source")
    for key in (*keys, WEIGHTS, BACKGROUND, CERTIFICATE):
        shutil.copyfile(good / DESCRIPTION, copy / DESCRIPTION)
        reseal(copy, **{key: f"{prefix}{WEIGHTS}"})
        after = loaded(spy, copy)  # checks that no other file is opened
        assert after is not None and is_same(before, after)
        torture.count(ROW, pointing_outside=1)
    reseal(copy, kind=f"{prefix}{WEIGHTS}")
    check_refused(spy, copy)


@pytest.mark.parametrize("name", FILES)
def test_a_link_to_another_file_is_refused_for_its_content(other: Path, copy: Path, spy: Spy, name: str) -> None:
    (copy / name).unlink()
    for target in (Path("/etc/passwd"), Path("/dev/zero"), copy / "nowhere", copy):
        (copy / name).symlink_to(target)
        check_refused(spy, copy)
        (copy / name).unlink()
    if name != DESCRIPTION:
        (copy / name).symlink_to(other / name)
        check_refused(spy, copy)


WRONG_CONTENTS = (
    b"",
    b"\0" * 4096,
    b"{}",
    b"[]",
    b"null",
    b"\xff\xfe{\0}\0",
    b"[" * 100_000,
    b'{"a":' * 995 + b"1" + b"}" * 995,
)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_special_or_empty_file_is_refused(copy: Path, spy: Spy, name: str, torture: Torture) -> None:
    content = (copy / name).read_bytes()
    (copy / name).unlink()
    check_refused(spy, copy)
    (copy / name).mkdir()
    check_refused(spy, copy)
    (copy / name).rmdir()
    os.mkfifo(copy / name)  # reading it would block for ever
    check_refused(spy, copy)
    (copy / name).unlink()
    for wrong in WRONG_CONTENTS:
        (copy / name).write_bytes(wrong)
        check_refused_even_resealed(spy, copy, name)
    (copy / name).write_bytes(content)
    torture.count(ROW, no_files=3 + len(WRONG_CONTENTS))


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_of_another_detector_is_refused(other: Path, copy: Path, spy: Spy, name: str) -> None:
    """It is intact and has the right size."""
    shutil.copyfile(other / name, copy / name)
    check_refused(spy, copy)


def test_a_description_without_its_own_hash_is_refused(copy: Path) -> None:
    """Earlier versions saved none; changes could not be detected."""
    about = description(copy)
    del about[SEAL]
    (copy / DESCRIPTION).write_text(json.dumps(about))
    with pytest.raises(InputError, match="earlier version"):
        Detector.load(copy)


def test_the_demo_detector_is_intact() -> None:
    detector = Detector.load(DEMO / "out")
    assert len(detector.certificate.objects) == 3


@pytest.mark.parametrize("name", FILES)
def test_the_command_refuses_in_one_line(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[:-9] + b"!" + content[-8:])
    lines = refused_command(capsys, "edit", copy, "--path", "0=0:4,4:8,8", "--out", tmp_path / "new.mp4")
    assert len(lines) == 1
