"""Gradients through steps of training: inner loops by hand and by optimizers, and what stops its gradients itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops

X = np.asarray([[1.0, 2.0], [0.5, -1.0], [-2.0, 0.3]], "float32")
Y = np.asarray([1.0, -0.5, 0.2], "float32")
X2, Y2 = X[::-1] * 0.7, Y * 1.3
START = np.asarray([0.3, -0.6], "float32")
STEPS, RATE = 3, 0.1


class Task:
    """Two weights, fitted to one batch in a few inner steps, and judged by another; the rate is learned, too."""

    def __init__(self, optimizer=None):
        self.w = gx.Variable(START, name="w")
        self.rate = gx.Variable(RATE, name="rate")
        self.optimizer = optimizer(self) if optimizer else None

    def reset(self):
        self.w.assign(START)
        if self.optimizer is not None:
            for variable in self.optimizer.variables:
                if variable is not self.rate:
                    variable.assign(ops.zeros_like(variable))

    def loss(self, x=X, y=Y):
        return ops.mean(ops.square(ops.tanh(ops.matmul(x, self.w)) - y))

    def outer(self, inner):
        for _ in range(STEPS):
            inner(self)
        return self.loss(X2, Y2)


def pure_loss(w, x=X, y=Y):
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2)


def by_hand(task):
    task.w.assign_sub(task.rate * gx.grad(task.loss, wrt=task.w)())


def by_tape(task):
    with gx.GradientTape() as tape:
        loss = task.loss()
    task.w.assign(task.w - task.rate * tape.gradient(loss, task.w))


def by_apply(task):
    task.optimizer.apply([gx.grad(task.loss, wrt=task.w)()], [task.w])


def by_tape_and_apply(task):
    with gx.GradientTape() as tape:
        loss = task.loss()
    task.optimizer.apply([tape.gradient(loss, task.w)], [task.w])


def by_minimize(task):
    task.optimizer.minimize(task.loss, [task.w])


def sgd(task):
    return gx.optimizers.SGD(task.rate)


def momentum(task):
    return gx.optimizers.SGD(task.rate, momentum=0.9, weight_decay=0.01)


def adam(task):
    return gx.optimizers.Adam(task.rate, epsilon=1e-3)


def pure_sgd(w, rate):
    for _ in range(STEPS):
        w = w - rate * jax.grad(pure_loss)(w)
    return pure_loss(w, X2, Y2)


def pure_momentum(w, rate):
    m = jnp.zeros_like(w)
    for _ in range(STEPS):
        g = jax.grad(pure_loss)(w)
        w = w - rate * 0.01 * w
        m = 0.9 * m - rate * g
        w = w + m
    return pure_loss(w, X2, Y2)


def pure_adam(w, rate):
    m, v = jnp.zeros_like(w), jnp.zeros_like(w)
    for t in range(1, STEPS + 1):
        g = jax.grad(pure_loss)(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (jnp.sqrt(v) + 1e-3)
    return pure_loss(w, X2, Y2)


INNER = {
    "by hand": (by_hand, None, pure_sgd),
    "by tape": (by_tape, None, pure_sgd),
    "apply": (by_apply, sgd, pure_sgd),
    "tape and apply": (by_tape_and_apply, sgd, pure_sgd),
    "minimize": (by_minimize, sgd, pure_sgd),
    "momentum": (by_tape_and_apply, momentum, pure_momentum),
    "adam": (by_minimize, adam, pure_adam),
}


def outer_tape(task, inner):
    with gx.GradientTape() as tape:
        loss = task.outer(inner)
    return tape.gradient(loss, [task.w, task.rate])


def outer_grad(task, inner):
    return gx.grad(lambda: task.outer(inner), wrt=[task.w, task.rate])()


def outer_along(task, inner):
    """Both partial derivatives, forwards."""
    with gx.ForwardAccumulator([task.w, task.rate], [ops.ones((2,)), ops.asarray(0.0)]) as first:
        loss = task.outer(inner)
    return first.jvp(loss)


OUTER = {"tape": outer_tape, "grad": outer_grad}
SLOW = {("momentum", "tape"), ("adam", "tape"), ("minimize", "tape"), ("tape and apply", "grad"), ("by tape", "grad")}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        pytest.param(inner, outer, marks=pytest.mark.slow if (inner, outer) in SLOW else ())
        for inner in INNER
        for outer in OUTER
    ],
)
def test_x2_meta_gradients_are_of_second_order(inner, outer):
    step, optimizer, pure = INNER[inner]
    task = Task(optimizer)
    expected = jax.grad(pure, argnums=(0, 1))(jnp.asarray(START), jnp.float32(RATE))
    eager = OUTER[outer](task, step)
    task.reset()
    compiled = gx.jit(lambda: OUTER[outer](task, step))()
    for found in (eager, compiled):
        for one, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, right, rtol=2e-4, atol=1e-6)
    if outer == "tape":
        task.reset()
        along = outer_along(task, step)
        np.testing.assert_allclose(along, np.sum(expected[0]), rtol=2e-4, atol=1e-6)


@pytest.mark.broad
def test_x2_a_scan_of_inner_steps():
    task = Task(sgd)

    def outer():
        gx.scan(lambda c, _: (c, by_minimize(task)), None, length=STEPS)
        return task.loss(X2, Y2)

    expected = jax.grad(pure_sgd, argnums=(0, 1))(jnp.asarray(START), jnp.float32(RATE))
    found = gx.jit(lambda: gx.grad(outer, wrt=[task.w, task.rate])())()
    for one, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, right, rtol=2e-4)


def test_x2_a_first_order_variant_is_said_with_stop_gradient():
    task = Task()

    def inner(task):
        task.w.assign_sub(task.rate * ops.stop_gradient(gx.grad(task.loss, wrt=task.w)()))

    expected = jax.grad(pure_loss)(_after(jnp.asarray(START)), X2, Y2)
    for outer in OUTER.values():
        task.reset()
        np.testing.assert_allclose(outer(task, inner)[0], expected, rtol=1e-5)


def _after(w):
    for _ in range(STEPS):
        w = w - RATE * jax.grad(pure_loss)(w)
    return w


# --- what stops its gradients itself ------------------------------------------------------------------------------


def batch_normalization():
    layer = gx.layers.BatchNormalization(momentum=0.5)
    layer(np.zeros((2, 3), "float32"))

    def update(x):
        layer(x, training=True)
        return ops.sum(layer.moving_mean) + ops.sum(layer.moving_variance)

    return update


def metric():
    mean = gx.metrics.Mean()

    def update(x):
        mean.update(x)
        return mean.result()

    return update


def accuracy_of_floats():
    error = gx.metrics.MeanSquaredError()

    def update(x):
        error.update(ops.zeros_like(x), x)
        return error.result()

    return update


def averages():
    w = gx.Variable(np.zeros((4, 3), "float32"))
    optimizer = gx.optimizers.SGD(0.1, ema_momentum=0.5)

    def update(x):
        optimizer.apply([x], [w])
        with optimizer.averaged():
            return ops.sum(w)

    return update


def spectral_norm():
    with gx.variable_creator_scope(gx.reparam.SpectralNorm()):
        layer = gx.layers.Dense(2, use_bias=False)
        layer(np.ones((1, 4), "float32"))

    def update(x):
        layer.kernel.base.assign(x[:, :2])
        layer(np.ones((1, 4), "float32"), training=True)
        return ops.sum(layer.kernel.left) + ops.sum(layer.kernel.right)

    return update


@pytest.mark.in_turn(5, 1)
@pytest.mark.parametrize(
    "make",
    [batch_normalization, metric, accuracy_of_floats, averages, pytest.param(spectral_norm, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_x2_what_keeps_track_of_training_carries_no_gradient(make, compiled):
    update = make()
    x = ops.asarray(np.random.default_rng(0).normal(size=(4, 3)).astype("float32"))

    def both(x):
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = update(x) + 0 * ops.sum(x)
        return gx.grad(update)(x), tape.gradient(y, x)

    for gradient in (gx.jit(both) if compiled else both)(x):
        np.testing.assert_array_equal(gradient, np.zeros((4, 3)))
