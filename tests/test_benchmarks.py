"""The benchmarks run, compare the same maths, and the table in the documentation is the one that they print."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import drawing, gpu, harness, options, report, scaling
from benchmarks.harness import COMPILED, KERAS, PEERS, TORCH, Result, Times, Work, measure

# One of each kind is enough for the quick tests.
QUICK = (
    "training step, tiny MLP, 32 × (16, 32, 32, 1): own loop",
    "call, Dense(64), 32 × 64",
    "call, Dense(64), 32 × 64, in `gx.jit`",
    "overhead of a call in `gx.jit` that changes 10 Variables",
    "Jacobian 30×30 by 30×30: `gx.jacobian`",
    "silly activation, 256 × 1024, in `gx.jit`",
    "own optimizer, 50 × (64, 64), in `gx.jit`",
)


def marked(work: Work):
    return pytest.param(work, id=work.name, marks=() if work.name in QUICK else pytest.mark.slow)


def first_results(run, calls=3):
    """What the first calls give, of which the later ones depend on what the earlier ones changed."""
    for _ in range(calls):
        yield np.array(run())


FOR_GPU = [work for work in gpu.WORKS if work not in report.WORKS]
HALF = {"rtol": 3e-2, "atol": 3e-2}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("work", [marked(work) for work in (*report.WORKS, *FOR_GPU)])
def test_contestants_compute_the_same(work):
    expected, *others = (
        list(first_results(setup(True)))
        for name, setup in sorted(work.contestants.items(), key=lambda item: item[0] != "reference")
        if name not in PEERS
    )
    assert others
    if work.name.endswith("the step of `fit`"):  # which gives the mean loss of the steps so far
        expected = np.cumsum(expected) / (1 + np.arange(len(expected)))
    for found in others:
        for a, b in zip(found, expected, strict=True):
            exact = HALF if "bfloat16" in work.name else {"rtol": 1e-4, "atol": 1e-5}
            np.testing.assert_allclose(a, b, **exact)


# flax is no reference of other tests, and torch.compile writes C++
HERE = [peer for peer in PEERS if peer not in report.absent() or peer in (KERAS, TORCH)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("peer", HERE)
def test_peers_run(peer, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    pytest.importorskip(PEERS[peer])
    works = [work for work in report.WORKS if peer in work.contestants]
    if peer == COMPILED:  # a net takes a minute
        works = [work for work in works if work.name.startswith("silly")]
    results = [work.contestants[peer](True)() for work in works]
    assert results
    for result in results:
        assert np.all(np.isfinite(np.asarray(result.detach() if hasattr(result, "detach") else result)))


@pytest.mark.parametrize("first_call", [False, True])
def test_measure_gives_ratios_to_the_reference(first_call, monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(
        perf_counter=lambda: now[0], process_time=lambda: 2 * now[0], sleep=lambda seconds: now.append(seconds)
    )
    monkeypatch.setattr(harness, "time", clock)  # a machine that is never busy

    def taking(seconds):
        def run():
            now[0] += seconds

        return lambda tiny: run

    work = Work("w", "r", {"reference": taking(0.002), "graftax": taking(0.006), "keras": taking(0.001)}, first_call)
    result = measure(work, ("graftax",), rounds=3)
    assert result.reference == pytest.approx((0.002, 0.002, 0.004))
    assert result.ratios == {"graftax": pytest.approx((3, 3, 3))}


def test_names_are_unique():
    names = [work.name for work in report.WORKS]
    assert len(set(names)) == len(names)
    assert set(QUICK) <= set(names)


def table(page):
    lines = page.partition(report.BEGIN)[2].partition(report.END)[0].splitlines()
    return [line for line in lines if line.startswith("|")]


def times(cell, unit=1.0):
    """What a cell says: the median, and in brackets the least and the processor time."""
    median, least, cpu = (float(one) * unit for one in re.findall(r"[\d.]+", cell.replace(", ", " ")))
    return Times(median, least, cpu)


def test_the_table_of_the_page_is_what_the_script_prints():
    header, rule, *rows = table(report.PAGE.read_text())
    assert (header, rule) == (report.HEADER, report.RULE)
    assert len(rows) == len(report.WORKS), "measure again: python -m benchmarks --write"
    for work, line in zip(report.WORKS, rows, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        ratios = {
            column: times(cell)
            for column, cell in zip(report.COLUMNS, cells[3:], strict=True)
            if cell not in (report.NOT_APPLICABLE, report.NOT_INSTALLED)
        }
        assert line == report.row(work, Result(times(cells[2].replace(",", ""), 1e-6), ratios))


def test_page_with_replaces_only_what_is_between_the_markers():
    page = f"a\n{report.BEGIN}\nold\n{report.END}\nb\n"
    once = report.page_with(["", "new"], page)
    assert once == f"a\n{report.BEGIN}\n\nnew\n{report.END}\nb\n"
    assert report.page_with(["", "new"], once) == once


def test_the_page_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    assert "nnx, keras, torch, torch.compile" in report.missing()
    assert report.installed() == ("graftax", "jax.jit")
    work = next(work for work in report.WORKS if "keras" in work.contestants)
    one = Times(1.0, 1.0, 1.0)
    assert report.NOT_INSTALLED in report.row(work, Result(one, {"graftax": one, "jax.jit": one}))


def test_every_part_of_the_page_has_its_markers():
    page = report.PAGE.read_text()
    for begin in (report.BEGIN, gpu.BEGIN, options.BEGIN, scaling.BEGIN):
        assert page.count(begin) == 1
        after = report.page_with(["new"], page, begin)
        assert after.partition(begin)[2].partition(report.END)[0] == "\nnew\n"


def test_the_rows_of_options_are_there():
    names = {work.name for work in report.WORKS}
    assert set(options.ROWS) <= names


def test_a_chart_has_a_line_for_each_curve_and_a_label_for_each_size():
    found = drawing.charts([("cost", {"a": [(10, 0.001), (100, 0.02)], "b": [(10, 0.003), (100, 0.5)]})])
    assert found.count("<polyline") == 2
    assert [f">{label}<" in found for label in ("10", "100", "0.001", "1", "a", "b", "cost")] == [True] * 7
    assert found.startswith("<svg")
    assert found.endswith("</svg>\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", scaling.KINDS, ids=lambda kind: f"{kind.chart}, {kind.grows}")
def test_curves_are_measured(kind, monkeypatch):
    smallest = 4 if kind.grows != "rows" else 100
    curves = scaling.measured(kind, (smallest, 2 * smallest))
    assert [curve.name for curve in curves] == list(kind.curves)
    assert all(cost > 0 for curve in curves for _, cost in curve.points)
    lines = list(scaling.table(curves))
    assert len(lines) == 3 + len(curves)
    assert scaling.drawing.charts([(kind.chart, {curve.name: curve.points for curve in curves})])
