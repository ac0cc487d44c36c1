"""Detector files that were broken or changed: refused in a sentence, or the same detector as before. No code is run."""

import hashlib
import json
import os
import pickle
import resource
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
from tests.faults.apart import apart
from tests.faults.torture import Torture
from withinpx.certificate.shift import Shift
from withinpx.cli import main
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel
from withinpx.errors import InputError
from withinpx.studio.app import DEMO
from withinpx.tracking.detector import BACKDROP, CERTIFICATE, Detector, load_clip_detector, save_clip_detector
from withinpx.training.detector_folder import DESCRIPTION, SEAL, WEIGHTS, sealed

ROW = "detector files"
FILES = (DESCRIPTION, CERTIFICATE, WEIGHTS, BACKDROP)
HASHES = {WEIGHTS: "weights_sha256", BACKDROP: "background_sha256", CERTIFICATE: "certificate_sha256"}
Random = np.random.Generator
Tensors = dict[str, np.ndarray[Any, Any]]


def save(folder: Path, seed: int) -> Path:
    folder.mkdir()
    shift = (Shift(places(9, seed), places(9, seed + 1), 3.0), Shift.everywhere(np.array([1 / 3, seed - 2.0])))
    torch.manual_seed(seed)
    made = a_detector(shift, Selection(crop=(1, 2, 28, 24), scale=0.5))
    for value in made.model.parameters():
        torch.nn.init.normal_(value)
    behind = BackgroundModel(made.background.images + np.float32(seed / 99), made.background.threshold)
    certificate = replace(made.certificate, source=f"clip {seed}")
    save_clip_detector(folder, replace(made, background=behind, certificate=certificate), "a clip")
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
    """What the process does that may be seen from outside, while it is watched."""

    FORBIDDEN = ("pickle.find_class", "exec", "import", "os.system", "os.posix_spawn", "subprocess.Popen", "os.exec")

    def __init__(self) -> None:
        self._watches = False
        self.opened: list[str] = []
        self.ran: list[str] = []
        sys.addaudithook(self._heard)

    def _heard(self, event: str, given: tuple[Any, ...]) -> None:
        if self._watches and event == "open":
            self.opened.append(str(given[0]))
        elif self._watches and event in self.FORBIDDEN:
            self.ran.append(f"{event} {given}")

    @contextmanager
    def watches(self) -> Iterator[None]:
        self.opened, self.ran, self._watches = [], [], True
        try:
            yield
        finally:
            self._watches = False


@pytest.fixture(scope="module")
def spy(good: Path) -> Spy:
    load_clip_detector(good)  # imports what it needs
    return Spy()


def parts(detector: Detector) -> tuple[dict[str, Any], tuple[object, ...]]:
    """All that a detector is: arrays by name, and the rest."""
    arrays: dict[str, Any] = dict(detector.model.state_dict())
    arrays |= {"images": detector.background.images, "threshold": detector.background.threshold}
    for number, shift in enumerate(detector.shift):
        arrays |= {f"places{number}": shift.places, f"steps{number}": shift.steps, f"reach{number}": shift.reach}
    rest = (detector.model.config, detector.selection, detector.recording, detector.certificate, detector.moving_camera)
    return arrays, rest


def is_same(one: Detector, other: Detector) -> bool:
    (arrays, rest), (others, others_rest) = parts(one), parts(other)
    same = all(np.array_equal(np.asarray(arrays[name]), np.asarray(others[name])) for name in arrays)
    return same and arrays.keys() == others.keys() and repr(rest) == repr(others_rest)


def loaded(spy: Spy, folder: Path) -> Detector | None:
    """The detector, or None if it is refused in a sentence. Nothing is run, and no file outside is read."""
    with spy.watches():
        try:
            detector, _ = load_clip_detector(folder)
        except InputError as error:
            assert str(error).endswith(".") and "\n" not in str(error)
            detector = None
    assert not spy.ran
    assert all(Path(each).parent == folder for each in spy.opened), spy.opened
    return detector


# --- thousands of mutations -----------------------------------------------------------------------------------------


def cut(content: bytes, random: Random) -> bytes:
    return content[: random.integers(len(content))]


def flip(content: bytes, random: Random) -> bytes:
    changed = np.frombuffer(content, np.uint8).copy()
    for place in random.integers(len(changed), size=random.choice([1, 1, 1, 2, 8, 64])):
        changed[place] ^= 1 << random.integers(8)
    return changed.tobytes()


def overwrite(content: bytes, random: Random) -> bytes:
    start, length = random.integers(len(content)), int(random.integers(1, 64))
    return content[:start] + random.bytes(length) + content[start + length :]


def insert(content: bytes, random: Random) -> bytes:
    place = random.integers(len(content) + 1)
    return content[:place] + random.bytes(int(random.integers(1, 16))) + content[place:]


def leave_out(content: bytes, random: Random) -> bytes:
    start = random.integers(len(content))
    return content[:start] + content[start + random.integers(1, 16) :]


def retype(content: bytes, random: Random) -> bytes:
    """One digit or letter of a text for another: JSON stays JSON."""
    alike = [place for place, letter in enumerate(content) if chr(letter).isalnum()]
    place = int(random.choice(alike))
    letters = b"0123456789" if chr(content[place]).isdigit() else b"abcdefghijklmnopqrstuvwxyz"
    return content[:place] + bytes([random.choice(list(letters))]) + content[place + 1 :]


def respace(content: bytes, random: Random) -> bytes:
    """Text with other white space, which means the same."""
    return content.replace(b"\n", bytes(random.choice(list(b" \n\t\r"), size=random.integers(1, 4)).tolist()))


MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...] = (
    cut,
    flip,
    flip,
    overwrite,
    insert,
    leave_out,
    retype,
    respace,
)


def test_whatever_happens_to_a_file_it_is_refused_or_the_same_detector(
    good: Path, copy: Path, spy: Spy, torture: Torture
) -> None:
    before, _ = load_clip_detector(good)
    contents = {name: (good / name).read_bytes() for name in FILES}
    count, refused, unharmed = torture.of(400, 10_000), 0, 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        mutate = MUTATIONS[seed % len(MUTATIONS)]
        names = FILES[:2] if mutate in (retype, respace) else FILES
        name = names[random.integers(len(names))]
        (copy / name).write_bytes(mutate(contents[name], random))
        after = loaded(spy, copy)
        assert after is None or is_same(before, after), f"mutation {seed} of {name} is loaded silently"
        refused += after is None
        unharmed += after is not None
        (copy / name).write_bytes(contents[name])
    assert refused > count // 2
    assert unharmed > 0, "white space does no harm"
    torture.count(ROW, mutations=count, refused=refused, the_same_detector=unharmed)


# --- changes by hand, with all hashes made right again --------------------------------------------------------------


def reseal(folder: Path, **said: Any) -> None:
    """Say something else in the description, and make every hash right, as nobody does by accident."""
    about = {**json.loads((folder / DESCRIPTION).read_text()), **said}
    for name, key in HASHES.items():
        if (folder / name).is_file():
            about[key] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / DESCRIPTION).write_text(json.dumps({**about, SEAL: sealed(about)}))


def test_made_right_again_it_loads(good: Path, copy: Path, spy: Spy) -> None:
    reseal(copy)
    after = loaded(spy, copy)
    assert after is not None and is_same(load_clip_detector(good)[0], after)


@pytest.mark.parametrize("name", [WEIGHTS, BACKDROP])
def test_tensors_of_wrong_sizes_and_kinds_are_refused(
    good: Path, copy: Path, spy: Spy, name: str, torture: Torture
) -> None:
    whole = load_arrays((good / name).read_bytes())
    for tensor, value in list(whole.items())[:: torture.of(5, 1)]:
        changes: list[Tensors] = [
            {each: other for each, other in whole.items() if each != tensor},
            {**whole, "another": value},
            {**whole, tensor: np.stack([value, value])},
            {**whole, tensor: value.reshape(1, *value.shape)},
            {**whole, tensor: value.astype(np.float64 if value.dtype == np.float32 else np.float32)},
            {**whole, tensor: value.astype(np.int8)},
        ]
        if value.ndim and min(value.shape) > 1:
            changes += [{**whole, tensor: value[:-1]}, {**whole, tensor: value[..., :-1]}, {**whole, tensor: value[:0]}]
        for changed in changes:
            (copy / name).write_bytes(
                save_arrays({each: np.ascontiguousarray(given) for each, given in changed.items()})
            )
            reseal(copy)
            extra_in_backdrop = name == BACKDROP and "another" in changed
            assert (loaded(spy, copy) is None) != extra_in_backdrop
            torture.count(ROW, wrong_sizes=1)


def refusal(folder: Path) -> tuple[str, float]:
    """The sentence, if it is refused, and by how many MB the process grew."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        load_clip_detector(folder)
    except InputError as error:
        return str(error), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return "", 0


SIZES: tuple[Any, ...] = (
    0,
    -1,
    5000,
    100_000,
    2**31,
    10**12,
    10**40,
    1e300,
    3.5,
    float("nan"),
    True,
    "3",
    None,
    [],
    {},
)


def test_a_network_of_other_sizes_is_refused_before_it_takes_memory(good: Path, copy: Path, torture: Torture) -> None:
    network = json.loads((copy / DESCRIPTION).read_text())["network"]
    with apart() as aside:
        assert aside(refusal, good) == ("", 0)
        for field in ("height", "width", "objects", "colours", "channels", "encoder_rf", "decoder_rf"):
            for value in SIZES:
                reseal(copy, network={**network, field: value})
                said, grew_mb = aside(refusal, copy)
                assert said.endswith(".") and "\n" not in said
                assert grew_mb < 100
                torture.count(ROW, wrong_sizes=1)


@pytest.mark.parametrize(
    "key", ["selection", "recording", "shift", "moving_camera", "network", "kind", *HASHES.values()]
)
def test_a_description_without_something_or_with_something_else_is_refused(copy: Path, spy: Spy, key: str) -> None:
    about = json.loads((copy / DESCRIPTION).read_text())
    others: tuple[Any, ...] = (None, [], {}, "x", [[]], [{}], 5)
    for value in others:
        if key == "moving_camera":
            break  # anything is true or false
        (copy / DESCRIPTION).write_text(json.dumps({**about, key: value, SEAL: sealed({**about, key: value})}))
        assert loaded(spy, copy) is None
    del about[key]
    (copy / DESCRIPTION).write_text(json.dumps({**about, SEAL: sealed(about)}))
    assert loaded(spy, copy) is None


@pytest.mark.parametrize("name", [WEIGHTS, BACKDROP])
@pytest.mark.parametrize("length", [0, 1, 2**20, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1])
def test_a_huge_header_is_refused(copy: Path, spy: Spy, name: str, length: int, torture: Torture) -> None:
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(struct.pack("<Q", length) + content[8:])
    assert loaded(spy, copy) is None
    reseal(copy)
    assert loaded(spy, copy) is None
    torture.count(ROW, huge_headers=2)


@pytest.mark.parametrize("name", [WEIGHTS, BACKDROP])
def test_a_header_that_speaks_of_more_than_there_is_is_refused(
    copy: Path, spy: Spy, name: str, torture: Torture
) -> None:
    for shape in ([2**40], [2**63, 2**63], [0, 2**62]):
        header = json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, 2**42]}}).encode()
        (copy / name).write_bytes(struct.pack("<Q", len(header)) + header + bytes(64))
        reseal(copy)
        assert loaded(spy, copy) is None
        torture.count(ROW, huge_headers=1)


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_by_another_name_is_not_run(copy: Path, spy: Spy, tmp_path: Path, name: str, torture: Torture) -> None:
    target = tmp_path / "made by the payload"
    torch.save({"x": Payload(target)}, tmp_path / "saved.pt")
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    pickles = [*(pickle.dumps(Payload(target), each) for each in protocols), (tmp_path / "saved.pt").read_bytes()]
    before = (copy / DESCRIPTION).read_bytes()
    for content in pickles:
        (copy / name).write_bytes(content)
        assert loaded(spy, copy) is None
        if name != DESCRIPTION:
            reseal(copy)
            assert loaded(spy, copy) is None
            (copy / DESCRIPTION).write_bytes(before)
        torture.count(ROW, pickles=1)
    assert not target.exists()
    pickle.loads(pickles[0])  # noqa: S301  (it would have worked)
    assert target.exists()


@pytest.mark.parametrize("place", ["../other/", "/etc/", "file:///etc/", "..\\other\\", "~/"])
def test_a_description_cannot_point_outside_its_folder(
    good: Path, copy: Path, spy: Spy, place: str, torture: Torture
) -> None:
    shutil.copytree(good, copy.parent / "other")
    before = load_clip_detector(good)[0]
    for key in (
        "weights",
        "backdrop",
        "certificate",
        "model",
        "path",
        "file",
        "data",
        "source",
        WEIGHTS,
        BACKDROP,
        CERTIFICATE,
    ):
        shutil.copyfile(good / DESCRIPTION, copy / DESCRIPTION)
        reseal(copy, **{key: f"{place}{WEIGHTS}"})
        after = loaded(spy, copy)  # which sees to it that no other file is opened
        assert after is not None and is_same(before, after)
        torture.count(ROW, pointing_outside=1)
    reseal(copy, kind=f"{place}{WEIGHTS}")
    assert loaded(spy, copy) is None


@pytest.mark.parametrize("name", FILES)
def test_a_link_to_another_file_is_refused_for_what_it_holds(other: Path, copy: Path, spy: Spy, name: str) -> None:
    (copy / name).unlink()
    for target in (Path("/etc/passwd"), Path("/dev/zero"), copy / "nowhere", copy):
        (copy / name).symlink_to(target)
        assert loaded(spy, copy) is None
        (copy / name).unlink()
    if name != DESCRIPTION:
        (copy / name).symlink_to(other / name)
        assert loaded(spy, copy) is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none_is_refused(other: Path, copy: Path, spy: Spy, name: str, torture: Torture) -> None:
    content = (copy / name).read_bytes()
    (copy / name).unlink()
    assert loaded(spy, copy) is None
    (copy / name).mkdir()
    assert loaded(spy, copy) is None
    (copy / name).rmdir()
    os.mkfifo(copy / name)  # to read it would take for ever
    assert loaded(spy, copy) is None
    (copy / name).unlink()
    for wrong in (
        b"",
        b"\0" * 4096,
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe{\0}\0",
        b"[" * 100_000,
        b'{"a":' * 995 + b"1" + b"}" * 995,
    ):
        (copy / name).write_bytes(wrong)
        assert loaded(spy, copy) is None
        if name != DESCRIPTION:
            reseal(copy)
            assert loaded(spy, copy) is None
    (copy / name).write_bytes(content)
    torture.count(ROW, no_files=11)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_of_another_detector_is_refused(other: Path, copy: Path, spy: Spy, name: str) -> None:
    """It is whole and of the right size."""
    shutil.copyfile(other / name, copy / name)
    assert loaded(spy, copy) is None


def test_one_without_its_own_hash_is_refused(copy: Path, spy: Spy) -> None:
    """As earlier versions saved it: nothing would tell whether it was changed."""
    about = json.loads((copy / DESCRIPTION).read_text())
    del about[SEAL]
    (copy / DESCRIPTION).write_text(json.dumps(about))
    with pytest.raises(InputError, match="earlier version"):
        load_clip_detector(copy)


def test_the_demo_that_comes_along_is_whole() -> None:
    detector, _ = load_clip_detector(DEMO / "out")
    assert len(detector.certificate.objects) == 3


@pytest.mark.parametrize("name", FILES)
def test_the_command_says_it_in_one_line(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[:-9] + b"!" + content[-8:])
    with pytest.raises(SystemExit) as stopped:
        main(["edit", str(copy), "--path", "0=0:4,4:8,8", "--out", str(tmp_path / "new.mp4")])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert said.startswith("withinpx: ") and said.count("\n") == 1 and "Traceback" not in said
