"""SpectralNorm against torch, and when its vectors move."""

from functools import partial

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, GraftError, StateError
from graftax.reparam.spectral_norm import SpectralNorm
from graftax.variables.variable import Variable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5)).astype("float32")


def dense(**options):
    with gx.variable_creator_scope(SpectralNorm(**options)):
        layer = gx.layers.Dense(4, use_bias=False)
        layer.build_for(X)
    return layer


def vectors(layer):
    return np.concatenate([layer.kernel.left.numpy(), layer.kernel.right.numpy()])


@pytest.mark.parametrize("iterations", [1, 3])
def test_values_gradients_and_vectors_are_those_of_torch(iterations):
    torch = pytest.importorskip("torch")
    layer = dense(iterations=iterations)
    left, right = (v / np.linalg.norm(v) for v in (RNG.normal(size=5), RNG.normal(size=4)))
    layer.kernel.left.assign(left.astype("float32"))
    layer.kernel.right.assign(right.astype("float32"))
    theirs = torch.nn.Linear(5, 4, bias=False)
    torch.nn.utils.parametrizations.spectral_norm(theirs, n_power_iterations=iterations)
    parts = theirs.parametrizations.weight
    with torch.no_grad():
        parts.original.copy_(torch.tensor(layer.kernel.base.numpy().T))
        parts[0]._u.copy_(torch.tensor(right))
        parts[0]._v.copy_(torch.tensor(left))
    optimizer = gx.optimizers.SGD(0.01)

    @gx.jit
    def step():
        value, gradient = gx.value_and_grad(lambda: ops.sum(layer(X, training=True) ** 3), wrt=layer.kernel.base)()
        optimizer.apply([gradient], [layer.kernel.base])
        return value, gradient

    for _ in range(3):
        value, gradient = step()
        expected = (theirs(torch.tensor(X)) ** 3).sum()
        (slope,) = torch.autograd.grad(expected, parts.original)
        with torch.no_grad():
            parts.original.sub_(0.01 * slope)
        np.testing.assert_allclose(value, expected.detach(), rtol=1e-4)
        np.testing.assert_allclose(gradient, slope.T, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(vectors(layer), np.concatenate([parts[0]._v, parts[0]._u]), atol=1e-5)
    theirs.eval()
    np.testing.assert_allclose(layer(X), theirs(torch.tensor(X)).detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("shape", [(5, 4), (3, 2, 4), (2, 2, 3, 5)])
def test_it_starts_with_a_norm_of_1(shape):
    with gx.variable_creator_scope(SpectralNorm()):
        w = Variable(shape=shape)
    w._move(w.base.value, 300)
    np.testing.assert_allclose(np.linalg.norm(w.numpy().reshape(-1, shape[-1]), 2), 1, rtol=1e-4)
    np.testing.assert_allclose(
        w.numpy(), w.base.numpy() / np.linalg.norm(w.base.numpy().reshape(-1, shape[-1]), 2), rtol=1e-4
    )


@pytest.mark.broad
@pytest.mark.parametrize("compiled", [False, True])
def test_the_vectors_move_in_training_only(compiled):
    layer = dense()
    layer.kernel.left.assign(np.ones(5, "float32") / 5**0.5)

    def run(training):
        (gx.jit(lambda: layer(X, training=training)) if compiled else partial(layer, X, training=training))()

    before = vectors(layer)
    for training in (None, False):
        run(training)
        np.testing.assert_array_equal(vectors(layer), before)
    layer.kernel.numpy()
    np.testing.assert_array_equal(vectors(layer), before)
    run(True)
    assert (vectors(layer) != before).all()


@pytest.mark.broad
def test_the_flag_comes_down_from_the_model():
    with gx.variable_creator_scope(SpectralNorm()):
        model = gx.Sequential([gx.layers.Dense(4), gx.layers.Dense(3)])
        model(X)
    inner = model.layers[1]
    inner.kernel.right.assign(np.ones(3, "float32") / 3**0.5)
    before = vectors(inner)
    model(X)
    np.testing.assert_array_equal(vectors(inner), before)
    model(X, training=True)
    assert (vectors(inner) != before).all()


@pytest.mark.broad
def test_two_calls_in_one_compiled_step_move_as_in_eager_code():
    """As of a critic that sees real and generated examples."""
    layer, twin = dense(), dense()
    for v, w in zip(layer.variables, twin.variables, strict=True):
        start = RNG.normal(size=v.shape).astype("float32")
        v.assign(start)
        w.assign(start)
    gx.jit(lambda: layer(X, training=True) + layer(-X, training=True))()
    once = vectors(twin)
    for x in (X, -X):
        twin(x, training=True)
    assert not np.allclose(vectors(layer), once)
    np.testing.assert_allclose(vectors(layer), vectors(twin), rtol=1e-4)


def test_assigning_keeps_the_direction():
    w = dense().kernel
    value = RNG.normal(size=(5, 4)).astype("float32")
    w.assign(value)
    w._move(w.base.value, 100)
    np.testing.assert_allclose(w.numpy(), value / np.linalg.norm(value, 2), rtol=1e-4)


def test_a_weight_of_zeros_stays_zeros_and_recovers():
    with gx.variable_creator_scope(SpectralNorm()):
        w = Variable(np.zeros((3, 2), "float32"))
    assert (w.numpy() == 0).all()
    w.base.assign(np.ones((3, 2), "float32"))
    w._move(w.base.value, 5)
    np.testing.assert_allclose(w.numpy(), np.full((3, 2), 6**-0.5), rtol=1e-5)


def test_grafting_needs_a_weight_of_norm_1():
    layer = gx.layers.Dense(4)
    layer(X)
    before = layer.kernel.numpy()
    layer.kernel.assign(3 * before / np.linalg.norm(before, 2))
    with pytest.raises(GraftError, match="of its norm away"):
        gx.graft(layer, SpectralNorm(), where="kernel")
    assert type(layer.kernel) is Variable
    q = np.linalg.qr(RNG.normal(size=(5, 4)))[0].astype("float32")
    layer.kernel.assign(q)
    gx.graft(layer, SpectralNorm(), where="kernel")
    np.testing.assert_allclose(layer.kernel.numpy(), q, atol=1e-5)


@pytest.mark.broad
def test_rows_of_a_vectorized_map_cannot_move_it():
    layer = dense()
    np.testing.assert_allclose(gx.vectorized_map(layer, X), layer(X), rtol=1e-4, atol=1e-6)
    with pytest.raises(StateError, match="training=False"):
        gx.vectorized_map(lambda x: layer(x, training=True), X)


def test_other_shapes_pass():
    with gx.variable_creator_scope(SpectralNorm()):
        assert type(Variable([1.0, 2.0])) is Variable


@pytest.mark.parametrize(
    ("options", "match"), [({"iterations": 0}, "iterations=0"), ({"iterations": 1.5}, "1.5"), ({"epsilon": 0.0}, "0.0")]
)
def test_bad_options(options, match):
    with pytest.raises(ArgumentError, match=match):
        SpectralNorm(**options)


def test_repr():
    assert repr(SpectralNorm()) == "SpectralNorm(iterations=1, epsilon=1e-12)"
