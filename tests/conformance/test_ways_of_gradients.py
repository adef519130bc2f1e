"""A tape sees what `gx.grad` sees, in every layer, loss, reparametrisation and optimizer."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import tree
from graftax.layers.layer import signature_of
from tests.conformance import loss_rows, optimizer_rows, reparam_cases
from tests.conformance.lanes import in_lanes
from tests.conformance.layer_rows import ROWS as LAYERS
from tests.conformance.layer_rows import SIBLINGS, TRAINED
from tests.conformance.test_layers import built
from tests.conformance.ways_of_gradients import check_ways

RNG = np.random.default_rng(0)
SHAPES = ((2,), (3,), (2, 2), (2, 2))


def is_real(array: Any) -> bool:
    return "float" in str(array.dtype)


MODES = [(name, False) for name in LAYERS] + [(name, True) for name in TRAINED]


@pytest.mark.in_turn(78, 1, broad=17)
@pytest.mark.parametrize("mode", in_lanes(MODES, SIBLINGS), ids=[f"{n}-training" if t else n for n, t in MODES])
def test_of_layers(mode):
    name, training = mode
    layer, x = built(LAYERS[name])
    given = [gx.Variable(part) if is_real(part) else part for part in tree.flatten(x)]
    settings = {"training": training} if signature_of(type(layer).call).takes_training else {}

    def total():
        out = layer(tree.rebuild(x, iter([part * 1 for part in given])), **settings)
        return sum((ops.sum(ops.sin(part)) for part in tree.flatten(out) if is_real(part)), ops.asarray(0.0))

    inputs = [part for part in given if isinstance(part, gx.Variable)]
    sources = [*(v for v in layer.trainable_variables if is_real(v)), *inputs]
    if sources:
        check_ways(name, total, sources, [*layer.variables, *inputs])


@pytest.mark.in_turn(27, broad=7)
@pytest.mark.parametrize("name", loss_rows.ROWS)
def test_of_losses(name):
    row = loss_rows.ROWS[name]
    y, p = loss_rows.data(row)
    predictions, weights = gx.Variable(p), gx.Variable(np.float32([1, 0.5, 2, 0.5]))
    targets = gx.Variable(y) if is_real(y) else y
    sources = [v for v in (predictions, weights, targets) if isinstance(v, gx.Variable)]
    loss = row.make()
    check_ways(name, lambda: loss(targets, predictions * 1, weights), sources, sources)


@pytest.mark.in_turn(44, broad=9)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", reparam_cases.ROWS | reparam_cases.PAIRS)
def test_of_reparametrisations(name, training):
    row = (reparam_cases.ROWS | reparam_cases.PAIRS)[name]
    net = gx.Sequential([gx.layers.Dense(6, activation="tanh"), gx.layers.Dense(4)])
    with gx.variable_creator_scope(row.creator() if row.afresh else row.creator):
        net.build((None, 5))
    x = gx.Variable(RNG.normal(size=(3, 5)).astype("float32"))
    sources = [*(v for v in net.trainable_variables if is_real(v)), x]
    check_ways(name, lambda: ops.sum(ops.sin(net(x * 1, training=training))), sources, [*net.variables, x])


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "clipped and averaged": {"global_clipnorm": 1.0, "ema_momentum": 0.9},
    "accumulating": {"accumulation_steps": 2, "weight_decay": 0.01},
}


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("options", in_lanes(OPTIONS, [*OPTIONS][1:]))
@pytest.mark.parametrize("name", optimizer_rows.ROWS)
def test_through_updates(name, options):
    """Gradients through two updates of several small variables, which are packed: to weights, slots, rate and loss."""
    row = optimizer_rows.ROWS[name]
    settings = dict(OPTIONS[options])
    if row.make().averages_itself:
        settings.pop("ema_momentum", None)
    optimizer = row.make(**settings)
    rng = np.random.default_rng(0)
    weights = [gx.Variable(rng.normal(size=shape).astype("float32"), name=f"w{i}") for i, shape in enumerate(SHAPES)]
    outer = gx.Variable([1.0, 2.0])

    def loss():
        return sum(ops.sum(ops.sin(w * w) * outer[0] + outer[1] * w) for w in weights)

    def total():
        for _ in range(2):
            optimizer.minimize(loss, weights)
        return loss()

    optimizer.minimize(loss, weights)
    rate = optimizer.__dict__["learning_rate"]
    slots = [v for v in optimizer.variables if v.role == "slot" and is_real(v)]
    sources = [*weights, outer, *slots, *([rate] if isinstance(rate, gx.Variable) else [])]
    check_ways(name + options, total, sources, [*weights, outer, *optimizer.variables])


@pytest.mark.broad
def test_a_rate_that_is_set_passes_its_gradient():
    """The array itself is assigned, not the number that it holds."""
    w, rate, sgd = gx.Variable([1.0, 2.0], name="w"), gx.Variable(0.1), gx.optimizers.SGD(0.5)

    def total():
        sgd.learning_rate = rate * 2
        sgd.minimize(lambda: ops.sum(w**4), [w])
        return ops.sum(w**2)

    check_ways("a rate", total, [w, rate], [w, *sgd.variables])


@pytest.mark.slow
def test_a_dict_of_watched_values():
    """`functional_call` and `pure_update` with what a tape watches."""
    net = gx.Sequential([gx.layers.Dense(3, activation="tanh"), gx.layers.Dense(1)])
    x = RNG.normal(size=(4, 2)).astype("float32")
    net.build((None, 2))
    adam = gx.optimizers.Adam(0.1)
    state = adam.pure_state(net)
    held = {path: gx.Variable(value) for path, value in gx.state(net).items()}
    rate = gx.Variable(0.1)

    def total():
        loss = lambda values: ops.mean(gx.functional_call(net, values, x)[0] ** 2)  # noqa: E731
        values, kept = {path: v * 1 for path, v in held.items()}, {**state, "learning_rate": rate * 1}
        for _ in range(2):
            values, kept = adam.pure_update(gx.grad(loss)(values), kept, values)
        return loss(values)

    check_ways("a dict", total, [*held.values(), rate], [*held.values(), rate])


@pytest.mark.broad
def test_a_stack():
    stack = gx.stack(gx.layers.Dense(4, activation="tanh"), 3)
    x = gx.Variable(RNG.normal(size=(3, 4)).astype("float32"))
    stack(x.value)
    sources = [*stack.trainable_variables, x]
    check_ways("a stack", lambda: ops.sum(stack(x * 1) ** 2), sources, sources)


HYPERPARAMETERS = {
    "rate": lambda h: gx.optimizers.SGD(h),
    "momentum": lambda h: gx.optimizers.SGD(0.1, momentum=h),
    "decay": lambda h: gx.optimizers.AdamW(0.1, weight_decay=h),
    "clip": lambda h: gx.optimizers.SGD(0.1, clipnorm=h),
    "beta": lambda h: gx.optimizers.Adam(0.1, beta_1=h),
    "schedule": lambda h: gx.optimizers.SGD(gx.optimizers.schedules.CosineDecay(h, 10)),
    "schedule of a decay": lambda h: gx.optimizers.SGD(gx.optimizers.schedules.ExponentialDecay(0.1, 10, h)),
}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_a_watched_array_as_a_hyperparameter(name):
    """An optimizer keeps the array, not the number that it holds."""
    w = gx.Variable([1.0, 2.0])

    def total(h):
        w.assign([1.0, 2.0])
        optimizer = HYPERPARAMETERS[name](h)
        for _ in range(2):
            optimizer.minimize(lambda: ops.sum(w**2), [w])
        return ops.sum(w**2)

    h = ops.asarray(0.3)
    with gx.GradientTape() as tape:
        tape.watch(h)
        value = total(h)
    step = 1e-2
    slope = (float(total(ops.asarray(0.3 + step))) - float(total(ops.asarray(0.3 - step)))) / (2 * step)
    np.testing.assert_allclose(tape.gradient(value, h), slope, rtol=2e-2)
    if name != "rate":  # which an optimizer keeps in a Variable: refused in a function that is differentiated
        np.testing.assert_allclose(gx.grad(total)(h), slope, rtol=2e-2)
