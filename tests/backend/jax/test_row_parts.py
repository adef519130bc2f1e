"""Programs that take parts out of rows from places which the compiler does not know."""

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from graftax.backend.jax.row_parts import with_hidden_places
from graftax.backend.jax.rows import with_rows

COUNT = 12


def names(program):
    return [equation.primitive.name for equation in program.eqns]


def program_of(shapes, dtype, used=None):
    """The program of a row that gives some parts, each times three, and the row plus one."""
    used = range(len(shapes)) if used is None else used
    parts = [jnp.zeros(shape, dtype) for shape in shapes]
    count = len(parts)

    def function(*parts):
        return [*(parts[i] * 3 for i in used), *(part + 1 for part in parts)]

    traced = jax.make_jaxpr(function)(*parts).jaxpr
    found = len(used)
    return with_rows(traced, [shapes], range(count), range(found, found + count), found)


def checked(program, shapes, dtype, used):
    sizes = [int(np.prod(shape)) for shape in shapes]
    values = np.arange(sum(sizes)) % 40
    row = jnp.asarray(values, dtype)
    *parts, new = jax.jit(lambda row: jax.core.eval_jaxpr(program, [], row))(row)
    ends = np.cumsum([0, *sizes])
    for i, part in zip(used, parts, strict=True):
        assert np.array_equal(np.asarray(part, "float64"), values[ends[i] : ends[i + 1]].reshape(shapes[i]) * 3.0)
    assert np.array_equal(np.asarray(new, "float64"), values + 1.0)


KINDS = {"of several shapes": ((3, 2), (2,)) * (COUNT // 2), "of one shape": ((3, 2),) * COUNT}


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("shapes", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
def test_many_parts_come_from_places_that_are_computed(shapes, dtype):
    program = program_of(shapes, dtype)
    assert "split" not in names(program)
    assert names(program).count("cond") == 1
    assert names(program).count("dynamic_slice") == COUNT
    checked(program, shapes, dtype, range(COUNT))


def test_parts_that_nobody_needs_are_left_where_they_are():
    used = [0, *range(2, COUNT)]
    shapes = KINDS["of several shapes"]
    parts = [jnp.zeros(shape) for shape in shapes]
    traced = jax.make_jaxpr(lambda *parts: [*(parts[i] * 3 for i in used), *parts])(*parts).jaxpr
    program = with_rows(traced, [shapes], range(COUNT), range(len(used), len(used) + COUNT), len(used))
    assert names(program).count("dynamic_slice") == COUNT - 1


@pytest.mark.parametrize(("count", "dtype"), [(8, "float32"), (COUNT, "bfloat16"), (COUNT, "bool")])
def test_few_parts_and_rows_of_other_kinds_are_split(count, dtype):
    program = program_of(((3,), (2,)) * (count // 2), dtype)
    assert names(program).count("split") == 1
    assert "cond" not in names(program)


@pytest.mark.broad
def test_rows_of_other_kinds_beside_one_of_numbers_are_taken_from_as_well():
    shapes = ((3,), (2,)) * 3
    parts = [jnp.zeros(shape, dtype) for dtype in ("bfloat16", "float32") for shape in shapes]
    traced = jax.make_jaxpr(lambda *parts: [part + 1 for part in parts])(*parts).jaxpr
    program = with_rows(traced, [shapes, shapes], range(12), range(12), 0)
    assert names(program).count("dynamic_slice") == 12
    rows = [jnp.arange(15, dtype=dtype) for dtype in ("bfloat16", "float32")]
    for row, new in zip(rows, jax.core.eval_jaxpr(program, [], *rows), strict=True):
        assert np.array_equal(new, row + 1)


@pytest.mark.broad
def test_constants_beside_the_rows_are_no_rows():
    def function(*parts):
        shift = lax.reshape(np.float32(2), (1,))
        return [part + shift for part in parts]

    parts = [jnp.zeros(2)] * COUNT
    program = with_rows(jax.make_jaxpr(function)(*parts).jaxpr, [((2,),) * COUNT], range(COUNT), range(COUNT), 0)
    [row] = jax.core.eval_jaxpr(program, [], jnp.arange(2.0 * COUNT))
    assert np.array_equal(row, np.arange(2.0 * COUNT) + 2)


def test_what_splits_no_input_stays():
    traced = jax.make_jaxpr(lambda x: lax.split(jnp.tanh(x), [1] * COUNT))(jnp.zeros(COUNT)).jaxpr
    assert with_hidden_places(traced) is traced


@pytest.mark.broad
def test_the_compiler_does_not_find_the_places():
    """A version of XLA that does compiles each loop by itself again, which takes longer, and gives the same."""
    shapes = KINDS["of several shapes"]
    program = program_of(shapes, "float32")
    row = jnp.arange(float(sum(int(np.prod(shape)) for shape in shapes)))
    compiled = jax.jit(lambda row: jax.core.eval_jaxpr(program, [], row)).lower(row).compile().as_text()
    assert compiled is not None
    assert "conditional(" in compiled
    bits = np.array([0xFFFFFFFF], "uint32").view("float32")  # all are set: nan
    *_, new = jax.jit(lambda row: jax.core.eval_jaxpr(program, [], row))(row.at[0].set(bits[0]))
    assert np.array_equal(new[1:], row[1:] + 1)
