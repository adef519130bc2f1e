"""What functions of the user give back, where it is not what was asked of them."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, GraftaxError, ShapeError

X = np.ones((2, 3), "float32")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("given", [None, 1.0, "a", [X]])
@pytest.mark.parametrize("name", ["Dense", "Activation", "LSTM", "GRU", "GRU gates"])
def test_an_activation_gives_an_array(name, given):
    def broken(x):
        return given

    make = {
        "Dense": lambda: layers.Dense(2, activation=broken, name="here"),
        "Activation": lambda: layers.Activation(broken, name="here"),
        "LSTM": lambda: layers.LSTM(2, activation=broken, name="here"),
        "GRU": lambda: layers.GRU(2, activation=broken, name="here"),
        "GRU gates": lambda: layers.GRU(2, recurrent_activation=broken, name="here"),
    }[name]
    with pytest.raises(ArgumentTypeError, match="activation broken gave") as caught:
        make()(X[None] if "U" in name or "LSTM" in name else X)
    assert "'here'" in str(caught.value)


def test_an_activation_of_steps_keeps_the_shape_and_one_of_a_product_need_not():
    with pytest.raises(ShapeError, match="goes on computing"):
        layers.LSTM(2, activation=ops.sum)(X[None])
    assert layers.Dense(4, activation=lambda x: x[:, :2] * ops.sigmoid(x[:, 2:]))(X).shape == (2, 2)


class Silent(gx.Layer):
    def call(self, x):
        x * 2


def test_a_call_without_a_return_says_so():
    with pytest.raises(ArgumentTypeError, match="its call gave None") as caught:
        gx.Sequential([Silent(), layers.Dense(1)])(X)
    assert "layers/0" in str(caught.value)


@pytest.mark.parametrize(
    ("function", "dtype", "error"),
    [
        (lambda key, shape, dtype: None, "float32", ArgumentTypeError),
        (lambda key, shape, dtype: "a", "float32", ArgumentTypeError),
        (lambda key, shape, dtype: np.full(shape, 1.5), "int32", ArgumentError),
        (lambda key, shape, dtype: np.ones(5), "float32", ArgumentError),
    ],
)
def test_an_initializer_gives_what_the_variable_can_hold(function, dtype, error):
    with pytest.raises(error, match="initializer"):
        gx.Variable(shape=(2,), dtype=dtype, initializer=function, trainable=False)


def test_an_initializer_may_give_another_dtype_of_the_same_numbers():
    v = gx.Variable(shape=(2,), dtype="int32", initializer=lambda key, shape, dtype: np.zeros(shape), trainable=False)
    assert v.numpy().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("given", "error"),
    [(None, ArgumentTypeError), ("a", ArgumentTypeError), (1j, ArgumentTypeError), (True, ArgumentTypeError),
     (np.ones(3, "float32"), ShapeError), ([1.0, 2.0], ShapeError), (np.ones((1, 1)), ShapeError)],
)  # fmt: skip
def test_a_term_of_the_loss_is_one_real_number(given, error):
    class Adds(gx.Layer):
        def call(self, x):
            self.add_loss(given)
            return x

    with pytest.raises(error, match=r"add_loss of layer 'adds'") as caught:
        Adds()(X)
    assert "ops.sum" in caught.value.instead
    layer = layers.Dense(2, kernel_regularizer=lambda w: given)
    layer(X)
    with pytest.raises(error, match="of 'kernel' gave"):
        _ = layer.losses


@pytest.mark.parametrize("given", [1, 0.5, np.float32(2), gx.ops.asarray(3.0)])
def test_numbers_and_scalars_are_terms_of_the_loss(given):
    class Adds(gx.Layer):
        def call(self, x):
            self.add_loss(given)
            return x

    layer = Adds()
    layer(X)
    assert [float(term) for term in layer.losses] == [float(given)]


@pytest.mark.parametrize("given", [None, 1.0, "a", np.ones((1, 2), "float32")])
def test_a_constraint_gives_the_projected_weight_and_no_weight_moves_where_it_does_not(given):
    layer = layers.Dense(2, kernel_constraint=lambda w: given)
    layer(X)
    before = layer.kernel.numpy()
    with pytest.raises(GraftaxError, match="constraint <lambda> of 'kernel' gave"):
        gx.optimizers.SGD(0.1).minimize(lambda: ops.sum(layer(X)), layer.trainable_variables)
    np.testing.assert_array_equal(layer.kernel.numpy(), before)


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize(
    ("forward", "error"),
    [
        (lambda part: None, ShapeError),
        (lambda part: "a", ShapeError),
        (lambda part: [part.value], ShapeError),
        (lambda part: ops.cast(part, "int32"), DTypeError),
    ],
)
def test_an_expression_gives_an_array_of_real_numbers(shape, forward, error):
    class Broken(gx.Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.part = next_creator(spec.replace(name="part"))

        def forward(self):
            return forward(self.part)

    with gx.variable_creator_scope(Broken):
        weight = gx.Variable(np.ones(shape, "float32"))
    with pytest.raises(error, match=r"Broken\.forward"):
        _ = weight.value


@pytest.mark.parametrize(
    "mask", ["a", 3, np.ones(5, bool), np.ones(2, "float32"), [np.ones(2, bool), np.ones(2, bool)]]
)
def test_a_mask_of_compute_mask_fits_the_output(mask):
    class Masks(gx.Layer):
        def call(self, x):
            return x * 2

        def compute_mask(self, inputs, given):
            return mask

    with pytest.raises(GraftaxError, match="compute_mask of layer 'masks'"):
        Masks()(X)


@pytest.mark.parametrize("changes", [{"regularizer": "l2"}, {"regularizer": gx.regularizers.L2()}])
def test_a_regularizer_that_a_creator_puts_on_a_weight_counts(changes):
    layer = layers.Dense(2)
    with gx.variable_creator_scope(lambda next_creator, spec: next_creator(spec.replace(**changes)), where="kernel"):
        layer(X)
    assert float(layer.losses[0]) == pytest.approx(0.01 * float((layer.kernel.numpy() ** 2).sum()))


@pytest.mark.parametrize("changes", [{"shape": None}, {"dtype": None}, {"constraint": 3}, {"regularizer": 3}])
def test_what_a_creator_changes_to_nonsense_is_refused_in_words(changes):
    with (
        pytest.raises(GraftaxError),
        gx.variable_creator_scope(lambda next_creator, spec: next_creator(spec.replace(**changes))),
    ):
        layers.Dense(2)(X)
