"""Tapes together with compiled functions, gradients as functions and layers."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import TapeError
from tests.transforms.tape.numbers import close, number

# --- together with the other transforms -------------------------------------------------------------------------------


@pytest.mark.broad
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


@pytest.mark.broad
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


@pytest.mark.broad
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
