"""The tests of `eight`, in a process of their own: JAX divides the CPU when it starts, and no other test wants that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EIGHT = Path(__file__).parent / "eight"


@pytest.mark.slow
def test_all_tests_of_eight_devices_pass() -> None:
    command = [sys.executable, "-m", "pytest", str(EIGHT), "--devices", "-m", "", "-q", "-x", "-n", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    found = subprocess.run(command, cwd=EIGHT.parents[2], env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-4000:]
