"""jit(checked=True), check, check_numerics: what fails is raised after the run, and nothing has changed."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import errors

TABLE = np.arange(3, dtype="float32")
BAD = np.array([0, 7, 1], "int32")
GOOD = np.array([0, 2, 1], "int32")


def total(i):
    return ops.sum(ops.take(ops.asarray(TABLE), i))


def rule(i):
    @gx.custom_gradient
    def wrong_backwards(x):
        return x * 2, lambda g: g * ops.take(x, i)[0]

    x = ops.asarray(TABLE)
    return gx.grad(lambda x: ops.sum(wrong_backwards(x)))(x)


def summed(body):
    def run(i):
        w = ops.asarray(2.0)
        return gx.value_and_grad(lambda w: gx.scan(lambda c, j: (body(w, c, j), c), ops.asarray(0.0), i)[0])(w)

    return run


def step(w, c, j):
    return c * w + ops.take(ops.asarray(TABLE), j) * w


WAYS = {
    "plain": total,
    "gradient": lambda i: gx.value_and_grad(lambda x: ops.sum(ops.take(x, i)))(ops.asarray(TABLE)),
    "scan, differentiated": summed(step),
    "scan, recomputed": summed(lambda w, c, j: gx.remat(step)(w, c, j)),
    "cond": lambda i: gx.cond(i[0] < 1, total, lambda i: 0.0, i),
    "while": lambda i: gx.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + total(i[c[0]])), (0, 0.0)),
    "rows": lambda i: gx.vectorized_map(total, i),
    "backward rule": rule,
    "inner jit": lambda i: gx.value_and_grad(lambda x: gx.jit(lambda x: ops.sum(ops.take(x, i)))(x))(
        ops.asarray(TABLE)
    ),
    "plain vmap": lambda i: jax.vmap(total)(i),
}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("way", WAYS)
def test_fn4_an_index_out_of_range_raises_after_the_step(way):
    count = gx.Variable(0.0, trainable=False)

    @gx.jit(checked=True)
    def run(i):
        count.assign_add(1.0)
        return WAYS[way](i)

    run(GOOD)
    with pytest.raises(errors.IndexRangeError, match=r"take: indices(\[1\])? = 7 is not in \[0, 3\)") as caught:
        run(BAD)
    assert caught.value.place is not None
    assert caught.value.place[0] == __file__
    assert float(count) == 1.0
    assert run.trace_count == 1
    run(GOOD)
    assert float(count) == 2.0


@pytest.mark.broad
def test_fn23_a_failing_branch_or_step_that_is_not_taken_is_no_failure():
    run = gx.jit(lambda i: gx.cond(i[0] > 1, total, lambda i: 0.0, i), checked=True)
    assert float(run(BAD)) == 0.0
    counts = np.array([1, 3], "int32")

    @gx.jit(checked=True)
    def rows(counts):
        def one(n):
            loop = gx.while_loop(
                lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + ops.take(ops.asarray(TABLE), c[0])), (0, 0.0)
            )
            return loop[1]

        return gx.vectorized_map(one, counts)

    assert rows(counts).tolist() == [0.0, 3.0]
    with pytest.raises(errors.IndexRangeError, match="= 3 is not in"):
        rows(np.array([1, 4], "int32"))


LOOKS = {
    "one_hot": (lambda i: ops.one_hot(i, 3), "one_hot: indices"),
    "subscript": (lambda i: W[i], "index 7 of axis 0"),
    "along": (lambda i: ops.take_along_axis(ops.asarray(TABLE), i, 0), "take_along_axis: indices"),
    "gather_nd": (lambda i: ops.gather_nd(ops.asarray(TABLE), i[:, None]), r"\(7,\) is not in the shape"),
    "segments": (lambda i: ops.segment_sum(ops.asarray(TABLE), i, 3), "segment_ids"),
    "slice": (lambda i: ops.slice(ops.asarray(TABLE), i[1:2], (2,)), r"begin\[0\] = 7"),
    "switch": (lambda i: gx.switch(i[1], [lambda: 0.0, lambda: 1.0]), "switch got the index 7"),
    "labels": (
        lambda i: gx.losses.SparseCategoricalCrossentropy(from_logits=True)(i, ops.zeros((3, 3))),
        r"labels\[1\] = 7 is not in \[0, 3\)",
    ),
    "embedding": (lambda i: EMBEDDING(i), "take: indices"),
}
W = gx.Variable(TABLE)
EMBEDDING = gx.layers.Embedding(3, 2)


@pytest.mark.in_turn(4, 1)
@pytest.mark.parametrize("look", LOOKS)
def test_ops_that_look_at_their_numbers_are_checked(look):
    fn, text = LOOKS[look]
    with pytest.raises(errors.IndexRangeError, match=text):
        gx.jit(fn, checked=True)(BAD)


@pytest.mark.broad
def test_divisors_of_integers_and_probabilities_are_checked():
    with pytest.raises(errors.NumericsError, match="integer division by zero"):
        gx.jit(lambda x: ops.floor_divide(x, x), checked=True)(ops.asarray([1, 0]))
    with pytest.raises(errors.ArgumentError, match="these look like logits"):
        gx.jit(lambda p: gx.losses.BinaryCrossentropy()(ops.ones((2,)), p), checked=True)(ops.asarray([3.0, -1.0]))


@pytest.mark.broad
def test_negative_indices_are_out_of_range_for_take_only():
    assert float(gx.jit(lambda i: W[i], checked=True)(np.int32(-1))) == 2.0
    with pytest.raises(errors.IndexRangeError, match="= -1 is not in"):
        gx.jit(total, checked=True)(np.int32(-1))
    with pytest.raises(errors.IndexRangeError):
        gx.jit(total, checked=True)(np.array([3], "int8"))


@pytest.mark.broad
def test_a_checked_function_may_return_none_or_have_none_in_its_result():
    total = gx.Variable(0.0, name="total")

    @gx.jit(checked=True)
    def add(x):
        total.assign_add(ops.sum(ops.take(x, [0, 2])))

    assert add(TABLE) is None
    assert total.numpy() == 2
    with pytest.raises(errors.IndexRangeError):
        add(TABLE[:2])
    first, second = gx.jit(lambda x: (None, ops.take(x, [0, 2])), checked=True)(TABLE)
    assert first is None
    np.testing.assert_array_equal(second, [0, 2])


def test_unchecked_functions_have_no_trace_of_checks():
    plain = gx.jit(lambda i: (gx.check(i >= 0, "no"), ops.take(W, i))[1])
    assert plain.lower(GOOD).text == gx.jit(lambda i: ops.take(W, i)).lower(GOOD).text
    plain(-BAD)
    total = gx.Variable(0.0)
    assert gx.jit(lambda: total.assign_add(1.0)).lower().memory.donated == 4


class Odd(gx.Layer):
    def __init__(self):
        super().__init__()
        self.inner = gx.layers.Dense(2, kernel_initializer="ones")

    def call(self, x):
        return ops.sqrt(self.inner(x))


@pytest.mark.broad
def test_a_nan_is_named_with_layer_line_direction_and_ranges():
    model = gx.Sequential([gx.layers.Dense(2, kernel_initializer="ones"), Odd()])
    model(np.ones((1, 2), "float32"))
    before = [v.numpy() for v in model.variables]

    @gx.jit(checked=True)
    def step(x):
        loss, gradients = gx.value_and_grad(lambda: ops.sum(model(x)), wrt=model.trainable_variables)()
        for v, g in zip(model.trainable_variables, gradients, strict=True):
            v.assign_sub(g)
        return loss

    for x, direction, made in ((-1.0, "forward", "sqrt made nan"), (0.0, "backward", "from an infinity")):
        with pytest.raises(errors.NumericsError) as caught:
            step(np.full((1, 2), x, "float32"))
        text = str(caught.value)
        assert "layer: layers/1" in text
        assert f"direction: {direction}" in text
        assert made in text
        assert "input 0" in text
        assert "return ops.sqrt(self.inner(x))" in text
    for v, old in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(v.numpy(), old)


@pytest.mark.broad
def test_a_nan_that_comes_in_or_is_masked_by_a_function_of_jax_is_nobodys_fault():
    run = gx.jit(lambda x: ops.sum(ops.where(ops.isnan(x), 0.0, x)), checked=True)
    assert float(run(np.array([1.0, np.nan], "float32"))) == 1.0
    both = gx.jit(ops.logaddexp, checked=True)
    assert float(both(-np.float32(np.inf), -np.float32(np.inf))) == -np.inf
    assert float(gx.jit(lambda x: -ops.log(x), checked=True)(0.0)) == np.inf  # an infinity is a number


@pytest.mark.broad
def test_a_checked_function_inside_another():
    inner = gx.jit(total, checked=True)
    with pytest.raises(errors.IndexRangeError):
        gx.jit(lambda i: inner(i) * 2, checked=True)(BAD)
    with pytest.raises(errors.StateError, match="without"):
        gx.jit(lambda i: inner(i) * 2)(BAD)
    loss = gx.jit(lambda x: ops.sum(ops.log(x)), checked=True)
    assert gx.grad(loss)(ops.asarray([2.0])).tolist() == [0.5]
    with pytest.raises(errors.NumericsError, match="log made nan"):
        gx.grad(loss)(ops.asarray([-2.0]))


@pytest.mark.broad
def test_check_shows_its_values_and_is_checked_itself():
    with pytest.raises(errors.CheckError, match=r"x is \[ 1., -1.\]"):
        gx.check(ops.asarray([1.0, -1.0]) > 0, "x is {x}", x=ops.asarray([1.0, -1.0]))
    for message, values, error in (("{y}", {}, errors.ArgumentError), ("", {"y": 1}, errors.ArgumentError)):
        with pytest.raises(error, match="shown"):
            gx.check(True, message, **values)
    with pytest.raises(errors.DTypeError):
        gx.check(1.0, "")
    with pytest.raises(errors.CheckError, match="row 2.0"):
        gx.vectorized_map(lambda x: (gx.check(x < 2, "row {x}", x=x), x)[1], ops.asarray([1.0, 2.0, 3.0]))

    @gx.jit(checked=True)
    def both(x):
        gx.check(x > 0, "first, {x}", x=x)
        gx.check(x > 1, "second, {x}", x=x)
        return x

    for x, text in ((-1.0, "first, -1.0"), (0.5, "second, 0.5")):
        with pytest.raises(errors.CheckError, match=text):
            both(x)


@pytest.mark.broad
def test_check_numerics_is_never_ignored():
    with pytest.raises(errors.NumericsError, match=r"odds: float32\[2\] with 1 nan and 0 inf, x\[1\] = nan"):
        gx.check_numerics(ops.asarray([1.0, np.nan]), "odds")
    v = gx.Variable(1.0)

    @gx.jit
    def run(x):
        v.assign_add(1.0)
        return gx.scan(lambda c, r: (gx.check_numerics(c / r, "ratio"), None), v.value, x)[0]

    assert float(run(ops.asarray([1.0, 2.0]))) == 1.0
    with pytest.raises(errors.NumericsError, match="ratio: .* 1 inf"):
        run(ops.asarray([1.0, 0.0]))
    assert float(v) == 2.0
    with pytest.raises(errors.StateError, match="plain|JAX"):
        jax.jit(gx.check_numerics)(ops.asarray([1.0]))
    with pytest.raises(errors.DTypeError):
        gx.check_numerics(ops.asarray([1]))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_format_in_the_message_is_that_of_each_number(compiled):
    def positive(x, n):
        gx.check(ops.all(x > 0), "{n:03d} of {x:.1f}: {x!r}", x=x, n=n)
        return x

    fn = gx.jit(positive, checked=True) if compiled else positive
    with pytest.raises(errors.CheckError, match=r"002 of \[ ?1.0, -2.0\]: \[ ?1., *-2.\]"):
        fn(ops.asarray([1.0, -2.0]), ops.asarray(2))
    with pytest.raises(errors.CheckError, match=r"002 of -1.0: -1.0"):
        fn(-1.0, 2)


@pytest.mark.parametrize(("message", "value"), [("{x:d}", 1.0), ("{x:.2q}", 1), ("{x!r:.1f}", 1.0), ("{x:%}", 1j)])
def test_a_format_that_numbers_do_not_have_is_refused_while_the_check_holds(message, value):
    with pytest.raises(errors.ArgumentError, match=r"of dtype .*, as \{x:"):
        gx.check(True, message, x=value)
