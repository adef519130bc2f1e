"""The lanes: every test is in one, `.ci/run` runs them, and no comparison with a peer is skipped in silence."""

import os
import re
import subprocess
import sys
import tomllib
from itertools import product
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

TURNS = """
import pytest

@pytest.mark.broad
def test_at_length():
    pass

@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("column", ["a", "b", "c"])
@pytest.mark.parametrize("row", [0, 1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_table(row, column):
    pass

@pytest.mark.in_turn(9, 8)
@pytest.mark.parametrize("row", [0, 1])
def test_short_table(row):
    pass

@pytest.mark.in_turn(4, broad=2)
@pytest.mark.parametrize("row", [pytest.param(0, marks=pytest.mark.broad), *range(1, 9)])
def test_long_table(row):
    pass

@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("row", range(4))
def test_broad_table(row):
    pass

def test_others():
    pass
"""
MARKERS = (
    "  references: compares\n  optimized: numbers\n  broad: more\n  slow: long\n  in_turn(n, start, broad): some\n"
)


@pytest.fixture
def lane(tmp_path):
    """Run the files with peers that are there or not: the exit code, and how many tests ended how."""
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  references: compares\n  optimized: numbers\n" + MARKERS
    )

    def run(*options, installed, flags=None, shown=False, **files):
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
        found = {what: counts.get(what, 0) for what in ("passed", "failed", "skipped", "deselected")}
        return (done.returncode, found, done.stdout) if shown else (done.returncode, found)

    return run


@pytest.mark.slow
def test_the_quick_run_leaves_comparisons_out_and_skips_none(lane):
    code, counts = lane(installed=False, comparisons=COMPARISONS, whole=WHOLE, others=OTHERS)
    assert (code, counts) == (0, {"passed": 3, "failed": 0, "skipped": 1, "deselected": FOUND})


@pytest.mark.broad
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


# --- quick, broad, slow -----------------------------------------------------------------------------------------------

ROOT = HERE.parent
CHOSEN = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"][-1]
MAKE = dict(re.findall(r"^(test[a-z-]*): .*\n\t(.*)", (ROOT / "Makefile").read_text(), re.MULTILINE))


def expression(target):
    """What a target gives to `-m`; without it, what the settings say."""
    found = re.search(r"-m '([^']*)'", MAKE[target])
    return found[1] if found else CHOSEN


@pytest.mark.parametrize(("broad", "slow"), [*product([False, True], repeat=2)])
def test_whatever_marks_a_test_has_it_is_in_one_of_quick_broad_and_slow(broad, slow):
    lanes = (expression("test"), expression("test-broad"), "slow")
    assert [eval(one, {"broad": broad, "slow": slow}) for one in lanes].count(True) == 1
    assert expression("test-all") == ""


def test_all_checks_run_every_lane_but_the_slow_one_and_ask_no_terminal():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    runs = [line.removeprefix("make ") for line in lines if line.startswith("make ")]
    assert runs[:2] == ["test", "test-broad"]
    assert {run for run in runs if run.startswith("test")} == MAKE.keys() - {"test-all"}
    assert {"lint", "types"} < set(runs)
    assert "exec < /dev/null" in lines
    assert "--devices" in MAKE["test-devices"]
    assert "--references" in MAKE["test-references"]
    assert expression("test-devices") == expression("test-references") == ""


@pytest.mark.broad
def test_rows_take_turns_and_slow_ones_stay_slow(lane):
    def names(chosen):
        _, _, shown = lane("-vv", "-m", chosen, installed=False, shown=True, turns=TURNS)
        return re.findall(r"::(\S+) PASSED", shown)

    quick, broad, slow = map(names, (CHOSEN, expression("test-broad"), "slow"))
    assert len({*quick, *broad, *slow}) == len([*quick, *broad, *slow]) == 1 + 12 + 2 + 9 + 4 + 1
    assert {*slow} == {
        *(f"test_table[2-{column}]" for column in "abc"),
        *(f"test_long_table[{row}]" for row in (2, 4, 5, 7)),
        *(f"test_broad_table[{row}]" for row in (1, 2)),
    }
    assert {f"test_long_table[{row}]" for row in (0, 3, 6)} <= {*broad}  # a row that is broad anyhow takes no turn
    table = [name for name in quick if name.startswith("test_table")]
    assert table == ["test_table[0-b]", "test_table[1-a]", "test_table[3-c]"]  # each row, and each column
    assert {*quick} == {*table, "test_short_table[0]", "test_long_table[1]", "test_long_table[8]", "test_others"}


def test_a_row_that_is_named_is_run(tmp_path):
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n" + MARKERS)
    (tmp_path / "test_turns.py").write_text(TURNS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", CHOSEN]
    named = f"{tmp_path / 'test_turns.py'}::test_table[0-c]"
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, named], capture_output=True, text=True, cwd=tmp_path, env=path)
    assert "1 passed" in done.stdout, done.stdout
