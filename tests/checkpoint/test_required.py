"""A program restored as a whole starts nothing at random: a layer built later is refused without its values."""

import copy
import pickle
from typing import ClassVar

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import ArgumentError, MissingInCheckpoint, SelectorError

X = np.ones((2, 3), "float32")


def dense(count=2, **choice):
    return gx.Sequential([layers.Dense(3, **choice) for _ in range(count)])


def built(net):
    net(X)
    return net


@pytest.mark.parametrize("mode", ["exact", "cover"])
def test_a_layer_that_the_checkpoint_has_not_is_refused_when_it_is_built(saved, mode):
    net = dense(3)
    report = Checkpoint(net=net).restore(saved(net=built(dense())), mode=mode)
    for _ in range(2):
        with pytest.raises(MissingInCheckpoint, match=r"net/layers/2/kernel, of shape \(3, 3\)") as caught:
            net(X)
        assert 'mode="overlap"' in str(caught.value)
        with pytest.raises(MissingInCheckpoint, match="net/layers/2/kernel: has no value in the checkpoint"):
            report.assert_consumed()
    assert not net.layers[2].built


def test_a_weight_that_the_checkpoint_has_not_is_refused_and_its_layer_can_be_built_again(saved):
    path = saved(net=built(dense(use_bias=False)))
    net = dense()
    report = Checkpoint(net=net).restore(path)
    with pytest.raises(MissingInCheckpoint, match="net/layers/0/bias"):
        net(X)
    assert "net/layers/0/kernel" in report.deferred, "the build is undone, and so is what arrived in it"


@pytest.mark.broad
def test_what_is_left_out_may_start_fresh(saved):
    path = saved(net=built(dense()))
    for choice in ({"only": "net/layers/0/**"}, {"only": ["net/layers/0/**", "net/layers/1/**"]}, {"mode": "overlap"}):
        net = dense(3)
        Checkpoint(net=net).restore(path, **choice)
        built(net)
    net = dense(2)
    Checkpoint(net=net).restore(path)
    Checkpoint(net=net).restore(saved(net=built(dense(1))), mode="overlap")
    built(net)


def test_another_restore_may_bring_the_rest(saved):
    path = saved(net=built(dense()))
    net, other = dense(3), built(dense(3))
    Checkpoint(net=net).restore(path)
    Checkpoint(net=net).restore(saved(net=other), only="net/layers/2/**")
    built(net)
    np.testing.assert_array_equal(net.layers[2].kernel, other.layers[2].kernel)


@pytest.mark.broad
def test_state_that_is_added_after_the_restore_is_fresh(saved):
    path = saved(net=built(dense()))
    net = dense()
    report = Checkpoint(net=net).restore(path)
    net.compile("adam", "mse", metrics=["mae"])
    net.head = layers.Dense(2)
    net.fit(X, X, verbose=0)
    net.head(X)
    net.layers[0].extra = gx.Variable(1.0)
    report.assert_consumed()
    net = gx.Sequential([layers.Dense(3), layers.Dropout(0.5), layers.Dense(3), layers.Flatten()])
    path = saved(net=built(net))
    net = gx.Sequential(
        [layers.Dense(3), layers.Dropout(0.5), layers.Dense(3), layers.Flatten(), layers.Activation("relu")]
    )
    built(net) if Checkpoint(net=net).restore(path, mode="cover") else None
    assert all(layer.built for layer in net.layers)


class Nested(layers.Layer):
    """Makes a layer in its build."""

    def __init__(self, deep):
        super().__init__()
        self.deep = deep

    def build(self, input_shape):
        self.inner = [layers.Dense(3)] + ([layers.Dense(3)] if self.deep else [])

    def call(self, x):
        for layer in self.inner:
            x = layer(x)
        return x


def test_layers_made_in_a_build_are_required_too(saved):
    path = saved(net=built(gx.Sequential([Nested(False)])))
    net = gx.Sequential([Nested(True)])
    Checkpoint(net=net).restore(path)
    with pytest.raises(MissingInCheckpoint, match="net/layers/0/inner/1/kernel"):
        net(X)
    net = gx.Sequential([Nested(False)])
    Checkpoint(net=net).restore(path)
    built(net)
    net.layers[0].inner.append(layers.Dense(3))
    built(net)


def test_a_build_that_fails_loses_nothing_that_waits(saved):
    net = built(dense())
    path = saved(net=net)

    class Fragile(layers.Dense):
        fails = True

        def build(self, input_shape):
            super().build(input_shape)
            if self.fails:
                raise ValueError("not yet")

    other = gx.Sequential([Fragile(3), layers.Dense(3)])
    report = Checkpoint(net=other).restore(path)
    with pytest.raises(ValueError, match="not yet"):
        other(X)
    assert len(report.deferred) == 4
    Fragile.fails = False
    np.testing.assert_array_equal(other(X), net(X))
    report.assert_consumed()


def test_adapters_that_are_fresh_beside_a_plain_weight_are_not_required(saved):
    with gx.variable_creator_scope(gx.reparam.LoRA(rank=1), where="**/kernel"):
        net = dense()
    plain = built(dense())
    report = Checkpoint(net=net).restore(saved(net=plain))
    np.testing.assert_allclose(net(X), plain(X), rtol=1e-6)
    report.assert_consumed()


MOVED = {"net/layers/2": "net/layers/1"}


def test_map_takes_a_layer_that_is_not_built(saved):
    old = built(dense())
    path = saved(net=old)
    net = dense(3)
    report = Checkpoint(net=net).restore(path, map={**MOVED, "net/layers/1": "net/layers/1"})
    built(net)
    report.assert_consumed()
    for here, there in ((0, 0), (1, 1), (2, 1)):
        np.testing.assert_array_equal(net.layers[here].kernel, old.layers[there].kernel)
    net = dense(3)
    Checkpoint(net=net).restore(path, map=MOVED)
    with pytest.raises(
        MissingInCheckpoint, match="net/layers/1/kernel"
    ):  # as where it is built: it gave its values away
        net(X)
    with pytest.raises(ArgumentError, match="which only= or skip= leaves out"):
        Checkpoint(net=dense(3)).restore(path, map=MOVED, only="net/layers/0/**")


def test_a_layer_is_left_out_with_all_that_it_holds(saved):
    path = saved(net=built(dense()))
    for net in (dense(), built(dense())):
        for skip in ("net/layers/1", "net/layers/1/**"):
            Checkpoint(net=net).restore(path, skip=skip)


COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda net: pickle.loads(pickle.dumps(net)), "clone": copy.copy}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("choice", [{}, {"only": ["net/layers/1/**", "net/layers/2/**"]}], ids=["all", "only"])
def test_copies_are_refused_what_the_original_is(saved, how, choice):
    net = dense(3)
    path = saved(net=built(dense(2)))
    if choice:
        path = saved(net=built(dense(3, use_bias=False)))
    Checkpoint(net=net).restore(path, **choice)
    other = COPIES[how](net)
    with pytest.raises(MissingInCheckpoint, match="net/layers/1/bias" if choice else "net/layers/2/kernel"):
        other(X)
    with pytest.raises(MissingInCheckpoint):
        net(X)


def test_a_copy_may_leave_out_what_the_original_may(saved):
    net = dense(3)
    Checkpoint(net=net).restore(saved(net=built(dense(2))), only=lambda variable: "layers/2" not in variable.path)
    built(copy.deepcopy(net))
    built(pickle_without_the_function(net))


def pickle_without_the_function(net):
    """What waits arrives all the same, and what is asked for is not known any more."""
    other = pickle.loads(pickle.dumps(net))
    assert "net/layers/0/kernel" in other._gx_pending.waiting()
    return other


class Turned(gx.Layer):
    """Whose weight had another name."""

    checkpoint_aliases: ClassVar = {"w": "kernel"}

    def build(self, shape):
        self.kernel = self.add_weight((shape[-1],), name="kernel")

    def call(self, inputs):
        return inputs * self.kernel


class Before(gx.Layer):
    def build(self, shape):
        self.w = self.add_weight((shape[-1],), name="w")

    def call(self, inputs):
        return inputs * self.w


@pytest.mark.parametrize("how", COPIES)
def test_copies_know_former_names(saved, how):
    before, now = Before(), Turned()
    before(X)
    Checkpoint(net=before).restore(saved(net=before))
    Checkpoint(net=now).restore(saved(net=before))
    other = COPIES[how](now)
    other(X)
    assert other.kernel.numpy().tolist() == before.w.numpy().tolist()


def test_what_waits_is_selected_by_given_names(saved):
    def net():
        return gx.Sequential([layers.Dense(3, name="first"), layers.Dense(2, name="second")])

    path = saved(net=built(net()))
    late = net()
    report = Checkpoint(net=late).restore(path, only="net/layers/second/**")
    assert report.deferred == ("net/layers/1/kernel", "net/layers/1/bias")
    built(late)
    report.assert_consumed()
    Checkpoint(root={"a": (inner := net())}).restore(path, map={"root/a": "net"}, only="root/a/layers/first/kernel")
    assert inner._gx_pending.waiting() == ("root/a/layers/0/kernel",)


MOVED = {"net/layers/2": "net/layers/1"}


@pytest.mark.parametrize("skip", ["net/layers/1/**", "**/layers/1/*", ["net/layers/1/kernel", "net/layers/1/bias"]])
def test_a_layer_inserted_before_others_is_skipped_before_it_is_built(saved, skip):
    old, net = built(dense()), dense(3)
    for number, variable in enumerate(old.variables):
        variable.assign(np.full(variable.shape, number + 2, "float32"))
    path = saved(net=old)
    fresh = dense(3)
    Checkpoint(net=fresh).restore(path, map=MOVED)
    with pytest.raises(MissingInCheckpoint, match="net/layers/1/kernel") as caught:
        fresh(X)
    assert 'skip="net/layers/1/**"' in caught.value.instead
    Checkpoint(net=net).restore(path, map=MOVED, skip=skip)
    net(X)
    kept = [float(np.asarray(layer.kernel)[0, 0]) for layer in net.layers]
    assert [kept[0], kept[2]] == [2.0, 4.0]
    assert kept[1] not in (2.0, 4.0)


def test_a_skip_that_no_new_layer_can_have_is_refused(saved):
    path = saved(net=built(dense()))
    with pytest.raises(SelectorError, match=r"'net/layers/7/\*\*' matches none"):
        Checkpoint(net=dense(3)).restore(path, map=MOVED, skip="net/layers/7/**")
    with pytest.raises(SelectorError, match="'net/layers/0/kernle' matches none"):  # a layer that was saved
        Checkpoint(net=dense(3)).restore(path, map=MOVED, skip="net/layers/0/kernle")
