"""ScheduleFreeSGD and ScheduleFreeAdamW: the paper in float64, optax, Keras, and averages that are evaluated."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, StateError
from graftax.optimizers import SGD, AdamW, Lookahead, ScheduleFreeAdamW, ScheduleFreeSGD, schedules

RNG = np.random.default_rng(0)
START = RNG.normal(size=(4, 3))
GRADIENTS = [RNG.normal(size=(4, 3)) * scale for scale in (1.0, 3.0, 0.2, 1.0, 0.5, 2.0)]
runs = pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])


def paper(x, gradients, rates, correction=None, beta=0.9, beta_2=0.99, epsilon=1e-3, decay=0.2, power=2, multiplier=1):
    """Algorithm 1; with one of the corrections for AdamW, without for SGD. Gives x, y and z."""
    z, y, v, largest, total = x, x, 0, 0, 0
    for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        v = beta_2 * v + (1 - beta_2) * g**2
        bias = 1 - beta_2**t
        rate = rate * np.sqrt(bias) if correction == "rate" else rate
        root = {None: 1, "rate": np.sqrt(v) + epsilon, "root": np.sqrt(v / bias) + epsilon}[correction]
        z = z - multiplier * rate * (g / root + decay * y)
        largest = max(largest, rate)
        total += largest**power
        x = x + largest**power / total * (z - x)
        y = beta * x + (1 - beta) * z
    return x, y, z


def warm(rate, steps):
    return [rate * min(1, t / steps) for t in range(1, len(GRADIENTS) + 1)]


def moved(optimizer, run=lambda f: f, gradients=GRADIENTS, start=START, dtype="float32"):
    """The average, the weights and the fast sequence after training."""
    w = gx.Variable(start.astype("float32"), dtype=dtype, name="w")
    step = run(lambda g: optimizer.apply([ops.cast(g, dtype)], [w]))
    for g in gradients:
        step(g.astype("float32"))
    y = w.numpy()
    with optimizer.averaged():
        x = w.numpy()
    np.testing.assert_array_equal(w.numpy(), y)
    return [a.astype("float32") for a in (x, y, optimizer.slot(w, "z").numpy())]


def assert_all_close(found, expected, rtol=2e-5, atol=1e-6):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@runs
def test_sgd_as_the_paper_says(run):
    optimizer = ScheduleFreeSGD(0.1, 4, weight_decay=0.2)
    assert_all_close(moved(optimizer, run), paper(START, GRADIENTS, warm(0.1, 4)))


@pytest.mark.in_turn(2)
@runs
@pytest.mark.parametrize("correction", ["rate", "root"])
def test_adamw_as_the_paper_says(correction, run):
    """Under a rate that falls after the warm-up, too: the largest so far weighs."""
    rate = schedules.PiecewiseConstant([2], [0.1, 0.02])
    rates = [r * f for r, f in zip([0.1] * 3 + [0.02] * 3, warm(1, 2), strict=True)]
    optimizer = ScheduleFreeAdamW(rate, 2, 0.8, 0.99, 1e-3, correction, 1.5, weight_decay=0.2)
    assert_all_close(moved(optimizer, run), paper(START, GRADIENTS, rates, correction, 0.8, power=1.5))


def test_as_optax():
    """Whose schedule is one step behind in the step, not in the weights, so that the two are put together here."""
    optax = pytest.importorskip("optax")
    import jax.numpy as jnp

    def rate(count):
        return 0.1 * jnp.minimum(count / 4, 1)

    decay, scale = optax.add_decayed_weights(0.2), optax.scale_by_learning_rate(lambda count: rate(count + 1))
    rms = optax.scale_by_rms(0.99, 1e-3, eps_in_sqrt=False, bias_correction=True)
    for optimizer, base in (
        (ScheduleFreeSGD(0.1, 4, weight_decay=0.2), [decay, scale]),
        (ScheduleFreeAdamW(0.1, 4, 0.9, 0.99, 1e-3, weight_decay=0.2), [rms, decay, scale]),
    ):
        tx = optax.contrib.schedule_free(optax.chain(*base), rate)
        y = jnp.asarray(START, "float32")
        state = tx.init(y)
        for g in GRADIENTS:
            updates, state = tx.update(jnp.asarray(g, "float32"), state, y)
            y = optax.apply_updates(y, updates)
        assert_all_close(moved(optimizer), [optax.contrib.schedule_free_eval_params(state, y), y, state.z], 1e-4, 1e-5)


def test_as_optax_without_warm_up(against_optax):
    expected = against_optax(lambda o: o.contrib.schedule_free_adamw(0.1, weight_decay=0.2), START, GRADIENTS)
    np.testing.assert_allclose(moved(ScheduleFreeAdamW(0.1, weight_decay=0.2))[1], expected, rtol=1e-4, atol=1e-5)


def test_as_keras(against_keras):
    keras = pytest.importorskip("keras")
    if not hasattr(keras.optimizers, "ScheduleFreeAdamW"):
        pytest.skip("this Keras has none")
    expected = against_keras("ScheduleFreeAdamW", START, GRADIENTS, learning_rate=0.1, warmup_steps=4)
    found = moved(ScheduleFreeAdamW(0.1, 4, weight_lr_power=0.0))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = gx.Variable(START[0].astype("float32")), gx.Variable([3.0, 1.0])

    def loss(self):
        return ops.sum((self.w - 1.0) ** 2) + ops.sum(self.b**2)


def train(net, optimizer, steps=3, run=lambda f: f):
    step = run(lambda: optimizer.minimize(net.loss, net))
    for _ in range(steps):
        step()
    return net, optimizer


@pytest.mark.broad
def test_averages_for_good_are_the_averages_from_then_on():
    net, optimizer = train(Net(), ScheduleFreeAdamW(0.1))
    with optimizer.averaged():
        x = net.w.numpy()
        with pytest.raises(StateError):
            optimizer.minimize(net.loss, net)
    for _ in range(2):
        optimizer.assign_averages()
        np.testing.assert_allclose(net.w.numpy(), x, rtol=1e-6)
    train(net, optimizer)


def test_before_the_first_update_the_average_is_the_value():
    net, optimizer = Net(), ScheduleFreeSGD(0.1)
    with pytest.raises(StateError, match="nothing has been updated"), optimizer.averaged():
        pass
    optimizer.build(net)
    net.w.assign(net.w + 1.0)  # after the slot was made: a restore, or an initializer of one's own
    y = net.w.numpy()
    with optimizer.averaged():
        np.testing.assert_array_equal(net.w.numpy(), y)
    optimizer.apply([ops.ones((3,))], [net.w])
    np.testing.assert_allclose(net.w.numpy(), y - 0.1, rtol=1e-6)


@pytest.mark.broad
@runs
def test_in_the_rules_of_another(run):
    """It moves and averages its variables as alone; the one around puts these averages in place, and no others."""
    inner = ScheduleFreeAdamW(0.1, 2, epsilon=1e-3)
    outer = SGD(0.01, rules=[("w", {"optimizer": inner, "learning_rate_multiplier": 0.5})])
    net, _ = train(Net(), outer, 4, run)
    alone, optimizer = train(Net(), ScheduleFreeAdamW(0.05, 2, epsilon=1e-3), 4)
    np.testing.assert_allclose(net.w.numpy(), alone.w.numpy(), rtol=1e-5)
    w, b = net.w.numpy(), net.b.numpy()
    with outer.averaged(), optimizer.averaged():
        np.testing.assert_allclose(net.w.numpy(), alone.w.numpy(), rtol=1e-5)
        assert np.abs(net.w.numpy() - w).max() > 1e-3
        np.testing.assert_array_equal(net.b.numpy(), b)
    with inner.averaged(), pytest.raises(StateError):
        outer.minimize(net.loss, net)
    outer.assign_averages()
    x = net.w.numpy()
    with inner.averaged():
        np.testing.assert_allclose(net.w.numpy(), x, rtol=1e-6)


def test_multipliers_change_the_rate_and_not_the_weights():
    optimizer = ScheduleFreeSGD(0.1, 4, weight_decay=0.2, rules=[("w", {"learning_rate_multiplier": 0.3})])
    assert_all_close(moved(optimizer), paper(START, GRADIENTS, warm(0.1, 4), multiplier=0.3))


def test_accumulated_gradients_are_one_update():
    optimizer = ScheduleFreeAdamW(0.1, 2, epsilon=1e-3, accumulation_steps=2)
    pairs = [(a + b) / 2 for a, b in zip(GRADIENTS[::2], GRADIENTS[1::2], strict=True)]
    assert_all_close(moved(optimizer, gx.jit), moved(ScheduleFreeAdamW(0.1, 2, epsilon=1e-3), gradients=pairs))


def test_weights_of_16_bits_have_a_fast_sequence_of_32():
    optimizer = ScheduleFreeSGD(0.1, 4, weight_decay=0.2)
    assert_all_close(moved(optimizer, dtype="bfloat16"), paper(START, GRADIENTS, warm(0.1, 4)), atol=0.03)
    w = gx.Variable(START, dtype="bfloat16")
    assert optimizer.slot(w, "z").dtype == "float32"


def test_what_is_frozen_in_between_stays_and_goes_on_later():
    net, optimizer = train(Net(), ScheduleFreeSGD(0.1))
    kept = net.b.numpy()
    net.b.trainable = False
    train(net, optimizer)
    np.testing.assert_array_equal(net.b.numpy(), kept)
    net.b.trainable = True
    train(net, optimizer, 1)
    assert np.all(net.b.numpy() < kept)


def two_of_which_one_is_frozen(run):
    a, b = gx.Variable([0.0], name="a"), gx.Variable([0.0], name="b")
    optimizer = ScheduleFreeSGD(1.0, beta_1=0.5)
    for _ in range(3):
        run(lambda: optimizer.apply([[-1.0], [-1.0]], [a, b]))()
    b.trainable = False
    return a, b, optimizer


@pytest.mark.broad
@runs
def test_the_average_of_what_is_frozen_is_its_value(run):
    """The rest learns beside that, and was evaluated beside an average that the weight had when it was frozen."""
    a, b, optimizer = two_of_which_one_is_frozen(run)
    with optimizer.averaged():  # no update has seen it frozen: the end of training
        assert (a.numpy().tolist(), b.numpy().tolist()) == ([2.0], [2.0])
    step = run(lambda: optimizer.apply([[-1.0]], [a]))
    step()
    with optimizer.averaged():
        assert (a.numpy().tolist(), b.numpy().tolist()) == ([2.5], [2.5])  # that of a is of 1, 2, 3 and 4
    assert b.numpy().tolist() == [2.5]
    b.assign([9.0])  # weights that are loaded
    step()
    with optimizer.averaged():
        assert b.numpy().tolist() == [9.0]
    b.trainable = True
    run(lambda: optimizer.apply([[-1.0], [-1.0]], [a, b]))()
    assert optimizer.slot(b, "z").numpy().tolist() == [10.0]
    np.testing.assert_allclose(b.numpy(), 9 + 0.5 * (1 / 6 + 1), rtol=1e-6)  # half average, half the fast sequence


def test_what_is_left_out_of_an_update_keeps_its_average():
    a, b, optimizer = two_of_which_one_is_frozen(lambda f: f)
    b.trainable = True
    optimizer.apply([[-1.0]], [a])
    with optimizer.averaged():
        assert b.numpy().tolist() == [2.0]


@pytest.mark.broad
def test_fit_evaluates_a_frozen_layer_with_its_value():
    x = RNG.normal(size=(32, 3)).astype("float32")
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(1)])
    model.compile(ScheduleFreeAdamW(0.05), "mse")
    model.fit(x, x[:, :1], epochs=3, verbose=0)
    model.layers[0].freeze()
    kernel = model.layers[0].kernel
    stays, found = kernel.numpy(), []

    class Look(gx.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            found.append(kernel.numpy())

    averages = gx.callbacks.SwapAverages()
    model.fit(x, x[:, :1], epochs=2, validation_data=(x, x[:, :1]), verbose=0, callbacks=[averages, Look()])
    for value in (*found, kernel.numpy()):
        np.testing.assert_array_equal(value, stays)


def test_a_variable_that_comes_later():
    """As if it had stood at its first value: its share in the average is that of all."""
    optimizer = ScheduleFreeSGD(0.1, weight_decay=0.2)
    first = gx.Variable(START.astype("float32"))
    optimizer.apply([GRADIENTS[0].astype("float32")], [first])
    later = gx.Variable(START.astype("float32"))
    for g in GRADIENTS[1:]:
        optimizer.apply([g.astype("float32")] * 2, [first, later])
    z = x = y = START
    for t, g in enumerate(GRADIENTS[1:], 2):
        z = z - 0.1 * (g + 0.2 * y)
        x = x + (z - x) / t
        y = 0.9 * x + 0.1 * z
    np.testing.assert_allclose(later.numpy(), y, rtol=1e-5, atol=1e-6)
    with optimizer.averaged():
        np.testing.assert_allclose(later.numpy(), x, rtol=1e-5, atol=1e-6)


def test_a_checkpoint_in_the_warm_up(tmp_path):
    net, optimizer = train(Net(), ScheduleFreeAdamW(0.1, 5))
    path = gx.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "it").path
    other, fresh = Net(), ScheduleFreeAdamW(0.1, 5)
    gx.Checkpoint(net=other, optimizer=fresh).restore(path)
    train(net, optimizer)
    train(other, fresh)
    with optimizer.averaged(), fresh.averaged():
        np.testing.assert_array_equal(net.w.numpy(), other.w.numpy())
    np.testing.assert_array_equal(net.w.numpy(), other.w.numpy())


@pytest.mark.broad
def test_fit_validates_the_weights_and_evaluates_the_averages_when_asked():
    x = RNG.normal(size=(16, 3)).astype("float32")
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile("schedulefreesgd", "mse")
    model.optimizer.learning_rate = 0.5
    history = model.fit(x, x[:, :1], batch_size=8, epochs=3, validation_data=(x, x[:, :1]), verbose=0)
    raw = model.evaluate(x, x[:, :1], verbose=0)["loss"]
    assert raw == pytest.approx(history.history["val_loss"][-1])
    with model.optimizer.averaged():
        assert model.evaluate(x, x[:, :1], verbose=0)["loss"] != pytest.approx(raw, rel=1e-3)
    assert model.evaluate(x, x[:, :1], verbose=0)["loss"] == pytest.approx(raw)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: ScheduleFreeSGD(beta_1=0.0), "beta_1"),
        (lambda: ScheduleFreeSGD(warmup_steps=0.5), "warmup_steps"),
        (lambda: ScheduleFreeAdamW(beta_2=1.0), "beta_2"),
        (lambda: ScheduleFreeAdamW(correction="torch"), "correction"),
        (lambda: ScheduleFreeAdamW(ema_momentum=0.9), "ema_momentum"),
        (lambda: ScheduleFreeAdamW(lazy=True), "lazy"),
        (lambda: Lookahead(ScheduleFreeSGD()), "Lookahead"),
        (lambda: train(Net(), SGD(0.1, ema_momentum=0.9, rules=[("w", {"optimizer": ScheduleFreeSGD()})])), "average"),
    ],
)
def test_what_makes_no_sense(wrong, words):
    with pytest.raises(ArgumentError, match=words):
        wrong()


def test_what_is_set_later_is_refused_then():
    for name, value in (("ema_momentum", 0.9), ("lazy", True)):
        net, optimizer = train(Net(), ScheduleFreeSGD(0.1))
        setattr(optimizer, name, value)
        before = net.w.numpy()
        with pytest.raises(ArgumentError, match=name):
            train(net, optimizer)
        np.testing.assert_array_equal(net.w.numpy(), before)


def test_a_constraint_is_refused_unless_another_moves_the_variable():
    w = gx.Variable([1.0], constraint=gx.constraints.NonNeg(), name="w")
    with pytest.raises(ArgumentError, match="constraint"):
        ScheduleFreeSGD().apply([[1.0]], [w])
    ScheduleFreeSGD(rules=[("w", {"optimizer": AdamW()})]).apply([[1.0]], [w])


def test_repr():
    assert repr(ScheduleFreeAdamW(0.1, warmup_steps=5)) == "ScheduleFreeAdamW(learning_rate=0.1, warmup_steps=5)"
