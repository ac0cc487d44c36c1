"""Devices, and threads that leave the cores to other programs while they wait."""

import os
import subprocess
import sys

import pytest

CODE = "import os, sys, withinpx; print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"


@pytest.mark.parametrize(("given", "policy"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_do_not_spin_unless_the_user_says_so(given: str | None, policy: str) -> None:
    """The variable is set before torch is loaded, which is when it counts."""
    variables = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    variables |= {} if given is None else {"OMP_WAIT_POLICY": given}
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert done.stdout.split() == [policy, "False"]
