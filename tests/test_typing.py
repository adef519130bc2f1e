"""The programs that `make types` checks: the accepted one runs, and the other still has its mistakes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.broad
def test_a3_the_program_that_checkers_accept_runs():
    command = [sys.executable, "-W", "error", str(HERE / "typing" / "accepted.py")]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a3_the_marked_mistakes_are_looked_for_by_both_checkers():
    """A mark where nothing is found is an error of theirs, so it is enough that marks and settings are there."""
    lines = (HERE / "typing" / "mistakes.py").read_text().splitlines()
    assert sum("# pyright: ignore[" in line for line in lines) >= 20
    assert sum("# type: ignore[" in line for line in lines) >= 20
    settings = (HERE / "typing" / "pyrightconfig.json").read_text()
    assert '"reportUnnecessaryTypeIgnoreComment": "error"' in settings
    project = (HERE.parent / "pyproject.toml").read_text()
    assert 'files = ["graftax", "tests/typing"]' in project
    assert not re.search(r"^warn_unused_ignores = false", project, re.MULTILINE)
    assert "$(PYRIGHT) --project tests/typing" in (HERE.parent / "Makefile").read_text()
