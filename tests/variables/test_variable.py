"""Variable: creation, assignment, copies, looks; on both backends."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, AssignmentError, CompileError
from graftax.transforms.compile.jit import jit
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


@pytest.fixture(params=["jax", "numpy"])
def backend(request):
    with registry.use(request.param) as chosen:
        yield chosen


# --- creation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1.0, "float32", ()),
        (3, "int32", ()),
        (True, "bool", ()),
        ([1, 2], "int32", (2,)),
        ([[1.0], [2.0]], "float32", (2, 1)),
    ],
)
def test_python_values(backend, value, dtype, shape):
    v = Variable(value)
    assert (v.dtype, v.shape, v.ndim, v.size) == (dtype, shape, len(shape), int(np.prod(shape)))
    assert v.numpy().tolist() == value


def test_arrays_and_functions_and_variables(backend):
    array = np.arange(3, dtype="float16")
    assert Variable(array).dtype == "float16"
    assert Variable(lambda: array).numpy().tolist() == [0, 1, 2]
    assert Variable(Variable(array)).numpy().tolist() == [0, 1, 2]
    assert Variable(array, dtype="float32").dtype == "float32"
    assert Variable(np.ones(2)).dtype == "float32"  # 64 bits only if the backend was told so


def test_shape_and_initializer(backend):
    assert Variable(shape=(2, 3), initializer="ones").numpy().tolist() == [[1.0] * 3] * 2
    assert Variable(shape=(2,), initializer=0.5).numpy().tolist() == [0.5, 0.5]
    assert Variable(shape=[4], initializer="zeros", dtype="int32").shape == (4,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "neither a value nor a shape"),
        ({"initial_value": 1.0, "initializer": "ones"}, "both a value and an initializer"),
        ({"initial_value": [1.0], "shape": (2,)}, r"shape \(1,\) and shape=\(2,\)"),
        ({"initial_value": 1.0, "role": "wieght"}, "role='wieght'"),
        ({"shape": (2,), "initializer": lambda k, s, d: jnp.ones(3)}, r"gave shape \(3,\) for the variable"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Variable(**arguments)


def test_the_callers_memory_is_never_shared(backend):
    array = np.zeros((64, 64), "float32")
    v, w = Variable(array), Variable(np.ones((64, 64), "float32"))
    w.assign(array)
    array[:] = 7
    assert v.numpy().max() == w.numpy().max() == 0
    with pytest.raises(ValueError, match="read-only"):
        v.numpy()[0] = 1
    np.asarray(v.numpy()).copy()[0] = 1
    assert v.numpy().max() == 0


def test_numpy_stays_as_it_is_when_the_value_changes(backend):
    v = Variable([1.0, 2.0])
    before = v.numpy()
    v.assign([5.0, 6.0])
    v[0] = 9.0
    assert before.tolist() == [1.0, 2.0]


# --- assignment -----------------------------------------------------------------------------------------------------


def test_assign_add_sub_return_the_variable(backend):
    v = Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]) is v
    assert v.assign_add([1.0, 1.0]) is v
    assert v.assign_sub(np.array([0.5, 0.5], "float32")) is v
    assert v.numpy().tolist() == [3.5, 4.5]
    v.assign(Variable([0.0, 1.0]))
    assert v.numpy().tolist() == [0.0, 1.0]


@pytest.mark.parametrize("verb", ["assign", "assign_add", "assign_sub"])
def test_another_shape_is_refused(backend, verb):
    v = Variable([1.0, 2.0], name="w")
    smaller = [(1.0, r"\(\)"), ([1.0], r"\(1,\)")] if verb == "assign" else []  # a sum broadcasts
    for value, shape in (*smaller, (np.ones((2, 1), "float32"), r"\(2, 1\)"), (np.ones(3, "float32"), r"\(3,\)")):
        with pytest.raises(AssignmentError, match=rf"'w'.{verb}\(\) got shape {shape}") as caught:
            getattr(v, verb)(value)
        assert "broadcast" in caught.value.instead
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("have", "value", "got"),
    [
        ("float32", np.ones(2, "int32"), "int32"),
        ("float32", np.ones(2, "float16"), "float16"),
        ("int32", [1.5, 2.5], "float32"),
        ("int32", np.ones(2, "float32"), "float32"),
        ("bool", [1, 0], "int32"),
    ],
)
def test_another_dtype_is_refused(backend, have, value, got):
    v = Variable(np.zeros(2, have), name="w")
    with pytest.raises(AssignmentError, match=rf"got dtype {got}\n(.|\n)*the variable has dtype {have}") as caught:
        v.assign(value)
    assert caught.value.instead.partition(";")[0] == f'ops.cast(value, "{have}")'
    assert ("ops.sum(ops.cast(x" in caught.value.instead) == (got == "float16")


@pytest.mark.parametrize(
    ("have", "value"),
    [("float32", [1, 2]), ("float32", [True, False]), ("uint32", [2**32 - 1, 0]), ("float16", [1.5, 2])],
)
def test_python_numbers_that_lose_nothing_are_taken(backend, have, value):
    v = Variable(np.zeros(2, have))
    assert v.assign(value).numpy().tolist() == value


def test_python_numbers_that_do_not_fit_are_refused(backend):
    with pytest.raises(ArgumentError, match="300"):
        Variable(np.zeros(2, "uint8")).assign([1, 300])


def test_python_numbers_that_are_traced_are_taken_alike():
    v = Variable([0.0], dtype="float32")
    f = jit(lambda n: v.assign_add(ops.ones(1) * n).value)
    assert f(2.0).tolist() == [2.0]
    scalar = Variable(0.0)
    g = jit(lambda n: scalar.assign(n).value)
    assert (float(g(3)), float(g(4))) == (3.0, 4.0)
    count = Variable(0)
    with pytest.raises(AssignmentError, match="dtype float32"):
        jit(lambda x: count.assign(x).value)(1.5)


def test_an_assignment_never_changes_the_type_and_so_never_compiles_again():
    v = Variable(jnp.asarray(2.0))  # weakly typed
    f = jit(lambda x: v.assign(x).value * 2)
    for x in (1.0, 2.0, 3.0):
        f(x)
    (entries,) = f._entries.values()
    assert not v.value.weak_type
    assert entries[0].program._donating._cache_size() <= 1
    assert f.trace_count == 1


def test_operators_in_place(backend):
    v = w = Variable([6.0, 8.0])
    v += 1
    v -= [1.0, 2.0]
    v *= 2
    v /= np.float32(4)
    v **= 2
    v //= 2.0
    v %= 3.0
    assert v is w
    assert v.numpy().tolist() == [((6.0 / 2) ** 2 // 2) % 3, ((7.0 / 2) ** 2 // 2) % 3]
    m = n = Variable([[1.0, 2.0], [3.0, 4.0]])
    m @= np.eye(2, dtype="float32") * 2
    assert m is n
    assert n.numpy().tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_operators_in_place_on_an_attribute_keep_the_variable(backend):
    box = Module()
    box.w = w = Variable([1.0, 2.0])
    box.w *= 0.5
    box.w += 1
    assert box.w is w
    assert w.numpy().tolist() == [1.5, 2.0]


def test_operators_in_place_keep_shape_and_dtype(backend):
    v = Variable([1.0, 2.0])
    with pytest.raises(AssignmentError, match=r"\(3, 2\)"):
        v += np.ones((3, 2), "float32")
    n = Variable([1, 2])
    with pytest.raises(AssignmentError, match="float32"):
        n /= 2


def test_setitem(backend):
    v = Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    v[0] = 9
    v[1, 1] = 5.0
    v[:, 0] = [7.0, 8.0]
    v[v > 8] = 0.0
    assert v.numpy().tolist() == [[7.0, 0.0], [8.0, 5.0]]
    with pytest.raises(AssignmentError, match="'w'"):
        v[0] = [1.0, 2.0, 3.0]
    with pytest.raises(AssignmentError, match="float16"):
        v[0] = np.ones(2, "float16")


def test_setitem_compiled():
    v = Variable([1.0, 2.0, 3.0])
    f = jit(lambda i: v.__setitem__(i, 9.0))
    f(0)
    f(2)
    assert v.numpy().tolist() == [9.0, 2.0, 9.0]


# --- variables made while compiling ---------------------------------------------------------------------------------


class Keeper(Module):
    v = None


def test_fn11_an_initial_value_that_is_an_argument():
    keeper = Keeper()

    @jit
    def f(x):
        if keeper.v is None:
            keeper.v = Variable(x)
        return keeper.v.assign_add(ops.ones(2)).value

    assert [f(np.float32([3, 4])).tolist() for _ in range(2)] == [[4.0, 5.0], [5.0, 6.0]]
    assert f.trace_count == 1


def test_fn11_a_python_number():
    keeper = Keeper()

    @jit
    def f(x):
        if keeper.v is None:
            keeper.v = Variable(x)
        return keeper.v * x

    assert (float(f(3.0)), float(f(2.0))) == (9.0, 6.0)
    assert keeper.v.dtype == "float32"


def test_fn11_a_value_computed_from_an_argument_is_refused_with_the_ways_out():
    keeper = Keeper()

    def f(x):
        keeper.v = Variable(x * 2)
        return x

    with pytest.raises(CompileError, match=r"traced array of shape \(2,\) as its initial value") as caught:
        jit(f)(np.ones(2, "float32"))
    assert "Variable(lambda: ops.zeros(3))" in caught.value.instead


def test_fn11_a_function_is_computed_at_once():
    keeper = Keeper()

    @jit
    def f(x):
        if keeper.v is None:
            keeper.v = Variable(lambda: ops.zeros(2) + 1)
        return keeper.v * x

    assert f(2.0).tolist() == [2.0, 2.0]
    keeper.v.assign([5.0, 5.0])
    assert f(2.0).tolist() == [10.0, 10.0]


# --- names, freezing, looks, copies ---------------------------------------------------------------------------------


def test_names_and_paths():
    v = Variable(1.0)
    assert (v.name, v.path) == ("variable", "variable")
    box = Module()
    box.weights = [v, Variable(2.0, name="given")]
    assert (v.name, v.path) == ("0", "weights/0")
    assert (box.weights[1].name, box.weights[1].path) == ("given", "weights/1")


def test_trainable_can_be_switched():
    v = Variable(1.0, trainable=False)
    assert not v.trainable
    v.trainable = True
    assert v.trainable


def test_repr(backend):
    assert repr(Variable([1.0, 2.0], name="w")) == "Variable('w', shape=(2,), dtype=float32, value=[1. 2.])"
    assert repr(Variable(np.zeros(100, "float32"), name="w")) == "Variable('w', shape=(100,), dtype=float32)"


def test_repr_inside_a_trace():
    v, seen = Variable([1.0], name="w"), []
    jit(lambda x: seen.append(repr(v.assign(v * x))) or x)(2.0)
    assert seen == ["Variable('w', shape=(1,), dtype=float32)"]


def test_deepcopy_and_pickle(backend):
    v = Variable([1.0, 2.0], name="w", trainable=False, role="state")
    for twin in (copy.deepcopy(v), copy.copy(v), pickle.loads(pickle.dumps(v))):
        assert (twin.name, twin.trainable, twin.role, twin.dtype) == ("w", False, "state", "float32")
        twin.assign([5.0, 6.0])
        assert v.numpy().tolist() == [1.0, 2.0]
        assert twin.numpy().tolist() == [5.0, 6.0]


def test_a_variable_is_no_pytree_but_its_value_is_a_leaf():
    v = Variable([1.0])
    assert jax.tree.leaves([v, v.value])[0] is v


def test_bfloat16():
    v = Variable([1.0, 2.0], dtype="bfloat16")
    assert v.dtype == "bfloat16"
    v.assign([3, 4.5])
    assert pickle.loads(pickle.dumps(v)).numpy().astype("float32").tolist() == [3.0, 4.5]
    with pytest.raises(AssignmentError, match="dtype float32"):
        v.assign(np.ones(2, "float32"))
