"""Who may look where: masks of queries, keys and values, pairs, causal order, and caches."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, IndexRangeError, ShapeError
from graftax.layers.call_context import call_context
from tests.conformance.lanes import crossed

X = np.sin(np.arange(2 * 4 * 6, dtype="float32")).reshape(2, 4, 6)
CONTEXT = np.cos(np.arange(2 * 7 * 6, dtype="float32")).reshape(2, 7, 6)
QUERIES = np.array([[True, True, True, False], [True, True, False, False]])
KEYS = np.array([[True, True, True, False, True, False, False], [True, False, True, True, True, True, True]])
PAIRS = np.arange(2 * 4 * 7).reshape(2, 4, 7) % 3 != 0


@pytest.fixture
def layer():
    made = layers.MultiHeadAttention(2, 3)
    made(X, CONTEXT)
    for part in (made.query, made.key, made.value, made.output):
        part.bias.assign(np.linspace(-1, 1, part.units))
    return made


def by_hand(layer, allowed, x=X, context=CONTEXT):
    """The whole in NumPy, ``allowed`` of shape (batch, queries, keys)."""
    q, k, v = (
        (a @ part.kernel.numpy() + part.bias.numpy()).reshape(*a.shape[:2], 2, 3)
        for a, part in ((x, layer.query), (context, layer.key), (context, layer.value))
    )
    scores = np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(3)
    weights = np.where(allowed[:, None], np.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    out = np.einsum("bhts,bshd->bthd", weights / np.where(total == 0, 1, total), v).reshape(*x.shape[:2], 6)
    return out @ layer.output.kernel.numpy() + layer.output.bias.numpy()


def everyone(mask):
    return np.broadcast_to(mask[:, None], (2, 4, mask.shape[1]))


PAST = np.tri(4, 7, dtype=bool)[None]
CASES = {
    "value_mask": ({"value_mask": KEYS}, everyone(KEYS)),
    "key_mask": ({"key_mask": KEYS}, everyone(KEYS)),
    "both": ({"key_mask": KEYS, "value_mask": KEYS[::-1]}, everyone(KEYS & KEYS[::-1])),
    "mask": ({"mask": KEYS}, everyone(KEYS)),
    "numbers": ({"mask": KEYS.astype("int32")}, everyone(KEYS)),
    "pairs": ({"attention_mask": PAIRS, "mask": KEYS}, everyone(KEYS) & PAIRS),
    "heads": ({"attention_mask": PAIRS[:, None].astype("int8"), "mask": KEYS}, everyone(KEYS) & PAIRS),
    "causal": ({"use_causal_mask": True, "mask": KEYS}, everyone(KEYS) & PAST),
    "all": ({"use_causal_mask": True, "attention_mask": PAIRS, "mask": KEYS}, everyone(KEYS) & PAST & PAIRS),
    "query_mask": ({"query_mask": QUERIES, "value_mask": KEYS}, everyone(KEYS)),
}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize(("case", "way"), crossed([*CASES], ["eager", "compiled", "run_eagerly"]))
def test_l1_masks_of_cross_attention(layer, case, way):
    given, allowed = CASES[case]
    expected = by_hand(layer, allowed)
    shown = QUERIES if "query_mask" in given else np.ones_like(QUERIES)
    if way == "compiled":
        out = gx.jit(lambda x, context: layer(x, context, **given))(X, CONTEXT)
    elif way == "run_eagerly":
        with gx.run_eagerly():
            out = layer(ops.asarray(X), ops.asarray(CONTEXT), **given)
    else:
        out = layer(X, CONTEXT, **given)
    np.testing.assert_allclose(np.asarray(out)[shown], expected[shown], atol=2e-6)


def test_l1_as_in_keras(layer, keras):
    theirs = keras.layers.MultiHeadAttention(2, 3)
    theirs.build(X.shape, CONTEXT.shape)
    for part in ("query", "key", "value", "output"):
        dense, target = getattr(layer, part), getattr(theirs, f"_{part}_dense")
        target.set_weights([v.numpy().reshape(w.shape) for v, w in zip(dense.variables, target.weights, strict=True)])
    for options in (
        {"value_mask": KEYS},
        {"key_mask": KEYS, "attention_mask": PAIRS},
        {"value_mask": KEYS, "use_causal_mask": True},
        {"use_causal_mask": True},
    ):
        np.testing.assert_allclose(layer(X, CONTEXT, **options), theirs(X, CONTEXT, **options), atol=2e-6)


@pytest.mark.broad
def test_l1_a_mask_that_the_context_carries_counts(layer):
    tokens = np.array([[1, 2, 0, 3, 0, 0, 0], [3, 1, 1, 2, 1, 0, 0]])
    embedding = layers.Embedding(5, 6, mask_zero=True)
    context = np.asarray(embedding(tokens))
    expected = by_hand(layer, everyone(tokens != 0), context=context)
    np.testing.assert_allclose(layer(X, embedding(tokens)), expected, atol=2e-6)
    np.testing.assert_allclose(layer(value=embedding(tokens), query=X), expected, atol=2e-6)
    compiled = gx.jit(lambda x, t: layer(x, embedding(t)))
    np.testing.assert_allclose(compiled(X, tokens), expected, atol=2e-6)
    explicit = layer(X, embedding(tokens), value_mask=np.ones((2, 7), bool))  # what is given goes first
    np.testing.assert_allclose(explicit, by_hand(layer, np.ones((2, 4, 7), bool), context=context), atol=2e-6)


@pytest.mark.broad
@pytest.mark.parametrize(("dtype", "kind"), crossed(["float32", "float64", "mixed_bfloat16"], ["numpy", "jax"]))
def test_l1_self_attention_however_it_is_written(dtype, kind):
    convert = {"numpy": np.asarray, "jax": ops.asarray}[kind]
    policy = dtype if "mixed" in dtype else None
    layer = layers.MultiHeadAttention(2, 3, dtype=policy)
    layer(X)
    x = convert(X.astype("float64" if dtype == "float64" else "float32"))
    tolerance = 2e-6 if policy is None else 2e-2
    expected = np.asarray(layer(X, attention_mask=QUERIES[:, None]), "float32")[QUERIES]

    def ways(x):
        found = [layer(x, mask=QUERIES), layer(x, x, mask=QUERIES), layer(x, x, value_mask=QUERIES)]
        with call_context() as context:
            context.set_mask(x, QUERIES)
            return [*found, layer(x), layer(x, x), layer(query=x, value=x, key=x)]

    for outs in (ways(x), gx.jit(ways)(x + 0)):  # x itself carries the mask that it was given, which jit would tell
        for out in outs:
            np.testing.assert_allclose(np.asarray(out, "float32")[QUERIES], expected, atol=tolerance)


@pytest.mark.broad
def test_l1_the_mask_of_the_query_goes_on(layer):
    with call_context() as context:
        assert context.mask_of(layer(X, CONTEXT, value_mask=KEYS)) is None
        assert context.mask_of(layer(X, CONTEXT, query_mask=QUERIES)).tolist() == QUERIES.tolist()
        assert context.mask_of(layer(X, mask=QUERIES)).tolist() == QUERIES.tolist()


@pytest.mark.broad
def test_l1_masks_that_do_not_fit_are_refused(layer):
    wrong = [
        ({"value_mask": KEYS[:, :4]}, ShapeError, r"value_mask of shape \(2, 4\)"),
        ({"mask": KEYS[:1]}, ShapeError, "not broadcast"),
        ({"mask": KEYS[..., None]}, ShapeError, "value_mask"),
        ({"mask": KEYS, "value_mask": KEYS}, ArgumentError, "two names for one"),
        ({"mask": KEYS.astype("float32")}, DTypeError, "True where a position counts"),
        ({"mask": KEYS * 2}, ArgumentError, "number 2"),
        ({"attention_mask": PAIRS[:, :, :5]}, ShapeError, "attention_mask of shape"),
        ({"attention_mask": KEYS[0]}, ShapeError, "attention_mask of shape"),
        ({"use_causal_mask": "yes"}, ArgumentError, "use_causal_mask"),
    ]
    for given, error, text in wrong:
        with pytest.raises(error, match=text):
            layer(X, CONTEXT, **given)
    with pytest.raises(ArgumentError, match="number 2"):
        gx.jit(lambda mask: layer(X, CONTEXT, mask=mask), checked=True)(KEYS * 2)


@pytest.mark.broad
@pytest.mark.parametrize("dropout", [0.0, 1e-7], ids=["plain", "dropout"])
def test_l3_query_zero_is_at_key_zero(dropout):
    layer = layers.MultiHeadAttention(2, 3, dropout=dropout, seed=0)
    layer(X, CONTEXT)
    for queries, keys in ((4, 7), (7, 4)):
        x, context = (X, CONTEXT) if queries < keys else (CONTEXT, X)
        out = layer(x, context, use_causal_mask=True, training=bool(dropout))
        allowed = np.broadcast_to(np.tri(queries, keys, dtype=bool), (2, queries, keys))
        np.testing.assert_allclose(out, by_hand(layer, allowed, x, context), atol=1e-5)


def test_l3_the_op_as_in_torch():
    torch = pytest.importorskip("torch")
    q, k = X.reshape(2, 4, 2, 3), CONTEXT.reshape(2, 7, 2, 3)
    for a, b in ((q, k), (k, q)):
        theirs = torch.nn.functional.scaled_dot_product_attention(
            *(torch.from_numpy(part).transpose(1, 2) for part in (a, b, b)), is_causal=True
        )
        out = ops.dot_product_attention(a, b, b, is_causal=True)
        np.testing.assert_allclose(out, theirs.transpose(1, 2).numpy(), atol=2e-6)


# --- caches ----------------------------------------------------------------------------------------------------------


@pytest.mark.broad
@pytest.mark.parametrize("base", [None, 100.0])
def test_l2_a_full_cache_raises(base):
    layer = layers.MultiHeadAttention(2, 4, rotary_base=base)
    layer(X)
    cache = layer.make_cache(batch_size=2, length=5)
    _, cache = layer(X, cache=cache)
    _, full = layer(X[:, :1], cache=cache)
    assert int(full.position) == 5
    before = np.asarray(full.key)
    for given, new in ((full, X[:, :1]), (cache, X[:, :2])):
        with pytest.raises(ArgumentError, match=r"cache of 5 positions, [45] of them filled, and [12] more"):
            layer(new, cache=given)
        with pytest.raises(ArgumentError, match="no room"), gx.run_eagerly():
            layer(new, cache=given)
        with pytest.raises(ArgumentError, match="no room"):
            gx.jit(lambda x, c: layer(x, cache=c), checked=True)(new, given)
    np.testing.assert_array_equal(full.key, before)


def test_l2_eager_calls_look_at_values_though_they_are_compiled():
    """A weight looked up by an index that a Variable holds, behind a layer that is compiled."""

    class Picked(gx.Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.table = next_creator(spec.replace(name="table", shape=(3, *spec.shape)))
            self.number = gx.Variable(1, trainable=False, dtype="int32")

        def forward(self):
            return ops.take(self.table, self.number, axis=0)

    with gx.variable_creator_scope(Picked, where="**/kernel"):
        layer = layers.Dense(2)
        layer(X)
    layer.kernel.number.assign(7)
    with pytest.raises(IndexRangeError, match="7 is not in"):
        layer(X)
    layer.kernel.number.assign(2)
    assert layer(X).shape == (2, 4, 2)


@pytest.mark.broad
@pytest.mark.parametrize("size", [1, 2])
def test_masks_of_what_is_in_a_cache(size):
    layer = layers.MultiHeadAttention(2, 4, rotary_base=50.0)
    whole = np.asarray(layer(X, mask=QUERIES, use_causal_mask=True))
    cache, parts = layer.make_cache(2, 6), []
    step = gx.jit(lambda x, mask, cache: layer(x, mask=mask, cache=cache))
    for at in range(0, 4, size):
        out, cache = step(X[:, at : at + size], QUERIES[:, at : at + size], cache)
        parts.append(out)
    np.testing.assert_allclose(np.concatenate(parts, 1)[QUERIES], whole[QUERIES], atol=2e-6)
    assert np.asarray(cache.visible)[:, :4].tolist() == QUERIES.tolist()


@pytest.mark.broad
def test_a_cache_that_does_not_fit_is_refused(layer):
    with pytest.raises(ShapeError, match="positions of the query"):
        layer(X, CONTEXT, cache=layer.make_cache(2, 9))
    with pytest.raises(ArgumentTypeError, match="make_cache"):
        layer(X, cache=(1, 2))
    with pytest.raises(ArgumentError, match="length"):
        layer.make_cache(2, 0)
