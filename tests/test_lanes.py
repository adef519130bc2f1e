"""The lane of tests that compare with peers: which tests it finds, and that nothing in it is skipped in silence."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

COMPARISONS = """
import pytest
from hypothesis import given, strategies
from importlib import import_module

def helper():
    return pytest.importorskip("optax.contrib")

@pytest.fixture
def by_fixture():
    return helper()

@pytest.fixture
def by_two(by_fixture):
    return by_fixture

def test_itself():
    pytest.importorskip("torch")

def test_helper():
    helper()

def test_fixture(by_fixture):
    assert by_fixture

def test_fixture_of_a_fixture(by_two):
    assert by_two

@pytest.mark.parametrize("peer", ["keras", "json"])
def test_parameter(peer):
    pytest.importorskip(peer)

def test_statement():
    import torch.nn

def test_function_inside():
    def load():
        return import_module("keras")
    load()

class TestMethods:
    def test_method(self):
        from optax import contrib

@given(strategies.booleans())
def test_examples(_):
    helper()

@pytest.mark.references
def test_marked():
    pass
"""
FOUND = 10  # one of the two parameters among them

WHOLE = """
import pytest
optax = pytest.importorskip("optax")

def test_one():
    assert optax

def test_two():
    pass
"""

OTHERS = """
import pytest

def test_a_word():
    assert "torch" != "keras"

def test_something_else():
    pytest.importorskip("json")

def test_a_skip_for_another_reason():
    pytest.skip("not today")
"""

OPTIMIZED = """
import os
import pytest

@pytest.mark.optimized
def test_bits():
    flags = os.environ["XLA_FLAGS"]
    assert {expected}

def test_others():
    pass
"""

HIDDEN = """
import pytest

def test_hidden():
    getattr(pytest, "import" + "orskip")("to" + "rch")
"""


@pytest.fixture
def lane(tmp_path):
    """Run the files with peers that are there or not: the exit code, and how many tests ended how."""
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  references: compares\n  optimized: numbers\n")

    def run(*options, installed, flags=None, **files):
        for name, text in files.items():
            (tmp_path / f"test_{name}.py").write_text(text)
        for peer, inner in (("torch", "nn"), ("keras", "ops"), ("optax", "contrib")):
            folder = tmp_path / "site" / peer
            folder.mkdir(parents=True, exist_ok=True)
            missing = f"raise ModuleNotFoundError('No module named {peer}', name='{peer}')"
            (folder / "__init__.py").write_text("" if installed else missing)
            (folder / f"{inner}.py").write_text("")
        path = os.pathsep.join((str(tmp_path / "site"), str(HERE.parent)))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(tmp_path)]
        environment = {**os.environ, "PYTHONPATH": path}
        environment.pop("XLA_FLAGS", None)
        if flags is not None:
            environment["XLA_FLAGS"] = flags
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
        counts = {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", done.stdout.strip().splitlines()[-1])}
        counts["failed"] = sum(counts.get(what, 0) for what in ("failed", "error", "errors"))  # in setup it is an error
        return done.returncode, {what: counts.get(what, 0) for what in ("passed", "failed", "skipped", "deselected")}

    return run


@pytest.mark.slow
def test_the_quick_run_leaves_comparisons_out_and_skips_none(lane):
    code, counts = lane(installed=False, comparisons=COMPARISONS, whole=WHOLE, others=OTHERS)
    assert (code, counts) == (0, {"passed": 3, "failed": 0, "skipped": 1, "deselected": FOUND})


def test_the_lane_has_the_comparisons_and_no_others(lane):
    code, counts = lane("--references", installed=True, comparisons=COMPARISONS, whole=WHOLE, others=OTHERS)
    assert (code, counts) == (0, {"passed": FOUND + 2, "failed": 0, "skipped": 0, "deselected": 4})


@pytest.mark.slow
def test_without_the_peers_every_comparison_of_the_lane_fails(lane):
    code, counts = lane("--references", installed=False, comparisons=COMPARISONS)
    assert (code, counts) == (1, {"passed": 1, "failed": FOUND - 1, "skipped": 0, "deselected": 1})
    code, _ = lane("--references", installed=False, comparisons="", whole=WHOLE)
    assert code != 0


@pytest.mark.slow
def test_a_comparison_that_is_not_recognised_fails_the_quick_run(lane):
    code, counts = lane(installed=False, hidden=HIDDEN)
    assert (code, counts["failed"], counts["skipped"]) == (1, 1, 0)


def test_any_skip_in_the_lane_is_a_failure(lane):
    text = "import pytest\n@pytest.mark.references\ndef test_one():\n    pytest.skip('this torch has none')\n"
    code, counts = lane("--references", installed=True, one=text)
    assert (code, counts["failed"]) == (1, 1)


@pytest.mark.slow
def test_numbers_that_depend_on_optimizations_are_tested_plainly_compiled_and_as_users_compile(lane):
    quick = lane(installed=False, one=OPTIMIZED.format(expected="'optimization_level=0' in flags"))
    assert quick == (0, {"passed": 2, "failed": 0, "skipped": 0, "deselected": 0})
    peers = lane("--references", installed=True, one=OPTIMIZED.format(expected="flags == ''"))
    assert peers == (0, {"passed": 1, "failed": 0, "skipped": 0, "deselected": 1})


@pytest.mark.slow
def test_whoever_sets_flags_of_xla_is_obeyed(lane):
    code, counts = lane(installed=False, flags="", one=OPTIMIZED.format(expected="flags == ''"))
    assert (code, counts["passed"]) == (0, 2)
