"""What comes in a later call, and was not there when the layer was built, is looked at like the first."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, AssignmentError, ShapeError
from graftax.layers.call_context import call_context

_MERGES = (layers.Add, layers.Subtract, layers.Multiply, layers.Average, layers.Maximum, layers.Concatenate)


def _ones(*shape):
    return np.ones(shape, "float32")


@pytest.mark.parametrize("kind", _MERGES)
def test_a_merge_takes_a_list_of_arrays_each_time(kind):
    layer, x = kind(), _ones(2, 3)
    layer([x, x])
    with pytest.raises(ArgumentTypeError, match="not a list of arrays"):
        layer(x)
    with pytest.raises(ArgumentTypeError, match="a list of one array"):
        layer([x])
    with pytest.raises(ArgumentTypeError, match="not a list of arrays"):
        layer({"a": x, "b": x})


def test_a_difference_has_two_sides_each_time():
    layer, x = layers.Subtract(), _ones(2, 3)
    layer([x, x])
    with pytest.raises(ArgumentTypeError, match="a list of 3 arrays"):
        layer([x, x, x])


def test_an_average_with_a_number():
    assert layers.Average()([_ones(2), 3.0]).tolist() == [2.0, 2.0]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("kind", "shape", "other"),
    [
        (layers.GlobalAveragePooling1D, (2, 3, 4), (2, 3, 5, 4)),
        (layers.GlobalMaxPooling1D, (2, 3, 4), (2, 3, 5, 4)),
        (layers.GlobalAveragePooling2D, (2, 3, 5, 4), (2, 3, 4)),
        (layers.GlobalMaxPooling2D, (2, 3, 5, 4), (2, 3, 5, 4, 4)),
        (layers.RotaryEmbedding, (2, 3, 1, 4), (2, 3, 4)),
        (layers.RotaryEmbedding, (2, 3, 1, 4), (2, 3, 1, 3)),
    ],
)
def test_other_axes_than_at_first(kind, shape, other):
    layer = kind()
    layer(_ones(*shape))
    with pytest.raises(ShapeError):
        layer(_ones(*other))


def test_attention_names_the_argument_with_other_axes():
    layer, x = layers.MultiHeadAttention(2, 4), _ones(2, 3, 4)
    layer(x)
    with pytest.raises(ShapeError, match=r"a query of shape \(2, 4\)"):
        layer(_ones(2, 4))
    with pytest.raises(ShapeError, match=r"a value of shape \(2, 4\)"):
        layer(x, _ones(2, 4))


def test_rotations_start_at_one_position():
    with pytest.raises(ShapeError, match=r"start of shape \(2,\)"):
        layers.RotaryEmbedding()(_ones(2, 2, 1, 4), start=np.array([0, 5]))


def test_a_cache_of_a_layer_with_other_heads():
    x = _ones(2, 3, 8)
    layer, other = layers.MultiHeadAttention(4, 2, num_key_value_heads=2), layers.MultiHeadAttention(4, 2)
    with pytest.raises(ShapeError, match="a cache of 4 heads"):
        layer(x, cache=other.make_cache(2, 3))


@pytest.mark.parametrize("state", ["zeros", 0.0, {"h": np.zeros((2, 4))}, [[0.0] * 4] * 2])
def test_an_initial_state_that_is_no_array(state):
    with pytest.raises(ArgumentTypeError, match="initial_state"):
        layers.GRU(4)(_ones(2, 3, 5), initial_state=state)


def test_a_loss_is_of_the_layer_alone_that_added_it():
    class Adds(layers.Dense):
        def call(self, x):
            self.add_loss(1.0)
            self.add_loss(2.0)
            return super().call(x)

    layer = Adds(2)
    layer(np.ones((1, 3), "float32"))
    assert [float(loss) for loss in layer.losses] == [3.0]
    assert layers.Dense(2).losses == []
    assert layers.Layer().losses == []


def test_a_weight_of_a_dtype_that_is_a_class():
    weight = layers.Layer().add_weight((2,), "zeros", dtype=np.float32)
    assert weight.dtype == "float32"


def test_the_training_flag_of_a_context():
    with pytest.raises(ArgumentError, match="training='no'"), call_context(training="no"):
        pass


def test_a_training_flag_among_the_arguments_of_a_compiled_function():
    layer = layers.Dropout(0.5)
    with pytest.raises(ArgumentTypeError, match="came as an argument of a compiled function") as caught:
        gx.jit(layer)(_ones(2, 3), training=True)
    assert "gx.jit(lambda x: model(x, training=True))(x)" in str(caught.value)


def test_set_weights_changes_all_or_none():
    layer = layers.Dense(2)
    layer.build((3,))
    before = layer.get_weights()
    with pytest.raises(AssignmentError, match="int"):
        layer.set_weights([np.ones((3, 2)), np.ones(2, "int32")])
    assert all((a == b).all() for a, b in zip(before, layer.get_weights(), strict=True))
    with pytest.raises(ArgumentTypeError, match="generator"):
        layer.set_weights(array for array in before)


# --- masks ------------------------------------------------------------------------------------------------------------


def _mask_after(layer, x, mask):
    with call_context() as context:
        return np.asarray(context.mask_of(layer(x, mask=mask)))


def test_padding_is_hidden_besides_what_a_given_mask_hides():
    layer = layers.Embedding(5, 2, mask_zero=True)
    mask = _mask_after(layer, np.array([[1, 2, 0]]), np.array([[False, True, True]]))
    assert mask.tolist() == [[False, True, False]]


@pytest.mark.broad
def test_a_mask_of_sequences_and_one_of_steps():
    steps, rows = np.array([[True, False], [True, True]]), np.array([False, True])
    for layer in (layers.Add(), layers.Concatenate()):
        mask = _mask_after(layer, [_ones(2, 2, 3), _ones(2, 2, 3)], [steps, rows])
        assert mask.tolist() == [[False, False], [True, True]]


@pytest.mark.broad
def test_a_mask_of_an_input_that_is_broadcast():
    steps = np.array([True, False])  # of an array without a batch
    assert _mask_after(layers.Add(), [_ones(3, 2, 3), _ones(2, 3)], [None, steps]).tolist() == [[True, False]] * 3
    one = np.array([[True], [False]])
    mask = _mask_after(layers.Add(), [_ones(2, 3, 4), _ones(2, 1, 4)], [None, one])
    assert mask.tolist() == [[True] * 3, [False] * 3]


def test_masks_of_joined_steps_of_two_kinds():
    layer, mask = layers.Concatenate(axis=1), [np.array([[True, False], [True, True]]), np.array([False, True])]
    found = _mask_after(layer, [_ones(2, 2, 3), ops.ones((2, 1, 3))], mask)
    assert found.tolist() == [[True, False, False], [True, True, True]]
