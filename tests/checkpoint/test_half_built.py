"""One saved layer for two layers of the program, of which some are built: each gets the value, now or later."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.ones((4, 3), "float32")
BUILT = ["none", "first", "second", "both"]
MODES = ["exact", "cover", "overlap"]


class Two(gx.Layer):
    def __init__(self, is_tied=False):
        super().__init__()
        self.first = layers.Dense(3)
        self.second = self.first if is_tied else layers.Dense(3)

    def call(self, x):
        return self.first(x) + self.second(x)


def build(net, which):
    for name in ("first", "second"):
        if which in (name, "both"):
            getattr(net, name).build((None, 3))
    return net


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    gx.set_random_seed(3)
    net, path = Two(is_tied=True), tmp_path_factory.mktemp("saved") / "step"
    optimizer = gx.optimizers.SGD(0.1, momentum=0.9)
    net(X)
    optimizer.apply([v.value + 1.0 for v in net.trainable_variables], net.trainable_variables)
    gx.Checkpoint(net=net, optimizer=optimizer).save(path)
    return net, optimizer, path


def pickled(net):
    return pickle.loads(pickle.dumps(net))


def assert_equal(layer, saved):
    np.testing.assert_array_equal(layer.kernel, saved.first.kernel)
    np.testing.assert_array_equal(layer.bias, saved.first.bias)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("built", BUILT)
def test_untied_in_the_program(tied, built, mode):
    saved, _, path = tied
    net = build(Two(), built)
    report = gx.Checkpoint(net=net).restore(path, only=["net/**"], mode=mode)
    net(X)
    assert report.deferred == ()
    assert_equal(net.first, saved)
    assert_equal(net.second, saved)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("built", BUILT)
def test_one_layer_mapped_to_two_roots(tied, built, mode):
    saved, _, path = tied
    net = build(Two(), built)
    roots = gx.Checkpoint(p=net.first, q=net.second)
    roots.restore(path, map={"p": "net/first", "q": "net/first"}, only=["p/**", "q/**"], mode=mode)
    net(X)
    assert_equal(net.first, saved)
    assert_equal(net.second, saved)


@pytest.mark.parametrize("built", BUILT)
def test_slots_of_both(tied, built):
    _, old, path = tied
    net, optimizer = build(Two(), built), gx.optimizers.SGD(0.1, momentum=0.9)
    gx.Checkpoint(net=net, optimizer=optimizer).restore(path)
    net(X)
    optimizer.build(net.trainable_variables)
    saved = [np.asarray(old.slot(v, "momentum")) for v in tied[0].trainable_variables]
    for layer in (net.first, net.second):
        for variable, value in zip(layer.trainable_variables, saved, strict=True):
            np.testing.assert_array_equal(optimizer.slot(variable, "momentum"), value)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled], ids=["copy", "file"])
@pytest.mark.parametrize("built", BUILT)
def test_a_copy_of_the_program_gets_them_too(tied, built, duplicate):
    saved, _, path = tied
    net = build(Two(), built)
    gx.Checkpoint(net=net).restore(path, only=["net/**"])
    twin = duplicate(net)
    for each in (twin, net):
        each(X)
        assert_equal(each.first, saved)
        assert_equal(each.second, saved)


def test_a_second_restore_of_something_else_leaves_it_waiting(tied, tmp_path):
    saved, _, path = tied
    net = build(Two(), "first")
    gx.Checkpoint(net=net).restore(path, only=["net/**"])
    gx.Checkpoint(first=net.first).save(tmp_path / "first")
    gx.Checkpoint(net=net).restore(tmp_path / "first", map={"net/first": "first"}, only=["net/first/**"])
    net(X)
    assert_equal(net.second, saved)


def test_an_attribute_that_is_set_later(tied):
    saved, _, path = tied
    net = build(Two(), "first")
    net.second = None
    report = gx.Checkpoint(net=net).restore(path, only=["net/**"])
    report.assert_consumed()  # each value has been taken: nothing has to be set
    net.second = layers.Dense(3)
    net(X)
    assert_equal(net.second, saved)


def test_the_same_layer_set_later_keeps_what_it_has_learned(tied):
    _, _, path = tied
    net = build(Two(), "first")
    net.second = None
    gx.Checkpoint(net=net).restore(path, only=["net/**"])
    net.first.kernel.assign_add(np.ones((3, 3), "float32"))
    value = np.array(net.first.kernel)
    net.second = net.first
    np.testing.assert_array_equal(net.first.kernel, value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("built", [False, True])
def test_two_saved_layers_that_are_one_in_the_program(built, mode, tmp_path):
    saved = Two()
    saved(X)
    gx.Checkpoint(net=saved).save(tmp_path / "step")
    net = Two(is_tied=True)
    if built:
        net(X)
    with pytest.raises(
        gx.errors.AmbiguousSharing, match="one object in the program.*net/first/kernel, net/second/kernel"
    ) as caught:
        gx.Checkpoint(net=net).restore(tmp_path / "step", mode=mode)
    assert "map={'net/first': 'net/first'}, mode=\"cover\"" in str(caught.value)
    gx.Checkpoint(net=net).restore(tmp_path / "step", map={"net/first": "net/second"}, mode="cover")
    net(X)
    np.testing.assert_array_equal(net.first.kernel, saved.second.kernel)
