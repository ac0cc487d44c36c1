"""What a network is observed to do, frame by frame: where the heatmap lies, whether the object is there and whole."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.certificate.planted import BRIGHT, DARK, HEIGHT, SIZE, WIDTH, Planted, square_at, uniform_background
from withinpx.inference.comparison import BORDER_PX
from withinpx.inference.observation import Observations, observe
from withinpx.inference.run import frames_on
from withinpx.model.autoencoder import Autoencoder, new_network
from withinpx.model.field import Base, Field

ENCODER_RF = 7  # of the planted network, with the gate
X, Y = 30, 24  # the square's middle pixel
OFF = 3  # px from z to it, along both axes
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def network() -> Autoencoder:
    return Planted(5, 11, (-OFF, -OFF)).build()


def observed(
    network: Autoencoder, frames: NDArray[np.uint8], heatmaps: Field | None = None, unused: tuple[int, ...] = ()
) -> Observations:
    batch = frames_on(torch.device("cpu"), frames, uniform_background())
    return observe(network, batch, encoder_rf=ENCODER_RF, unused=unused, heatmaps=heatmaps)


def square(x: int = X, y: int = Y) -> NDArray[np.uint8]:
    return square_at(np.array([[x, y]]))


def peaks(*others: tuple[int, int, float]) -> Field:
    """A heatmap of the planted network for ``square()``, with further peaks at (x, y) that have a share of the mass."""
    shares = np.array([share for _, _, share in others])
    heatmap = torch.full((1, 1, HEIGHT, WIDTH), -20.0)
    for x, y, share in ((X - OFF, Y - OFF, 1 - shares.sum()), *others):
        heatmap[0, 0, y, x] = 0.1 * float(np.log(share))  # times the temperature
    return Field(1, Base.whole(heatmap), [])


def test_the_object_is_observed_where_it_is(network: Autoencoder) -> None:
    seen = observed(network, square())
    np.testing.assert_allclose(seen.centre[0, 0], (X + 0.5, Y + 0.5), atol=1e-4)
    np.testing.assert_allclose(seen.z[0, 0], (X + 0.5 - OFF, Y + 0.5 - OFF), atol=1e-4)
    np.testing.assert_allclose(seen.box[0, 0], SIZE, atol=1e-4)
    np.testing.assert_allclose(seen.residual, 0, atol=1e-3)
    assert seen.explained[0, 0] > 0.99
    assert (seen.leakage[0, 0], seen.outside_mass[0, 0]) == pytest.approx((0, 0), abs=1e-6)
    assert seen.present[0, 0]
    assert not seen.at_border[0, 0]


# the theorem's encoder term is 7 / 2 + 3 / 2 - 1 = 4 px: this far from the centre the encoder sees the object
@pytest.mark.parametrize(
    ("x", "y", "outside"),
    [
        *((X - 4, Y, False), (X + 4, Y, False), (X, Y - 4, False), (X + 4, Y + 4, False)),
        *((X - 5, Y, True), (X + 5, Y, True), (X, Y - 5, True), (X, Y + 5, True), (X + 20, Y, True)),
    ],
)
def test_mass_where_the_encoder_cannot_see_the_object_is_leakage(
    network: Autoencoder, x: int, y: int, outside: bool
) -> None:
    share = 0.005  # so that z hardly moves, and the object is rendered where it was
    seen = observed(network, square(), peaks((x, y, share)))
    moved = share * max(abs(x - X + OFF), abs(y - Y + OFF)) if outside else 0.0
    np.testing.assert_allclose(seen.centre[0, 0], (X + 0.5, Y + 0.5), atol=1e-3)
    assert seen.leakage[0, 0] == pytest.approx(moved, abs=1e-4)
    assert seen.outside_mass[0, 0] == pytest.approx(share if outside else 0.0, abs=1e-4)


def test_leakage_is_counted_along_the_axis_that_is_worse(network: Autoencoder) -> None:
    seen = observed(network, square(), peaks((X - OFF, Y + 12, 0.005)))
    assert seen.leakage[0, 0] == pytest.approx(0.005 * (12 + OFF), abs=1e-4)


def test_a_heatmap_that_lies_elsewhere_altogether_is_leakage_across_the_frame() -> None:
    """The decoder renders the square 9 px from z, further than the encoder can see."""
    network = Planted(15, 25, (-8, -8)).build()
    batch = frames_on(torch.device("cpu"), square(), uniform_background())
    seen = observe(network, batch, encoder_rf=5)
    np.testing.assert_allclose(seen.centre[0, 0], (X + 0.5, Y + 0.5), atol=1e-3)
    assert seen.leakage[0, 0] == WIDTH
    assert seen.outside_mass[0, 0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("x", "y"), [(1, Y), (WIDTH - 2, Y), (X, 1), (X, HEIGHT - 2)], ids=["left", "right", "top", "bottom"]
)
def test_an_object_that_reaches_the_border_may_be_cut_off_by_it(x: int, y: int) -> None:
    network = Planted(5, 11, (0, 0), reads_at=(-1, -1)).build()
    inwards = (np.sign(X - x) * (abs(X - x) > 2 * abs(Y - y)), np.sign(Y - y) * (abs(Y - y) > 2 * abs(X - x)))
    assert observed(network, square(x, y)).at_border[0, 0]
    assert not observed(network, square(x + inwards[0], y + inwards[1])).at_border[0, 0]  # one px away from it
    assert 0.5 < BORDER_PX < 1


def test_a_frame_without_the_object_does_not_show_it(network: Autoencoder) -> None:
    empty = np.full((1, HEIGHT, WIDTH, 1), DARK, np.uint8)
    assert not observed(network, empty, peaks()).present[0, 0]
    assert np.isnan(observed(network, empty, peaks()).residual[0, 0])


@pytest.mark.parametrize(("contrast", "present"), [(0.6, True), (0.3, False)])
def test_a_frame_that_shows_a_fifth_of_the_rendered_energy_shows_the_object(
    network: Autoencoder, contrast: float, present: bool
) -> None:
    fainter = square()
    fainter[fainter == BRIGHT] = round(DARK + contrast * (BRIGHT - DARK))
    assert observed(network, fainter, peaks()).present[0, 0] == present


def test_an_unused_heatmap_shows_nothing(network: Autoencoder) -> None:
    assert not observed(network, square(), unused=(0,)).present[0, 0]


@pytest.fixture(scope="module")
def two_greys(network: Autoencoder) -> Autoencoder:
    """The planted network with a second heatmap, of squares of another grey."""
    model = new_network(replace(network.config, objects=2), seed=0).eval()
    weights = network.state_dict()
    for name in ("weight", "bias"):
        last = f"encoder.{len(model.encoder) - 1}.{name}"
        weights[last] = torch.cat([weights[last], weights[last]])
    weights["decoder.0.weight"] = torch.cat([weights["decoder.0.weight"], 0.8 * weights["decoder.0.weight"]], dim=1)
    model.load_state_dict(weights)
    return model


@pytest.mark.parametrize("own", [0, 1])
def test_of_a_view_of_one_object_the_heatmap_that_explains_it_shows_it(two_greys: Autoencoder, own: int) -> None:
    """Both heatmaps have their peak at the one square that there is."""
    z = torch.full((1, 2, 2), X + 0.5 - OFF)
    z[..., 1] = Y + 0.5 - OFF
    shown = two_greys.decode(z, present=torch.arange(2)[None] == own)
    frame = (255 * shown).round().byte().permute(0, 2, 3, 1).numpy()
    batch = frames_on(torch.device("cpu"), frame, uniform_background())
    seen = observe(two_greys, batch, encoder_rf=ENCODER_RF, single=True)
    np.testing.assert_allclose(seen.z[0], z[0], atol=1e-4)
    assert seen.present[0].tolist() == [own == 0, own == 1]
    assert seen.explained[0, own] > 0.99
    assert seen.residual[0, own] < 0.01


@pytest.mark.parametrize(("right", "down"), [(2, 0), (0, -2), (1, 2)])
def test_the_residual_is_the_distance_from_the_rendered_object_along_the_axis_that_is_worse(
    network: Autoencoder, right: int, down: int
) -> None:
    seen = observed(network, square(X + right, Y + down), peaks())
    np.testing.assert_allclose(seen.offset[0, 0], (right, down), atol=0.05)
    assert seen.residual[0, 0] == pytest.approx(2, abs=0.05)


def test_the_size_is_the_longer_side_of_the_box(network: Autoencoder) -> None:
    seen = observed(network, square())
    seen.box[0, 0] = (3, 7)
    assert seen.size[0, 0] == 7


def test_the_encoder_sees_changed_pixels_only(network: Autoencoder) -> None:
    """Brighter pixels that are background are nothing to it."""
    frames = square()
    frames[0, :, WIDTH - 10] = DARK + 10  # below the threshold
    assert observed(network, frames).z.tolist() == observed(network, square()).z.tolist()


def test_a_changed_region_that_no_object_explains_is_measured(network: Autoencoder) -> None:
    frames = square()
    assert observed(network, frames).unexplained[0, 0] == 0
    frames[0, 40:44, 50:56] = BRIGHT
    assert observed(network, frames, peaks()).unexplained[0, 0] == 4 * 6 - 4  # without its corners


def test_noise_beside_the_object_does_not_move_it(network: Autoencoder) -> None:
    """Pixels below the threshold are background, in what the rendering is compared with too."""
    noisy = square()
    noisy[0, Y - 1 : Y + 2, X + 2 : X + 5] = DARK + 12
    still, moved = observed(network, square()), observed(network, noisy)
    assert moved.offset.tolist() == still.offset.tolist()
    assert moved.explained.tolist() == still.explained.tolist()
