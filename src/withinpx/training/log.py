"""One JSON line per epoch, in ``log.jsonl``."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from withinpx.files import write_atomically

LOG = "log.jsonl"


@dataclass(frozen=True)
class Epoch:
    """One line of the log."""

    epoch: int  # from 1
    loss: float  # mean squared error of the reconstruction
    reconstruction_accuracy: float  # mean over the training batches, each before its step
    elapsed_s: float  # since training began, pauses not counted


class Log:
    """The log of a run; on resume, lines after the checkpoint are dropped and written again."""

    def __init__(self, folder: Path | None, epochs_done: int) -> None:
        self._path = folder / LOG if folder else None
        self.epochs = read_log(folder)[:epochs_done] if folder else []
        if self._path:
            write_atomically(self._path, "".join(_line(epoch) for epoch in self.epochs).encode())
        self._started = time.monotonic() - (self.epochs[-1].elapsed_s if self.epochs else 0.0)

    def add(self, number: int, loss: float, accuracy: float) -> Epoch:
        epoch = Epoch(number, loss, accuracy, round(time.monotonic() - self._started, 3))
        self.epochs.append(epoch)
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line(epoch))
        return epoch


def read_log(folder: Path) -> list[Epoch]:
    """All whole lines; one that a crash truncated is left out."""
    path = folder / LOG
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return [Epoch(**json.loads(line)) for line in lines]


def _line(epoch: Epoch) -> str:
    return json.dumps(asdict(epoch)) + "\n"
