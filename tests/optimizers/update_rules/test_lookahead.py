"""Lookahead around other optimizers."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from graftax.optimizers import SAM, SGD, Adam, Lookahead

RNG = np.random.default_rng(0)
START = RNG.normal(size=3)
GRADIENTS = [RNG.normal(size=3).astype("float32") for _ in range(7)]


def transcribed(w, gradients, every, alpha):
    """Algorithm 1 of the paper around SGD with momentum, in float64."""
    slow, momentum = w, 0
    for outer in range(0, len(gradients), every):
        w = slow
        for g in gradients[outer : outer + every]:
            momentum = 0.9 * momentum - 0.1 * g
            w = w + momentum
        if len(gradients[outer : outer + every]) == every:
            slow = w = slow + alpha * (w - slow)
    return w


def moved(optimizer, run=lambda f: f, dtype="float32"):
    w = gx.Variable(START.astype("float32"), dtype=dtype)
    step = run(lambda g: optimizer.apply([ops.cast(g, dtype)], [w]))
    for g in GRADIENTS:
        step(g)
    return w.numpy()


@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_as_the_paper_says(run):
    expected = transcribed(START, GRADIENTS, 3, 0.3)
    np.testing.assert_allclose(moved(Lookahead(SGD(0.1, 0.9), 3, 0.3), run), expected, rtol=1e-5)


def test_as_optax():
    optax = pytest.importorskip("optax")
    import jax.numpy as jnp

    tx = optax.lookahead(optax.adam(0.1), 3, 0.3)
    params = optax.LookaheadParams.init_synced(jnp.asarray(START, "float32"))
    state = tx.init(params)
    for g in GRADIENTS:
        updates, state = tx.update(jnp.asarray(g), state, params)
        params = optax.apply_updates(params, updates)
    np.testing.assert_allclose(moved(Lookahead(Adam(0.1, epsilon=1e-8), 3, 0.3)), params.fast, rtol=1e-4)


def test_weights_of_16_bits_have_slow_ones_of_32():
    optimizer = Lookahead(SGD(0.1, 0.9), 3, 0.3)
    np.testing.assert_allclose(
        moved(optimizer, dtype="bfloat16").astype("float32"), transcribed(START, GRADIENTS, 3, 0.3), atol=0.03
    )
    w = gx.Variable([1.0], dtype="bfloat16")
    assert optimizer.slot(w, "slow").dtype == "float32"


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = gx.Variable([1.0, -2.0]), gx.Variable([3.0])

    def loss(self):
        return ops.sum(self.w**2) + ops.sum(self.b**2)


def test_frozen_stays_and_has_no_slow_weights():
    net = Net()
    optimizer = Lookahead(SGD(0.1, rules=[("b", {"frozen": True})]), 2)
    for _ in range(4):
        optimizer.minimize(net.loss, net)
    assert net.b.numpy().tolist() == [3.0]
    assert [r.variable for r in optimizer.slots()] == [net.w]


def test_slow_weights_set_out_from_what_the_first_update_meets():
    """Though the slot is made in a trace that has assigned the weight before, or before a restore."""
    weights = [gx.Variable([0.0]) for _ in range(2)]
    for w, run in zip(weights, (lambda f: f, gx.jit), strict=True):
        optimizer = Lookahead(SGD(1.0), 2)

        def step(w=w, optimizer=optimizer):
            w.assign_add([1.0])
            optimizer.apply([[1.0]], [w])

        step = run(step)
        for _ in range(3):
            step()
    assert [w.numpy().tolist() for w in weights] == [[0.5], [0.5]]


@pytest.mark.broad
def test_accumulated_gradients_are_no_updates():
    small, large = Net(), Net()
    accumulating = Lookahead(SGD(0.1, accumulation_steps=2), 2)
    step = gx.jit(lambda: accumulating.minimize(small.loss, small))
    plain = Lookahead(SGD(0.1), 2)
    for i in range(10):
        step()
        if i % 2:
            plain.minimize(large.loss, large)
    assert step.trace_count == 1
    np.testing.assert_allclose(small.w.numpy(), large.w.numpy(), rtol=1e-6)


def test_a_checkpoint_in_mid_training(tmp_path):
    net, optimizer = Net(), Lookahead(Adam(0.1), 3)
    for _ in range(4):
        optimizer.minimize(net.loss, net)
    path = gx.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "it").path
    other, fresh = Net(), Lookahead(Adam(0.1), 3)
    gx.Checkpoint(net=other, optimizer=fresh).restore(path)
    for _ in range(3):
        optimizer.minimize(net.loss, net)
        fresh.minimize(other.loss, other)
    np.testing.assert_array_equal(net.w.numpy(), other.w.numpy())
    np.testing.assert_array_equal(optimizer.slot(net.w, "slow").numpy(), fresh.slot(other.w, "slow").numpy())


def test_wrong_arguments_and_repr():
    for wrong in ({"every": 0}, {"every": 2.5}, {"rate": 0.0}, {"rate": 1.5}):
        with pytest.raises(ArgumentError):
            Lookahead(SGD(0.1), **wrong)
    with pytest.raises(ArgumentTypeError):
        Lookahead(SAM(SGD(0.1)))
    assert repr(Lookahead(SGD(0.1), 3)) == "Lookahead(optimizer=SGD(learning_rate=0.1), every=3)"


@pytest.mark.parametrize("around", [Lookahead, SAM])
def test_the_rate_is_that_of_the_other_one(around):
    optimizer, w = around(SGD(0.5)), gx.Variable([1.0])
    step = gx.jit(lambda: optimizer.minimize(lambda: ops.sum(w), [w]))
    step()
    optimizer.learning_rate = 0.25
    step()
    assert w.numpy().tolist() == [0.25]
    assert step.trace_count == 1
    assert optimizer.learning_rate is optimizer.optimizer.learning_rate
    assert not [path for path in optimizer.named_variables() if path == "learning_rate"]


def test_averages_and_the_table_are_those_of_the_other_one():
    optimizer, w = Lookahead(SGD(1.0, ema_momentum=0.5), every=3, rate=0.5), gx.Variable([0.0], name="w")
    for _ in range(2):
        optimizer.apply([[-1.0]], [w])
    with optimizer.averaged():
        assert w.numpy().tolist() == [1.5]
    optimizer.assign_averages()
    optimizer.apply([[-1.0]], [w])  # comes back half of the way to where it set out: the average
    assert w.numpy().tolist() == [2.0]
    (row,) = optimizer.explain([w]).rows
    assert (row.optimizer, row.slots) == ("SGD", ("slow",))
    assert str(optimizer.explain([w])).startswith("Lookahead(")
    with pytest.raises(StateError, match="SGD has no averages"):
        Lookahead(SGD(1.0)).assign_averages()


def test_iterations_are_those_of_the_optimizer_inside():
    w = gx.Variable([3.0])
    optimizer = gx.optimizers.Lookahead(gx.optimizers.SGD(0.1))
    assert int(optimizer.iterations) == 0
    optimizer.minimize(lambda: gx.ops.sum(w * w), [w])
    assert int(optimizer.iterations) == int(optimizer.optimizer.iterations) == 1
    assert sum(v is optimizer.iterations for v in optimizer.named_variables().values()) <= 1


@pytest.mark.broad
def test_fit_counts_its_steps():
    x = np.ones((4, 1), "float32")
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile(gx.optimizers.Lookahead(gx.optimizers.SGD(0.1)), "mse")
    model.fit(x, x, batch_size=1, epochs=5, verbose=0)
    history = model.fit(x, x, batch_size=1, epochs=5, verbose=0, callbacks=[gx.callbacks.StopAtStep(24)])
    assert len(history.epoch) == 1
