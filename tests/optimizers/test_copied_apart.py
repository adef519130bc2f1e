"""A copy of an optimizer, and a copy of its model of its own: the moments stay behind, which is told."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax.optimizers import SGD, Adam
from tests.optimizers.nets import Net, ones_like


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


def step(net, optimizer):
    optimizer.apply(ones_like(net.variables), net.variables)


@pytest.fixture
def pair():
    net, optimizer = Net(), Adam(0.1)
    step(net, optimizer)
    return net, optimizer


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, pickled, lambda thing: copy.deepcopy(pickled(thing))], ids=["deepcopy", "pickle", "both"]
)
def test_copied_apart_they_warn_once(pair, copied):
    net, optimizer = map(copied, pair)
    for _ in range(2):  # as an error, it comes before anything is made
        with pytest.raises(UserWarning, match=r"copy of Adam makes fresh slots for .*deepcopy\(\(model, optimizer\)\)"):
            step(net, optimizer)
    with pytest.warns(UserWarning, match="kernel") as told:
        step(net, optimizer)
    assert (len(told), told[0].filename) == (1, __file__)
    step(net, optimizer)
    step(net, copy.deepcopy(optimizer))  # the variables of its slots are these


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_copied_together_they_do_not(pair, copied):
    net, optimizer = copied(pair)
    step(net, optimizer)
    net, optimizer = copied(copied((net, optimizer)))
    step(net, optimizer)
    step(Net(), optimizer)  # another model with the same paths


def test_two_models_of_one_optimizer_do_not(pair):
    net, optimizer = pair
    step(Net(), optimizer)
    other = copy.deepcopy(optimizer)
    step(net, other)
    step(Net(), other)
    fresh = copy.deepcopy(Adam(0.1))
    step(net, fresh)


def test_slots_of_optimizers_in_rules_count():
    net = Net()
    optimizer = Adam(0.1, rules=[("bias", {"optimizer": SGD(0.1, momentum=0.9)})])
    step(net, optimizer)
    with pytest.warns(UserWarning, match="bias") as told:
        step(*map(copy.deepcopy, (net, optimizer)))
    assert len(told) == 1


@pytest.mark.broad
def test_fit_tells_it():
    x = np.ones((4, 3), "float32")
    net = gx.Sequential([gx.layers.Dense(1)])
    net.compile(Adam(0.1), "mse")
    net.fit(x, x[:, :1], epochs=1, verbose=0)
    both = copy.deepcopy(net)
    both.fit(x, x[:, :1], epochs=1, verbose=0)
    apart = copy.deepcopy(net)
    apart.compile(copy.deepcopy(net.optimizer), "mse")
    with pytest.warns(UserWarning, match="copy of Adam makes fresh slots for layers/0/kernel"):
        apart.fit(x, x[:, :1], epochs=1, verbose=0)


def test_a_restore_into_copies_apart_gives_them_their_slots(pair, tmp_path):
    net, optimizer = pair
    gx.Checkpoint(m=net, o=optimizer).save(tmp_path / "c")
    net, optimizer = map(copy.deepcopy, pair)
    gx.Checkpoint(m=net, o=optimizer).restore(tmp_path / "c")
    step(net, optimizer)
    np.testing.assert_array_equal(optimizer.slot(net.bias, "momentum"), 0.9 * 0.1 + 0.1 * np.ones_like(net.bias))
