"""Threads that leave the cores to other programs while they wait."""

import os
import subprocess
import sys

import pytest

CODE = "import os, sys, withinpx; print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"
OWN = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "PASSIVE"}, "None")],
    ids=["nothing given", "spins given", "policy given"],
)
def test_waiting_threads_spin_shortly_unless_the_user_says_otherwise(given: dict[str, str], spins: str) -> None:
    """The variable is set before torch is loaded, which is when it counts."""
    variables = {name: value for name, value in os.environ.items() if name not in OWN} | given
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert done.stdout.split() == [spins, "False"]
