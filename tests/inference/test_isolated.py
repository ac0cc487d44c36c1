"""A view of one object is seen as the frame would be in which all else is background."""

from dataclasses import fields

import numpy as np
import torch

from withinpx.discovery.background import BackgroundModel
from withinpx.discovery.objects import find_changes
from withinpx.discovery.regions import find_regions, nearest_regions, only_region
from withinpx.inference.isolated import IsolatedFrames, IsolatedPixels, Isolation
from withinpx.inference.observation import observe
from withinpx.inference.run import frames_on
from withinpx.model.autoencoder import NetworkConfig, new_network
from withinpx.model.background import BackgroundMode

SIZE = (48, 64)


def images() -> np.ndarray:
    random = np.random.default_rng(0)
    pixels = random.integers(48, 54, (3, *SIZE, 1)).astype(np.uint8)
    for number, places in enumerate((((8, 10), (30, 20)), ((12, 30),), ((40, 8), (20, 30), (5, 5)))):
        for x, y in places:
            pixels[number, y : y + 7, x : x + 7] = 200 + 10 * number
    return pixels


def test_views_are_observed_as_images_of_one_object() -> None:
    background = BackgroundModel(np.full((1, *SIZE, 1), 0.2, np.float32), np.full(SIZE, 0.05, np.float32))
    network = NetworkConfig(*SIZE, 7, 9, 0.8, 3.2, channels=6, background=BackgroundMode.LAYERED)
    model = new_network(network, seed=3).eval()
    pixels, device = images(), torch.device("cpu")
    regions = [find_regions(find_changes(image, background, 0)) for image in pixels]
    cells = np.stack([nearest_regions(SIZE, own) for own in regions])
    views = [(frame, number) for frame, own in enumerate(regions) for number in range(len(own))]
    assert len(views) == 6
    frame, number = (torch.tensor(values) for values in zip(*views, strict=True))
    isolation = Isolation(frame, number, torch.from_numpy(cells))
    seen = frames_on(device, pixels, background)
    as_views = IsolatedFrames(seen.images, seen.backgrounds, seen.changed, isolation)
    alone = np.stack([only_region(pixels[f], background.bytes[0], cells[f], n) for f, n in views])
    changed = torch.from_numpy(np.stack([seen.changed[f].numpy() & (cells[f] == n) for f, n in views]))
    planes = torch.from_numpy(alone).permute(0, 3, 1, 2)
    one_each = type(seen)(planes, seen.backgrounds, changed)
    expected, found = (observe(model, some, encoder_rf=9) for some in (one_each, as_views))
    for item in fields(expected):
        if item.name != "feasible":
            np.testing.assert_allclose(getattr(found, item.name), getattr(expected, item.name), atol=1e-4)


def test_all_of_a_view_has_the_background_in_the_cells_of_others() -> None:
    pixels = images()
    still = torch.full((1, 1, *SIZE), 0.2)
    cells = torch.zeros(3, *SIZE, dtype=torch.int32)
    cells[0, :, 25:] = 1
    isolation = Isolation(torch.tensor([0, 0]), torch.tensor([0, 1]), cells)
    views = IsolatedPixels(torch.from_numpy(pixels).permute(0, 3, 1, 2), still, isolation)
    assert len(views) == 2
    first, second = views.whole(0), views.whole(1)
    assert np.array_equal(first[:, :25], pixels[0, :, :25])
    assert (first[:, 25:] == 51).all()
    assert np.array_equal(second[:, 25:], pixels[0, :, 25:])
    assert (second[:, :25] == 51).all()
