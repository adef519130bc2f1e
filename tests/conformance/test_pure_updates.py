"""What all optimizers promise of `pure_update`: the bits of `apply`, in every transform, and gradients through it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from tests.conformance.optimizer_rows import ROWS, every_row
from tests.conformance.test_optimizers import SHAPES, Net, gradients

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all

EVERY_OPTION = {
    "weight_decay": 0.1,
    "l2": 0.01,
    "clipvalue": 2.0,
    "global_clipnorm": 3.0,
    "adaptive_clip": 0.5,
    "accumulation_steps": 2,
    "ema_momentum": 0.9,
    "loss_scale": 4.0,
    "rules": [("bias", {"learning_rate_multiplier": 0.5, "weight_decay": 0.0}), ("scale", {"frozen": True})],
}


def both(make, run, steps=4):
    """Values and state after some steps, by `apply` and by `pure_update`."""
    net, optimizer, other, pure = Net(), make(), Net(), make()
    state = pure.pure_state(other)
    values = {v.path: v.value for v in other.variables}
    before = [v.numpy().copy() for v in (*other.variables, *pure.variables)]
    apply = run(lambda g: optimizer.apply(g, {v.path: v for v in net.variables}))
    update = run(pure.pure_update)
    for i in range(steps):
        given = dict(zip(SHAPES, gradients(i), strict=True))
        apply(given)
        values, state = update(given, state, values)
    after = [v.numpy() for v in (*other.variables, *pure.variables)]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    named = optimizer.named_variables()
    expected = {v.path: v.numpy() for v in net.variables}, {path: v.numpy() for path, v in named.items()}
    return expected, (values, state)


def assert_equal(expected, found, **rounding):
    for one, other in zip(expected, found, strict=True):
        assert set(one) == set(other)
        for path, value in one.items():
            np.testing.assert_allclose(np.asarray(other[path]), value, err_msg=path, **(rounding or {"rtol": 0}))


@every_row
def test_x9_the_bits_of_apply(row):
    assert_equal(*both(row.make, lambda f: f))


@pytest.mark.in_turn(5)
@every_row
def test_x9_the_numbers_of_apply_where_both_are_compiled(row):
    """To rounding: the two are different programs."""
    assert_equal(*both(row.make, gx.jit), rtol=2e-5, atol=2e-6)


@pytest.mark.broad
@every_row
def test_x9_the_bits_of_apply_with_every_option(row):
    options = dict(EVERY_OPTION)
    if row.make().averages_itself:
        del options["ema_momentum"]
    assert_equal(*both(lambda: row.make(**options), lambda f: f))


@pytest.mark.broad
@every_row
def test_x9_in_scan_and_in_bare_jax_as_eager(row):
    net, optimizer = Net(), row.make(rules=[("bias", {"learning_rate_multiplier": 0.5})])
    state, values = optimizer.pure_state(net), {v.path: v.value for v in net.variables}
    stacked = {path: np.stack([gradients(i)[k] for i in range(4)]) for k, path in enumerate(SHAPES)}
    there = values, state
    for i in range(4):
        there = optimizer.pure_update({path: g[i] for path, g in stacked.items()}, there[1], there[0])

    def step(carry, given):
        values, state = carry
        return optimizer.pure_update(given, state, values), None

    by_scan, _ = gx.jit(lambda carry, gs: gx.scan(step, carry, gs))((values, state), stacked)
    by_jax, _ = jax.jit(lambda carry, gs: jax.lax.scan(step, carry, gs))((values, state), stacked)
    for found in (by_scan, by_jax):
        for one, other in zip(jax.tree.leaves(there), jax.tree.leaves(found), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.broad
@every_row
def test_x9_several_at_once(row):
    net, optimizer = Net(), row.make()
    state, values = optimizer.pure_state(net), {v.path: v.value for v in net.variables}
    rows = {path: np.stack([gradients(i)[k] for i in range(3)]) for k, path in enumerate(SHAPES)}
    found = gx.vectorized_map(
        lambda g, s, v: optimizer.pure_update(g, s, v), rows, state, values, in_axes=(0, None, None)
    )
    for i in range(3):
        alone = optimizer.pure_update({path: g[i] for path, g in rows.items()}, state, values)
        for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(found), strict=True):
            np.testing.assert_allclose(one, other[i], rtol=2e-5, atol=2e-6)


QUICK = ("sgd momentum", "adam", "rmsprop")
SMOOTH = [
    "sgd momentum", "sgd nesterov", "adam", "adam torch", "adamw", "nadam", "radam", "adabelief", "ademamix", "rmsprop",
    "rmsprop centered", "adagrad", "adadelta", "ftrl", "schedule free adamw", "adafactor absolute", "lamb", "lars",
    "novograd", "muon", "adan",
]  # fmt: skip


@pytest.mark.broad
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SMOOTH])
def test_x9_gradients_through_three_steps_agree_with_differences(name):
    """Of the values that it set out from, and of the learning rate."""
    with jax.enable_x64(True):
        net, optimizer = Net("float64"), ROWS[name].make(weight_decay=0.1)
        start, values = optimizer.pure_state(net), {v.path: v.value for v in net.variables}
        target = {path: np.asarray(g, "float64") for path, g in zip(SHAPES, gradients(9), strict=True)}

        def loss(values):
            return sum(jnp.sum(jnp.cosh(values[path] - target[path] / 3)) for path in values)

        def outer(values, rate):
            state = {**start, "learning_rate": rate}
            for _ in range(3):
                values, state = optimizer.pure_update(gx.grad(loss)(values), state, values)
            return loss(values)

        rate = jnp.asarray(0.05)
        by_values, by_rate = gx.jit(gx.grad(lambda both: outer(*both)))((values, rate))
        h, run = 1e-6, jax.jit(outer)
        slope = (run(values, rate + h) - run(values, rate - h)) / (2 * h)
        np.testing.assert_allclose(by_rate, slope, rtol=2e-5, atol=1e-7)
        direction = {path: np.random.default_rng(5).normal(size=v.shape) for path, v in values.items()}
        ahead, behind = ({p: v + s * h * direction[p] for p, v in values.items()} for s in (1, -1))
        slope = (run(ahead, rate) - run(behind, rate)) / (2 * h)
        along = sum(float(np.sum(np.asarray(by_values[p]) * direction[p])) for p in values)
        np.testing.assert_allclose(along, slope, rtol=2e-5, atol=1e-7)


@pytest.mark.broad
def test_x9_gradients_through_adam_are_those_of_functional_jax():
    w, adam = gx.Variable([1.0, -2.0, 0.5], name="w"), gx.optimizers.Adam(0.1, epsilon=1e-3)
    start = adam.pure_state([w])

    def quartic(w):
        return jnp.sum(w**4) / 4

    def ours(value, rate):
        values, state = {"w": value}, {**start, "learning_rate": rate}
        for _ in range(5):
            values, state = adam.pure_update({"w": gx.grad(quartic)(values["w"])}, state, values)
        return quartic(values["w"])

    def by_hand(value, rate):
        m = v = jnp.zeros(3)
        for t in range(1, 6):
            g = jax.grad(quartic)(value)
            m, v = m + 0.1 * (g - m), v + 0.001 * (g * g - v)
            root = jnp.sqrt(1 - 0.999**t)
            value = value - rate * root / (1 - 0.9**t) * m / (jnp.sqrt(v) + 1e-3)
        return quartic(value)

    arguments = w.value, jnp.asarray(0.1)
    expected = jax.grad(by_hand, argnums=(0, 1))(*arguments)
    gradient = gx.grad(lambda both: ours(*both))
    bare = jax.jit(jax.grad(lambda both: ours(*both)))
    for found in (gradient(arguments), gx.jit(gradient)(arguments), bare(arguments)):
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-6)


@every_row
def test_state_in_the_middle_of_an_accumulation_goes_through_a_checkpoint(row, tmp_path):
    make = lambda: row.make(accumulation_steps=3)  # noqa: E731
    net, optimizer = Net(), make()
    for i in range(4):
        optimizer.apply(gradients(i), net.variables)
    gx.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "middle")
    other, fresh = Net(), make()
    gx.Checkpoint(net=other, optimizer=fresh).restore(tmp_path / "middle")
    for i in range(4, 7):
        optimizer.apply(gradients(i), net.variables)
        fresh.apply(gradients(i), other.variables)
    for a, b in zip((*net.variables, *optimizer.variables), (*other.variables, *fresh.variables), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=a.path)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@every_row
def test_eager_as_compiled_and_as_in_a_loop_of_minimize(row):
    target = gradients(9)

    def trained(how):
        net, optimizer = Net(), row.make()

        def loss():
            return ops.sum(ops.stack([ops.sum((v - t) ** 2) for v, t in zip(net.variables, target, strict=True)]))

        optimizer.build(net)
        if how == "scan":
            gx.jit(lambda: gx.scan(lambda c, _: (c, optimizer.minimize(loss, net)), 0.0, np.zeros(4)))()
        else:
            step = (lambda f: f)(lambda: optimizer.minimize(loss, net))
            step = gx.jit(step) if how == "jit" else step
            for _ in range(4):
                step()
        return [v.numpy() for v in (*net.variables, *optimizer.variables)]

    eager, compiled, looped = trained("eager"), trained("jit"), trained("scan")
    for a, b, c in zip(eager, compiled, looped, strict=True):
        np.testing.assert_allclose(a, b, rtol=5e-5 * row.amplifies, atol=5e-6 * row.amplifies)
        np.testing.assert_allclose(b, c, rtol=5e-5 * row.amplifies, atol=5e-6 * row.amplifies)


def test_the_shapes_of_the_table_are_what_the_rows_are_tried_with():
    assert {v.shape for v in Net().variables} == set(SHAPES.values())


def test_x9_lookahead_is_pure_too():
    def made():
        return gx.optimizers.Lookahead(gx.optimizers.SGD(0.1, momentum=0.9), every=2)

    assert_equal(*both(made, lambda f: f))


def test_x9_what_cannot_be_pure_says_so():
    w, v = gx.Variable([1.0], name="w"), gx.Variable([1.0], name="v")
    for optimizer in (gx.optimizers.LBFGS(), gx.optimizers.SAM(gx.optimizers.SGD(0.1))):
        with pytest.raises(gx.errors.MissingAttributeError, match="pure_update") as caught:
            optimizer.pure_update({}, {}, {})
        assert "minimize" in caught.value.instead
    sgd = gx.optimizers.SGD(0.1)
    with pytest.raises(gx.errors.NotBuiltError, match="pure_state"):
        sgd.pure_update({"w": [1.0]}, {}, {"w": [1.0]})
    state = sgd.pure_state([w, v])
    with pytest.raises(gx.errors.NotBuiltError, match="'x'"):
        sgd.pure_update({"x": [1.0]}, state, {"x": [1.0]})
    for given in ((1, {}, {}), ({}, None, {}), ({}, {}, [1.0])):
        with pytest.raises(gx.errors.ArgumentTypeError, match="of type (int|NoneType|list)"):
            gx.optimizers.SGD(0.1).pure_update(*given)
    with pytest.raises(gx.errors.ArgumentError, match="gradients for"):
        sgd.pure_update({"v": [1.0]}, state, {"w": [1.0]})
    with pytest.raises(gx.errors.ArgumentError, match="state without"):
        sgd.pure_update({"w": [1.0]}, {"iterations": 0}, {"w": [1.0]})
    with pytest.raises(gx.errors.ArgumentError, match=r"float32\[2\]"):
        sgd.pure_update({"w": [1.0, 1.0]}, state, {"w": [1.0, 2.0]})
    twin = gx.Variable([1.0], name="w")
    sgd.build([twin])
    with pytest.raises(gx.errors.ArgumentError, match="the path of two variables"):
        sgd.pure_update({"w": [1.0]}, state, {"w": [1.0]})
    assert twin.numpy().tolist() == [1.0]
    gathers = gx.optimizers.SGD(0.1, accumulation_steps=2)
    state = gathers.pure_state([w, v])
    values = {"w": w.value, "v": v.value}
    values, state = gathers.pure_update({"w": [1.0], "v": [1.0]}, state, values)
    with pytest.raises(gx.errors.StateError, match="would not be pure"):
        gathers.pure_update({"w": [1.0]}, state, {"w": values["w"]})
    assert (w.numpy().tolist(), v.numpy().tolist(), int(gathers.gathered)) == ([1.0], [1.0], 0)


def test_x9_minimize_in_a_gradient_moves_the_weights_and_pure_update_does_not():
    w, sgd = gx.Variable([2.0], name="w"), gx.optimizers.SGD(0.25)
    gx.grad(lambda x: sgd.minimize(lambda: ops.sum(w * w), [w]) * x)(ops.asarray(1.0))
    assert w.numpy().tolist() == [1.0]
    state = sgd.pure_state([w])
    slope = gx.grad(lambda x: sgd.pure_update({"w": 2 * w.value * x}, state, {"w": w.value})[0]["w"][0])(
        ops.asarray(1.0)
    )
    assert float(slope) == -0.5
    assert w.numpy().tolist() == [1.0]
