"""Recording meets the rest of JAX: compiled functions, custom rules, control flow, transforms; what it must refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import graftax as gx
from graftax.backend.jax import recording, tracing
from graftax.core.errors import GradientError
from graftax.transforms.tape import replay


@pytest.fixture(autouse=True)
def _everything_is_put_back(monkeypatch):
    monkeypatch.setattr(replay._replays, "at", 2)
    yield
    assert tracing.is_eager(tracing.current_level())


def close(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


def same_as_grad(f, *args, tolerance=1e-5):
    """The tape around a call of a function agrees with jax.grad of it, eagerly, compiled and again compiled inside."""

    def taped(*args):
        with gx.GradientTape() as tape:
            tape.watch(list(args))
            y = f(*args)
        return tape.gradient(y, list(args), unconnected_gradients="zero")

    expected = jax.grad(f, tuple(range(len(args))))(*args)
    for run in (taped, taped, jax.jit(taped)):
        for found, value in zip(run(*args), expected, strict=True):
            close(found, value, tolerance)


X = jnp.asarray([-1.0, 0.5, 2.0])
SCALAR = jnp.asarray(2.0)

# --- compiled functions -----------------------------------------------------------------------------------------------


class Counting:
    """A recorder that counts what it is told."""

    def __init__(self, tracked):
        self.tracked = {id(tracked)}
        self.count = 0

    def tracks(self, values):
        return any(id(value) in self.tracked for value in values)

    def record(self, call, inputs, outputs):
        self.count += 1
        self.tracked.update(map(id, outputs))
        self.kept = [*getattr(self, "kept", ()), outputs]


def test_a_jitted_function_is_one_operation():
    f = jax.jit(lambda a: jnp.sum(jnp.sin(a) * jnp.cos(a)))
    counting = Counting(X)
    level = recording.start(counting)
    f(X)
    recording.stop(counting, level)
    f(X)
    assert counting.count == 1


@pytest.mark.broad
def test_a_jitted_function_with_arguments():
    f = jax.jit(lambda a, b: jnp.sum(jnp.sin(a) @ b))
    same_as_grad(f, jnp.ones((3, 4)), jnp.full((4, 2), 0.3))


def test_a_jitted_function_that_closes_over_what_is_watched():
    def f(w):
        v = w * w
        return jax.jit(lambda x: jnp.sum(jax.jit(lambda z: z * v)(x)))(SCALAR)

    with gx.GradientTape() as tape:
        tape.watch(X)
        y = f(X)
    close(tape.gradient(y, X), jax.grad(f)(X))


def test_a_jitted_function_in_a_loop_that_closes_over_what_is_watched_is_right_or_refused():
    with gx.GradientTape() as tape:
        tape.watch(SCALAR)
        v = SCALAR * SCALAR
        y = lax.scan(lambda c, _: (jax.jit(lambda z: z * v)(c), None), jnp.asarray(1.0), None, length=2)[0]
    try:
        found = tape.gradient(y, SCALAR)
    except NotImplementedError as error:
        assert "as an argument" in str(error)  # noqa: PT017
    else:
        close(found, 4 * 2.0**3)


def test_donation_is_off():
    f = jax.jit(lambda a: a * 2, donate_argnums=0)
    with gx.GradientTape() as tape:
        tape.watch(X)
        a = X * 1
        y = jnp.sum(f(a) * a)
    close(tape.gradient(y, X), 4 * X)


def test_disabled_jit():
    with jax.disable_jit():
        same_as_grad(lambda x: jnp.sum(jax.jit(lambda v: jax.nn.relu(v) * v)(x)), X)


# --- custom rules -----------------------------------------------------------------------------------------------------


@jax.custom_vjp
def scaled(x, y):
    return jnp.sin(x) * y


scaled.defvjp(lambda x, y: (scaled(x, y), (x, y)), lambda kept, g: (100.0 * g * kept[0], 7.0 * g))


@jax.custom_vjp
def reversed_gradient(x):
    return x


reversed_gradient.defvjp(lambda x: (x, None), lambda _, g: (-g,))


@jax.custom_jvp
def pretend(x):
    return x * x


pretend.defjvp(lambda primals, tangents: (pretend(*primals), 42.0 * primals[0] * tangents[0]))


@jax.custom_vjp
def needs_values(x):
    return x * 2 if float(x) > 0 else x * 3


needs_values.defvjp(lambda x: (needs_values(x), x), lambda x, g: (g * 5.0 * x,))


@pytest.mark.broad
@pytest.mark.parametrize(
    "f",
    [
        lambda x: scaled(x * 2, x),
        lambda x: reversed_gradient(x) ** 2,
        lambda x: reversed_gradient(reversed_gradient(x)) * x,
        lambda x: pretend(x) + jax.jit(pretend)(x),
        lambda x: jax.vmap(pretend)(x[None])[0],
    ],
)
def test_custom_rules(f):
    same_as_grad(lambda x: jnp.sum(f(x)), X)


def test_a_custom_rule_that_needs_values():
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(SCALAR)
        y = needs_values(SCALAR)
    assert float(y) == 4
    for _ in range(4):
        assert float(tape.gradient(y, SCALAR)) == 10


def test_the_second_order_of_a_custom_rule():
    def twice(x):
        with gx.GradientTape() as outer:
            outer.watch(x)
            with gx.GradientTape() as inner:
                inner.watch(x)
                y = jnp.sum(scaled(x, x))
            g = inner.gradient(y, x)
        return outer.gradient(g, x)

    close(twice(X), jax.grad(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(scaled(x, x)))(x)))(X))


def test_a_custom_rule_that_closes_over_what_is_watched_is_refused():
    with gx.GradientTape(persistent=True) as tape:
        tape.watch([SCALAR, X])
        v = SCALAR * SCALAR

        @jax.custom_jvp
        def f(x):
            return x * v

        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * v))
        y = jnp.sum(f(X))
    close(tape.gradient(y, X), [4, 4, 4])
    with pytest.raises(GradientError, match="closes over"):
        tape.gradient(y, SCALAR)


@pytest.mark.broad
@pytest.mark.parametrize(
    "f", [jax.nn.relu, jax.nn.gelu, jax.nn.silu, jax.nn.softmax, jax.nn.log_softmax, jax.nn.elu, jax.nn.logsumexp]
)
def test_functions_of_jax_with_rules_of_their_own(f):
    same_as_grad(lambda x: jnp.sum(f(x) * jnp.arange(3.0)), jnp.asarray([-1.0, 0.0, 2.0]))


def test_stop_gradient():
    same_as_grad(lambda x: jnp.sum(x * lax.stop_gradient(x) + lax.stop_gradient(x * x) * 2), X)


# --- control flow, linear algebra, transforms -------------------------------------------------------------------------

FLOWS = {
    "cond": lambda x: lax.cond(x > 0, lambda v: v * v, lambda v: -v, x),
    "cond, closed over": lambda x: lax.cond(x > 0, lambda: x * x, lambda: -x),
    "switch": lambda x: lax.switch(1, [lambda v: v, lambda v: v**3], x),
    "fori": lambda x: lax.fori_loop(0, 4, lambda i, c: c * x, jnp.asarray(1.0)),
    "map": lambda x: jnp.sum(lax.map(lambda a: a * x, jnp.arange(3.0))),
    "scan": lambda x: lax.scan(lambda c, a: (jnp.tanh(c * x + a), None), x, jnp.arange(3.0))[0],
    "checkpoint": lambda x: jax.checkpoint(lambda a: jnp.sin(a) * a)(x),
    "grad": lambda x: jax.grad(lambda a: a**3)(x) * x,
    "grad, closed over": lambda x: jax.grad(lambda a: a * x * x)(1.0),
    "vmap, closed over": lambda x: jnp.sum(jax.vmap(lambda a: a * x * x)(jnp.arange(3.0))),
    "jvp": lambda x: jax.jvp(jnp.sin, (x,), (x,))[1],
    "linalg": lambda x: jnp.linalg.det(jnp.asarray([[4.0, 1.0], [1.0, 3.0]]) * x) + jnp.linalg.norm(jnp.ones(2) * x),
    "indexing": lambda x: (jnp.arange(4.0) * x).at[1].set(2.0)[jnp.asarray([1, 2, 2])].sum(),
    "dropout": lambda x: jnp.sum(jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, (9,)), x, 0.0)),
}


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", FLOWS)
def test_inside_a_block(name):
    same_as_grad(FLOWS[name], SCALAR)


@pytest.mark.broad
def test_inside_other_transforms():
    def g(x):
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = jnp.sin(x) * x
        return tape.gradient(y, x)

    expected = jax.grad(lambda x: jnp.sin(x) * x)
    close(jax.vmap(g)(X), jax.vmap(expected)(X))
    close(jax.grad(g)(1.0), jax.grad(expected)(1.0))
    close(lax.scan(lambda c, x: (c, g(x)), 0.0, X)[1], jax.vmap(expected)(X))


def test_around_a_jitted_function_with_a_tape_inside():
    @jax.jit
    def inner(x):
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    with gx.GradientTape() as tape:
        tape.watch(SCALAR)
        g = inner(SCALAR)
    close(tape.gradient(g, SCALAR), 12)


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
def test_other_dtypes(dtype):
    x = jnp.asarray(1.5, dtype)
    same_as_grad(lambda x: jnp.real(x * x * 2), x, tolerance=1e-2)


# --- what it refuses --------------------------------------------------------------------------------------------------


def test_mutable_references_are_refused():
    with gx.GradientTape() as tape:
        tape.watch(X)
        reference = jax.new_ref(jnp.zeros(3))
        with pytest.raises(NotImplementedError, match="Ref"):
            reference[...] = X * 3
    f = jax.jit(lambda x: jnp.sum(x * x))
    with gx.GradientTape() as tape:
        tape.watch(X)
        reference = jax.new_ref(jnp.zeros(3))
        reference[...] = jnp.ones(3)
        y = f(X)
    close(tape.gradient(y, X), 2 * X)


@pytest.mark.broad
def test_shards_need_a_compiled_function():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
    spec = jax.sharding.PartitionSpec("d")
    f = jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec)
    with gx.GradientTape() as tape:
        tape.watch(X)
        y = jnp.sum(jax.jit(f)(X))
    close(tape.gradient(y, X), jnp.cos(X))
    with gx.GradientTape() as tape:
        tape.watch(X)
        with pytest.raises(NotImplementedError, match="jax.jit"):
            f(X)
