"""The Triton kernels compute what the sparse engine computes. Without a GPU they run in Triton's interpreter."""

import copy
import os
from typing import Any

import pytest
import torch

from withinpx.data.squares import Squares
from withinpx.model.autoencoder import NetworkConfig, new_network, with_kinds
from withinpx.training.engine import SparseEngine
from withinpx.training.fit import prepare_model
from withinpx.training.scene import Scene
from withinpx.training.warm_start import moving_centres

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before it is imported
pytest.importorskip("triton", reason="triton runs on Linux only")

from withinpx.experiments.squares_gpu.engine import GpuEngine, for_gpu  # noqa: E402

CASES = {"identical": (24, 5, 7, 5, 5), "over the border": (20, 3, 9, 3, 0)}  # image, RFs, object, padding


def engines(case: str, stored: torch.dtype = torch.float32, **reading: Any) -> tuple[SparseEngine, GpuEngine]:
    size, encoder_rf, decoder_rf, side, padding = CASES[case]
    config = NetworkConfig(
        size, size, encoder_rf=encoder_rf, decoder_rf=decoder_rf, sigma=0.8, channels=8, **with_kinds(reading)
    )
    images = torch.from_numpy(Squares(object_size=side, padding=padding, image_size=size).train().images)
    model, images = prepare_model(new_network(config, 0).train(), images, DEVICE)
    generator = torch.Generator().manual_seed(1)
    for code in model.background.parameters():
        code.data.copy_(0.3 * torch.randn(code.shape, generator=generator))
    scene = Scene.of(images, model)
    gpu = for_gpu(SparseEngine(copy.deepcopy(model), scene), stored)
    assert isinstance(gpu, GpuEngine)
    return SparseEngine(model, scene), gpu


@pytest.fixture(autouse=True)
def no_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default a GPU rounds the factors of a convolution to TensorFloat-32, differently in each kernel."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


@pytest.mark.parametrize(
    ("case", "reading"),
    [
        *((case, {}) for case in CASES),
        ("identical", {"encoding": "sinusoidal", "peak": "unit mass"}),
        ("over the border", {"encoding": "coordinates", "softargmax": "lines", "temperature": 0.3}),
    ],
)
def test_loss_positions_gradients_and_statistics_are_equal(case: str, reading: dict[str, Any]) -> None:
    sparse, gpu = engines(case, **reading)
    assert sparse.scene.identical == (case == "identical")
    chosen = torch.arange(0, len(sparse.scene.images), 29, device=DEVICE)[:5]
    expected, accuracy = sparse.reconstruct(chosen, chosen)
    found, found_accuracy = gpu.reconstruct(chosen, chosen)
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert found_accuracy.item() == pytest.approx(accuracy.item(), abs=1e-6)
    assert (sparse.latest_z - gpu.latest_z).nan_to_num(0).abs().max() < 1e-4
    expected.backward()
    found.backward()
    for (name, one), other in zip(sparse.model.named_parameters(), gpu.model.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert (one.grad - other.grad).norm() < 2e-3 * one.grad.norm() + 1e-6, name
    for (name, there), here in zip(sparse.model.named_buffers(), gpu.model.buffers(), strict=True):
        assert (there - here).abs().max() < 1e-5, name


def test_in_half_precision_they_differ_by_rounding() -> None:
    sparse, gpu = engines("identical", torch.half)
    chosen = torch.arange(0, len(sparse.scene.images), 29, device=DEVICE)[:5]
    expected, found = (engine.reconstruct(chosen, chosen)[0] for engine in (sparse, gpu))
    assert found.item() != expected.item()
    assert found.item() == pytest.approx(expected.item(), rel=3e-3)
    expected.backward()
    found.backward()
    gradients = [parameter.grad for engine in (sparse, gpu) for parameter in engine.model.decoder[-1].parameters()]
    weight, _, weight_gpu, _ = gradients
    assert weight is not None
    assert weight_gpu is not None
    assert (weight - weight_gpu).norm() < 0.01 * weight.norm()


def test_the_warm_start_s_loss_is_equal() -> None:
    sparse, gpu = engines("identical")
    chosen = torch.tensor([3, 40], device=DEVICE)
    centres = moving_centres(sparse.scene.images)[chosen].unsqueeze(1)
    expected, found = (engine.heatmap_loss(chosen, centres, 0.5).item() for engine in (sparse, gpu))
    assert found == pytest.approx(expected, rel=1e-4)
