"""Copies of an optimizer, with its model and alone."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax.optimizers import Adam
from tests.optimizers.nets import Net, ones_like, values

# --- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["model first", "optimizer first"])
def test_copied_together_they_are_a_pair_of_their_own(order):
    things = (Net(), Adam(0.1, weight_decay=0.01))
    step = gx.jit(lambda net, optimizer: optimizer.apply(ones_like(net.variables), net.variables))
    step(*things)
    copied = copy.deepcopy(tuple(things[i] for i in order))
    net, optimizer = (copied[order.index(i)] for i in (0, 1))
    before = [*values(net), *(v.numpy().copy() for v in optimizer.variables)]
    for _ in range(3):
        step(*things)
    for a, b in zip(before, [*values(net), *(v.numpy() for v in optimizer.variables)], strict=True):
        np.testing.assert_array_equal(a, b)
    assert {id(r.variable) for r in optimizer.slots()} == {id(v) for v in net.variables}
    for _ in range(3):
        step(net, optimizer)
    for a, b in zip(values(things[0]), values(net), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_copy_of_the_optimizer_alone_serves_the_same_model():
    net, optimizer = Net(), Adam(0.1)
    optimizer.apply(ones_like(net.variables), net.variables)
    copied = copy.deepcopy(optimizer)
    optimizer.apply(ones_like(net.variables), net.variables)
    assert int(copied.iterations) == 1
    assert copied.slot(net.bias, "momentum") is not optimizer.slot(net.bias, "momentum")
    np.testing.assert_allclose(copied.slot(net.bias, "momentum").numpy(), [0.1, 0.1], rtol=1e-6)


def test_pickled_together_they_are_a_pair_of_their_own():
    net, optimizer = Net(), Adam(0.1)
    optimizer.apply(ones_like(net.variables), net.variables)
    other, restored = pickle.loads(pickle.dumps((net, optimizer)))
    for model, its in ((net, optimizer), (other, restored)):
        its.apply(ones_like(model.variables), model.variables)
    assert {id(r.variable) for r in restored.slots()} == {id(v) for v in other.variables}
    for a, b in zip([*values(net), *optimizer.variables], [*values(other), *restored.variables], strict=True):
        np.testing.assert_array_equal(a, b)
