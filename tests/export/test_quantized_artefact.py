"""The table of integers in artefacts, with a tiny net: every row is near its net, and the page has the same rows."""

import re

import pytest

from benchmarks import quantized_artefact
from benchmarks.quantized_onnx import markdown, nets


@pytest.mark.slow
def test_rows_are_near_their_nets_and_on_the_page() -> None:
    chosen = nets(tiny=True)
    rows = quantized_artefact.table(chosen[:1], rounds=1)
    assert len(rows) == 5
    for row in rows:
        assert row.error < (0.15 if "Int8" in row.form else 1e-5)
        assert row.bytes < rows[0].bytes or row is rows[0]
    names = [line.split("|")[1] for line in markdown(rows).splitlines()]
    begin, end = (re.escape(mark) for mark in quantized_artefact.MARKS)
    table = re.search(f"{begin}\n\n(.*?)\n\n{end}", quantized_artefact.PAGE.read_text(), re.DOTALL)
    assert table is not None
    shown = [line.split("|")[1] for line in table[1].splitlines()]
    assert shown[: len(names)] == names
    assert [one for one in shown if "**" in one] == [f" **{net.name}**: float32 " for net in chosen]
