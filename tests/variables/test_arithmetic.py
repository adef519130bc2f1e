"""Operators of Variables and of computed weights: every one, on either side, against NumPy; conversions."""

import operator

import jax.numpy as jnp
import numpy as np
import pytest

from graftax.backend import registry
from graftax.core.errors import DTypeError
from graftax.reparam.base import Reparam
from graftax.variables.creation import variable_creator_scope
from graftax.variables.variable import Variable


class Plain(Reparam):
    """Its part, unchanged."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.part = next_creator(spec.replace(name="part"))

    def forward(self):
        return self.part.value

    def inverse(self, value):
        self.part.assign(value)


def make(kind, value):
    if kind == "variable":
        return Variable(value)
    with variable_creator_scope(Plain):
        return Variable(value)


KINDS = ["variable", "reparam"]
A = np.array([[1.5, -2.0], [3.0, 0.5]], "float32")
B = np.array([[2.0, 4.0], [0.5, 1.0]], "float32")
BINARY = [
    *[operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.matmul],
    *[operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge],
]


@pytest.fixture(params=["jax", "numpy"])
def backend(request):
    with registry.use(request.param) as chosen:
        yield chosen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", [*BINARY, operator.pow], ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", ["array", "native", "variable"])
def test_fv2_fv3_binary_operators_on_either_side(backend, kind, op, other):
    base = abs(A) if op is operator.pow else A
    left = make(kind, base)
    partner = {"array": lambda: B, "native": lambda: backend.arrays.asarray(B), "variable": lambda: Variable(B)}[
        other
    ]()
    np.testing.assert_allclose(np.asarray(op(left, partner)), op(base, B), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(op(partner, left)), op(B, base), rtol=1e-6)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", [o for o in BINARY if o is not operator.matmul], ids=lambda op: op.__name__)
def test_fv3_python_numbers_on_either_side(backend, kind, op):
    w = make(kind, A)
    np.testing.assert_allclose(np.asarray(op(w, 2)), op(A, np.float32(2)), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(op(2.5, w)), op(np.float32(2.5), A), rtol=1e-6)
    assert str(op(w, 2).dtype) in ("float32", "bool")


@pytest.mark.parametrize("kind", KINDS)
def test_unary_and_logical(backend, kind):
    w = make(kind, A)
    assert np.asarray(-w).tolist() == (-A).tolist()
    assert np.asarray(+w).tolist() == A.tolist()
    assert np.asarray(abs(w)).tolist() == abs(A).tolist()
    flags = make(kind, [True, False])
    assert np.asarray(~flags).tolist() == [False, True]
    assert np.asarray(flags & np.array([True, True])).tolist() == [True, False]
    assert np.asarray(flags | np.array([False, False])).tolist() == [True, False]
    assert np.asarray(np.array([True, True]) & flags).tolist() == [True, False]
    assert np.asarray(np.array([True, True]) ^ flags).tolist() == [False, True]
    n = make(kind, [6, 9])
    assert [np.asarray(x).tolist() for x in (~n, n & 3, 8 | n, n ^ 1)] == [[-7, -10], [2, 1], [14, 9], [7, 8]]


@pytest.mark.parametrize("kind", KINDS)
def test_fv5_numpy_interop(backend, kind):
    w = make(kind, A)
    assert np.asarray(w).dtype == np.float32
    assert np.asarray(w).tolist() == A.tolist()
    assert np.array(w, dtype="float64").dtype == np.float64
    mine = np.array(w)
    mine[0] = 0  # a copy
    assert w.numpy().tolist() == A.tolist()
    assert (np.ones((3, 2), "float32") @ w).tolist() == (np.ones((3, 2), "float32") @ A).tolist()
    assert np.asarray(w @ np.ones(2, "float32")).tolist() == (A @ np.ones(2)).tolist()
    assert np.mean(w.numpy()) == A.mean()


@pytest.mark.parametrize("kind", KINDS)
def test_fv3_indexing_length_iteration(backend, kind):
    w = make(kind, A)
    assert np.asarray(w[0]).tolist() == A[0].tolist()
    assert float(w[1, 0]) == 3.0
    assert np.asarray(w[:, None, ::-1]).shape == (2, 1, 2)
    assert len(w) == 2
    assert [np.asarray(row).tolist() for row in w] == A.tolist()
    assert (w.shape, w.ndim, w.size, w.dtype) == ((2, 2), 2, 4, "float32")


@pytest.mark.parametrize("kind", KINDS)
def test_python_numbers(backend, kind):
    assert (float(make(kind, 2.5)), int(make(kind, 2.9)), bool(make(kind, 0.0))) == (2.5, 2, False)
    assert ["a", "b", "c"][make(kind, 1)] == "b"
    assert list(range(make(kind, 3))) == [0, 1, 2]
    with pytest.raises(TypeError):
        ["a"][make(kind, 0.0)]
    with pytest.raises(ValueError, match="the truth of"):
        bool(make(kind, A))
    with pytest.raises(TypeError):
        len(make(kind, 1.0))


def test_two_arrays_of_different_dtype_are_refused(backend):
    with pytest.raises(DTypeError):
        Variable(A) + np.ones((2, 2), "int32")
    with pytest.raises(DTypeError):
        Variable(A) * Variable([[1, 2], [3, 4]])


def test_jax_numpy_functions_take_the_value():
    assert float(jnp.sum(Variable(A).value)) == A.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_hash_and_membership(kind):
    a, b = make(kind, 1.0), make(kind, 1.0)
    assert {a: "a", b: "b"}[a] == "a"
    assert len({a, b}) == 2


@pytest.mark.parametrize("touch", [lambda v: v[5], lambda v: v.__setitem__(5, 0.0)], ids=["read", "write"])
def test_s17_a_subscript_out_of_range_raises(touch):
    variable = Variable([1.0, 2.0, 3.0])
    with pytest.raises(IndexError, match="index 5 of axis 0, which has 3"):
        touch(variable)
    assert variable.numpy().tolist() == [1.0, 2.0, 3.0]
