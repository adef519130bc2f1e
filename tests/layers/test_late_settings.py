"""What is assigned to a built layer takes effect, or is refused: no argument of a constructor is taken for nothing."""

import copy
import inspect

import numpy as np
import pytest

import graftax as gx
from graftax import constraints, initializers, layers, regularizers
from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import AssignmentError, GraftaxError, MissingAttributeError
from tests.conformance.test_layers import ROWS, example

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
OTHER = {
    "activation": [lambda x: x * 0.5],
    "average": ["macro"],
    "constraint": [constraints.NonNeg()],
    "cropping": [((1, 0),), ((1, 0), (0, 0)), ((1, 0), (0, 0), (0, 0))],
    "curve": ["PR"],
    "equation": ["ab,bc->ac"],
    "function": [lambda x: x * 3.0],
    "implementation": ["loop"],
    "data_format": [],
    "initializer": [initializers.Constant(0.25)],
    "interpolation": ["nearest", "bilinear"],
    "padding": ["valid", "same"],
    "padding_mode": ["replicate"],
    "score_mode": ["concat", "dot"],
    "merge_mode": ["sum", "concat"],
    "summation_method": ["minoring"],
    "regularizer": [regularizers.L2(0.3)],
    "seed": [3],
}
NOT_IN_THE_OUTPUT = {
    # what moves is other state, the mask, a program, or nothing at the sizes of the rows
    "Conv2D": {"padding"},
    "MaxPooling3D": {"padding"},
    "BatchNormalization": {"momentum", "synchronized", "unbiased_moving_variance"},
    "Embedding": {"mask_zero"},
    "Masking": {"mask_value"},
    "Stack": {"remat"},
    "Resizing": {"antialias"},
}


PARTS = {"Bidirectional": {"layer"}, "Stack": {"layer"}}  # arguments that no attribute keeps


def arguments(kind):
    made = next(vars(base)["__init__"] for base in kind.__mro__ if "__init__" in vars(base))
    return [name for name in inspect.signature(made).parameters if name not in ("self", "name", "trainable", "dtype")]


def another(name, value):
    """Another value of the kind, if one is known."""
    others = OTHER.get(name) or OTHER.get(name.rpartition("_")[2])
    if others is not None:
        return next((one for one in others if one is not value and one != value), None)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value / 2 + 0.1
    whole = isinstance(value, tuple) and all(isinstance(one, int) for one in value)
    return tuple(one + 1 for one in value) if whole else None


def told(layer, row):
    """What a layer computes and penalises, in inference and in training."""
    found = []
    for training in (False, True):
        for v in layer.variables:
            if v.role == "seed":
                v.assign(np.array([1, 2], "uint32"))
        taken = "training" in inspect.signature(type(layer).call).parameters
        found += tree.flatten(layer(example(row), **({"training": training} if taken else {})))
    return [np.asarray(one) for one in [*found, *layer.losses]]


def changes_nothing(layer, name, row):
    value = another(name, getattr(layer, name))
    if value is None:
        return False
    changed, plain = copy.deepcopy(layer), copy.deepcopy(layer)
    try:
        setattr(changed, name, value)
        after = told(changed, row)
    except (GraftaxError, ValueError, TypeError, IndexError):
        return False
    before = told(plain, row)
    return len(before) == len(after) and all(map(np.array_equal, before, after))


@pytest.mark.broad
@pytest.mark.parametrize("name", ROWS)
def test_an_argument_that_is_assigned_late_changes_something_or_is_refused(name):
    row = ROWS[name]
    gx.set_random_seed(1)
    with registry.use("numpy"):
        layer = row.make()
        layer(example(row))
        kind = type(layer).__name__
        there = [one for one in arguments(type(layer)) if hasattr(layer, one)]
        silent = {one for one in there if changes_nothing(layer, one, row)}
    assert silent <= NOT_IN_THE_OUTPUT.get(kind, set())
    missing = {*arguments(type(layer))} - {*there}
    assert missing == PARTS.get(kind, set())
    for one in missing:
        with pytest.raises(AssignmentError, match="nothing would read it now"):
            setattr(layer, one, layers.Dense(2))


@pytest.mark.broad
@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("kernel_regularizer", regularizers.L2(1.0), "layer.kernel.regularizer = "),
        ("kernel_constraint", constraints.NonNeg(), "layer.kernel.constraint = "),
        ("bias_initializer", initializers.Ones(), "layer.bias.assign("),
        ("use_bias", False, "graftax.layers.Dense(..., use_bias=False), a new layer"),
        ("units", 9, "graftax.layers.Dense(..., units=9), a new layer"),
    ],
)
def test_settings_of_weights_that_are_made(name, value, instead):
    layer = layers.Dense(4)
    layer(X)
    before = getattr(layer, name)
    with pytest.raises(AssignmentError, match="used for nothing") as caught:
        setattr(layer, name, value)
    assert caught.value.instead.startswith(instead)
    assert getattr(layer, name) is before
    setattr(layer, name, before)


@pytest.mark.parametrize(
    ("make", "name", "weight"),
    [
        (lambda: layers.DepthwiseConv1D(2), "depthwise_regularizer", "kernel"),
        (lambda: layers.SeparableConv1D(3, 2), "depthwise_regularizer", "depthwise_kernel"),
        (lambda: layers.SeparableConv1D(3, 2), "pointwise_regularizer", "pointwise_kernel"),
    ],
)
def test_the_message_names_the_weight_that_an_argument_is_about(make, name, weight):
    layer = make()
    layer(X[None])
    with pytest.raises(AssignmentError) as caught:
        setattr(layer, name, regularizers.L2(1.0))
    assert caught.value.instead.startswith(f"layer.{weight}.regularizer = ")


def test_before_the_weights_are_made_all_may_change():
    layer = layers.Dense(4)
    layer.kernel_regularizer, layer.units, layer.use_bias = regularizers.L2(1.0), 5, False
    assert layer(X).shape == (3, 5)
    assert len(layer.losses) == len(layer.variables) == 1


@pytest.mark.broad
def test_what_the_messages_say_works():
    layer = layers.Dense(4)
    layer(X)
    layer.kernel.regularizer = regularizers.L2(1.0)
    layer.kernel.constraint = constraints.NonNeg()
    assert len(layer.losses) == 1
    drop = layers.Dropout(0.5, seed=1)
    drop(X)
    with pytest.raises(AssignmentError) as caught:
        drop.seed = 3
    exec(caught.value.instead, {"layer": drop, "graftax": gx})
    np.testing.assert_array_equal(drop(X, training=True), layers.Dropout(0.5, seed=3)(X, training=True))


@pytest.mark.broad
@pytest.mark.parametrize(("name", "value"), [("dtype_policy", "mixed_bfloat16"), ("activity_regularizer", "l2")])
@pytest.mark.parametrize("make", [lambda: layers.Dense(4), lambda: gx.Sequential([layers.Dense(4)])])
def test_attributes_of_layers_of_keras(make, name, value):
    layer = make()
    for _ in range(2):
        with pytest.raises(MissingAttributeError, match="nothing would look at it") as caught:
            setattr(layer, name, value)
        layer(X)
    eval(caught.value.instead, {"layer": layer, "graftax": gx})
    if name == "dtype_policy":
        assert str(layer(X).dtype) == "bfloat16"


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (lambda: layers.MaxPooling2D(2), "pool_size", (3, 3)),
        (lambda: layers.AveragePooling1D(2), "padding_mode", "reflect"),
        (lambda: layers.Conv2D(2, 3), "padding_mode", "reflect"),
        (lambda: layers.Conv2D(2, 3, padding="same", padding_mode="reflect"), "padding", "valid"),
        (lambda: layers.DepthwiseConv1D(3), "padding_mode", "nonsense"),
        (lambda: layers.Bidirectional(layers.LSTM(2)), "backward_layer", layers.LSTM(2)),
        (lambda: layers.Bidirectional(layers.LSTM(2)), "forward_layer", layers.LSTM(2, return_sequences=True)),
        (lambda: layers.Bidirectional(layers.LSTM(2)), "merge_mode", "nonsense"),
    ],
)
def test_settings_that_belong_together_are_not_assigned_apart(make, name, value):
    layer = make()
    before = getattr(layer, name)
    with pytest.raises(GraftaxError):
        setattr(layer, name, value)
    assert getattr(layer, name) is before
    setattr(layer, name, before)


def test_parts_of_a_class_of_ones_own_have_any_name():
    class Mine(layers.Bidirectional):
        pass

    layer = Mine(layers.LSTM(2))
    layer.layer = inner = layers.Dense(2)
    assert layer.layer is inner


def test_layers_of_ones_own_have_any_attribute():
    class Mine(layers.Dense):
        pass

    layer = Mine(4)
    layer(X)
    layer.activity_regularizer, layer.units = "l2", 9
    assert (layer.activity_regularizer, layer.units) == ("l2", 9)
