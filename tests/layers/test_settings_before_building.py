"""What is assigned to a layer before its first call is as if the constructor had got it, or is refused."""

import copy
import inspect

import numpy as np
import pytest

import graftax as gx
from graftax import constraints, initializers, layers, regularizers
from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import AssignmentError, GraftaxError, MissingAttributeError
from tests.conformance.layer_rows import ROWS
from tests.layers.test_late_settings import another, arguments, told

X = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
BY_ITSELF = {"pool_size"}  # by default the steps of windows are as large, which the constructor looks at


def fresh(layer, **changed):
    """Another layer of the same arguments, but for these."""
    made = layer._gx_made_with
    bound = inspect.signature(type(layer).__init__).bind(None, *made.args, **made.kwargs).arguments
    given = {name: copy.deepcopy(value) for name, value in bound.items() if name != "self"}
    gx.set_random_seed(1)
    return type(layer)(**given | changed)


def numbers(layer, row):
    found = told(layer, row)
    return [*found, *(np.asarray(v) for v in layer.variables if v.role == "weight")]


def alike(some, others):
    return len(some) == len(others) and all(map(np.array_equal, some, others))


def disagreeing(layer, row):
    """The arguments that say another thing when they are assigned."""
    for name in arguments(type(layer)):
        if not hasattr(layer, name) or name in BY_ITSELF:
            continue
        value = another(name, getattr(layer, name))
        if value is None:
            continue
        try:
            expected = numbers(fresh(layer, **{name: value}), row)
        except (GraftaxError, ValueError, TypeError):
            continue
        changed = fresh(layer)
        try:
            setattr(changed, name, value)
        except (AssignmentError, MissingAttributeError):
            continue
        if not alike(numbers(changed, row), expected):
            yield name


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ROWS)
def test_an_argument_that_is_assigned_early_is_that_of_the_constructor_or_refused(name):
    with registry.use("numpy"):
        assert list(disagreeing(ROWS[name].make(), ROWS[name])) == []


def weights(layer, x=X):
    layer(x)
    return {v.path: v for v in layer.variables}


IMAGES = np.ones((1, 4, 4, 3), "float32")
KEPT = {
    "depthwise": (lambda: layers.DepthwiseConv2D(2), "depthwise", "kernel", IMAGES),
    "separable": (lambda: layers.SeparableConv2D(2, 2), "pointwise", "pointwise_kernel", IMAGES),
    "separable_first": (lambda: layers.SeparableConv2D(2, 2), "depthwise", "depthwise_kernel", IMAGES),
    "conv_lstm": (lambda: layers.ConvLSTM2D(2, 2), "recurrent", "recurrent_kernel", IMAGES[None]),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("case", KEPT)
def test_settings_of_kernels_have_the_names_of_the_arguments(case):
    make, word, path, x = KEPT[case]
    layer = make()
    setattr(layer, f"{word}_initializer", initializers.Constant(0.5))
    setattr(layer, f"{word}_regularizer", regularizers.L2(1.0))
    setattr(layer, f"{word}_constraint", constraints.NonNeg())
    weight = weights(layer, x)[path]
    assert np.unique(weight.numpy()).tolist() == [0.5]
    assert isinstance(weight.constraint, constraints.NonNeg)
    assert len(layer.losses) == 1
    with pytest.raises(AssignmentError, match="when the weights were made"):
        setattr(layer, f"{word}_regularizer", None)


def test_the_forget_bias_of_images_may_change_before_the_weights_are_made():
    layer = layers.ConvLSTM2D(2, 2)
    layer.unit_forget_bias = False
    assert not weights(layer, IMAGES[None])["bias"].numpy().any()
    assert weights(layers.ConvLSTM2D(2, 2), IMAGES[None])["bias"].numpy().tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (lambda: layers.Dropout(0.5), "seed", 3),
        (lambda: layers.RandomFlip(), "seed", 3),
        (lambda: layers.LSTM(2), "dropout", 0.5),
        (lambda: layers.Attention(), "dropout", 0.5),
        (lambda: layers.MultiHeadAttention(2, 2), "seed", 3),
        (lambda: layers.MultiHeadAttention(2, 2), "rotary_base", 10.0),
        (lambda: layers.MultiHeadAttention(2, 2), "use_bias", False),
        (lambda: layers.EinsumDense("ab,bc->ac", 2, bias_axes="c"), "bias_axes", ""),
        (lambda: layers.Normalization(), "mean", 0.5),
        (lambda: layers.Stack(layers.Dense(4), 2), "n", 3),
    ],
)
def test_what_the_constructor_has_used_is_refused(make, name, value):
    layer = make()
    with pytest.raises(GraftaxError) as caught:
        setattr(layer, name, value)
    assert caught.value.instead


@pytest.mark.broad
def test_the_line_for_a_seed_works_before_the_first_call():
    layer = layers.Dropout(0.5)
    with pytest.raises(AssignmentError) as caught:
        layer.seed = 3
    exec(caught.value.instead, {"layer": layer, "graftax": gx})
    expected = layers.Dropout(0.5, seed=3)(X, training=True)
    assert all(map(np.array_equal, tree.flatten(layer(X, training=True)), tree.flatten(expected)))


def test_settings_of_a_lookup_may_change_between_calls():
    layer = layers.StringLookup(vocabulary=["a", "b"])
    assert layer(["a", "b", "?"]).tolist() == [1, 2, 0]
    layer.num_oov_indices = 3
    assert layer(["a", "b"]).tolist() == [3, 4]
    layer.mask_token = ""
    assert layer(["a", "b", ""]).tolist() == [4, 5, 0]
