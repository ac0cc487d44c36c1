"""Both commands under their former path."""

from withinpx.cli.evaluate import EvaluateCommand
from withinpx.cli.fit import FitCommand

__all__ = ["EvaluateCommand", "FitCommand"]
