"""SAM: two gradients a step."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.optimizers import SAM, SGD, Adam

CURVATURE = np.array([1.0, 4.0, 0.5])


def transcribed(w, b, steps):
    """In float64; the loss is ``sum(c * w**4) + sum(b**2)``."""
    for _ in range(steps):
        gw, gb = 4 * CURVATURE * w**3, 2 * b
        scale = 0.3 / np.sqrt(np.sum(gw**2) + np.sum(gb**2))
        gw, gb = 4 * CURVATURE * (w + scale * gw) ** 3, 2 * (b + scale * gb)
        w, b = w - 0.01 * gw, b - 0.01 * gb
    return w, b


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = gx.Variable([1.0, -0.5, 2.0]), gx.Variable([0.3, 0.7])

    def loss(self):
        return ops.sum(CURVATURE.astype("float32") * self.w**4) + ops.sum(self.b**2)


@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_as_the_paper_says(run):
    net, sam = Net(), SAM(SGD(0.01), radius=0.3)
    step = run(lambda: sam.minimize(net.loss, net))
    for _ in range(4):
        step()
    expected = transcribed(np.array([1, -0.5, 2]), np.array([0.3, 0.7]), 4)
    for found, there in zip((net.w, net.b), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), there, rtol=1e-5)


def test_what_is_frozen_is_neither_moved_nor_looked_around():
    net, other = Net(), Net()
    SAM(SGD(0.01, rules=[("b", {"frozen": True})]), radius=0.3).minimize(net.loss, net)
    other.b.trainable = False
    SAM(SGD(0.01), radius=0.3).minimize(other.loss, other)
    np.testing.assert_array_equal(net.w.numpy(), other.w.numpy())
    np.testing.assert_array_equal(net.b.numpy(), Net().b.numpy())


def test_a_loss_that_fails_leaves_the_weights_as_they_were():
    net, calls = Net(), []

    def loss():
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("second")
        return net.loss()

    with pytest.raises(RuntimeError):
        SAM(SGD(0.01)).minimize(loss, net)
    np.testing.assert_array_equal(net.w.numpy(), Net().w.numpy())


def test_a_checkpoint_in_mid_training(tmp_path):
    net, sam = Net(), SAM(Adam(0.1), radius=0.3)
    sam.minimize(net.loss, net)
    path = gx.Checkpoint(net=net, sam=sam).save(tmp_path / "it").path
    other, fresh = Net(), SAM(Adam(0.1), radius=0.3)
    gx.Checkpoint(net=other, sam=fresh).restore(path)
    sam.minimize(net.loss, net)
    fresh.minimize(other.loss, other)
    np.testing.assert_array_equal(net.w.numpy(), other.w.numpy())
    assert int(fresh.optimizer.iterations) == 2


def test_a_gradient_of_zero_moves_nothing():
    w = gx.Variable([0.0])
    SAM(SGD(0.1)).minimize(lambda: ops.sum(w * w), [w])
    assert w.numpy().tolist() == [0.0]


def test_wrong_radius_and_repr():
    with pytest.raises(ArgumentError):
        SAM(SGD(0.1), radius=0.0)
    assert repr(SAM(SGD(0.1), radius=0.3)) == "SAM(optimizer=SGD(learning_rate=0.1), radius=0.3)"


def test_the_inner_optimizer_may_scale_the_loss():
    values = []
    for scale in (None, 256.0):
        w = gx.Variable([3.0, -4.0])
        sam = SAM(gx.optimizers.SGD(0.1, loss_scale=scale), radius=0.5)
        loss = sam.minimize(lambda w=w: gx.ops.sum(w * w), [w])
        values.append([float(loss), *w.numpy().tolist()])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)


def test_as_optax():
    optax = pytest.importorskip("optax")
    import jax
    import jax.numpy as jnp

    def loss(w, of=jnp):
        return of.sum(of.cos(w) * w**2)

    ascent = optax.chain(optax.contrib.normalize(), optax.sgd(0.3))
    tx = optax.contrib.sam(optax.sgd(0.05), ascent, sync_period=2, opaque_mode=True)
    start, slope = np.array([1.0, -0.5, 2.0], "float32"), jax.jit(jax.grad(loss))
    w, v = jnp.asarray(start), gx.Variable(start)
    state = tx.init(w)
    for _ in range(4):
        updates, state = tx.update(slope(w), state, w, grad_fn=lambda p, _: slope(p))
        w = optax.apply_updates(w, updates)
        SAM(SGD(0.05), radius=0.3).minimize(lambda: loss(v, ops), [v])
    np.testing.assert_allclose(v.numpy(), w, rtol=1e-6)


def test_iterations_are_those_of_the_optimizer_inside():
    w = gx.Variable([3.0])
    optimizer = gx.optimizers.SAM(gx.optimizers.SGD(0.1))
    assert int(optimizer.iterations) == 0
    optimizer.minimize(lambda: gx.ops.sum(w * w), [w])
    assert int(optimizer.iterations) == int(optimizer.optimizer.iterations) == 1
    assert sum(v is optimizer.iterations for v in optimizer.named_variables().values()) <= 1


@pytest.mark.broad
def test_fit_counts_its_steps():
    x = np.ones((4, 1), "float32")
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile(gx.optimizers.SAM(gx.optimizers.SGD(0.1)), "mse")
    model.fit(x, x, batch_size=1, epochs=5, verbose=0)
    history = model.fit(x, x, batch_size=1, epochs=5, verbose=0, callbacks=[gx.callbacks.StopAtStep(24)])
    assert len(history.epoch) == 1


@pytest.mark.broad
def test_16_bit_weights_look_as_far_away_as_those_of_32_bits():
    w, seen = gx.Variable(np.zeros(2000), dtype="float16"), gx.Variable(0.0, trainable=False)

    def loss():
        seen.assign(ops.cast(w[0], "float32"))
        return ops.sum((ops.cast(w, "float32") + 1) ** 2)

    sam = gx.optimizers.SAM(gx.optimizers.SGD(1e-3, loss_scale=2.0**14), radius=0.02)
    sam.minimize(loss, [w])  # radius / norm is 1e-8, which is 0 in 16 bits
    np.testing.assert_allclose(seen.numpy(), 0.02 / 2000**0.5, rtol=1e-3)
