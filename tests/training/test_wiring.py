"""What may be wrong with a graph of layers: each error names the layers."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import ArgumentError, ArgumentTypeError, StateError

A, B = gx.Input((3,), name="a"), gx.Input((3,), name="b")
ONES = np.ones((1, 3), "float32")


def test_an_output_that_needs_another_input():
    with pytest.raises(ArgumentError, match=r"disconnected: 'b' \(Input\) is needed by 'sum' \(Add\).*"):
        gx.Model(A, layers.Add(name="sum")([A, B]) * 2)
    with pytest.raises(ArgumentError, match=r"'b' \(Input\) is needed as an output"):
        gx.Model(A, [A * 2, B])


def test_an_input_that_nothing_needs():
    with pytest.raises(ArgumentError, match=r"the input 'b' \(Input\) is disconnected"):
        gx.Model([A, B], layers.Dense(2)(A))


def test_two_equal_names():
    x = layers.Dense(3, name="twin")(A)
    with pytest.raises(ArgumentError, match=r"'twin': layers/1 \(Dense\) and layers/2 \(ReLU\)"):
        gx.Model(A, layers.ReLU(name="twin")(x))
    shared = layers.Dense(3, name="shared")
    gx.Model(A, shared(shared(A)))  # one layer, called twice


def test_an_input_given_twice():
    with pytest.raises(ArgumentError, match="twice"):
        gx.Model([A, A], A * 2)


@pytest.mark.parametrize("how", ["graph", "sequential"])
def test_a_cycle(how):
    class Holder(gx.Layer):
        def __init__(self):
            super().__init__()
            self.inner = None

        def call(self, x):
            return x if self.inner is None else self.inner(x)

    holder = Holder()
    if how == "graph":
        model = gx.Model(A, holder(A), name="loop")
        holder.inner = model
        with pytest.raises(StateError, match="the model 'loop' calls itself"):
            model(ONES)
        return
    body = gx.Sequential([layers.Dense(3)], name="body")
    outer = gx.Model(A, body(A), name="outer")
    with pytest.raises(ArgumentError, match=r"'outer' .*holds 'body'"):
        body.add(outer)
    with pytest.raises(ArgumentError, match=r"'body'"):
        body.add(body)
    assert len(body.layers) == 1


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        (A, layers.Dense(2), "outputs has <Dense"),
        (layers.Dense(2), A, "inputs has <Dense"),
        (A, ONES, "outputs has array"),
        (A, None, r"inputs=\.\.\.\) alone"),
        (None, A, r"outputs=\.\.\.\) alone"),
        ("name", None, "name= is a keyword argument"),
        ([], A, "a graph has at least one"),
    ],
)
def test_what_no_graph_is_made_of(inputs, outputs, said):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=said):
        gx.Model(inputs, outputs)


def test_a_class_that_says_what_it_computes_takes_no_graph():
    class Own(gx.Model):
        def call(self, x):
            return x

    with pytest.raises(ArgumentTypeError, match="has a call"):
        Own(A, A * 2)


def test_inputs_that_do_not_fit_name_those_that_would():
    model = gx.Model([A, B], A + B)
    for given in (ONES, [ONES], {"a": ONES}, {"a": ONES, "c": ONES}, [ONES, [ONES]]):
        with pytest.raises(ArgumentTypeError, match="called 'a', 'b'"):
            model(given)


def test_layers_added_to_the_list_are_called_by_nothing():
    model = gx.Model(A, A + 1)
    model.layers.append(layers.Dense(2))
    with pytest.raises(StateError, match="called by nothing"):
        model(ONES)
