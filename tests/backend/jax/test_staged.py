"""Programs that are compared by what they do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax.backend import registry
from graftax.core.errors import CompileError

X = np.float32([1, 2])


def staged(function, *leaves):
    return registry.load("jax").control_flow.stage(lambda lift, values: [function(*values)], list(leaves or (X,)))


def key(function, *leaves):
    return staged(function, *leaves)[0].key


def double(x):
    return x * 2.0


def test_the_same_program_from_other_functions_has_the_same_key():
    assert key(double) == key(lambda y: y * 2.0)
    assert key(lambda x: jax.nn.softmax(x)) == key(lambda x: jax.nn.softmax(x))
    assert key(lambda x: jax.lax.scan(lambda c, y: (c + y, None), 0.0, x)[0]) == key(
        lambda x: jax.lax.scan(lambda c, y: (c + y, None), 0.0, x)[0]
    )


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x * 3.0,
        lambda x: x * -2.0,
        lambda x: 2.0 * x,
        lambda x: x + 2.0,
        lambda x: (x * 2.0).astype("int32"),
        lambda x: jnp.where(x > 0, x, x) * 2.0,
    ],
)
def test_another_program_has_another_key(other):
    assert key(double) != key(other)


@pytest.mark.broad
def test_numbers_in_a_program_are_told_apart_by_their_bits():
    assert key(lambda x: x * 0.0) != key(lambda x: x * -0.0)
    assert key(lambda x: jnp.concatenate([x, np.float32([0.0])])) is not None
    assert key(double, X) != key(double, np.float32([1, 2, 3]))
    assert key(double, X) != key(double, X.astype("float16"))
    assert key(double, np.float32(1)) != key(double, 1.0 + jnp.asarray(0.0))  # weak


def test_arrays_that_are_closed_over_are_no_part_of_it():
    a, b = jnp.ones(2), jnp.zeros(2)
    (one, given), (other, others) = staged(lambda x: x + a), staged(lambda x: x + b)
    assert one.key == other.key
    assert one.run(others, [], [X])[0].tolist() == [1.0, 2.0]
    assert other.run(given, [], [X])[0].tolist() == [2.0, 3.0]


def test_rules_and_calls_of_the_user_are_never_the_same():
    rule = jax.custom_vjp(lambda x: x)
    rule.defvjp(lambda x: (x, None), lambda _, dy: (dy,))
    assert key(rule) is None
    assert key(lambda x: jax.jit(rule)(x)) is None
    assert key(lambda x: jax.pure_callback(lambda v: v, x, x)) is None


def test_whether_a_number_took_another_dtype():
    number = jnp.asarray(1.0)
    assert number.weak_type
    assert not staged(lambda n, x: n * x, number, X)[0].numbers_gave_way
    assert staged(lambda n, x: n * x, number, X.astype("float16"))[0].numbers_gave_way
    assert not staged(lambda n, x: jnp.where(n > 0, x, n), number, X)[0].numbers_gave_way


def test_decisions_on_values_are_refused():
    with pytest.raises(CompileError):
        staged(lambda x: x if x[0] > 0 else -x)


def test_a_program_of_some_results_does_what_they_need_and_all_effects_unless_told():
    seen = []

    def function(x):
        jax.debug.callback(lambda x: seen.append(float(x)), x.sum())
        return [jnp.sin(x), x * 2.0, jnp.cos(x)]

    transforms = registry.load("jax").control_flow
    program, given = transforms.stage(lambda lift, values: function(*values), [X])
    second = program.only([1])
    assert [tuple(result.shape) for result in second.results] == [(2,)]
    assert second.run(given, [], [X])[0].tolist() == [2.0, 4.0]
    jax.effects_barrier()
    assert seen == [3.0]
    both = program.only([2, 0], effects=False)
    np.testing.assert_allclose(both.run(given, [], [X]), [np.cos(X), np.sin(X)], rtol=1e-6)
    jax.effects_barrier()
    assert seen == [3.0]
    assert second.may_fail
    assert not both.may_fail


def ruled(factor, operation):
    """Return a program with a rule of the user, which has no key."""

    def body(x):
        function = jax.custom_vjp(lambda v: v)
        function.defvjp(lambda v: (v, None), lambda _, upstream: (upstream * factor,))
        return operation(function(x), x)

    return staged(body)[0]


def test_what_has_no_key_is_known_to_differ_by_operations_numbers_and_what_rules_close_over():
    one = ruled(2.0, jnp.add)
    assert one.key is None
    assert one.may_equal(ruled(2.0, jnp.add))
    assert not one.may_equal(ruled(3.0, jnp.add))
    assert not one.may_equal(ruled(2.0, jnp.multiply))
    assert not one.may_equal(ruled(2.0, lambda a, b: a + b * 2.0))
    assert not one.may_equal(ruled(2.0, lambda a, b: (a + b).astype("int32")))
