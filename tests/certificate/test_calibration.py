"""The label-free shift, and what a trained network keeps of the theory."""

import pytest
import torch

from withinpx.certificate.calibration import measured_shift, rendered_centres
from withinpx.experiments.synthetic import SquaresRun, evaluate
from withinpx.inference.masks import box_centre_and_size, soft_mask
from withinpx.model.autoencoder import Autoencoder


def test_the_centre_of_a_rendered_square_is_its_centre() -> None:
    rendered = torch.zeros(1, 2, 20, 30)
    rendered[0, 0, 3:8, 10:15] = 0.7
    rendered[0, 1, 10:14, 20:24] = 2.0
    assert box_centre_and_size(soft_mask(rendered))[0][0].tolist() == [[12.5, 5.5], [22.0, 12.0]]


def test_z_plus_shift_is_the_truth_although_no_truth_was_used(tiny_run: SquaresRun, tiny_model: Autoencoder) -> None:
    training, test = tiny_run.data.train(), tiny_run.data.test()
    shift = measured_shift(tiny_model, torch.from_numpy(training.images))
    with torch.no_grad():
        calibrated = (tiny_model.encode(torch.from_numpy(test.images)) + shift)[:, 0]
    assert (calibrated - torch.from_numpy(test.positions)).abs().max() < 0.25


def test_the_trained_softargmax_leaks_less_than_a_hundredth_of_a_pixel(
    tiny_run: SquaresRun, tiny_model: Autoencoder
) -> None:
    """z - truth is one constant over all test images: the full-map softmax adds nothing of its own."""
    assert evaluate(tiny_model, tiny_run).leakage <= 0.01


def test_every_test_position_is_within_the_bound(tiny_run: SquaresRun, tiny_model: Autoencoder) -> None:
    found = evaluate(tiny_model, tiny_run)
    assert found.accepted
    assert found.position_error <= found.bound


@pytest.mark.parametrize(("right", "down"), [(1, 0), (0, -2), (3, 3)])
def test_shifting_z_shifts_what_a_trained_decoder_renders(
    tiny_run: SquaresRun, tiny_model: Autoencoder, right: int, down: int
) -> None:
    with torch.no_grad():
        z = tiny_model.encode(torch.from_numpy(tiny_run.data.train().images[40:41]))
    before = rendered_centres(tiny_model, z)
    after = rendered_centres(tiny_model, z + torch.tensor([right, down]))
    assert (after - before)[0, 0].tolist() == pytest.approx([right, down], abs=0.1)
