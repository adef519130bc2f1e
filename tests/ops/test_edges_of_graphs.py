"""Messages along the edges of a graph: nan at a node without edges stays there, edges out of range are told."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import IndexRangeError

NODES = np.array([[1.0], [2.0], [np.nan]], "float32")
SOURCES, TARGETS = np.array([0, 1]), np.array([1, 0])
OPS = ["segment_sum", "segment_mean", "segment_max", "segment_min", "segment_softmax"]


def messages(nodes, sources, targets, op="segment_sum"):
    found = ops.take(nodes, sources, axis=0)
    return getattr(ops, op)(found, targets, 2)


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("wrap", [lambda f: f, gx.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("op", OPS)
def test_a_nan_at_a_node_without_edges_stays_there(op, wrap):
    assert np.isfinite(wrap(lambda h: messages(h, SOURCES, TARGETS, op))(NODES)).all()
    slopes = wrap(gx.grad(lambda h: ops.sum(messages(h, SOURCES, TARGETS, op))))(NODES)
    assert np.isfinite(slopes).all()
    assert float(slopes[2, 0]) == 0


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("edge", [2, -1])
@pytest.mark.parametrize("op", OPS)
def test_an_edge_out_of_range_is_told(op, edge):
    nodes, targets = NODES[:2], np.array([1, edge])

    def call(*args):
        return messages(*args, op)

    for run in (call, gx.jit(call, checked=True)):
        with pytest.raises(IndexRangeError, match=rf"segment_ids\[1\] = {edge} is not in \[0, 2\)"):
            run(nodes, SOURCES, targets)
        with pytest.raises(IndexRangeError, match=rf"indices\[1\] = {edge} is not in \[0, 2\)"):
            run(nodes, targets, TARGETS)
    np.testing.assert_array_equal(gx.jit(messages)(nodes, SOURCES, targets), [[0], [1]])  # dropped, as docs say
