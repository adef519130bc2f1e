"""Orthogonal against the matrix functions of SciPy and the parametrisation of torch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, GraftError
from graftax.reparam.orthogonal import Orthogonal, _exponential
from graftax.variables.variable import Variable

RNG = np.random.default_rng(0)
MAPS = ["cayley", "matrix_exp"]


def made(shape, map):
    with gx.variable_creator_scope(Orthogonal(map)):
        w = Variable(shape=shape, name="w")
    w.turn.assign(RNG.normal(size=shape).astype("float32"))
    return w


def as_tall(value):
    matrix = np.asarray(value, "float64").reshape(-1, value.shape[-1])
    return matrix.T if matrix.shape[0] < matrix.shape[1] else matrix


def expected(w, function):
    start, turn = as_tall(w.start.numpy()), as_tall(w.turn.numpy())
    return function(turn @ start.T - start @ turn.T) @ start


def cayley(skew):
    unit = np.eye(len(skew))
    return np.linalg.inv(unit - skew / 2) @ (unit + skew / 2)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(MAPS))
def test_orthonormal_columns_or_rows(rows, columns, map):
    with registry.use("numpy"):
        w = as_tall(made((rows, columns), map).numpy())
    np.testing.assert_allclose(w.T @ w, np.eye(min(rows, columns)), atol=1e-5)


@pytest.mark.in_turn(5)
@pytest.mark.parametrize(
    ("backend", "shape"),
    [*(("numpy", shape) for shape in [(4, 4), (9, 2), (4, 3), (3, 7), (2, 2, 3)]), ("jax", (9, 2)), ("jax", (3, 7))],
)
def test_values_are_those_of_the_formula(backend, shape):
    linalg = pytest.importorskip("scipy.linalg")
    with registry.use(backend):
        for map, function in (("cayley", cayley), ("matrix_exp", linalg.expm)):
            w = made(shape, map)
            np.testing.assert_allclose(as_tall(w.numpy()), expected(w, function), atol=2e-5)


@pytest.mark.parametrize("size", [0.0, 0.3, 5.0, 100.0])
def test_the_exponential_is_that_of_scipy(size):
    linalg = pytest.importorskip("scipy.linalg")
    free = RNG.normal(size=(6, 6))
    skew = (free - free.T) * size / 6
    found = _exponential(ops.asarray(skew.astype("float32")))
    np.testing.assert_allclose(found, linalg.expm(skew), atol=1e-6 * max(10, 2 * size))


@pytest.mark.parametrize("map", MAPS)
@pytest.mark.parametrize("shape", [(4, 4), (6, 2)])
def test_torch_turns_likewise(map, shape):
    torch = pytest.importorskip("torch")
    w = made(shape, map)
    start, turn = w.start.numpy(), w.turn.numpy()
    layer = torch.nn.Linear(shape[1], shape[0], bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(start))
    torch.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=map)
    base = layer.parametrizations.weight[0].base.numpy()
    np.testing.assert_allclose(base[:, : shape[1]], start, atol=1e-5)  # torch completes it to a square
    skew = base.T @ (turn @ start.T - start @ turn.T) @ base
    with torch.no_grad():
        layer.parametrizations.weight.original.copy_(torch.tensor(np.tril(skew)[:, : shape[1]]))
    np.testing.assert_allclose(w.numpy(), layer.weight.detach(), atol=2e-5)


@pytest.mark.parametrize("map", MAPS)
def test_it_starts_at_the_nearest_orthonormal_matrix(map):
    with gx.variable_creator_scope(Orthogonal(map)):
        given = RNG.normal(size=(5, 3)).astype("float32")
        w = Variable(given)
    u, _, v = np.linalg.svd(given, full_matrices=False)
    np.testing.assert_allclose(w.numpy(), u @ v, atol=1e-5)


@pytest.mark.broad
@pytest.mark.parametrize("map", MAPS)
def test_training_reaches_a_given_rotation(map):
    with gx.variable_creator_scope(Orthogonal(map)):
        w = Variable(shape=(6, 3))
    near = w.numpy() + 0.3 * RNG.normal(size=(6, 3))
    target = np.linalg.qr(near)[0].astype("float32")
    target *= np.sign((target * near).sum(0))
    optimizer = gx.optimizers.Adam(0.05)

    @gx.jit
    def step():
        value, gradients = gx.value_and_grad(lambda: ops.sum((w.value - target) ** 2), wrt=[w.turn])()
        optimizer.apply(gradients, [w.turn])
        return value

    losses = [float(step()) for _ in range(200)]
    assert losses[-1] < 1e-3 < losses[0]
    np.testing.assert_allclose(w.numpy().T @ w.numpy(), np.eye(3), atol=1e-5)


@pytest.mark.broad
@pytest.mark.parametrize("map", MAPS)
def test_grafting_an_orthogonal_weight_changes_nothing_and_others_are_refused(map):
    layer = gx.layers.Dense(3)
    x = RNG.normal(size=(2, 5)).astype("float32")
    before = layer(x)
    with pytest.raises(GraftError, match="of its norm away"):
        gx.graft(layer, Orthogonal(map), where="kernel")
    np.testing.assert_array_equal(layer(x), before)
    layer.kernel.assign(np.linalg.qr(RNG.normal(size=(5, 3)))[0].astype("float32"))
    before = layer(x)
    (done,) = gx.graft(layer, Orthogonal(map), where="kernel")
    assert done.error < 1e-5
    np.testing.assert_allclose(layer(x), before, atol=1e-5)
    gx.ungraft(layer)
    np.testing.assert_allclose(layer(x), before, atol=1e-5)


@pytest.mark.broad
def test_in_half_precision_it_computes_in_float32():
    with gx.variable_creator_scope(Orthogonal()):
        w = Variable(shape=(4, 3), dtype="bfloat16")
    assert (w.value.dtype, w.start.dtype) == ("bfloat16", "bfloat16")
    value = np.asarray(w.value, "float32")
    np.testing.assert_allclose(value.T @ value, np.eye(3), atol=0.02)


def test_other_shapes_pass():
    with gx.variable_creator_scope(Orthogonal()):
        assert type(Variable([1.0, 2.0])) is Variable


def test_bad_options():
    with pytest.raises(ArgumentError, match="cayley, matrix_exp"):
        Orthogonal("householder")


def test_repr():
    assert repr(Orthogonal()) == "Orthogonal(map='cayley')"
