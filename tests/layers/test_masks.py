"""How masks go from layer to layer, and what layers of one's own have to say about them."""

import gc
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.layers.call_context import call_context
from graftax.variables import masks
from tests.conformance.lanes import crossed

L = layers
X = np.sin(np.arange(2 * 4 * 3, dtype="float32")).reshape(2, 4, 3)
MASK = np.array([[True, True, False, False], [True, True, True, False]])
TOKENS = np.array([[1, 2, 0, 0], [1, 2, 3, 0]])


class Plain(gx.Layer):
    def call(self, x):
        return x * 2


class Passing(gx.Layer):
    supports_masking = True

    def call(self, x):
        return x * 2


class Taking(gx.Layer):
    supports_masking = True

    def call(self, x, mask=None):
        self.seen = None if mask is None else np.asarray(mask).tolist()
        return x * 2


class Around(gx.Layer):
    """A layer around others, which says nothing of masks."""

    def __init__(self, *inner):
        super().__init__()
        self.inner = list(inner)

    def call(self, x):
        for layer in self.inner:
            x = layer(x)
        return x


class Many(gx.Layer):
    def call(self, *inputs, mask=None):
        self.seen = mask
        return sum(inputs)

    def compute_mask(self, inputs, mask):
        return mask


class Looking(gx.Layer):
    """Takes the mask of each argument by its name."""

    def call(self, *, query, value, value_mask=None):
        self.seen = value_mask
        return query + value


class Open(gx.Layer):
    def call(self, x, **options):
        self.options = options
        return x


def after(layer, x=X, **options):
    """The mask of the output."""
    found = masks.mask_of(layer(x, **options))
    return None if found is None else np.asarray(found).tolist()


def test_l1_layers_of_ones_own_that_are_given_a_mask():
    assert after(Passing(), mask=MASK) == MASK.tolist()
    assert after(Taking(), mask=MASK) == MASK.tolist()
    taking = Taking()
    taking(X, mask=MASK)
    assert taking.seen == MASK.tolist()
    around = Around(taking)
    with pytest.raises(ArgumentTypeError, match=r"'around' \(Around\) got mask=(.|\n)*def call\(self, x, mask=None\)"):
        around(X, mask=MASK)
    with pytest.raises(ArgumentTypeError, match="takes no mask"):
        Plain()(X, mask=MASK)
    anything = Open()
    with pytest.warns(UserWarning, match="is dropped"):  # it goes no further
        anything(X, mask=MASK)
    assert list(anything.options) == ["mask"]


def test_l1_masks_come_by_the_name_of_their_argument():
    embedding = L.Embedding(5, 3, mask_zero=True)
    looking = Looking()
    for value, expected in ((embedding(TOKENS), MASK), (X, None)):
        looking(value=value, query=X)
        np.testing.assert_array_equal(looking.seen, expected)
    looking(query=X, value=X, value_mask=MASK)
    np.testing.assert_array_equal(looking.seen, MASK)
    many = Many()
    assert after(many, embedding(TOKENS)) == MASK.tolist()
    np.testing.assert_array_equal(many.seen, MASK)
    many(X, X, mask=MASK)
    np.testing.assert_array_equal(many.seen, MASK)


@pytest.mark.broad
def test_l1_no_warning_where_layers_inside_took_the_mask():
    embedding, lstm = L.Embedding(5, 3, mask_zero=True), L.LSTM(2)
    inner = Around(lstm)
    model = gx.Sequential([embedding, inner])
    expected = lstm(embedding(TOKENS))
    np.testing.assert_allclose(model(TOKENS), expected, atol=1e-6)  # a warning would be an error
    sequences = Around(L.LSTM(2, return_sequences=True))
    assert after(sequences, embedding(TOKENS)) == MASK.tolist()
    with pytest.warns(UserWarning, match=r"'plain' \(Plain\) is dropped"):
        assert after(Plain(), embedding(TOKENS)) is None


@pytest.mark.broad
def test_l1_functions_in_a_sequential_drop_a_mask_with_a_warning():
    model = gx.Sequential([L.Embedding(5, 3, mask_zero=True), lambda x: x + 1, L.GlobalAveragePooling1D()])
    with pytest.warns(UserWarning, match=r"mask of the input of layers/1 \(function\) is dropped"):
        model(TOKENS)
    model(TOKENS)  # told once
    named = gx.Sequential([L.Embedding(5, 3, mask_zero=True), L.Activation("relu"), L.GlobalAveragePooling1D()])
    named(TOKENS)


def test_a_layer_that_returns_its_input_leaves_the_mask_of_that_alone():
    class Padding(gx.Layer):
        def compute_mask(self, inputs, mask):
            return ops.not_equal(inputs[..., 0], 7)

        def call(self, x):
            return x

    x = ops.asarray(np.where(MASK[..., None], X, 7).astype("float32"))
    assert after(Padding(), x) == MASK.tolist()
    assert masks.mask_of(x) is None
    dropout = L.Dropout(0.5)
    assert after(dropout, x, mask=MASK) == MASK.tolist()
    assert masks.mask_of(x) is None


def test_masks_go_with_their_arrays():
    gc.collect()
    before = len(masks.entries)
    out = L.Embedding(5, 3, mask_zero=True)(TOKENS)
    assert len(masks.entries) == before + 1
    del out
    gc.collect()
    assert len(masks.entries) == before
    for wrong in (3, np.float32(1)):
        masks.set_mask(wrong, MASK)
        assert masks.mask_of(wrong) is None


def test_a_mask_of_an_argument_of_a_compiled_function():
    embedding, pooling = L.Embedding(5, 3, mask_zero=True), L.GlobalAveragePooling1D()
    x = embedding(TOKENS)
    compiled = gx.jit(lambda x: pooling(x))
    np.testing.assert_allclose(compiled(x), pooling(x), atol=1e-6)
    unmasked = ops.asarray(x) * 1.0
    np.testing.assert_allclose(compiled(unmasked), pooling(unmasked), atol=1e-6)
    assert compiled.trace_count == 2
    np.testing.assert_allclose(compiled(embedding(TOKENS[:, ::-1])), pooling(embedding(TOKENS[:, ::-1])), atol=1e-6)
    assert compiled.trace_count == 2  # another mask is another argument, not another trace
    np.testing.assert_allclose(gx.jit(lambda x, m: pooling(x, mask=m))(ops.asarray(x) + 0, MASK), pooling(x), atol=1e-6)


AT_THE_DOOR = {"lstm": lambda: L.LSTM(2), "gru": lambda: L.GRU(2), "pooling": lambda: L.GlobalAveragePooling1D()}


@pytest.mark.broad
@pytest.mark.parametrize(("name", "mode"), crossed([*AT_THE_DOOR], ["eager", "compiled"]))
def test_x6_masks_are_checked_at_the_door(name, mode):
    layer = AT_THE_DOOR[name]()
    layer(X)
    call = layer if mode == "eager" else gx.jit(lambda x, mask: layer(x, mask=mask), checked=True)
    for wrong in (np.array([2, 3]), MASK[:, :1], MASK[:1], MASK[..., None], MASK[:, :3]):
        with pytest.raises(ShapeError, match=r"mask of shape .* for an input of shape \(2, 4, 3\)(.|\n)*\(2, 4\)"):
            call(X, mask=wrong)
    with pytest.raises(DTypeError, match="float32"):
        call(X, mask=MASK.astype("float32"))
    with pytest.raises(ArgumentError, match="number 3"):
        call(X, mask=MASK * 3)
    np.testing.assert_allclose(call(X, mask=MASK.astype("uint8")), call(X, mask=MASK), atol=1e-6)
    np.testing.assert_allclose(layer(X[:1], mask=MASK[:1]), layer(X, mask=MASK)[:1], atol=1e-6)


@pytest.mark.broad
def test_initial_states_carry_no_mask_into_the_steps():
    layer = L.LSTM(3)
    layer(X)
    state = [ops.asarray(np.ones((2, 3), "float32")) for _ in range(2)]
    expected = np.asarray(layer(X, initial_state=state))
    with call_context() as context:
        context.set_mask(state, [np.array([True, False])] * 2)
        np.testing.assert_array_equal(layer(X, initial_state=state), expected)


MERGES = [L.Add, L.Subtract, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Concatenate]


@pytest.mark.parametrize("make", MERGES)
def test_l15_one_sided_masks(make):
    other = np.array([[True, False, True, True]] * 2)
    assert after(make(), [X, X], mask=[MASK, None]) == MASK.tolist()
    assert after(make(), [X, X], mask=[None, MASK]) == MASK.tolist()
    assert after(make(), [X, X], mask=[MASK, other]) == (MASK & other).tolist()
    assert after(make(), [X, X], mask=[None, None]) is None
    with pytest.raises(ArgumentTypeError, match=r"one mask for 2 inputs(.|\n)*or None"):
        make()([X, X], mask=MASK)
    with pytest.raises(ShapeError, match="mask of shape"):
        make()([X, X], mask=[MASK, MASK[:, :2]])


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("make", [L.SimpleRNNCell, L.GRUCell, L.LSTMCell, L.PReLU], ids=lambda make: make.__name__)
def test_a_mask_that_a_layer_of_ours_drops_may_be_given_up_in_the_call(make):
    token = L.Embedding(5, 4, mask_zero=True)(np.array([1, 0, 2]))
    layer = make(4) if make is not L.PReLU else make(shared_axes=(1,))
    states = [] if make is L.PReLU else [[np.zeros((3, 4), "float32")] * (2 if make is L.LSTMCell else 1)]
    if not type(layer).supports_masking:
        with pytest.warns(UserWarning, match="mask=None in the call"):
            layer(token, *states)
    again = make(4) if make is not L.PReLU else make(shared_axes=(1,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again(token, *states, mask=None)
        gx.jit(lambda x: again(x, *states, mask=None))(token)
