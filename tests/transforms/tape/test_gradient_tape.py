"""GradientTape, case by case: the ids are those of the semantics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError, ShapeError, TapeError
from graftax.transforms.tape import replay
from tests.transforms.tape.numbers import close, number

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


@pytest.mark.broad
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


@pytest.mark.broad
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


@pytest.mark.broad
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
