"""Assignments that cannot be: properties say what to write, names of activations are taken as the constructor does."""

import inspect

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, ops, optimizers
from graftax.core.errors import (
    ArgumentTypeError,
    AssignmentError,
    GradientError,
    GraftaxError,
    MissingAttributeError,
    TapeError,
)
from graftax.variables.graph.module import Module

X = np.ones((1, 2), "float32")


def properties():
    kinds = {
        kind
        for space in (gx, layers, losses, metrics, optimizers)
        for kind in vars(space).values()
        if inspect.isclass(kind) and issubclass(kind, Module)
    }
    kinds |= {gx.Layer, gx.Model, gx.Sequential, layers.Dense, optimizers.Adam, gx.SeedGenerator}
    for kind in sorted(kinds, key=lambda kind: (kind.__module__, kind.__name__)):
        for name, found in inspect.getmembers(kind, lambda member: isinstance(member, property)):
            if found.fset is None and not name.startswith("_"):
                yield kind, name


UNSET: dict[type[Module], list[str]] = {}
for _kind, _name in properties():
    UNSET.setdefault(_kind, []).append(_name)


@pytest.mark.parametrize("kind", UNSET, ids=lambda kind: kind.__name__)
def test_a_property_that_cannot_be_set_says_what_to_write(kind):
    for name in UNSET[kind]:
        thing = object.__new__(kind)
        before = dict(vars(thing))
        with pytest.raises((MissingAttributeError, AssignmentError), match=rf"{kind.__name__}\.{name}\b") as caught:
            setattr(thing, name, None)
        assert caught.value.instead, name
        assert vars(thing) == before, name


@pytest.mark.parametrize(
    ("thing", "name", "line"),
    [
        (lambda: optimizers.Adam(), "rules", "a new optimizer, made with rules=[...]"),
        (lambda: gx.Sequential([]), "optimizer", "model.compile(optimizer, loss)"),
    ],
)
def test_what_people_set_elsewhere_has_its_line(thing, name, line):
    with pytest.raises(AttributeError) as caught:
        setattr(thing(), name, [])
    assert caught.value.instead == line


def test_setters_that_fail_inside_keep_their_error():
    class Own(gx.Module):
        @property
        def size(self):
            return 1

        @size.setter
        def size(self, value):
            raise AttributeError("not today")

    with pytest.raises(AttributeError, match="^not today$"):
        Own().size = 2


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: layers.Dense(2), ["activation"]),
        (lambda: layers.Activation("relu"), ["activation"]),
        (lambda: layers.LSTM(2), ["activation", "recurrent_activation"]),
        (lambda: layers.GRU(2), ["activation", "recurrent_activation"]),
    ],
    ids=["Dense", "Activation", "LSTM", "GRU"],
)
def test_activations_may_be_set_by_name(make, names):
    layer = make()
    x = np.ones((1, 3, 2), "float32")
    first = np.asarray(layer(x))
    for name in names:
        setattr(layer, name, "softsign")
        assert getattr(layer, name) is layers.activations.softsign
        with pytest.raises(GraftaxError, match="tanhh"):
            setattr(layer, name, "tanhh")
        assert getattr(layer, name) is layers.activations.softsign
    assert not np.allclose(first, layer(x))


def test_an_activation_that_is_set_is_that_of_the_constructor():
    layer, other = layers.Dense(2), layers.Dense(2, activation="tanh")
    layer(X)
    other(X)
    other.set_weights(layer.get_weights())
    layer.activation = "tanh"
    np.testing.assert_array_equal(layer(X), other(X))


@pytest.mark.parametrize("path", [None, 123, 1.5, b"x"])
def test_a_checkpoint_is_saved_at_a_path(path):
    with pytest.raises(ArgumentTypeError, match=r"the path .* of type"):
        gx.Checkpoint(w=gx.Variable(1.0)).save(path)


@pytest.mark.parametrize("path", [123, b"x"])
def test_a_checkpoint_is_restored_from_a_path(path):
    with pytest.raises(ArgumentTypeError, match=r"the path .* of type"):
        gx.Checkpoint(w=gx.Variable(1.0)).restore(path)


@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_derivatives_that_are_called_as_in_jax_say_how(name):
    with pytest.raises(GradientError, match=rf"{name}\(.*\) got no argument") as caught:
        getattr(gx, name)(lambda x: ops.sum(x * x))(X)
    assert f"graftax.{name}(f, x)" in caught.value.instead


@pytest.mark.parametrize("optimizer", [optimizers.SGD, optimizers.LBFGS])
def test_losses_and_has_aux_that_do_not_fit_say_so_in_words_of_arrays(optimizer):
    w = gx.Variable([1.0, 2.0])
    with pytest.raises(GradientError, match="a tuple of 2 from its loss_fn") as caught:
        optimizer().minimize(lambda: (ops.sum(w * w), 1.0), [w])
    assert "has_aux=True" in caught.value.instead
    with pytest.raises(GraftaxError, match=r"got an array of shape \(\) from its loss_fn"):
        optimizer().minimize(lambda: ops.sum(w * w), [w], has_aux=True)
    assert w.numpy().tolist() == [1.0, 2.0]


def test_a_tape_that_is_reset_outside_of_its_block_has_a_line():
    with pytest.raises(TapeError) as caught:
        gx.GradientTape().reset()
    assert "inside of its block" in caught.value.instead
