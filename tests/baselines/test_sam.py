"""Automatic mask generation, on a stand-in for SAM with known masks."""

import hashlib
import importlib
import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from withinpx.baselines import mobilesam
from withinpx.baselines.detections import Pixels
from withinpx.baselines.hub_sam import check_name
from withinpx.baselines.mobilesam import check_weights
from withinpx.baselines.nms import declare_operators, nms
from withinpx.baselines.protocol import Rule, object_positions
from withinpx.baselines.sam import MaskSettings, find_masks, grid_points
from withinpx.errors import InputError

SIDE = 64
IMAGE = np.zeros((SIDE, SIDE, 3), np.uint8)
BOXES = ((0, 0, 64, 64, 0.99), (10, 12, 7, 5, 0.93), (40, 8, 9, 9, 0.97), (30, 44, 12, 12, 0.95))


class Rectangles:
    """Every point gives the smallest rectangle around it with its quality, and two bad masks."""

    device = torch.device("cpu")

    def __init__(self, boxes: tuple[tuple[float, ...], ...] = BOXES, sharpness: float = 9.0) -> None:
        self.boxes, self.sharpness = sorted(boxes, key=lambda box: box[2] * box[3]), sharpness
        self.batches: list[int] = []

    def set_image(self, image: Pixels) -> None:
        self.shape = image.shape[:2]

    def predict(self, points: Tensor) -> tuple[Tensor, Tensor]:
        self.batches.append(len(points))
        logits = torch.full((len(points), 3, *self.shape), -self.sharpness)
        qualities = torch.zeros(len(points), 3)
        for index, (x, y) in enumerate(points.tolist()):
            for left, top, width, height, quality in self.boxes:
                if left <= x < left + width and top <= y < top + height:
                    columns, rows = slice(int(left), int(left + width)), slice(int(top), int(top + height))
                    logits[index, 1, rows, columns] = self.sharpness
                    qualities[index, 1] = quality
                    break
        return logits, qualities


def test_boxes_come_best_first_and_as_wide_as_their_pixels() -> None:
    found = find_masks(Rectangles(), IMAGE, MaskSettings(grid=16))
    by_quality = sorted(BOXES, key=lambda box: -box[4])
    assert found.boxes.tolist() == [list(box[:4]) for box in by_quality]
    np.testing.assert_allclose(found.scores, [box[4] for box in by_quality], rtol=1e-6)


def test_the_first_mask_is_the_background() -> None:
    taken = object_positions(find_masks(Rectangles(), IMAGE, MaskSettings(grid=16)), 3, Rule.AFTER_THE_FIRST)
    assert taken is not None
    assert taken.tolist() == [[44.5, 12.5], [36, 50], [13.5, 14.5]]


def test_with_fewer_than_four_masks_an_image_cannot_be_used() -> None:
    found = find_masks(Rectangles(BOXES[:3]), IMAGE, MaskSettings(grid=16))
    assert len(found.boxes) == 3
    assert object_positions(found, 3, Rule.AFTER_THE_FIRST) is None


def test_bad_and_unstable_masks_do_not_count() -> None:
    assert len(find_masks(Rectangles(), IMAGE, MaskSettings(grid=16, quality=0.96)).boxes) == 2
    assert len(find_masks(Rectangles(sharpness=0.5), IMAGE, MaskSettings(grid=16)).boxes) == 0


def test_images_need_not_be_square_and_points_come_in_batches() -> None:
    model = Rectangles(((70, 10, 6, 6, 0.9),))
    found = find_masks(model, np.zeros((40, 80, 3), np.uint8), MaskSettings(grid=20, at_once=150))
    assert model.batches == [150, 150, 100]
    assert found.boxes.tolist() == [[70, 10, 6, 6]]


def test_a_box_that_overlaps_a_better_one_is_dropped() -> None:
    nearly_the_same = ((10, 10, 20, 20, 0.9), (11, 10, 19, 20, 0.95), (45, 40, 8, 8, 0.92))
    found = find_masks(Rectangles(nearly_the_same), IMAGE, MaskSettings(grid=32))
    assert found.boxes.tolist() == [[11, 10, 19, 20], [45, 40, 8, 8]]


def test_points_are_the_centres_of_tiles_row_by_row() -> None:
    assert grid_points(2, torch.device("cpu")).tolist() == [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]
    with pytest.raises(InputError, match="grid of points is 0 wide"):
        MaskSettings(grid=0)


def brute_force(boxes: list[list[float]], scores: list[float], overlap: float) -> list[int]:
    """Repeatedly keep the best box left and drop those that overlap it."""
    left, kept = sorted(range(len(boxes)), key=lambda index: -scores[index]), []
    while left:
        best = left.pop(0)
        kept.append(best)
        left = [other for other in left if intersection_over_union(boxes[best], boxes[other]) <= overlap]
    return kept


def intersection_over_union(first: list[float], second: list[float]) -> float:
    width = max(0.0, min(first[2], second[2]) - max(first[0], second[0]))
    height = max(0.0, min(first[3], second[3]) - max(first[1], second[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return width * height / (sum(areas) - width * height)


@pytest.mark.parametrize("overlap", [0.1, 0.5, 0.7])
@pytest.mark.parametrize("count", [0, 1, 2, 60])
def test_nms_equals_brute_force(count: int, overlap: float) -> None:
    random = torch.Generator().manual_seed(count)
    corners = torch.rand(count, 2, generator=random) * 10
    boxes = torch.cat([corners, corners + 1 + torch.rand(count, 2, generator=random) * 10], dim=1)
    scores = torch.rand(count, generator=random)
    assert nms(boxes, scores, overlap).tolist() == brute_force(boxes.tolist(), scores.tolist(), overlap)


@pytest.mark.filterwarnings("ignore")  # its package uses names that timm has moved since
def test_masks_equal_those_of_the_package_s_own_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("mobile_sam") is None:
        pytest.skip("MobileSAM is in the extra baselines")
    torch.manual_seed(0)
    model = mobilesam.MobileSam(None, torch.device("cpu"))
    for weights in model.model.mask_decoder.output_hypernetworks_mlps.parameters():
        weights.data *= 10  # otherwise no mask is sharp
    monkeypatch.setattr(importlib.import_module("torchvision.extension"), "_has_ops", lambda: True)
    image = np.random.default_rng(0).integers(0, 256, (40, 56, 3), dtype=np.uint8)
    loose = MaskSettings(grid=3, quality=-torch.inf, stability=0.05, overlap=0.97)
    found = find_masks(model, image, loose)
    generator = importlib.import_module("mobile_sam").SamAutomaticMaskGenerator(
        model.model, points_per_side=3, pred_iou_thresh=0, stability_score_thresh=0.05, box_nms_thresh=0.97
    )
    theirs = generator.generate(image)
    assert len(theirs) > 1
    assert found.boxes.tolist() == [
        [x, y, width + 1, height + 1] for x, y, width, height in (m["bbox"] for m in theirs)
    ]
    np.testing.assert_allclose(found.scores, [mask["predicted_iou"] for mask in theirs], atol=1e-6)


namespaces = (f"withinpx_test_{number}" for number in itertools.count())  # an operator is declared once


def test_the_operator_that_torchvision_lacks_is_declared() -> None:
    namespace = next(namespaces)
    declare_operators(namespace)
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 0, 10, 10], [20, 20, 30, 30]])
    scores = torch.tensor([0.5, 0.9, 0.7])
    assert getattr(torch.ops, namespace).nms(boxes, scores, 0.5).tolist() == [1, 2]


def test_weights_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="give --weights PATH"):
        check_weights(None)
    with pytest.raises(InputError, match="There is no file of weights"):
        check_weights(tmp_path / "none.pt")
    weights = tmp_path / "mobile_sam.pt"
    weights.write_bytes(b"something else")
    with pytest.raises(InputError, match="does not hold MobileSAM's weights: its sha256 is"):
        check_weights(weights)
    monkeypatch.setattr(mobilesam, "SHA256", hashlib.sha256(b"something else").hexdigest())
    assert check_weights(weights) == weights


def test_sam_needs_a_model_name() -> None:
    with pytest.raises(InputError, match="SAM needs a model"):
        check_name(None)
    assert check_name("facebook/sam-vit-huge") == "facebook/sam-vit-huge"


@pytest.mark.parametrize(("module_name", "name"), [("mobilesam", "MobileSam"), ("hub_sam", "HubSam")])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module_name: str, name: str) -> None:
    module = importlib.import_module(f"withinpx.baselines.{module_name}")
    monkeypatch.setattr(module, "import_torchvision", lambda: None)
    monkeypatch.setattr(mobilesam, "check_weights", lambda path: path)
    for package in ("mobile_sam", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"pip install 'withinpx\[baselines\]'"):
        getattr(module, name)("weights", torch.device("cpu"))
