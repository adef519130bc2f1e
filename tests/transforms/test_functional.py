"""functional_call and state: pure, under every transform of bare JAX; wrong states are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, NotBuiltError, TracerLeakError
from graftax.layers.layer import Layer
from graftax.transforms.compile.jit import jit
from graftax.transforms.functional import functional_call, state
from graftax.transforms.gradients.grad import value_and_grad
from graftax.variables.graph.module import Module
from graftax.variables.random import SeedGenerator, normal
from graftax.variables.variable import Variable

X = np.arange(6, dtype="float32").reshape(2, 3)


class Net(Module):
    """A linear map with a running mean."""

    def __init__(self):
        self.w = Variable([1.0, 2.0, 3.0])
        self.mean = Variable(0.0, trainable=False, role="state")
        self.tied = self.w

    def __call__(self, x, scale=1.0):
        y = ops.matmul(x, self.w) * scale
        self.mean.assign(0.5 * self.mean + 0.5 * ops.mean(y))
        return y


@pytest.fixture
def net():
    return Net()


def test_state_has_each_once_by_path(net):
    given = state(net)
    assert {path: value.tolist() for path, value in given.items()} == {"w": [1.0, 2.0, 3.0], "mean": 0.0}
    assert len(jax.tree.leaves(given)) == 2


def test_state_survives_training_steps(net):
    given = state(net)
    step = jit(lambda: net.w.assign(net.w * 2).value)
    step()
    step()
    assert given["w"].tolist() == [1.0, 2.0, 3.0]
    assert net.w.numpy().tolist() == [4.0, 8.0, 12.0]


def test_nothing_is_assigned(net):
    out, after = functional_call(net, {"w": np.ones(3, "float32"), "mean": 1.0}, X, scale=2.0)
    assert out.tolist() == [6.0, 24.0]
    assert (float(after["mean"]), after["w"].tolist()) == (8.0, [1.0, 1.0, 1.0])
    assert (float(net.mean), net.w.numpy().tolist()) == (0.0, [1.0, 2.0, 3.0])


def test_on_the_reference_backend():
    with registry.use("numpy"):
        net = Net()
        out, after = functional_call(net, state(net), X)
        assert (out.tolist(), float(after["mean"])) == ([8.0, 26.0], 8.5)


def test_under_jit(net):
    run = jax.jit(lambda s, x: functional_call(net, s, x))
    given = state(net)
    for _ in range(3):
        out, given = run(given, X)
    assert out.tolist() == [8.0, 26.0]
    np.testing.assert_allclose(given["mean"], 17 * (1 - 0.5**3))
    assert float(net.mean) == 0.0


def test_under_grad(net):
    def loss(given):
        out, after = functional_call(net, given, X)
        return out.sum(), after

    gradients, after = jax.grad(loss, has_aux=True)(state(net))
    assert gradients["w"].tolist() == X.sum(0).tolist()
    assert float(after["mean"]) == 8.5
    assert jax.jit(jax.grad(lambda s: loss(s)[0]))(state(net))["w"].tolist() == X.sum(0).tolist()


def test_under_vmap(net):
    models = {"w": jnp.stack([net.w.value, 2 * net.w.value]), "mean": jnp.zeros(2)}
    out, after = jax.vmap(lambda s: functional_call(net, s, X))(models)
    assert out.tolist() == [[8.0, 26.0], [16.0, 52.0]]
    assert after["mean"].tolist() == [8.5, 17.0]


def test_under_scan(net):
    final, outs = jax.lax.scan(lambda s, x: functional_call(net, s, x)[::-1], state(net), jnp.stack([X, X]))
    assert outs.shape == (2, 2)
    assert float(final["mean"]) == 12.75


def test_inside_graftax_jit_and_gradients(net):
    @jit
    def step(given):
        value, gradient = value_and_grad(lambda s: ops.sum(functional_call(net, s, X)[0]))(given)
        return value, gradient["w"]

    value, gradient = step(state(net))
    assert (float(value), gradient.tolist()) == (34.0, X.sum(0).tolist())


def test_a_graftax_gradient_inside_a_call(net):
    class Inner(Module):
        def __init__(self):
            self.net = net

        def __call__(self, x):
            return value_and_grad(lambda: ops.sum(self.net(x)), wrt=self.net)()[1]["w"]

    inner = Inner()
    out, after = jax.jit(lambda s: functional_call(inner, s, X))(state(inner))
    assert out.tolist() == X.sum(0).tolist()
    assert float(after["net/mean"]) == 8.5


def test_what_another_module_writes_is_assigned_in_plain_code_and_refused_in_a_foreign_trace(net):
    counter = Variable(0)

    class Counting(Module):
        def __init__(self):
            self.net = net

        def __call__(self, x):
            counter.assign_add(1)
            return self.net(x)

    model = Counting()
    functional_call(model, state(model), X)
    assert int(counter) == 1
    with pytest.raises((TracerLeakError, RuntimeError), match="variable"):
        jax.jit(lambda s: functional_call(model, s, X))(state(model))


def test_random_streams_are_state():
    class Noisy(Module):
        def __init__(self):
            self.stream = SeedGenerator(seed=1)
            self.stream.build()

        def __call__(self):
            return normal((2,), seed=self.stream)

    noisy = Noisy()
    run = jax.jit(lambda s: functional_call(noisy, s))
    given = state(noisy)
    (a, given), (b, _) = (run(given), run(run(given)[1]))
    assert a.tolist() != b.tolist()
    assert a.tolist() == noisy().tolist()
    assert b.tolist() == noisy().tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("w"), r"without \['w'\]"),
        (lambda s: s.update(extra=1.0), r"with \['extra'\]"),
        (lambda s: s.update(w=np.ones(2, "float32")), r"float32\[2\] for 'w'"),
        (lambda s: s.update(w=np.ones(3, "int32")), r"int32\[3\] for 'w'"),
    ],
)
def test_a_state_that_does_not_fit(net, change, message):
    given = dict(state(net))
    change(given)
    with pytest.raises(ArgumentError, match=message):
        functional_call(net, given, X)


class Lazy(Layer):
    def build(self, input_shape):
        self.w = self.add_weight((input_shape[-1],), "ones", name="w")

    def call(self, x):
        return ops.matmul(x, self.w)


def test_unbuilt_modules_are_refused():
    with pytest.raises(NotBuiltError, match="Lazy, which has no Variables yet"):
        functional_call(Lazy(), {"w": 1.0}, X)
    with pytest.raises(NotBuiltError, match=r"made \['w'\]"):
        functional_call(Lazy(), {}, X)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda one: state([one, one]), "[graftax.state(module) for module in modules]"),
        (lambda one: state({"a": one}), "{name: graftax.state(module) for name, module in modules.items()}"),
        (lambda one: functional_call([one], {}, X), "graftax.functional_call(module, graftax.state(module), x)"),
        (lambda one: state(lambda x: x), "graftax.state(module)"),
    ],
    ids=["list", "dict", "call", "function"],
)
def test_what_is_no_module_is_told_with_the_line_to_write(call, line):
    with pytest.raises(ArgumentTypeError) as caught:
        call(Lazy())
    assert line in caught.value.instead
    assert "Lazy(" not in caught.value.received
