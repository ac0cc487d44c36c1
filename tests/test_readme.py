"""The README's Python runs as it is printed."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import withinpx
from tests.tracked_clip import FRAMES, TrackedClip, brief_training
from withinpx import Autoencoder, CompactSupport, NetworkConfig, Squares, error_bound, fit, measured_shift
from withinpx.data.scenes import write_clip_video

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.usefixtures("alone")
def test_the_ten_lines_of_python_run(
    tracked: TrackedClip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    monkeypatch.chdir(tmp_path)
    for name in ("clip.mp4", "other.mp4"):
        write_clip_video(tmp_path / name, tracked.made.clip)
    names: dict[str, object] = {}
    with brief_training():
        exec(code, names)  # noqa: S102  (our own README)
    assert "Certificate for clip.mp4" in capsys.readouterr().out
    assert len(withinpx.read_tracks("tracked/tracks.csv")) == FRAMES


def test_a_network_is_trained_on_squares_through_the_public_names() -> None:
    squares = Squares(object_size=5, padding=8, image_size=30).train()
    images = torch.from_numpy(squares.images)
    model = Autoencoder(NetworkConfig(30, 30, encoder_rf=5, decoder_rf=9, sigma=0.8, support=3.2, channels=16))
    fit(model, images)
    positions = model.encode(images) + measured_shift(model, images)
    assert np.abs(positions.detach().numpy()[:, 0] - squares.positions).max() < 0.5
    assert error_bound(5, 9, 5, CompactSupport(3.2)).bound == 4.0


def test_every_public_name_is_there() -> None:
    for name in withinpx.__all__:
        assert getattr(withinpx, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = withinpx.nonsense
