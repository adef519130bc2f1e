import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.jax import packing

SHAPES = ((2,), (), (2, 3), (0, 4), (1,))


def parts(dtype="float32"):
    return [(jnp.arange(np.prod(shape)).reshape(shape) + i).astype(dtype) for i, shape in enumerate(SHAPES)]


@pytest.fixture(autouse=True)
def as_if_new(monkeypatch):
    monkeypatch.setattr(packing, "_times", type(packing._times)())


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_what_is_joined_comes_out_again(dtype):
    given = parts(dtype)
    row = packing.join(given)
    assert row.shape == (10,)
    assert row.dtype == dtype
    found = packing.split(row, SHAPES)
    for one, other in zip(given, found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_array_equal(one, other)


@pytest.mark.broad
def test_a_few_times_need_no_program_and_many_times_give_the_same(monkeypatch):
    compiled = []
    for name in ("_join_parts", "_parts"):
        program = getattr(packing, name)
        monkeypatch.setattr(
            packing, name, lambda *a, _run=program, _name=name, **k: compiled.append(_name) or _run(*a, **k)
        )
    shapes = tuple((n, 2) for n in range(3, 9))
    given = [jnp.full(shape, i, "float32") for i, shape in enumerate(shapes)]
    first = packing.join(given)
    halves = packing.split(first, shapes)
    assert not compiled
    for _ in range(packing._OFTEN):
        again = packing.join(given)
        others = packing.split(again, shapes)
    assert compiled == ["_join_parts", "_parts"]
    np.testing.assert_array_equal(first, again)
    for one, other in zip(halves, others, strict=True):
        np.testing.assert_array_equal(one, other)


def test_reading_parts_leaves_the_memory_to_the_next_step():
    row = jnp.concatenate([part.reshape(-1) for part in parts()])  # memory of a program, as after a step
    packing.split(row, SHAPES)
    where = row.unsafe_buffer_pointer()
    after = jax.jit(lambda x: x + 1, donate_argnums=0)(row)
    assert row.is_deleted()
    assert after.unsafe_buffer_pointer() == where


def test_parts_keep_their_numbers_when_the_row_is_given_away():
    row = packing.join(parts())
    found = packing.split(row, SHAPES)
    jax.jit(lambda x: x * 0, donate_argnums=0)(row)
    for one, other in zip(parts(), found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_traced_row_is_split_in_the_program():
    found = jax.jit(lambda row: packing.split(row, SHAPES))(packing.join(parts()))
    np.testing.assert_array_equal(found[2], parts()[2])


@pytest.mark.broad
def test_a_tape_sees_what_is_packed():
    """Found by an ensemble trained with a tape: for the first hundred calls, its weights had no gradients."""
    first, second = gx.Variable([1.0, 2.0]), gx.Variable([3.0])
    sgd = gx.optimizers.SGD(0.01)

    def around():
        inner = lambda: ops.sum(first**4) + ops.sum(second**4)  # noqa: E731
        before = inner()
        sgd.minimize(inner, [first, second])
        return before + inner()

    values = [first.value, second.value]
    wanted = gx.grad(around, wrt=[first, second])()
    first.assign(values[0])
    second.assign(values[1])
    with gx.GradientTape() as tape:
        total = around()
    for ours, theirs in zip(tape.gradient(total, [first, second]), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)

    stack = gx.stack(gx.layers.Dense(4, activation="tanh"), 3)
    x = np.linspace(-1, 1, 24, dtype="float32").reshape(6, 4)
    stack(x)
    with gx.GradientTape() as tape:
        loss = ops.mean(stack(x) ** 2)
    wanted = gx.grad(lambda: ops.mean(stack(x) ** 2), wrt=stack.trainable_variables)()
    for ours, theirs in zip(tape.gradient(loss, stack.trainable_variables), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
