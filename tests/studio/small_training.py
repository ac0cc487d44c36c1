"""A real but short training of a small clip, run in the training process."""

from dataclasses import replace
from pathlib import Path

import pytest

from withinpx.studio.queue import Flag
from withinpx.studio.runs import Run


def train_small(folder: Path, run: Run, stop: Flag) -> None:
    """What the studio does, in fewer steps and on one thread. The imports load torch."""
    import torch  # noqa: PLC0415

    from tests.tracked_clip import BATCH, STEPS, WARM_START_STEPS  # noqa: PLC0415
    from withinpx.studio.worker import work  # noqa: PLC0415
    from withinpx.tracking import attempt  # noqa: PLC0415
    from withinpx.training.recipe import CLIP  # noqa: PLC0415

    torch.set_num_threads(1)
    shorter = replace(CLIP, warm_start_steps=WARM_START_STEPS, batch_size=BATCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "STEPS", STEPS)
        patch.setattr(attempt, "CLIP", shorter)
        work(folder, run, stop)
