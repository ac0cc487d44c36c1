"""Moving objects are found and heatmaps are fitted to them, without labels."""

import pytest
import torch

from withinpx.data.squares import Squares
from withinpx.errors import InputError
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.training.engine import DenseEngine
from withinpx.training.warm_start import jittered, lost_heatmaps, moving_centres, warm_start


def test_the_centre_of_the_moving_pixels_is_the_square_s_over_any_background() -> None:
    data = Squares(object_size=5, padding=4, image_size=24).train()
    images = torch.from_numpy(data.images)
    background = 0.4 * torch.rand(1, 24, 24, generator=torch.Generator().manual_seed(0))
    textured = torch.where(images > 0, images, background)
    assert (moving_centres(textured) - torch.from_numpy(data.positions)).abs().max() < 1e-4


def test_identical_images_are_refused() -> None:
    with pytest.raises(InputError, match="Nothing moves"):
        moving_centres(torch.ones(3, 1, 8, 8))


def test_after_a_warm_start_the_heatmaps_peak_at_the_centres() -> None:
    data = Squares(object_size=5, padding=4, image_size=24).train()
    images, centres = torch.from_numpy(data.images), torch.from_numpy(data.positions).float().unsqueeze(1)
    torch.manual_seed(0)
    model = Autoencoder(NetworkConfig(24, 24, encoder_rf=5, decoder_rf=5, sigma=0.8, channels=8))
    decoder_before = next(model.decoder.parameters()).detach().clone()
    steps = warm_start([DenseEngine(model, images)], [centres], steps=100, seeds=[0], batch_size=128)
    assert len(list(steps)) == 100
    with torch.no_grad():
        assert (model.encode(images) - centres).abs().max() < 1
    assert torch.equal(next(model.decoder.parameters()), decoder_before)


def wandering(seed: int, frames: int = 20) -> torch.Tensor:
    """Trajectories of three objects far from each other: (frames, 3, 2), px."""
    generator = torch.Generator().manual_seed(seed)
    return 30 * torch.rand(frames, 3, 2, generator=generator) + 40 * torch.arange(3)[None, :, None]


def test_heatmaps_at_their_objects_are_not_lost() -> None:
    centres = wandering(0)
    assert lost_heatmaps(centres + 2, centres).tolist() == [False, False, False]


def test_a_heatmap_that_stays_still_is_lost() -> None:
    positions, centres = wandering(0), wandering(0)
    positions[:, 1] = positions[0, 1]
    assert lost_heatmaps(positions, centres).tolist() == [False, True, False]


def test_a_heatmap_that_follows_another_object_is_lost() -> None:
    positions, centres = wandering(0), wandering(0)
    positions[:, 2] = positions[:, 0]
    assert lost_heatmaps(positions, centres).tolist() == [False, False, True]


def test_frames_without_a_known_centre_do_not_count() -> None:
    positions, centres = wandering(0), wandering(0)
    positions[:15, 0] += 20  # merged with another in most of the frames, and right where it is seen by itself
    centres[:15, 0] = torch.nan
    positions[:, 1] = 0  # spare: never known
    centres[:, 1] = torch.nan
    assert lost_heatmaps(positions, centres).tolist() == [False, False, False]


def test_a_heatmap_that_errs_now_and_then_is_not_lost() -> None:
    positions, centres = wandering(0), wandering(0)
    positions[:6, 0] += 20
    assert lost_heatmaps(positions, centres).tolist() == [False, False, False]


def test_each_seed_has_its_own_jitter_within_the_limit() -> None:
    centres = torch.full((3, 1, 2), 20.0)
    offsets = torch.stack([jittered(centres, 4.0, seed)[0, 0] - 20 for seed in range(50)])
    assert offsets.abs().max() <= 4
    assert offsets.abs().amax(dim=0).min() > 3
    assert len(offsets.unique(dim=0)) == 50
    assert torch.equal(jittered(centres, 0.0, 1), centres)
    assert torch.equal(jittered(centres, 4.0, 7), jittered(centres, 4.0, 7))
