"""Masks that arrays carry, through every transform: as in the plain call, eagerly and compiled."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.variables import masks
from tests.conformance.lanes import crossed

TOKENS = np.array([[1, 2, 0, 0], [3, 4, 1, 0]])


@pytest.fixture
def parts():
    """An embedding that makes masks, and a layer whose numbers depend on them."""
    gx.set_random_seed(0)
    embedding, recurrent = layers.Embedding(5, 3, mask_zero=True), layers.LSTM(2)
    recurrent(embedding(TOKENS))
    return embedding, recurrent


def _value(fn):
    return lambda x: gx.value_and_grad(lambda z: (ops.sum(fn(z)), fn(z)), has_aux=True)(x)[0][1]


def _taped(fn):
    def run(x):
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = fn(x)
        assert tape.gradient(y, x) is not None
        return y

    return run


def _pushed(fn):
    def run(x):
        with gx.ForwardAccumulator(x, ops.ones_like(x)):
            return fn(x)

    return run


def _custom(fn):
    def rule(x):
        y, pull = fn(x), lambda dy, variables=None: (None, [None] * len(variables or []))
        return y, pull

    return gx.custom_gradient(rule)


def _differentiated(fn):
    return lambda x: _value(_custom(fn))(x)


SAME = {
    "jit": gx.jit,
    "jit, in a dict": lambda fn: lambda x: gx.jit(lambda d: {"y": fn(d["x"])})({"n": 1.0, "x": x})["y"],
    "value_and_grad of jit": lambda fn: _value(gx.jit(fn)),
    "jit of value_and_grad": lambda fn: gx.jit(_value(fn)),
    "remat": gx.remat,
    "remat, by name": lambda fn: lambda x: gx.remat(lambda *, x: fn(x))(x=x),
    "recompute_grad": gx.recompute_grad,
    "value_and_grad": _value,
    "value_and_grad, in a dict": lambda fn: lambda x: _value(lambda z: fn(z["x"]))({"x": x}),
    "gradients of remat": lambda fn: _value(gx.remat(fn)),
    "value_and_gradients_function": lambda fn: lambda x: gx.value_and_gradients_function(fn)(x)[0],
    "implicit_value_and_gradients": lambda fn: lambda x: gx.implicit_value_and_gradients(fn)(x)[0],
    "jvp": lambda fn: lambda x: gx.jvp(fn, (x,), (ops.ones_like(x),))[0],
    "tape": _taped,
    "accumulator": _pushed,
    "custom_gradient": _custom,
    "custom_gradient, differentiated": _differentiated,
    "stop_gradient": lambda fn: lambda x: fn(gx.stop_gradient(x)),
    "cond": lambda fn: lambda x: gx.cond(ops.sum(x) < 1e9, fn, lambda v: fn(v) * 2, x),
    "switch": lambda fn: lambda x: gx.switch(ops.cast(ops.sum(x) > 1e9, "int32"), [fn, lambda v: fn(v) * 2], x),
    "while_loop": lambda fn: (
        lambda x: fn(gx.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, _same(c[1])), (0, x))[1])
    ),
    "while_loop, inside": lambda fn: (
        lambda x: gx.while_loop(
            lambda c: c[0] < 1, lambda c: (c[0] + 1, c[1], fn(c[1])), (0, x, ops.zeros_like(ops.stop_gradient(fn(x))))
        )[2]
    ),
    "scan": lambda fn: lambda x: gx.scan(lambda c, row: (c, fn(_batch_of_one(row))[0]), 0.0, x)[1],
    "scan's carry": lambda fn: lambda x: gx.scan(lambda c, _: (c, fn(c)), x, length=1)[1][0],
    "map_fn": lambda fn: lambda x: gx.map_fn(lambda row: fn(_batch_of_one(row))[0], x),
    "vectorized_map": lambda fn: lambda x: gx.vectorized_map(lambda row: fn(_batch_of_one(row))[0], x),
    "vectorized_map, in chunks": lambda fn: (
        lambda x: gx.vectorized_map(lambda row: fn(_batch_of_one(row))[0], x, chunk_size=1)
    ),
}


def _same(x):
    """Another array of the same values, with the same mask, as layers make one."""
    return layers.Dropout(0.0)(x)


def _batch_of_one(row):
    """The row with an axis before it, and its mask likewise."""
    batch = row[None]
    if (mask := masks.mask_of(row)) is not None:
        masks.set_mask(batch, mask[None])
    return batch


@pytest.mark.in_turn(12, broad=7)
@pytest.mark.parametrize(("name", "compiled"), crossed([*SAME], [False, True]))
def test_a_transform_computes_with_the_mask_of_its_argument(parts, name, compiled):
    embedding, recurrent = parts
    plain = recurrent(embedding(TOKENS))
    unmasked = recurrent(ops.asarray(np.asarray(embedding(TOKENS))))
    assert not np.allclose(plain, unmasked)
    transformed = SAME[name](recurrent)
    if compiled:
        found = gx.jit(lambda tokens: transformed(embedding(tokens)))(TOKENS)
    else:
        found = transformed(embedding(TOKENS))
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-6)


def _mask_after(transform, embedding, passing, compiled):
    def run(tokens):
        found = masks.mask_of(transform(passing)(embedding(tokens)))
        return "none" if found is None else found

    return gx.jit(run)(TOKENS) if compiled else run(TOKENS)


ROWS = ("scan", "map_fn", "vectorized_map")
ELSEWHERE = ("implicit_value_and_gradients", "while_loop, inside")  # need a Variable, a start with a mask
OUT = {
    **{name: fn for name, fn in SAME.items() if not name.startswith(ROWS) and name not in ELSEWHERE},
    "grad_pass_through": gx.grad_pass_through,
    "functional_call": lambda fn: lambda x: gx.functional_call(fn, gx.state(fn), x)[0],
    "scan": lambda fn: lambda x: gx.scan(lambda c, row: (c, fn(row)), 0.0, x)[1],
    "scan's last carry": lambda fn: lambda x: gx.scan(lambda c, _: (fn(c), None), x, length=2)[0],
    "map_fn": lambda fn: lambda x: gx.map_fn(fn, x),
    "vectorized_map": lambda fn: lambda x: gx.vectorized_map(fn, x),
    "vectorized_map, last axis": lambda fn: lambda x: gx.vectorized_map(fn, x, in_axes=1, out_axes=1),
}


@pytest.mark.in_turn(16, 1, broad=8)
@pytest.mark.parametrize(("name", "compiled"), crossed([*OUT], [False, True]))
def test_the_result_of_a_transform_carries_the_mask_that_the_plain_result_carries(parts, name, compiled):
    embedding, passing = parts[0], layers.Activation("tanh")
    found = _mask_after(OUT[name], embedding, passing, compiled)
    np.testing.assert_array_equal(found, TOKENS != 0)


@pytest.mark.broad
@pytest.mark.parametrize("masked", [0, 1])
def test_a_branch_without_a_mask_counts_all_where_the_other_branch_has_one(parts, masked):
    embedding, recurrent = parts
    branches = [lambda x: _same(x), lambda x: x * 1.0]
    if masked:
        branches.reverse()

    @gx.jit
    def run(tokens, index):
        return recurrent(gx.switch(index, branches, embedding(tokens)))

    plain, unmasked = recurrent(embedding(TOKENS)), recurrent(embedding(TOKENS) * 1.0)
    np.testing.assert_allclose(run(TOKENS, masked), plain, rtol=1e-5)
    np.testing.assert_allclose(run(TOKENS, 1 - masked), unmasked, rtol=1e-5)


def test_a_carry_whose_mask_is_gone_after_a_step_counts_all(parts):
    embedding, recurrent = parts
    last, _ = gx.scan(lambda c, _: (c * 1.0, None), embedding(TOKENS), length=2)
    np.testing.assert_allclose(recurrent(last), recurrent(embedding(TOKENS) * 1.0), rtol=1e-5)


@pytest.mark.broad
def test_the_mask_of_what_is_the_same_for_each_row_is_whole(parts):
    embedding, recurrent = parts
    e = embedding(TOKENS)
    both = gx.vectorized_map(lambda _, x: recurrent(x), np.zeros(2), e, in_axes=(0, None))
    np.testing.assert_allclose(both, np.stack([recurrent(e)] * 2), rtol=1e-5)
    alone = embedding(TOKENS[:1])
    once = gx.vectorized_map(lambda _, x: recurrent(_batch_of_one(x))[0], np.zeros(3), alone)
    np.testing.assert_allclose(once, np.repeat(recurrent(alone), 3, axis=0), rtol=1e-5)
    features = gx.vectorized_map(lambda x: ops.cast(masks.mask_of(x), "float32"), e, in_axes=2)
    np.testing.assert_array_equal(features, np.stack([TOKENS != 0] * 3))


@pytest.mark.broad
def test_a_gradient_check_computes_with_the_mask(parts):
    embedding, recurrent = parts
    seen = []

    def loss(x):
        seen.append(masks.mask_of(x) is not None)
        return ops.sum(recurrent(x))

    gx.gradcheck(loss, [embedding(TOKENS[:1, :2])])
    assert seen
    assert all(seen)


@pytest.mark.broad
@pytest.mark.parametrize("derivative", [gx.jacobian, gx.hessian, gx.batch_jacobian], ids=lambda f: f.__name__)
def test_derivatives_are_those_with_the_mask(parts, derivative):
    embedding, recurrent = parts
    e = embedding(TOKENS[:1])
    mask = TOKENS[:1] != 0
    fn = (lambda y: ops.sum(y**2)) if derivative is gx.hessian else (lambda y: y)
    found = derivative(lambda x: fn(recurrent(x)), e)
    wanted = derivative(lambda x: fn(recurrent(x, mask=mask)), ops.asarray(np.asarray(e)))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("cut", [gx.map_fn, gx.vectorized_map], ids=lambda f: f.__name__)
def test_a_mask_of_whole_rows_is_said_to_be_dropped(cut):
    x = ops.ones((2, 3))
    masks.set_mask(x, np.array([True, False]))
    with pytest.warns(UserWarning, match="one truth value for each row.*dropped"):
        cut(lambda row: row * 2, x)


def test_a_mask_that_only_the_body_gives_is_said_to_be_dropped(parts):
    embedding, _ = parts
    with pytest.warns(UserWarning, match="mask that its start does not have"):
        gx.scan(lambda c, _: (embedding(TOKENS), None), ops.zeros((2, 4, 3)), length=1)


@pytest.mark.broad
def test_masks_along_an_axis_that_they_have_not_are_said_to_be_dropped(parts):
    passing = layers.Activation("tanh")
    with pytest.warns(UserWarning, match="no axis of the mask"):
        gx.vectorized_map(passing, parts[0](TOKENS), out_axes=-1)


def test_the_mask_that_is_made_in_a_compiled_function_comes_out_with_the_array(parts):
    embedding, recurrent = parts
    compiled = gx.jit(embedding)
    for tokens in (TOKENS, TOKENS[:, ::-1]):
        np.testing.assert_allclose(recurrent(compiled(tokens)), recurrent(embedding(tokens)), rtol=1e-5)
    assert compiled.trace_count == 1


def test_a_compiled_function_that_changes_variables_hands_masks_on(parts):
    embedding, _ = parts
    count = gx.Variable(0, trainable=False)

    @gx.jit
    def run(x):
        count.assign_add(1)
        return layers.Activation("tanh")(x), count.value

    for step in (1, 2):
        out, seen = run(embedding(TOKENS))
        np.testing.assert_array_equal(masks.mask_of(out), TOKENS != 0)
        assert int(seen) == step == int(count)


@pytest.mark.broad
def test_a_program_is_lowered_with_the_masks_of_its_arguments(parts):
    embedding, recurrent = parts
    e = embedding(TOKENS)
    compiled = gx.jit(recurrent)
    compiled.lower(e)
    compiled(e)
    assert compiled.trace_count == 1
