"""The table of integers in ONNX files, with a tiny net: every row is near its net, and the page has the same rows."""

import re

import pytest

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.slow


def test_rows_are_near_their_nets_and_on_the_page():
    from benchmarks import quantized_onnx

    chosen = quantized_onnx.nets(tiny=True)
    rows = quantized_onnx.table(chosen[:1], rounds=1)
    assert len(rows) == 5
    for row in rows:
        assert row.error < (1e-5 if row.form == "float32" else 0.15)
        assert all(one > 0 for one in row.microseconds)
    names = [line.split("|")[1] for line in quantized_onnx.markdown(rows).splitlines()]
    page = quantized_onnx.PAGE.read_text()
    begin, end = (re.escape(mark) for mark in quantized_onnx.MARKS)
    table = re.search(f"{begin}\n\n(.*?)\n\n{end}", page, re.DOTALL)
    assert table is not None
    shown = [line.split("|")[1] for line in table[1].splitlines()]
    assert shown[: len(names)] == names
    assert [one for one in shown if "**" in one] == [f" **{net.name}**: float32 " for net in chosen]
