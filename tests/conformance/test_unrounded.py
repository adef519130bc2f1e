"""What half precision would spoil: inputs before data preparation, and averages that move in small steps."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core import tree
from tests.conformance import test_layers
from tests.conformance.layer_rows import ROWS, TRAINED
from tests.conformance.test_layers import close

HALVES = ["mixed_bfloat16", "mixed_float16", "bfloat16", "float16"]
PREPARING = """
    normalization rescaling resizing center_crop random_flip random_crop random_translation random_rotation random_zoom
    random_contrast random_brightness random_erasing discretization discretization_hot
""".split()
OWN = {
    "normalization": lambda **o: layers.Normalization(mean=4096.0, variance=1.0, **o),
    "rescaling": lambda **o: layers.Rescaling(0.5, -2048.0, **o),
    "discretization": lambda **o: layers.Discretization([4093.5, 4097.25], **o),
    "discretization_hot": lambda **o: layers.Discretization([4093.5, 4097.25], output_mode="one_hot", **o),
    "random_contrast": lambda **o: layers.RandomContrast(0.5, (0, 9000), **o),
    "random_brightness": lambda **o: layers.RandomBrightness(0.2, (0, 9000), **o),
    "random_erasing": lambda **o: layers.RandomErasing(0.8, (0.2, 0.5), None, (0, 9000), **o),
}
"""In place of what the rows say, where that does not fit the numbers of this file."""


def made(name, dtype):
    """A layer, and numbers around 4096 that neither kind of half precision holds."""
    layer = OWN.get(name, ROWS[name].make if name in ROWS else None)(dtype=dtype)
    shape = (3, 1) if name == "discretization_hot" else (3, 5) if name == "discretization" else ROWS[name].inputs
    x = (4096 + np.random.default_rng(0).uniform(-5, 5, shape)).astype("float32")
    gx.set_random_seed(0)
    layer.build_for(x)  # streams of random numbers begin here
    return layer, x


def rounded(exact, like):
    """Return a result in float32 in the dtype of another."""
    return np.asarray(ops.cast(ops.cast(exact, like.dtype), "float32"))


def test_every_layer_that_prepares_data_is_listed():
    makers = [OWN.get(name, ROWS[name].make if name in ROWS else None) for name in PREPARING]
    kinds = {type(make()) for make in makers} | {layers.MixUp, layers.CutMix, layers.CategoryEncoding}
    found = {getattr(layers, name) for name in dir(layers)}
    assert {kind for kind in found if getattr(kind, "_gx_takes_wide", False)} == kinds


@pytest.mark.in_turn(21, broad=8)
@pytest.mark.parametrize("policy", HALVES)
@pytest.mark.parametrize("name", PREPARING)
def test_l19_inputs_are_not_rounded_before_data_preparation(name, policy):
    training = name in TRAINED
    (plain, x), (short, _) = made(name, "float32"), made(name, policy)
    twin = copy.deepcopy(short)
    exact, found = plain(x, training=training), short(x, training=training)
    wanted = rounded(exact, found)
    np.testing.assert_array_equal(ops.cast(found, "float32"), wanted)
    np.testing.assert_array_equal(ops.cast(gx.jit(lambda x: twin(x, training=training))(x), "float32"), wanted)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ["normalization", "discretization", "rescaling"])
@pytest.mark.parametrize("inside", ["sequential", "declared", "graph", "nested", "steps"])
def test_l19_models_round_nothing_before_their_layers(name, inside):
    exact = made(name, "float32")[0](made(name, None)[1])
    gx.set_dtype_policy("mixed_bfloat16")
    try:
        layer, x = made(name, None)
        if inside == "sequential":
            model = gx.Sequential([layer])
        elif inside == "declared":
            model = gx.Sequential([gx.Input((5,)), layer])
        elif inside == "steps":
            model, x, exact = layers.TimeDistributed(layer), x[None], exact[None]
        else:
            given = gx.Input((5,))
            model = gx.Model(given, layer(given))
            if inside == "nested":
                model = gx.Sequential([model])
        found = model(x)
        np.testing.assert_array_equal(ops.cast(found, "float32"), rounded(exact, found))
        if inside != "steps":
            np.testing.assert_array_equal(model.predict(x, verbose=0).astype("float32"), rounded(exact, found))
    finally:
        gx.set_dtype_policy("float32")


def test_l19_ops_of_a_graph_get_the_dtype_that_its_input_has():
    gx.set_dtype_policy("mixed_bfloat16")
    try:
        given = gx.Input((1,))
        dense = layers.Dense(1)
        model = gx.Model(given, [given, given * 2, given + dense(given)])
        plain = gx.Sequential([lambda x: x + 1, dense])
    finally:
        gx.set_dtype_policy("float32")
    out = model(np.float32([[1001.5]]))
    assert [str(one.dtype) for one in out] == [one.dtype for one in model.outputs] == ["bfloat16"] * 3
    assert str(plain(np.float32([[1.0]])).dtype) == "bfloat16"


def test_l19_a_subclass_with_a_call_of_its_own_gets_the_dtype_in_which_it_computes():
    class Own(gx.Sequential):
        def call(self, x):
            return ops.asarray(x)

    assert str(Own([], dtype="mixed_bfloat16")(np.ones((1, 1), "float32")).dtype) == "bfloat16"


@pytest.mark.broad
def test_l19_mixed_images_labels_and_counts():
    x = {"images": np.full((2, 2, 2, 1), 4097.25, "float32"), "labels": np.eye(2, dtype="float32")}
    out = layers.MixUp(dtype="mixed_float16")(x)  # no training: all stays
    assert tree.map_structure(lambda a: str(a.dtype), out) == {"images": "float16", "labels": "float16"}
    assert float(out["images"][0, 0, 0, 0]) == float(np.float16(4097.25))
    counts = layers.CategoryEncoding(2, "count", dtype="mixed_bfloat16")
    weights = np.float32([[1.00390625, -1.0]])  # in bfloat16 the first one is 1
    np.testing.assert_allclose(counts(np.int32([[0, 0]]), count_weights=weights)[0, 0], 0.00390625)


MOVING = {
    "batch_normalization": (lambda dtype: layers.BatchNormalization(dtype=dtype), (64, 3)),
    "batch_normalization_axis": (lambda dtype: layers.BatchNormalization(axis=1, dtype=dtype), (8, 3, 4)),
}


@pytest.mark.broad
@pytest.mark.parametrize("policy", HALVES)
def test_l20_layers_keep_what_moves_in_float32(policy):
    """All rows that assign a state in training, but streams of random numbers."""
    for name in TRAINED:
        layer, _ = test_layers.built(ROWS[name], dtype=policy)
        assert {v.dtype for v in layer.variables if v.role == "state"} <= {"float32"}, name


@pytest.mark.broad
@pytest.mark.parametrize("policy", HALVES)
@pytest.mark.parametrize("name", MOVING)
def test_l20_moving_averages_arrive(name, policy):
    """In half precision they stood still at three quarters of the way: what a step adds was rounded away."""
    make, shape = MOVING[name]
    layer = make(policy)
    x = (3 + np.random.default_rng(0).normal(0, 2, (512, *shape[1:]))).astype("float32")
    layer.build_for(x)
    gx.jit(lambda: gx.scan(lambda carry, _: (carry, ops.max(layer(x, training=True))), 0.0, np.arange(1500)))()
    axes = tuple(i for i in range(x.ndim) if i != (layer.axis % x.ndim))
    values = np.asarray(ops.cast(ops.cast(x, layer.compute_dtype), "float32"))
    close(layer.moving_mean, values.mean(axes), 1e-4)
    close(layer.moving_variance, values.var(axes), 1e-3)
    out = np.asarray(layer(x, training=False), "float32")
    assert abs(out.mean()) < 0.01
    assert abs(out.std() - 1) < 0.01


def test_l20_a_dtype_that_a_creator_gives_stays():
    with gx.variable_creator_scope(lambda make, spec: make(spec.replace(dtype="bfloat16")), roles=("state",)):
        layer = layers.BatchNormalization()
        layer(np.ones((2, 3), "float32"))
    assert layer.moving_mean.dtype == "bfloat16"
