"""GradientTape, case by case: the ids are those of the semantics."""

import gc
import threading
import warnings
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError, ShapeError, TapeError
from graftax.transforms.tape import replay
from graftax.variables.state.storage import frames


@pytest.fixture(autouse=True)
def _everything_is_put_back():
    yield
    assert registry.load("jax").tracing.eager()
    assert frames.top is None


def close(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


def number(value):
    return ops.asarray(float(value))


# --- GT1 to GT7: what is watched, and how often -----------------------------------------------------------------------


def test_gt1_a_second_gradient_needs_persistent():
    x = number(2)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    close(tape.gradient(y, x), 4)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)


def test_gt2_persistent(monkeypatch):
    monkeypatch.setattr(replay._replays, "at", 2)
    x = ops.asarray([0.0, 1.0, 2.0])
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = ops.sum(y * y)
    for _ in range(3):  # the later ones run compiled
        close(tape.gradient(y, x), 2 * np.arange(3))
        close(tape.gradient(z, x), 4 * np.arange(3) ** 3)
        close(tape.gradient(z, y), 2 * np.arange(3) ** 2)


def test_gt3_unwatched():
    x, other = number(1), number(5)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * other
    assert tape.gradient(y, other) is None
    assert tape.gradient(y, number(1)) is None
    assert tape.gradient(number(4), x) is None


def test_gt4_integers():
    i, x = ops.arange(4), ops.asarray([0.0, 1.0, 2.0, 3.0])
    v = gx.Variable(3, dtype="int32")
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with pytest.warns(UserWarning, match="int32"):
            tape.watch(i)
        with pytest.warns(UserWarning, match="'variable' of dtype int32"):
            tape.watch(v)
        y = ops.sum(jnp.take(x, i) * i.astype("float32"))
        k = ops.argmax(x)
        back = ops.sum(ops.cast(ops.cast(x, "int32"), "float32"))
    assert tape.watched_variables() == (v,)
    with pytest.warns(UserWarning, match="its gradient is None"):
        assert tape.gradient(y, i) is None
    with pytest.warns(UserWarning, match="its gradient is None"):
        assert tape.gradient(y, v) is None
    with pytest.raises(GradientError, match="int32"):
        tape.gradient(k, x)
    close(tape.gradient(y, x), np.arange(4))
    assert tape.gradient(back, x) is None


def test_gt5_unconnected():
    x, z, v = number(1), ops.asarray([1.0, 2.0]), gx.Variable([[1.0, 2.0]])
    with gx.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * x
    assert tape.gradient(y, [x, z, v])[1:] == [None, None]
    zeros = tape.gradient(y, [z, v], unconnected_gradients="zero")
    assert [g.tolist() for g in zeros] == [[0, 0], [[0, 0]]]
    with pytest.raises(ValueError, match="'maybe'"):
        tape.gradient(y, x, unconnected_gradients="maybe")
    with pytest.raises(RuntimeError, match="before its block"):
        gx.GradientTape().gradient(y, x, unconnected_gradients="maybe")


def test_gt6_only_what_is_watched():
    a, b = gx.Variable(2.0), gx.Variable(3.0)
    with gx.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(a)
        y = a * b
    assert tape.watched_variables() == (a,)
    da, db = tape.gradient(y, (a, b))
    assert float(da) == 3
    assert db is None


def test_gt7_not_trainable():
    a, b = gx.Variable(3.0), gx.Variable(2.0, trainable=False)
    with gx.GradientTape(persistent=True) as tape:
        y = a * b
        tape.watch(b)
        z = b * b
    assert tape.watched_variables() == (a, b)
    assert tape.gradient(y, b) is None
    assert float(tape.gradient(z, b)) == 4


# --- GT8 to GT14: nesting, and when it records ------------------------------------------------------------------------


@pytest.mark.parametrize("as_variable", [False, True])
def test_gt8_nested(as_variable):
    x = gx.Variable(3.0) if as_variable else number(3)
    with gx.GradientTape() as outer:
        outer.watch(x)
        with gx.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    assert (float(first), float(outer.gradient(first, x))) == (27, 18)
    with gx.GradientTape() as t3:
        t3.watch(x)
        with gx.GradientTape() as t2:
            t2.watch(x)
            with gx.GradientTape() as t1:
                t1.watch(x)
                y = x**4
            d1 = t1.gradient(y, x)
        d2 = t2.gradient(d1, x)
    close([d1, d2, t3.gradient(d2, x)], [108, 108, 72])


def test_outer_tape_sees_the_first_order_too():
    x = number(2)
    with gx.GradientTape(persistent=True) as a:
        a.watch(x)
        with gx.GradientTape() as b:
            b.watch(x)
            y = x**3
        g = b.gradient(y, x)
        z = g * y
    close([a.gradient(y, x), a.gradient(g, x), a.gradient(z, x)], [12, 12, 15 * 2.0**4])


def test_gt9_gradient_inside_its_own_persistent_tape():
    x = number(3)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        first = tape.gradient(y, x)
    assert (float(first), float(tape.gradient(first, x))) == (27, 18)


def test_gt10_gradient_inside_its_own_tape():
    x = number(3)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
        assert float(tape.gradient(y, x)) == 27
        x * x
    with pytest.raises(RuntimeError):
        tape.gradient(y, x)


def test_gt11_stop_recording():
    x = number(3)
    with gx.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            assert registry.current().tracing.eager()
            z = 100 * x
        w = x * x + z
    close(tape.gradient(w, x), 6)


def test_stop_recording_of_one_of_two():
    x = number(3)
    with gx.GradientTape() as outer:
        outer.watch(x)
        with gx.GradientTape() as inner:
            inner.watch(x)
            with outer.stop_recording():
                y = x * x
            z = y + x
    close(inner.gradient(z, x), 7)
    close(outer.gradient(z, x), 1)


def test_variables_assigned_while_stopped():
    v = gx.Variable(2.0)
    v.assign(5.0)
    with gx.GradientTape() as tape:
        c = v * v
        with tape.stop_recording():
            v.assign(7.0)
        d = v * v
        total = c + d
    close(tape.gradient(total, v), 2 * 5 + 2 * 7)


def test_gt12_reset_forgets_watches():
    x, v = number(3), gx.Variable(1.0)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * v
        tape.reset()
        assert tape.watched_variables() == ()
        z = 2 * x
        tape.watch(x)
        again = 2 * x * v
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x) is None
    assert float(tape.gradient(again, x)) == 2
    assert float(tape.gradient(again, v)) == 6


def test_gt13_reset_when_not_recording():
    tape = gx.GradientTape()
    with pytest.raises(ValueError, match="does not record"):
        tape.reset()
    with tape:
        pass
    with pytest.raises(TapeError):
        tape.reset()


def test_gt14_the_same_tape_twice():
    x = number(3)
    tape = gx.GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x  # goes on
        with pytest.raises(ValueError, match="its own block"), tape:
            pass
    close(tape.gradient(z, x), 27)
    once = gx.GradientTape()
    for _ in range(2):
        with once:
            once.watch(x)
            y = x * x
        close(once.gradient(y, x), 6)


# --- GT15 to GT17: targets and sources --------------------------------------------------------------------------------


def test_gt15_vector_target():
    x = ops.asarray([1.0, 2.0, 3.0])
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    close(tape.gradient(y, x), [2, 4, 6])


def test_gt16_targets_and_weights():
    x = ops.asarray([0.0, 1.0, 2.0])
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * 3
    close(tape.gradient([y, z], x), 2 * np.arange(3) + 3)
    close(tape.gradient({"y": y, "z": z}, x, {"y": [1.0, 2.0, 3.0], "z": None}), [3, 7, 15])
    close(tape.gradient([y, y], x, [1.0, None]), 4 * np.arange(3))
    with pytest.raises(ShapeError):
        tape.gradient(y, x, ops.ones((2,)))
    with pytest.raises(ArgumentError):
        tape.gradient([y, z], x, [None])


def test_gt17_nested_sources():
    x, v = ops.asarray([1.0, 2.0]), gx.Variable(3.0)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(x) * v
    found = tape.gradient(y, {"a": [x, v], "b": (v, {"c": x})})
    assert ops.asarray(found["a"][0]).tolist() == [3, 3]
    assert float(found["a"][1]) == 3
    assert float(found["b"][0]) == 3
    assert found["b"][1]["c"].tolist() == [3, 3]


def test_a_source_computed_from_another():
    x = number(2)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y + x
    dx, dy = tape.gradient(z, [x, y])
    close([dx, dy], [4 * 8 + 1, 8])
    close(tape.gradient(z, [y]), [8])


class Product(gx.Reparam):
    """The product of two factors."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.u = next_creator(spec.replace(name="u"))
        self.v = next_creator(spec.replace(name="v"))

    def forward(self):
        return self.u * self.v


def test_fv7_a_module_stands_for_its_variables():
    with gx.variable_creator_scope(Product):
        w = gx.Variable([2.0, 3.0])
    plain = gx.Variable(1.0)
    with gx.GradientTape(persistent=True) as tape:
        y = ops.sum(w * w * plain)
    found = tape.gradient(y, {"w": w, "plain": plain})
    assert list(found["w"]) == ["u", "v"]
    u, v = w.u.numpy(), w.v.numpy()
    close(found["w"]["u"], 2 * u * v * v)
    close(found["w"]["v"], 2 * u * u * v)
    w.u.trainable = False
    assert list(tape.gradient(y, w)) == ["u", "v"]  # watched when it was read
    with gx.GradientTape() as tape:
        y = ops.sum(w * w)
    assert list(tape.gradient(y, w)) == ["v"]


def test_a_reparam_computed_before_a_tape_is_computed_again():
    with gx.variable_creator_scope(Product):
        w = gx.Variable([2.0, 3.0])
    with gx.GradientTape() as outer:
        ops.sum(w * w)
        with gx.GradientTape() as inner:
            y = ops.sum(w * w)
        assert None not in inner.gradient(y, w).values()
        z = ops.sum(w * 2)
    assert None not in outer.gradient(z, w).values()


def test_watch_structures_and_modules():
    a, b, layer = number(2), number(3), gx.layers.Dense(1)
    x = ops.ones((1, 2))
    layer(x)
    with gx.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch({"a": a, "rest": [b, layer]})
        y = a * b * ops.sum(layer(x))
    assert tape.watched_variables() == tuple(layer.trainable_variables)
    da, found = tape.gradient(y, (a, layer))
    close(da, 3 * float(ops.sum(layer(x))))
    close(found["bias"], [6])


@pytest.mark.parametrize("thing", [1.0, np.ones(3), "x", None])
def test_gt34_targets_and_sources_are_arrays(thing):
    x = number(1)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 1
        with pytest.raises(TypeError):
            tape.watch(thing)
    with pytest.raises(TypeError, match="target"):
        tape.gradient(thing, x)
    with pytest.raises(ArgumentTypeError, match="source"):
        tape.gradient(y, thing)


def test_watch_outside():
    with pytest.raises(TapeError, match="outside"):
        gx.GradientTape().watch(number(1))


# --- GT18 to GT25: Jacobians ------------------------------------------------------------------------------------------


def test_gt18_jacobian():
    x = ops.asarray([1.0, 2.0])
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = ops.stack([x[0] * x[1], x[0] ** 2, x[1]])
    close(tape.jacobian(y, x), [[2, 1], [2, 0], [0, 1]])


def test_gt19_jacobian_unconnected():
    x, z = ops.ones((2,)), ops.ones((3,))
    with gx.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * 2
    assert tape.jacobian(y, z) is None
    assert tape.jacobian(y, [x, z], unconnected_gradients="zero")[1].shape == (2, 3)


@pytest.mark.parametrize("chunk_size", [None, 1, 7, 1000])
def test_gt20_gt25_jacobian_in_chunks(chunk_size):
    x = jax.random.normal(jax.random.key(1), (4, 4))
    a = gx.Variable(jax.random.normal(jax.random.key(2), (4, 4)))

    def f(x, a):
        return jnp.tanh(a @ x) @ jnp.sin(x)

    with gx.GradientTape() as tape:
        tape.watch(x)
        y = f(x, a.value)
    dx, da = tape.jacobian(y, [x, a], chunk_size=chunk_size)
    expected = jax.jacrev(f, (0, 1))(x, a.value)
    close(dx, expected[0])
    close(da, expected[1])


def test_gt21_batch_jacobian():
    x = ops.asarray([[1.0, 2.0], [3.0, 4.0]])
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    close(tape.batch_jacobian(y, x, check=True), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_batch_jacobian_of_a_network(chunk_size):
    w = jax.random.normal(jax.random.key(0), (3, 5))
    x = jax.random.normal(jax.random.key(1), (7, 3))
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = jnp.tanh(x @ w).reshape(7, 5, 1)
    expected = jax.vmap(jax.jacrev(lambda row: jnp.tanh(row @ w).reshape(5, 1)))(x)
    close(tape.batch_jacobian(y, x, chunk_size=chunk_size), expected)


def test_gt22_batch_jacobian_check():
    x = ops.asarray([[1.0, 2.0], [3.0, 4.0]])
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = ops.matmul(x, x)
    assert tape.batch_jacobian(y, x).shape == (2, 2, 2)
    with pytest.raises(GradientError, match="another example"):
        tape.batch_jacobian(y, x, check=True)


def test_gt23_batch_jacobian_shapes():
    x = ops.ones((2, 3))
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, flat = x * 2, ops.sum(x, axis=1)
    for target, source in ((y[:1], x), (flat, x), (y, flat)):
        with pytest.raises(ValueError, match="batch"):
            tape.batch_jacobian(target, source)


def test_gt24_batch_jacobian_unconnected():
    x, z = ops.ones((2, 3)), ops.ones((2, 4))
    with gx.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * 2
    assert tape.batch_jacobian(y, z) is None
    assert tape.batch_jacobian(y, z, unconnected_gradients="zero").shape == (2, 3, 4)


# --- GT26 to GT30: Variables ------------------------------------------------------------------------------------------


def test_gt26_assign_add_inside():
    v = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        v.assign_add(1.0)
        y = v * v
    close(tape.gradient(y, v), 6)


def test_gt27_assign_after():
    v = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        y = v * v
        v.assign(100.0)
    v.assign(1000.0)
    close(tape.gradient(y, v), 4)


@pytest.mark.parametrize("trainable", [True, False])
def test_gt28_gradients_go_through_assignments(trainable):
    v, x = gx.Variable(0.0, trainable=trainable), number(2)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        v.assign(x * 1)
        y = 3 * v
        z = 3 * v + x
    close(tape.gradient(y, x), 3)
    assert tape.gradient(y, v) is None  # with respect to the value that it had before
    close(tape.gradient(z, x), 4)


def test_gt28_a_variable_that_was_assigned_the_very_array():
    v, x = gx.Variable(0.0), number(2)
    v.assign(x)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = 3 * v * x
    close([tape.gradient(y, x), tape.gradient(y, v)], [6, 6])


def test_two_variables_of_one_array_are_two():
    online, target = gx.Variable([2.0]), gx.Variable([0.0], trainable=False)
    target.assign(online.value)
    with gx.GradientTape() as tape:
        t, o = target.value, online.value
        y = ops.sum(t * o)
    close(tape.gradient(y, online), [2])
    a, b = gx.Variable(3.0), gx.Variable(0.0)
    b.assign(a.value)
    with gx.GradientTape() as tape:
        y = a * a * b
    close(tape.gradient(y, [a, b]), [18, 9])


def test_gt29_numpy_warns_once():
    v = gx.Variable([1.0, 2.0])
    with gx.GradientTape() as tape:
        with pytest.warns(UserWarning, match="'variable' became a NumPy array"):
            round_trip = ops.asarray(v.numpy() * 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            v.numpy()
            repr(v), f"{float(v[0])}"
        with tape.stop_recording():
            v.numpy()
        y = ops.sum(round_trip)
    assert tape.gradient(y, v) is None


def test_gt30_rows_that_are_taken_twice():
    table = gx.Variable(ops.zeros((5, 2)))
    with gx.GradientTape() as tape:
        y = ops.sum(ops.take(table, ops.asarray([1, 1, 3]), axis=0) * ops.asarray([[1.0], [2.0], [4.0]]))
    close(tape.gradient(y, table), [[0, 0], [3, 3], [0, 0], [4, 4], [0, 0]])


# --- GT31, GT32: conventions ------------------------------------------------------------------------------------------

KINKS = {
    "sqrt": (lambda x: ops.sqrt(x), 0.0, np.inf),
    "where": (lambda x: ops.where(x > 0, ops.sqrt(x), ops.zeros_like(x)), 0.0, np.nan),
    "abs": (lambda x: ops.abs(x), 0.0, 1.0),
    "relu": (lambda x: gx.activations.relu(x), 0.0, 0.0),
    "maximum": (lambda x: ops.maximum(x, 0.0), 0.0, 0.5),
    "clip at 0": (lambda x: ops.clip(x, 0.0, 1.0), 0.0, 0.5),
    "clip at 1": (lambda x: ops.clip(x, 0.0, 1.0), 1.0, 0.5),
    "norm": (lambda x: ops.norm(ops.stack([x, x])), 0.0, 0.0),
    "max": (lambda x: ops.max(ops.stack([x, number(0)])), 0.0, 0.5),
}


@pytest.mark.parametrize("name", KINKS)
def test_gt31_kinks(name):
    f, at, expected = KINKS[name]
    x = number(at)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_array_equal(tape.gradient(y, x), np.float32(expected))
    np.testing.assert_array_equal(gx.grad(f)(x), np.float32(expected))


def test_gt32_complex_is_as_in_jax():
    z = ops.asarray(1 + 2j)
    with gx.GradientTape() as tape:
        tape.watch(z)
        y = jnp.real(jnp.conj(z) * z)
    found = tape.gradient(y, z)
    close(found, 2 - 4j)
    close(found, gx.grad(lambda z: jnp.real(jnp.conj(z) * z))(z))
    after = z - 0.1 * jnp.conj(found)
    assert float(jnp.abs(after)) < float(jnp.abs(z))


# --- real values, Python ----------------------------------------------------------------------------------------------


def test_values_stay_real():
    x = number(1.5)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x
        while float(y) < 20:
            y = y * 1.5 if y > 4 else y * y
        assert "Array" in repr(y)
        assert f"{y:.2f}"
        assert isinstance(np.asarray(y), np.ndarray)
        assert not isinstance(y, jax.core.Tracer)
    close(tape.gradient(y, x), 1.5**4 * 4 * 1.5**3)  # y = 1.5^4 x^4


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "y", "2.0"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["sin", "tanh", "exp2", "square"]), inner),
        st.tuples(st.sampled_from(["add", "multiply", "subtract"]), inner, inner),
    ),
    max_leaves=12,
)


def evaluate(expression, x, y):
    if isinstance(expression, str):
        return {"x": x, "y": y}.get(expression, 2.0 + 0 * x)
    name, *inner = expression
    values = [evaluate(e, x, y) for e in inner]
    if name == "exp2":
        return ops.exp(ops.tanh(values[0]))
    return getattr(ops, name)(*values)


@given(EXPRESSIONS)
def test_any_expression_agrees_with_value_and_grad(expression):
    x, v = ops.asarray([0.3, -0.7]), gx.Variable([1.1, 0.2])
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        value = ops.sum(evaluate(expression, x, v))
    found = tape.gradient(value, [x, v], unconnected_gradients="zero")
    expected, dx = gx.value_and_grad(lambda x: ops.sum(evaluate(expression, x, v)))(x)
    dv = gx.grad(lambda: ops.sum(evaluate(expression, x, v)), wrt=v)()
    close(value, expected)
    close(found[0], dx)
    close(found[1], dv)


def test_training_agrees_with_value_and_grad():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 4)).astype("float32"), rng.normal(size=(8, 3)).astype("float32")

    def build():
        gx.set_random_seed(0)
        model = gx.Sequential([gx.layers.Dense(5, activation="relu"), gx.layers.Dense(3)])
        model(x)
        return model, gx.optimizers.Adam(0.01)

    def loss(model):
        return ops.mean((model(x) - y) ** 2)

    one, other = build(), build()
    for _ in range(6):
        with gx.GradientTape() as tape:
            value = loss(one[0])
        variables = one[0].trainable_variables
        one[1].apply(tape.gradient(value, variables), variables)
        _, gradients = gx.value_and_grad(lambda: loss(other[0]), wrt=other[0].trainable_variables)()
        other[1].apply(gradients, other[0].trainable_variables)
    for a, b in zip(one[0].variables, other[0].variables, strict=True):
        close(a, b)


# --- together with the other transforms -------------------------------------------------------------------------------


def test_under_jit():
    v = gx.Variable([1.0, -2.0])

    def step(x):
        with gx.GradientTape() as outer:
            outer.watch(x)
            with gx.GradientTape() as inner:
                y = ops.sum(ops.tanh(v * x) ** 2)
            g = inner.gradient(y, v)
            s = ops.sum(g * g)
        v.assign_sub(g * 0.1)
        return y, g, outer.gradient(s, x), outer.watched_variables() == (v,)

    compiled = gx.jit(lambda x: step(x)[:3])
    x = ops.asarray([0.5, 0.25])
    start = v.numpy()
    found = compiled(x)
    after = v.numpy()
    v.assign(start)
    for a, b in zip(found, step(x)[:3], strict=True):
        close(a, b)
    close(after, v)
    compiled(x)
    assert compiled.trace_count == 1


def test_jitted_functions_inside_are_one_step_and_give_nothing_away():
    v, count = gx.Variable([1.0, 2.0]), gx.Variable(0, trainable=False)

    @gx.jit
    def f(x):
        count.assign_add(1)
        v.assign(v * 1)  # read and written: outside of a tape its buffer is donated
        return ops.sum(v * v * x)

    x = ops.asarray([3.0, 4.0])
    f(x)
    before = v.value
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        z = y * 2
    assert int(count) == 2
    f(x)  # gives the buffers away again; those of the tape live on
    close(before, [1, 2])
    close(tape.gradient(z, x), [2, 8])
    close(tape.gradient(y, v), [6, 16])
    assert f.trace_count == 1


def test_a_step_between_block_and_gradient_takes_nothing_away():
    v = gx.Variable([1.0, 2.0])

    @gx.jit
    def step():
        v.assign_add([1.0, 1.0])

    step()
    with gx.GradientTape(persistent=True) as tape:
        y = ops.sum(v * v)
        inside = v.value
    step()
    step()
    close(tape.gradient(y, v), [4, 6])
    close(inside, [2, 3])
    close(v, [4, 5])


def test_inside_value_and_grad_and_around():
    v = gx.Variable(2.0)

    def penalty():
        with gx.GradientTape() as tape:
            y = v**3
        return tape.gradient(y, v) ** 2  # 9 v^4

    value, gradient = gx.value_and_grad(penalty, wrt=v)()
    close([value, gradient], [9 * 2**4, 36 * 2**3])
    with gx.GradientTape() as tape:
        gradient = gx.grad(lambda: v**3, wrt=v)()
        z = gradient * v
    close(tape.gradient(z, v), 9 * 4)
    with gx.GradientTape() as tape:
        gradient = gx.jit(gx.grad(penalty, wrt=v))()
    close(tape.gradient(gradient, v), 36 * 3 * 4)


def test_layers_with_state_and_randomness():
    x = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
    model = gx.Sequential([gx.layers.Dense(4), gx.layers.BatchNormalization(), gx.layers.Dropout(0.5)])
    model(x)
    before = model.non_trainable_variables[0].numpy()
    with gx.GradientTape() as tape:
        out = model(x, training=True)
        y = ops.sum(out**2)
    assert all(g is not None for g in tape.gradient(y, model.trainable_variables))
    assert not np.array_equal(before, model.non_trainable_variables[0].numpy())
    assert 0 < float(ops.mean(ops.cast(out == 0, "float32"))) < 1


def test_a_layer_built_inside():
    layer = gx.layers.Dense(2)
    x = ops.ones((3, 4))
    with gx.GradientTape() as tape:
        y = ops.sum(layer(x))
    found = tape.gradient(y, layer)
    close(found["kernel"], np.full((4, 2), 3.0))
    close(found["bias"], [3, 3])


def test_functional_call_inside():
    layer = gx.layers.Dense(1, use_bias=False)
    x = ops.ones((1, 2))
    layer(x)
    state = {path: value * 2 for path, value in gx.state(layer).items()}
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(state["kernel"])
        out, _ = gx.functional_call(layer, state, x)
        y = ops.sum(out) ** 2
    close(tape.gradient(y, state["kernel"]), np.full((2, 1), 2 * float(out[0, 0])))
    assert tape.gradient(y, layer.kernel) is None


def test_the_two_sides_of_a_compiled_function():
    x, v = number(2), gx.Variable(1.0)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * v
        with pytest.raises(TapeError, match="compiled"):
            gx.jit(lambda z: tape.watch(z))(x)
    with pytest.raises(TapeError, match="compiled"):
        gx.jit(lambda: tape.gradient(y, x))()
    kept = []

    @gx.jit
    def f(x):
        with gx.GradientTape(persistent=True) as inside:
            inside.watch(x)
            z = x * x
        kept.extend([inside, z, x])
        return inside.gradient(z, x)

    close(f(x), 4)
    with pytest.raises(TapeError, match="compiled"):
        kept[0].gradient(*kept[1:])


def test_on_a_backend_without_gradients():
    with gx.backend.use("numpy"), pytest.raises(NotImplementedError), gx.GradientTape():
        pass


# --- in and out in every order ----------------------------------------------------------------------------------------


def test_exceptions_put_everything_back():
    x, v = number(1), gx.Variable(1.0)

    def fails():
        with gx.GradientTape() as a, gx.GradientTape():
            a.watch(x)
            return 1 // int(v * x * 0)

    with pytest.raises(ZeroDivisionError):
        fails()
    assert registry.current().tracing.eager()
    assert frames.top is None
    with gx.GradientTape() as tape:
        y = v * v
        with pytest.raises(ShapeError):
            ops.matmul(ops.ones((1, 3)), ops.ones((4, 1)))
        with pytest.raises(TypeError):
            gx.jit(lambda z: ops.asarray(float(z)))(y)
        z = y * v
    close(tape.gradient(z, v), 3)


def test_exits_in_another_order():
    x, v = number(2), gx.Variable(3.0)
    a, b = gx.GradientTape(), gx.GradientTape()
    a.__enter__()
    a.watch(x)
    b.__enter__()
    b.watch(x)
    y = x * x * v
    a.__exit__(None, None, None)
    z = y * x
    b.__exit__(None, None, None)
    assert registry.current().tracing.eager()
    close(a.gradient(y, [x, v]), [12, 4])
    close(b.gradient(z, [x, v]), [36, 8])


def test_generators():
    v = gx.Variable(3.0)

    def blocks():
        with gx.GradientTape() as tape:
            y = v * v
            yield None
            y = y * v
        yield tape.gradient(y, v)

    one, two = blocks(), blocks()
    next(one)
    next(two)
    close(next(one), 27)
    close(next(two), 27)
    three = blocks()
    next(three)
    three.close()


def test_threads():
    wrong = []

    def work(k):
        for i in range(5):
            v = gx.Variable(float(k + i))
            with gx.GradientTape() as tape:
                y = v * v * k
            if float(tape.gradient(y, v)) != 2 * k * (k + i):
                wrong.append((k, i))

    x = number(2)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        y = y * x
    assert not wrong
    close(tape.gradient(y, x), 12)


# --- memory -----------------------------------------------------------------------------------------------------------


def test_a_persistent_tape_lets_go_when_it_is_deleted():
    v = gx.Variable(ops.ones((10, 10)))
    gc.disable()
    try:
        with gx.GradientTape(persistent=True) as tape:
            x = ops.ones((10, 10))
            tape.watch(x)
            y = ops.sum(ops.sin(x * v))
        tape.gradient(y, [x, v])
        alive = [weakref.ref(x), weakref.ref(v.value)]
        v.assign(ops.zeros((10, 10)))
        del x, y, tape
        assert [ref() for ref in alive] == [None, None]
    finally:
        gc.enable()


def test_a_spent_tape_holds_nothing():
    x = ops.ones((10,))
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(x * x)
    tape.gradient(y, x)
    alive = weakref.ref(x)
    del x
    assert alive() is None


def test_results_in_between_are_not_kept():
    x = ops.ones((1000, 100))
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(20):
            y = ops.sin(y)
        gc.collect()
        assert sum(a.shape == (1000, 100) for a in jax.live_arrays()) <= 3
    assert tape.gradient(y, x).shape == (1000, 100)


def test_ids_that_are_used_again_are_not_confused():
    x = number(1)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in range(200):
            junk = y * 1.5
            del junk
            fresh = number(i)
            y = y * 2 if i % 100 == 0 else y
        z = fresh * 3
    assert tape.gradient(z, x) is None


def test_ids_after_a_gradient():
    x = number(1)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 4
    close(tape.gradient(y, x), 4)
