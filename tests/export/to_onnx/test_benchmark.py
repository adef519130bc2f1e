"""The table of integers in ONNX files, with tiny nets: every row is there and near its net; the page has the same rows."""

import re

import pytest

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.slow


def test_rows_are_near_their_nets_and_on_the_page():
    from benchmarks import quantized_onnx

    rows = quantized_onnx.table(tiny=True, rounds=1)
    assert len(rows) == 15
    for row in rows:
        assert row.error < (1e-5 if row.form == "float32" else 0.15)
        assert all(one > 0 for one in row.microseconds)
    names = [line.split("|")[1] for line in quantized_onnx.markdown(rows).splitlines()]
    page = quantized_onnx.PAGE.read_text()
    begin, end = (re.escape(mark) for mark in quantized_onnx.MARKS)
    table = re.search(f"{begin}\n\n(.*?)\n\n{end}", page, re.DOTALL)
    assert table is not None
    assert [line.split("|")[1] for line in table[1].splitlines()] == names
