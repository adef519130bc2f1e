"""Gradients are those of the program as written, assignments included: whatever differentiates, wherever is assigned.

Each program is written twice: with Variables, and as a pure function of their values, of which JAX takes the gradient.
The gradient with respect to a Variable is that with respect to the value that it starts with.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops

DIRECTION = np.asarray([0.3, -1.0, 0.7], "float32")


class Program(NamedTuple):
    """``update`` assigns, ``loss`` reads; each of Variables by name, and of arrays by name. ``w`` is trainable."""

    start: dict[str, Any]
    update: Callable[[Any], None]
    loss: Callable[[Any], Any]
    pure_update: Callable[[dict[str, Any]], dict[str, Any]]
    pure_loss: Callable[[dict[str, Any]], Any]


W = np.asarray([0.5, -0.25, 1.0], "float32")


def teacher():
    """An average of the weights is the target."""

    def update(v):
        v.t.assign(0.9 * v.t + 0.1 * v.w)

    return Program(
        {"w": W, "t": np.asarray([1.0, 2.0, -1.0], "float32")},
        update,
        lambda v: ops.sum(ops.square(v.w - v.t)),
        lambda v: {**v, "t": 0.9 * v["t"] + 0.1 * v["w"]},
        lambda v: jnp.sum((v["w"] - v["t"]) ** 2),
    )


def stopped():
    """The same, cut."""
    program = teacher()

    def update(v):
        v.t.assign(ops.stop_gradient(0.9 * v.t + 0.1 * v.w))

    def pure_update(v):
        return {**v, "t": jax.lax.stop_gradient(0.9 * v["t"] + 0.1 * v["w"])}

    return program._replace(update=update, pure_update=pure_update)


def codebook():
    """The nearest code moves towards the latent, which is then compared with it (VQ-VAE without a cut)."""

    def update(v):
        nearest = ops.argmin(ops.sum(ops.square(v.codes - v.w), axis=1))
        v.codes.assign(v.codes + 0.25 * ops.reshape(ops.one_hot(nearest, 2), (2, 1)) * (v.w - v.codes))

    def pure_update(v):
        nearest = jnp.argmin(jnp.sum((v["codes"] - v["w"]) ** 2, axis=1))
        return {**v, "codes": v["codes"] + 0.25 * jax.nn.one_hot(nearest, 2)[:, None] * (v["w"] - v["codes"])}

    return Program(
        {"w": W, "codes": np.asarray([[1.0, 0.0, 1.0], [-2.0, 1.0, -1.0]], "float32")},
        update,
        lambda v: ops.min(ops.sum(ops.square(v.codes - v.w), axis=1)),
        pure_update,
        lambda v: jnp.min(jnp.sum((v["codes"] - v["w"]) ** 2, axis=1)),
    )


def byol():
    """An online network predicts what a slow copy of it gives."""
    x = np.asarray([1.5, -0.5, 2.0], "float32")

    def update(v):
        v.slow.assign_add(0.2 * (v.w - v.slow))

    return Program(
        {"w": W, "slow": np.asarray([0.1, 0.2, 0.3], "float32")},
        update,
        lambda v: ops.sum(ops.square(ops.tanh(v.w * x) * 1.5 - ops.tanh(v.slow * x))),
        lambda v: {**v, "slow": v["slow"] + 0.2 * (v["w"] - v["slow"])},
        lambda v: jnp.sum((jnp.tanh(v["w"] * x) * 1.5 - jnp.tanh(v["slow"] * x)) ** 2),
    )


def maml():
    """Inner steps on the weights themselves, by hand."""

    def inner(w):
        return ops.sum(ops.square(w * w - 1.0))

    def update(v):
        v.w.assign_sub(0.05 * gx.grad(lambda: inner(v.w), wrt=v.w)())

    def pure_update(v):
        return {**v, "w": v["w"] - 0.05 * jax.grad(lambda w: jnp.sum((w * w - 1) ** 2))(v["w"])}

    return Program({"w": W}, update, lambda v: ops.sum(v.w**3), pure_update, lambda v: jnp.sum(v["w"] ** 3))


def turns():
    """Two weights that assign each other, one of them before it is read, and an element of a third."""

    def update(v):
        v.b.assign(v.w * v.c)
        v.w.assign(v.b + 0.5 * v.w)
        v.c[1] = v.w[0] * v.c[2]

    def pure_update(v):
        b = v["w"] * v["c"]
        w = b + 0.5 * v["w"]
        return {"w": w, "b": b, "c": v["c"].at[1].set(w[0] * v["c"][2])}

    return Program(
        {"w": W, "b": W * 7, "c": np.asarray([0.5, 2.0, -1.0], "float32")},
        update,
        lambda v: ops.sum(v.w * v.b + v.c),
        pure_update,
        lambda v: jnp.sum(v["w"] * v["b"] + v["c"]),
    )


PROGRAMS = {make.__name__: make for make in (teacher, stopped, codebook, byol, maml, turns)}

PLACES: dict[str, tuple[int, Callable[[Callable[[], None], Any], Any]]] = {
    "plain": (1, lambda update, v: update()),
    "jit": (1, lambda update, v: gx.jit(lambda: update())()),
    "remat": (1, lambda update, v: gx.remat(update)()),
    "cond": (1, lambda update, v: gx.cond(v.w[0] > -100, update, lambda: None)),
    "while_loop": (2, lambda update, v: gx.while_loop(lambda i: i < 2, counted(update), 0, maximum_iterations=3)),
    "scan": (2, lambda update, v: gx.scan(lambda c, _: (c, update()), None, length=2)),
}


def counted(update):
    def step(i):
        update()
        return i + 1

    return step


class Variables(gx.Module):
    def __init__(self, start):
        for name, value in start.items():
            setattr(self, name, gx.Variable(value, trainable=name in "wb", name=name))


class Case:
    """A program, and where its update runs."""

    def __init__(self, program, place):
        self.program = PROGRAMS[program]()
        self.times, self._run = PLACES[place]
        self.v = Variables(self.program.start)
        self.optimizer = gx.optimizers.SGD(1.0)

    def reset(self):
        for name, value in self.program.start.items():
            getattr(self.v, name).assign(value)

    def loss(self):
        self._run(lambda: self.program.update(self.v), self.v)
        return self.program.loss(self.v)

    def after(self, w):
        values = {name: jnp.asarray(value) for name, value in self.program.start.items()} | {"w": w}
        for _ in range(self.times):
            values = self.program.pure_update(values)
        return values

    def pure(self, w):
        return self.program.pure_loss(self.after(w))


# --- ways to differentiate: a gradient with respect to w, or its product with DIRECTION ---


def by_tape(case, persistent=False):
    with gx.GradientTape(persistent=persistent) as tape:
        y = case.loss()
    if persistent:
        tape.gradient(y, case.v.w)
    return tape.gradient(y, case.v.w)


def by_minimize(case):
    """What a step moves, from where the loss has left the weights."""
    left = case.after(jnp.asarray(case.program.start["w"]))["w"]
    case.optimizer.minimize(case.loss, [case.v.w])
    return left - case.v.w.value


def by_accumulator(case):
    with gx.ForwardAccumulator(case.v.w, ops.asarray(DIRECTION)) as accumulator:
        y = case.loss()
    return accumulator.jvp(y)


WAYS = {
    "tape": by_tape,
    "persistent tape": lambda case: by_tape(case, persistent=True),
    "grad": lambda case: gx.grad(case.loss, wrt=case.v.w)(),
    "value_and_grad": lambda case: gx.value_and_grad(case.loss, wrt=[case.v.w])()[1][0],
    "implicit_gradients": lambda case: {v.name: g for g, v in gx.implicit_gradients(case.loss)()}["w"],
    "jacobian": lambda case: gx.jacobian(case.loss, wrt=case.v.w),
    "minimize": by_minimize,
    "accumulator": by_accumulator,
    "jvp": lambda case: gx.jvp(lambda w: case.loss(), (case.v.w,), (DIRECTION,))[1],
}
ALONG = ("accumulator", "jvp")


def check(case, found):
    expected = np.asarray(jax.grad(case.pure)(jnp.asarray(case.program.start["w"])))
    for way, gradient in found.items():
        right = expected @ DIRECTION if way in ALONG else expected
        np.testing.assert_allclose(gradient, right, rtol=2e-4, atol=2e-5, err_msg=way)


QUICK = {("teacher", place) for place in PLACES} | {("maml", "scan"), ("turns", "plain")}
CELLS = [
    pytest.param(program, place, marks=() if (program, place) in QUICK else pytest.mark.slow)
    for program in PROGRAMS
    for place in PLACES
]


@pytest.mark.in_turn(5, broad=2)
@pytest.mark.parametrize(("program", "place"), CELLS)
def test_x2_eager(program, place):
    case, found = Case(program, place), {}
    for way, differentiate in WAYS.items():
        case.reset()
        found[way] = differentiate(case)
    check(case, found)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("program", "place"), CELLS)
def test_x2_compiled(program, place):
    case = Case(program, place)

    @gx.jit
    def everything(w):
        found = {}
        for way, differentiate in WAYS.items():
            case.reset()
            found[way] = differentiate(case)
        case.reset()
        case.v.w.assign(w)
        return found, case.loss()

    check(case, everything(W)[0])
    if program != "stopped":  # of which finite differences know nothing
        step = 1e-2 * DIRECTION
        moved = (everything(W + step)[1] - everything(W - step)[1]) / 2e-2
        expected = np.asarray(jax.grad(case.pure)(jnp.asarray(W))) @ DIRECTION
        np.testing.assert_allclose(moved, expected, rtol=1e-2, atol=1e-2)


class Trained(gx.Model):
    """The loss of a case as the output of a model."""

    def __init__(self, case):
        super().__init__()
        self.v = case.v
        self.case = [case.loss]

    def call(self, x):
        return ops.broadcast_to(self.case[0](), (1, 1)) + 0 * x


@pytest.mark.parametrize("eagerly", [False, True], ids=["compiled", "eagerly"])
@pytest.mark.parametrize(
    ("program", "place"),
    [
        pytest.param(program, place, marks=() if (program, place) == ("teacher", "plain") else pytest.mark.slow)
        for program in ("teacher", "maml", "codebook")
        for place in PLACES
    ],
)
def test_x2_fit(program, place, eagerly):
    case = Case(program, place)
    model = Trained(case)
    x = np.zeros((1, 1), "float32")
    model.compile(gx.optimizers.SGD(1.0), lambda y_true, y_pred: ops.mean(y_pred), run_eagerly=eagerly)
    model.predict(x)
    case.reset()
    model.fit(x, x, verbose=0)
    check(case, {"fit": case.after(jnp.asarray(W))["w"] - case.v.w.value})


@pytest.mark.broad
@pytest.mark.parametrize("around", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])
def test_x2_whole_derivatives(around):
    w, t = gx.Variable(W), gx.Variable(2 * W, trainable=False)

    def loss():
        t.assign(2 * W * w)
        return ops.sum(w * t * t)

    def of_argument(x):
        t.assign(x * W)
        return t * t * x

    def by_tape(x):
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = of_argument(x)
        return tape.jacobian(y, x)

    x = jnp.asarray(W)
    hessian = jax.hessian(lambda w: jnp.sum(w * (2 * W * w) ** 2))(x)
    jacobian = jax.jacobian(lambda x: (x * W) ** 2 * x)(x)
    np.testing.assert_allclose(around(lambda: gx.hessian(loss, wrt=w))(), hessian, rtol=1e-5)
    np.testing.assert_allclose(around(lambda x: gx.jacobian(of_argument, x))(x), jacobian, rtol=1e-5)
    np.testing.assert_allclose(around(by_tape)(x), jacobian, rtol=1e-5)
    total = around(lambda x: gx.gradients_function(of_argument)(x)[0])(x)
    np.testing.assert_allclose(total, jacobian.sum(0), rtol=1e-5)
