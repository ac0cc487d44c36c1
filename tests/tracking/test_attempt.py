"""One training and its certificate: the frames that judge a network are kept out of its training."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.certificate.planted import BRIGHT, DARK, HEIGHT, WIDTH, Planted, square_at, uniform_background
from tests.inference.test_touching import SEARCH, background, single_views
from withinpx.certificate import certify as certify_module
from withinpx.certificate.membership import Measured
from withinpx.data.clip import Clip
from withinpx.discovery.classes import Classes
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode
from withinpx.tracking import attempt
from withinpx.tracking.attempt import KEEP_OUT, Attempt, Setup, measured_classes
from withinpx.tracking.plan import Plan
from withinpx.training.fit import FitSettings

NETWORK = Planted(5, 11, (-3, -3))
CONFIG = NetworkConfig(HEIGHT, WIDTH, 5, 11, 0.8, 3.2, channels=1, background=BackgroundMode.LAYERED)
pytestmark = pytest.mark.usefixtures("alone")


@dataclass
class Given:
    """The frames that training was given, and those by which the network was judged."""

    engine: list[int] = field(default_factory=list)  # as images, with their changed pixels and presence
    centres: list[int] = field(default_factory=list)  # as centres for the warm start
    judges: list[int] = field(default_factory=list)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Instead of a training, the planted network; the frames are read off their first pixel and their blob."""
    noted = Given()

    def clip_engine(
        model: Autoencoder, images: Tensor, changed: Tensor, backgrounds: Tensor, present: Tensor, *, weights: Tensor
    ) -> Any:
        noted.engine += (images[:, 0, 0, 0] * 255 - DARK).round().int().tolist()
        assert len(images) == len(changed) == len(present) == len(weights)
        return Engine(model)

    def learn(engine: Engine, count: int, centres: Tensor, *_: Any, **__: Any) -> Autoencoder:
        noted.centres += ((centres[:, 0, 0] - 15.5) / 2).round().int().tolist()
        assert count == len(centres)
        return NETWORK.build()

    def certify(*arguments: Any, kept_out: Any, **options: Any) -> Any:
        noted.judges += kept_out.tolist()
        return certify_module.certify(*arguments, kept_out=kept_out, **options)

    for function in (clip_engine, learn, certify):
        monkeypatch.setattr(attempt, function.__name__, function)
    return noted


@dataclass
class Engine:
    model: Autoencoder
    loss_weight: float = 1.0


def a_setup(count: int) -> Setup:
    """A square that moves 2 px a frame; the first pixel of each frame tells its number."""
    places = np.stack([15 + 2 * np.arange(count), np.full(count, 20)], axis=1)
    frames = square_at(places)
    frames[:, 0, 0, 0] = DARK + np.arange(count)
    blobs = tuple(
        Blob(frame, (x + 0.5, y + 0.5), (x - 1, y - 1, x + 2, y + 2), 9, np.full(1, BRIGHT / 255), 3)
        for frame, (x, y) in enumerate(places.tolist())
    )
    inspection = Inspection(Clip(frames), uniform_background(), (MovingObject(blobs),), (), np.zeros((count, 2)))
    return Setup(inspection, Plan(CONFIG, 1, 4.0, ""))


def attempted(count: int, earlier: Autoencoder | None = None, blank: Sequence[int] = ()) -> Attempt:
    setup = a_setup(count)
    setup.inspection.clip.frames[list(blank)] = DARK
    return attempt.attempt(setup, 0, FitSettings(), earlier=earlier)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("count", [10, 19, 22])
def test_no_frame_that_judges_a_network_is_given_to_its_training(given: Given, count: int, again: bool) -> None:
    """Nor to a second round, which goes on from an earlier network."""
    found = attempted(count, NETWORK.build() if again else None)
    assert given.engine == given.centres
    assert set(given.engine).isdisjoint(given.judges)
    assert sorted(given.engine + given.judges) == list(range(count))
    assert len(given.judges) >= count // KEEP_OUT
    certificate = found.detector.certificate
    assert (certificate.frames, certificate.kept_out) == (count, len(given.judges))
    assert certificate.certified


def test_a_clip_that_is_too_short_for_that_says_so(given: Given) -> None:
    certificate = attempted(9).detector.certificate
    assert given.engine == given.judges == list(range(9))
    assert certificate.kept_out == 0


def test_a_network_that_fails_in_the_kept_out_frames_alone_is_refused(given: Given) -> None:
    """They do not show the square; all others do."""
    assert attempted(20).detector.certificate.certified
    certificate = attempted(20, blank=given.judges).detector.certificate
    assert certificate.of(0).failed == "reconstruction"


def test_a_small_object_counts_more_in_the_loss() -> None:
    """Unseen frames are not counted; where boxes overlap, the fainter object's weight is taken."""
    large, small = (0, 0, 10, 10), (8, 8, 12, 12)  # left, top, right, bottom
    boxes = {0: large, 1: small}
    objects = tuple(
        MovingObject(tuple(Blob(frame, (5.0, 5.0), boxes[index], 9, np.zeros(3), 9) for frame in (3, 4, 9)))
        for index in boxes
    )
    changes = torch.zeros(2, 14, 14)
    changes[:, 2:7, 2:7], changes[:, 9:12, 9:12] = 0.5, 0.1
    weights = attempt.error_weights(objects, changes, np.array([3, 4]))
    assert weights.shape == (2, 1, 14, 14)
    assert (weights[:, 0][changes == 0] == 1).all()
    energies = (weights[:, 0] * changes).sum(dim=(1, 2))
    torch.testing.assert_close(energies, changes.sum(dim=(1, 2)), rtol=0.02, atol=0)  # one pixel is in both boxes
    parts = ((slice(2, 7),) * 2, (slice(9, 12),) * 2)
    before, after = (
        [float(values[part].sum()) for part in parts] for values in (changes[0], (weights * changes)[0, 0])
    )
    assert after[0] / after[1] == pytest.approx((before[0] / before[1]) ** 0.5, rel=0.02)
    alone = attempt.error_weights(objects[:1], changes, np.array([3, 4]))
    assert (alone == 1).all()
    assert (attempt.error_weights((), changes, np.array([3, 4])) == 1).all()


def test_regions_are_divided_only_where_no_other_object_of_the_clip_can_be_in_them() -> None:
    images, seen = single_views()
    inspection = Inspection(Clip(images), background(), (), (), np.zeros((len(images), 2)))
    measured = cast(Measured, SimpleNamespace(seen=seen, templates=(SEARCH.template,)))
    silhouettes = [
        measured_classes(
            Classes((50.0, 100.0), complete=complete), inspection, measured, np.arange(0, 120, 5)
        ).silhouettes
        for complete in (True, False)
    ]
    assert silhouettes[0][0] is not None
    assert silhouettes[1] == (None,)
