"""Layers around what other libraries wrote."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from tests.layers.foreign_modules import Linen

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def affine(params, inputs):
    return ops.matmul(inputs, params["w"]) + params["b"][0]


def start():
    return {"w": np.full((3, 2), 0.5, "float32"), "b": [np.float32([1, 2])]}


def test_a_function_with_parameters_is_a_layer():
    layer = layers.JaxLayer(affine, params=start())
    np.testing.assert_allclose(layer(X), X @ start()["w"] + start()["b"][0], rtol=1e-5)
    assert [v.path for v in layer.trainable_variables] == ["params/w", "params/b/0"]
    model = gx.Sequential([layer, layers.Dense(1)])
    model.compile("sgd", "mse")
    losses = model.fit(X, X[:, :1], epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    gx.graft(model, gx.reparam.LoRA(rank=1), where="**/w")
    assert model(X).shape == (4, 1)


def test_parameters_state_and_draws_are_made_at_the_first_call():
    seen = []

    def init_fn(rng, inputs, training):
        seen.append((tuple(rng.shape), tuple(inputs.shape), training))
        return {"w": np.ones((inputs.shape[-1],), "float32")}, {"count": np.zeros((), "int32")}

    def call_fn(params, state, rng, inputs, training):
        assert tuple(rng.shape) == (2,)
        out = inputs * params["w"] + (1.0 if training else 0.0)
        return out, {"count": state["count"] + 1}

    layer = layers.JaxLayer(call_fn, init_fn)
    compiled = gx.jit(lambda x: layer(x))
    np.testing.assert_array_equal(compiled(X), X)
    np.testing.assert_array_equal(layer(X, training=True), X + 1)
    assert int(layer.state["count"]) == 2
    assert seen == [((2,), (4, 3), True)]
    assert {v.role for v in layer.variables} == {"weight", "state", "seed"}
    twin = copy.deepcopy(layer)
    np.testing.assert_array_equal(twin(X), layer(X))


def test_state_is_given_to_a_function_too():
    layer = layers.JaxLayer(lambda params, state, inputs: (inputs + state, state * 2), params={}, state=np.float32(1))
    np.testing.assert_array_equal(layer(X), X + 1)
    np.testing.assert_array_equal(layer(X), X + 2)


def test_what_is_given_goes_before_what_init_fn_makes():
    def init_fn(rng, inputs):
        return {"w": np.float32(3)}, np.float32(7)

    def call_fn(params, state, inputs):
        return inputs * params["w"] + state, state

    for given, w, b in (({"state": np.float32(1)}, 3, 1), ({"params": {"w": np.float32(2)}}, 2, 7), ({}, 3, 7)):
        layer = layers.JaxLayer(call_fn, init_fn, **given)
        np.testing.assert_allclose(layer(X), X * w + b, rtol=1e-5)
        assert [v.path for v in layer.trainable_variables] == ["params/w"]


def gives(made):
    return lambda rng, inputs: made


def test_init_fn_gives_a_pair_where_there_is_a_state():
    def call_fn(params, state, inputs):
        return inputs, state

    for made, told in (({"w": 1.0}, "a dict"), ([{}, 1.0], "a list of 2"), ((1.0, 2.0, 3.0), "a tuple of 3")):
        for given in ({}, {"state": 1.0}, {"params": {}}):
            layer = layers.JaxLayer(call_fn, gives(made), **given)
            with pytest.raises(gx.errors.ArgumentTypeError, match=f"no pair, but {told}"):
                layer(X)
    pair = layers.JaxLayer(lambda params, inputs: inputs * params[0], gives((np.float32(2), 1.0)))
    np.testing.assert_array_equal(pair(X), X * 2)  # without a state whatever it gives is the parameters


def test_gradients_of_jax_go_through():
    jnp = pytest.importorskip("jax.numpy")
    layer = layers.JaxLayer(lambda params, inputs: jnp.tanh(inputs @ params["w"]), params={"w": start()["w"]})
    layer(X)
    told = gx.grad(lambda x: ops.sum(layer(x)))(ops.asarray(X))
    out = np.tanh(X @ start()["w"])
    np.testing.assert_allclose(told, (1 - out**2) @ start()["w"].T, rtol=1e-4, atol=1e-5)


def test_a_module_of_linen():
    layer = layers.FlaxLayer(Linen(2))
    kernel = np.linspace(-1, 1, 6, dtype="float32").reshape(3, 2)
    np.testing.assert_allclose(gx.jit(lambda x: layer(x))(X), X @ kernel, rtol=1e-5)
    assert [v.path for v in layer.trainable_variables] == ["collections/params/Dense_0/kernel"]
    assert [v.path for v in layer.non_trainable_weights] == ["collections/batch_stats/mean"]
    layer(X, training=True)
    np.testing.assert_allclose(layer(X), X @ kernel - 0.5 * (X @ kernel).mean(0), rtol=1e-4, atol=1e-5)
    variables = {"params": {"Dense_0": {"kernel": kernel}}, "batch_stats": {"mean": np.float32([0, 1])}}
    given = layers.FlaxLayer(Linen(2), variables=variables)
    np.testing.assert_allclose(given(X), X @ kernel - [0, 1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layers.FlaxLayer(Linen(2), "score")(X), (X @ kernel).sum(-1), rtol=1e-4, atol=1e-5)


def torch_net(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 5), torch.nn.BatchNorm1d(5), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(5, 2)
    )


def test_a_module_of_torch_and_its_gradients(torch):
    net = torch_net(torch).eval()
    layer = layers.TorchLayer(net)
    given = torch.tensor(X, requires_grad=True)
    expected = net(given)
    np.testing.assert_allclose(layer(X), expected.detach(), rtol=1e-5, atol=1e-6)
    (expected**2).sum().backward()

    def loss(x):
        return ops.sum(layer(x) ** 2)

    for run in (gx.grad(loss), gx.jit(gx.grad(loss), allow_callback=True)):
        np.testing.assert_allclose(run(ops.asarray(X)), given.grad, rtol=1e-4, atol=1e-5)
    weights = gx.grad(loss, wrt=layer.trainable_variables)(X)
    for ours, theirs in zip(weights, net.parameters(), strict=True):
        np.testing.assert_allclose(ours, theirs.grad, rtol=1e-4, atol=1e-5)
    paths = [v.path for v in layer.variables if v.role != "seed"]
    assert "parameters/0/weight" in paths
    assert "buffers/1/running_mean" in paths


def test_a_module_of_torch_trains_and_keeps_its_statistics_here(torch):
    net = torch_net(torch)
    layer = layers.TorchLayer(net, seed=1)
    before = net[1].running_mean.clone()
    layer(X, training=True)
    assert torch.equal(net[1].running_mean, before)
    moved = np.asarray(layer.named_variables()["buffers/1/running_mean"])
    expected = 0.1 * (X @ net[0].weight.detach().numpy().T + net[0].bias.detach().numpy()).mean(0)
    np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-5)
    assert not np.allclose(layer(X, training=True), layer(X, training=True))
    model = gx.Sequential([layer, layers.Dense(1)])
    model(X)
    for eagerly in (False, True):
        model.compile(gx.optimizers.SGD(0.05), "mse", run_eagerly=eagerly)
        before = layer.trainable_variables[0].numpy()
        model.fit(X, X[:, :1], epochs=2, verbose=0)
        assert not np.array_equal(layer.trainable_variables[0].numpy(), before)
    optimizer = gx.optimizers.SGD(0.05)

    def step(x, y):
        def loss():
            return ops.mean((model(x) - y) ** 2)

        value, gradients = gx.value_and_grad(loss, wrt=model.trainable_variables)()
        optimizer.apply(gradients, model.trainable_variables)
        return value

    for run in (step, gx.jit(step, allow_callback=True)):
        losses = [float(run(X, X[:, :1])) for _ in range(5)]
        assert losses[-1] < losses[0]


def test_bad_modules_are_refused():
    for make, message in (
        (lambda: layers.JaxLayer(3, params={}), "call_fn=3"),
        (lambda: layers.JaxLayer(lambda inputs, params: 1, params={}), "in this order"),
        (lambda: layers.JaxLayer(lambda params, x: 1, params={}), "in this order"),
        (lambda: layers.JaxLayer(affine, lambda key: 1), "init_fn"),
        (lambda: layers.FlaxLayer(layers.Dense(3)), "flax.linen.Module"),
        (lambda: layers.FlaxLayer(Linen(3), "nothing"), "has no such method"),
        (lambda: layers.FlaxLayer(Linen(3), variables=[1]), "dicts by collection"),
        (lambda: layers.TorchLayer(abs), "torch.nn.Module"),
        (lambda: layers.JaxLayer(affine, params={"w": "a"})(X), "arrays of numbers"),
        (lambda: layers.JaxLayer(lambda params, state, inputs: inputs, params={}, state=1.0)(X), "gave no pair"),
        (
            lambda: layers.JaxLayer(lambda params, state, inputs: (1, {"b": 1}), params={}, state={"a": 1.0})(X),
            "gave a state of",
        ),
    ):
        with pytest.raises(gx.errors.ArgumentTypeError, match=message):
            make()
    with pytest.raises(gx.errors.ArgumentError, match="neither params nor init_fn"):
        layers.JaxLayer(affine)
    for given in ({"params": start()}, {"params": {}, "seed": 1}):
        with pytest.raises(gx.errors.ArgumentError, match="nothing to make"):
            layers.JaxLayer(affine, gives(start()), **given)
    with pytest.raises(gx.errors.ArgumentError, match="nothing to make"):
        layers.JaxLayer(lambda params, state, inputs: 1, gives((1, 1)), params={}, state=1)
    with pytest.raises(gx.errors.ArgumentError, match="nothing is drawn"):
        layers.JaxLayer(affine, params=start(), seed=3)
    with pytest.raises(gx.errors.ArgumentError, match="nothing would use it"):
        layers.JaxLayer(affine, params={}, state=1)
    with pytest.raises(gx.errors.StateError, match="has no state"):
        layers.JaxLayer(lambda params, state, inputs: (inputs, state), params={})(X)


class CallsPython(gx.Layer):
    """Doubles in Python, and tells so."""

    calls_python = True

    def call(self, x):
        return gx.py_function(lambda a: 2 * a, [x], gx.ArraySpec(tuple(x.shape)))


@pytest.mark.broad
@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}, {"steps_per_execution": 2}], ids=str)
def test_a_layer_that_calls_python_works_in_fit(options):
    model = gx.Sequential([CallsPython(), layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.01), "mse", **options)
    losses = model.fit(X, X[:, :1], batch_size=2, epochs=2, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(model.predict(X, verbose=0), model(X), rtol=1e-5)
    assert model.evaluate(X, X[:, :1], verbose=0)["loss"] > 0


def test_one_that_does_not_tell_is_told_what_to_write():
    class Silent(CallsPython):
        calls_python = False

    model = gx.Sequential([Silent(), layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(gx.errors.CompileError, match="calls_python = True"):
        model.fit(X, X[:, :1], verbose=0)


class LossInPython(gx.losses.Loss):
    calls_python = True

    def call(self, y_true, y_pred):
        error = gx.ops.mean((y_true - y_pred) ** 2, axis=-1)
        return gx.py_function(lambda a: 2 * a, [error], gx.ArraySpec(tuple(error.shape)))


class MetricInPython(gx.metrics.Mean):
    calls_python = True

    def update(self, y_true, y_pred, sample_weight=None):
        error = gx.ops.mean((y_true - y_pred) ** 2)
        super().update(gx.py_function(lambda a: 2 * a, [error], gx.ArraySpec(())))


@pytest.mark.parametrize("place", ["loss", "metric", "list", "attribute", "model"])
def test_losses_and_metrics_that_call_python_work_in_fit(place):
    class Own(gx.Sequential):
        calls_python = place == "model"

    model = Own([layers.Dense(1)])
    if place == "attribute":
        model.beside = MetricInPython(name="twice")
    given = {"loss": (LossInPython(), []), "metric": ("mse", [MetricInPython(name="twice")])}
    loss, metrics = given.get(place, ("mse", []))
    if place == "list":
        loss = [LossInPython()]
    if place == "model":
        quiet = type("Quiet", (MetricInPython,), {"calls_python": False})
        metrics = [quiet(name="twice")]
    model.compile(gx.optimizers.SGD(0.0), loss, metrics=["mse", *metrics])
    logs = model.fit(X, X[:, :1], verbose=0).history
    twice = logs["twice" if metrics else "loss"][0] if place != "attribute" else 2 * logs["loss"][0]
    np.testing.assert_allclose(twice, 2 * logs["mse"][0], rtol=1e-5)


def test_frozen_parameters_of_torch_are_not_trained(torch):
    module = torch.nn.Linear(2, 1)
    module.weight.requires_grad_(False)
    layer = layers.TorchLayer(module)
    assert [v.path for v in layer.trainable_variables] == ["parameters/bias"]
    assert [v.path for v in layer.non_trainable_weights] == ["parameters/weight"]


def test_buffers_of_torch_that_are_assigned_anew_are_kept(torch):
    class Moving(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("m", torch.zeros(()))

        def forward(self, x):
            self.m = 0.5 * self.m + 0.5 * x.mean()
            return x - self.m

    layer = layers.TorchLayer(Moving())
    x = np.float32([[2, 4]])
    layer(x, training=True)
    np.testing.assert_allclose(layer.buffers["m"], 1.5)
    gx.jit(lambda: layer(x, training=True), allow_callback=True)()
    np.testing.assert_allclose(layer.buffers["m"], 2.25)
    assert float(layer.module.m) == 0


def test_parts_of_torch_put_in_eval_stay_so(torch):
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3))
    net[0].eval()
    layer = layers.TorchLayer(net)
    for training in (True, False):
        layer(X, training=training)
        assert [part.training for part in net.modules()] == [True, False, True]
    first, second = (np.asarray(layer.buffers[name]["running_mean"]) for name in "01")
    assert not first.any()
    assert second.all()
    whole = layers.TorchLayer(net.eval())
    whole(X, training=True)
    assert np.asarray(whole.buffers["0"]["running_mean"]).all()
    assert not any(part.training for part in net.modules())
