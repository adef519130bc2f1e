"""Programs whose inputs and outputs stand in rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from graftax.backend.jax.rows import with_rows

SHAPES = ((2, 3), (4,), ())
PARTS = [np.arange(6.0, dtype="float32").reshape(2, 3), np.arange(4.0, dtype="float32"), np.float32(7)]
ROW = np.concatenate([part.reshape(-1) for part in PARTS])


def names(program):
    return [equation.primitive.name for equation in program.eqns]


def rowed(function, extra=(), shapes=SHAPES, results=0):
    """The program of a function of the parts and others, that gives results, new parts and others."""
    program = jax.make_jaxpr(function)(*PARTS[: len(shapes)], *extra).jaxpr
    count = len(shapes)
    return with_rows(program, [shapes], range(count), range(results, results + count), results)


def joined(parts):
    return lax.concatenate([jnp.reshape(part, (part.size,)) for part in parts], 0)


def split(row):
    parts = lax.split(row, [6, 4, 1])
    return [jnp.reshape(part, shape) for part, shape in zip(parts, SHAPES, strict=True)]


def test_what_is_joined_computed_and_split_is_computed_on_the_row():
    program = rowed(lambda a, b, c: split(joined([a, b, c]) * 2))
    assert names(program) == ["mul"]
    [row] = jax.core.eval_jaxpr(program, [], ROW)
    np.testing.assert_array_equal(row, ROW * 2)


def test_what_takes_one_part_takes_it_out_of_the_row():
    program = rowed(lambda a, b, c: [jnp.sum(b), *split(joined([a, b, c]))], results=1)
    assert "concatenate" not in names(program)
    total, row = jax.core.eval_jaxpr(program, [], ROW)
    assert total == 6
    np.testing.assert_array_equal(row, ROW)


def test_a_neighbour_part_and_another_order_are_no_row():
    program = rowed(lambda a, b, c: [joined([b, c]), joined([b, a, c]), a, b, c], results=2)
    two, mixed, row = jax.core.eval_jaxpr(program, [], ROW)
    np.testing.assert_array_equal(two, ROW[6:])
    np.testing.assert_array_equal(mixed, [*ROW[6:10], *ROW[:6], 7])
    np.testing.assert_array_equal(row, ROW)


def test_parts_of_several_rows_and_other_values_stay_apart():
    def function(a, b, x):
        return [x, a + 1, b * x]

    program = jax.make_jaxpr(function)(*PARTS[:2], np.float32(3)).jaxpr
    both = with_rows(program, [SHAPES[:1], SHAPES[1:2]], [0, 1], [1, 2], 1)
    x, first, second = jax.core.eval_jaxpr(both, [], ROW[:6], ROW[6:10], np.float32(3))
    assert x == 3
    np.testing.assert_array_equal(first, ROW[:6] + 1)
    np.testing.assert_array_equal(second, ROW[6:10] * 3)


@pytest.mark.broad
def test_the_stacked_weights_of_alike_layers_are_their_row_in_the_gradient_too():
    def loss(stacked, x):
        return jnp.sum(lax.scan(lambda x, w: (jnp.tanh(x * w), None), x, stacked)[0])

    def function(*parts):
        gradients = jax.grad(lambda parts: loss(jnp.reshape(joined(parts), (3, 4)), jnp.ones(4)))(list(parts))
        new = joined(parts) - joined(gradients)
        return [jnp.reshape(part, (4,)) for part in lax.split(new, [4, 4, 4])]

    parts = [np.full(4, i, "float32") for i in range(3)]
    program = with_rows(jax.make_jaxpr(function)(*parts).jaxpr, [((4,),) * 3], range(3), range(3), 0)
    assert not {"concatenate", "split"} & set(names(program))
    [row] = jax.core.eval_jaxpr(program, [], np.concatenate(parts))
    np.testing.assert_allclose(row, np.concatenate(function(*parts)), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_arrays_of_two_axes_are_joined_as_they_are(axis):
    program = rowed(lambda a, b, c: [lax.concatenate([a, a], axis), a, b, c], results=1)
    found, _ = jax.core.eval_jaxpr(program, [], ROW)
    np.testing.assert_array_equal(found, np.concatenate([PARTS[0]] * 2, axis))
