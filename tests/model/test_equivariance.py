"""Translation equivariance: an object that moves in the image moves z by as much, and back."""

import pytest
import torch
from torch import Tensor

from withinpx.errors import InputError
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode, LayeredBackground

SIZE, MARGIN = 60, 16
SHIFTS = [(1, 0), (0, 1), (-3, 2), (7, -6)]


EQUIVARIANT = [BackgroundMode.POSITIONAL, BackgroundMode.NEARBY, BackgroundMode.LAYERED]  # not perspective


def network(mode: BackgroundMode = BackgroundMode.POSITIONAL, objects: int = 1) -> Autoencoder:
    torch.manual_seed(3)
    config = NetworkConfig(
        SIZE, SIZE, encoder_rf=9, decoder_rf=11, sigma=0.8, objects=objects, colours=3, channels=8, background=mode
    )
    return Autoencoder(config).double().eval()


def image_with_object(x: int, y: int, background: float = 0.3) -> Tensor:
    """A textured 5 px object on grey, its corner at (x, y)."""
    image = torch.full((1, 3, SIZE, SIZE), background, dtype=torch.float64)
    texture = torch.rand(3, 5, 5, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    image[0, :, y : y + 5, x : x + 5] = texture
    return image


@pytest.mark.parametrize(("right", "down"), SHIFTS)
def test_a_shifted_object_shifts_every_heatmap_exactly(right: int, down: int) -> None:
    model = network()
    before = model.heatmaps(image_with_object(27, 27))
    after = model.heatmaps(image_with_object(27 + right, 27 + down))
    rolled = before.roll((down, right), dims=(-2, -1))
    inner = slice(MARGIN, SIZE - MARGIN)
    assert (after - rolled)[..., inner, inner].abs().max() < 1e-10


@pytest.mark.parametrize(("right", "down"), SHIFTS)
def test_a_shifted_object_shifts_z_by_exactly_as_much(right: int, down: int) -> None:
    """On black, at a temperature so low that there is no softargmax leakage from the rest of the map."""
    model = network()
    object.__setattr__(model.config, "temperature", 1e-5)
    before = model.encode(image_with_object(27, 27, background=0))[0, 0]
    after = model.encode(image_with_object(27 + right, 27 + down, background=0))[0, 0]
    assert (before - 29.5).abs().max() <= 9 / 2 + 5 / 2 - 1  # thm 4.1's encoder term
    assert (after - before).tolist() == pytest.approx([right, down], abs=1e-10)


@pytest.mark.parametrize("mode", EQUIVARIANT)
@pytest.mark.parametrize(("right", "down"), SHIFTS)
def test_shifting_z_shifts_the_rendered_object_by_as_much(mode: BackgroundMode, right: int, down: int) -> None:
    """On a uniform background; the effect of another background depends on training, and is measured."""
    model = network(mode)
    uniform = torch.full((1, 3, SIZE, SIZE), 0.4, dtype=torch.float64)
    if isinstance(model.background, LayeredBackground):
        model.background.still.fill_(0.4)
    z = torch.tensor([[[29.3, 30.8]]], dtype=torch.float64)
    shift = torch.tensor([right, down], dtype=torch.float64)
    before, after = model.decode(z, uniform), model.decode(z + shift, uniform)
    rolled = before.roll((down, right), dims=(-2, -1))
    inner = slice(MARGIN, SIZE - MARGIN)
    assert (after - rolled)[..., inner, inner].abs().max() < 1e-10


def test_a_layer_is_equivariant_up_to_the_border_and_over_any_background() -> None:
    model = network(BackgroundMode.LAYERED)
    left, middle, right = (
        model.decoder_maps(torch.tensor([[[x, 30.5]]], dtype=torch.float64)) for x in (4.25, 30.25, 57.25)
    )
    assert (left[..., :8] - middle[..., 26:34]).abs().max() < 1e-10
    assert (right[..., -8:] - middle[..., -35:-27]).abs().max() < 1e-10


def test_the_layer_leaves_the_background_alone_where_it_is_transparent() -> None:
    still = torch.rand(3, 6, 6)
    maps = torch.full((1, 4, 6, 6), -100.0)
    maps[:, 1:] = 0.0  # premultiplied colours of a transparent layer
    assert torch.equal(LayeredBackground(still).compose(maps)[0], still)


def test_a_nearby_decoder_requires_a_nearby_frame() -> None:
    with pytest.raises(InputError, match="give one"):
        network(BackgroundMode.NEARBY).decode(torch.zeros(1, 1, 2, dtype=torch.float64))


def test_an_absent_object_is_not_rendered() -> None:
    model = network(objects=2)
    z = torch.tensor([[[20.5, 20.5], [40.5, 40.5]]], dtype=torch.float64)
    present = torch.tensor([[True, False]])
    both, one = model.decode(z), model.decode(z, present=present)
    assert torch.equal(both[..., :28, :28], one[..., :28, :28])
    assert not torch.equal(both[..., 36:, 36:], one[..., 36:, 36:])


@pytest.mark.parametrize(
    ("invalid", "message"),
    [
        ({"encoder_rf": 8}, "encoder receptive field is 8"),
        ({"decoder_rf": 141}, "decoder receptive field is 141"),
        ({"height": 10}, "smaller than the receptive field"),
        ({"sigma": 0.0}, "sigma is 0.0"),
        ({"sigma": float("nan")}, "sigma is nan"),
        ({"objects": 0}, "objects is 0"),
    ],
)
def test_invalid_network_configs_are_refused(invalid: dict[str, float], message: str) -> None:
    valid = {"height": 40, "width": 40, "encoder_rf": 9, "decoder_rf": 11, "sigma": 0.8}
    with pytest.raises(InputError, match=message):
        NetworkConfig(**{**valid, **invalid})  # type: ignore[arg-type]
