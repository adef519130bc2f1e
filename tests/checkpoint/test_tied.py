"""A weight that is made of another one takes a saved value of its own only if that is the same."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import AmbiguousSharing

TOKENS = np.array([[1, 2]])


def model(tied, built=True):
    embedding, dense = gx.layers.Embedding(9, 4), gx.layers.Dense(9, use_bias=False)
    if built or tied:
        h = embedding(TOKENS)
    if tied:
        with gx.variable_creator_scope(gx.reparam.Shared(embedding.embeddings, transpose=True)):
            dense = gx.layers.Dense(9, use_bias=False)
            if built:
                dense(h)
    net = gx.Sequential([embedding, dense])
    if built:
        net(TOKENS)
    return net


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("mode", ["exact", "cover", "overlap"])
def test_two_different_values_for_one_tied_weight_are_refused(saved, mode):
    path = saved(m=model(tied=False))
    net = model(tied=True)
    before = np.asarray(net.layers[0].embeddings)
    with pytest.raises(AmbiguousSharing, match="m/layers/1/kernel: is made of m/layers/0/embeddings") as caught:
        Checkpoint(m=net).restore(path, mode=mode)
    assert "the checkpoint has different values for them: m/layers/0/embeddings, m/layers/1/kernel" in str(caught.value)
    assert caught.value.report.conflicts[0].path == "m/layers/1/kernel"
    np.testing.assert_array_equal(net.layers[0].embeddings, before)


def test_equal_values_and_one_of_the_two_are_taken(saved):
    untied = model(tied=False)
    untied.layers[1].kernel.assign(np.asarray(untied.layers[0].embeddings).T)
    net = model(tied=True)
    Checkpoint(m=net).restore(saved(m=untied)).assert_consumed()
    np.testing.assert_array_equal(net(TOKENS), untied(TOKENS))
    other = model(tied=False)
    Checkpoint(m=net).restore(saved(m=other), only="m/layers/1/kernel")
    np.testing.assert_array_equal(net.layers[0].embeddings, np.asarray(other.layers[1].kernel).T)


@pytest.mark.parametrize("is_equal", [False, True])
def test_a_tied_layer_that_is_built_later_takes_no_other_value(saved, is_equal):
    untied = model(tied=False)
    if is_equal:
        untied.layers[1].kernel.assign(np.asarray(untied.layers[0].embeddings).T)
    net = model(tied=True, built=False)
    report = Checkpoint(m=net).restore(saved(m=untied))
    assert report.deferred == ("m/layers/1/kernel",)
    if is_equal:
        net(TOKENS)
        report.assert_consumed()
    else:
        with pytest.raises(AmbiguousSharing, match="m/layers/1/kernel: is made of .*embeddings"):
            net(TOKENS)
    np.testing.assert_array_equal(net.layers[0].embeddings, untied.layers[0].embeddings)


def test_two_tied_expressions_of_one_weight_take_no_different_values(saved, toys):
    def layers():
        return [gx.layers.Dense(3, use_bias=False) for _ in range(2)]

    untied = gx.Sequential(layers())
    untied(np.ones((1, 3), "float32"))
    source = gx.Variable(np.zeros((3, 3), "float32"))
    with gx.variable_creator_scope(gx.reparam.Shared(source)):
        tied = gx.Sequential(layers())
        tied(np.ones((1, 3), "float32"))
    path = saved(m=untied)
    with pytest.raises(AmbiguousSharing):
        Checkpoint(m=tied).restore(path)
    np.testing.assert_array_equal(source, np.zeros((3, 3)))
