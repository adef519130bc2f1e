"""Layers compile their forward behind the eager call, and nobody notices but by the time it takes."""

import copy
import gc
import pickle
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ShapeError
from graftax.layers.call_context import call_context
from graftax.transforms.compile import layer_call as eager_call

X = np.linspace(-1, 1, 24, dtype="float32").reshape(6, 4)


@pytest.fixture
def traces(monkeypatch):
    """How many programs are made."""
    made = []
    real = eager_call._trace
    monkeypatch.setattr(eager_call, "_programs", type(eager_call._programs)())
    monkeypatch.setattr(eager_call, "_trace", lambda *args: made.append(args) or real(*args))
    return made


def plainly(layer, *args, **kwargs):
    return np.asarray(layer._gx_call(*args, **kwargs))


def test_one_program_from_the_first_call(traces):
    layer = gx.layers.Dense(3, activation="gelu")
    first = np.asarray(layer(X))
    assert layer.built
    assert np.array_equal(first, np.asarray(layer(X)))  # to the bit
    np.testing.assert_allclose(first, plainly(layer, X), rtol=1e-6, atol=1e-6)
    layer(ops.asarray(X))
    assert len(traces) == 2  # a NumPy array, an array


def test_layers_that_are_alike_share_a_program(traces):
    a, b, other = gx.layers.Dense(3), gx.layers.Dense(3), gx.layers.Dense(3, use_bias=False)
    for layer in (a, b, other):
        layer(X)
    b.kernel.assign(a.kernel.value)
    assert np.array_equal(np.asarray(a(X)), np.asarray(b(X)))
    assert len(eager_call._programs) == 2
    traced = len(traces)
    c = gx.layers.Dense(3)
    c.build((6, 4))
    c._gx_mark_built()
    c(X)
    assert len(traces) == traced


@pytest.mark.broad
def test_a_sequential_of_such_layers_is_one_program(traces):
    model = gx.Sequential([gx.layers.Dense(3, activation="relu"), gx.layers.BatchNormalization(), gx.layers.Dense(1)])
    first = np.asarray(model(X))
    assert np.array_equal(first, np.asarray(model(X)))
    assert len(traces) == 1
    np.testing.assert_allclose(first, plainly(model, X), rtol=1e-5, atol=1e-6)
    model(X, training=True)
    assert model.layers[1].moving_mean.numpy().any()
    model.add(gx.layers.Embedding(2, 3))  # which looks at its indices
    traced = len(traces)
    with pytest.raises(gx.errors.DTypeError):
        model(X)
    assert len(traces) == traced  # each layer by itself, which `plainly` has traced

    class Mine(gx.Layer):
        def call(self, x):
            assert float(ops.sum(x)) is not None  # sees values
            return x

    mixed = gx.Sequential([gx.layers.Dense(3), Mine()])
    assert mixed(X).shape == (6, 3)


def test_run_eagerly_turns_it_off(traces):
    layer = gx.layers.Dense(3, activation="gelu")
    with gx.run_eagerly():
        plain = np.asarray(layer(X))
    assert not traces
    np.testing.assert_allclose(layer(X), plain, rtol=1e-6, atol=1e-6)
    assert len(traces) == 1


def test_a_new_value_counts():
    layer = gx.layers.Dense(3, use_bias=False)
    layer(X)
    layer.kernel.assign(np.ones((4, 3)))
    np.testing.assert_allclose(layer(X), X @ np.ones((4, 3)), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_changes_are_honoured():
    layer = gx.layers.Dense(4, use_bias=False, kernel_initializer="identity")
    layer(X)
    layer.activation = gx.activations.relu
    assert np.array_equal(np.asarray(layer(X)), np.maximum(X, 0))
    layer.kernel = gx.Variable(2 * np.eye(4, dtype="float32"))
    assert np.array_equal(np.asarray(layer(X)), np.maximum(2 * X, 0))
    norm = gx.layers.BatchNormalization()
    norm(X, training=True)
    moved = norm.moving_mean.numpy()
    norm.trainable = False
    norm(X, training=True)
    assert np.array_equal(norm.moving_mean.numpy(), moved)


@pytest.mark.broad
def test_state_is_assigned():
    compiled, plain = gx.layers.BatchNormalization(), gx.layers.BatchNormalization()
    for _ in range(3):
        out = compiled(X, training=True)
        expected = plainly(plain, X, training=True)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(compiled.moving_mean.numpy(), plain.moving_mean.numpy(), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(compiled.moving_variance.numpy(), plain.moving_variance.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.broad
def test_dropout_draws_anew_and_does_nothing_in_inference():
    layer = gx.layers.Dropout(0.5, seed=1)
    x = ops.asarray(np.ones((4, 8), "float32"))
    a, b = layer(x, training=True), layer(x, training=True)
    assert not np.array_equal(a, b)
    again = gx.layers.Dropout(0.5, seed=1)
    assert np.array_equal(plainly(again, x, training=True), a)
    assert layer(x) is x


def test_code_from_elsewhere_sees_values():
    seen = []

    def spy(x):
        seen.append(np.asarray(x).sum())  # no traced value becomes a NumPy array
        return x

    class Mine(gx.layers.Dense):
        def call(self, x):
            return super().call(spy(x))

    gx.layers.Dense(2, activation=spy)(X)
    Mine(2)(X)
    layer = gx.layers.Dense(2)
    layer(X)
    layer.activation = spy
    layer(X)
    assert len(seen) == 3


def test_a_grafted_kernel_is_read_through():
    class Doubled(gx.Reparam):
        def __init__(self, spec, next_creator):
            super().__init__(spec)
            self.half = next_creator(spec.replace(name="half"))

        def forward(self):
            return self.half * 2

    with gx.variable_creator_scope(lambda make, spec: Doubled(spec, make) if spec.name == "kernel" else make(spec)):
        layer = gx.layers.Dense(3, use_bias=False)
        layer(X)
    np.testing.assert_allclose(layer(X), X @ (2 * layer.kernel.half.numpy()), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_dtypes(policy):
    layer = gx.layers.Dense(3, dtype=policy)
    for x in (X, X.astype("float64"), ops.asarray(X), ops.cast(X, "bfloat16")):
        assert layer(x).dtype == layer.compute_dtype
        np.testing.assert_array_equal(np.asarray(layer(x), "float32"), np.asarray(layer._gx_call(x), "float32"))


def test_a_wrong_shape_is_said_as_ever():
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(2)])
    model(X)
    with pytest.raises(ShapeError, match=r"layers/0"):
        model(X[:, :3])
    assert model(X).shape == (6, 2)


@pytest.mark.broad
def test_other_transforms_see_a_plain_call():
    layer = gx.layers.Dense(1, activation="tanh")
    layer(X)
    gradients = gx.grad(lambda: ops.sum(layer(X)), wrt=layer.trainable_variables)()
    with gx.GradientTape() as tape:
        loss = ops.sum(layer(X))
    for ours, theirs in zip(tape.gradient(loss, layer.trainable_variables), gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(layer)(X), layer(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gx.jit(layer)(X), layer(X), rtol=1e-6, atol=1e-7)


def test_masks_pass_through():
    model = gx.Sequential([gx.layers.Embedding(5, 4, mask_zero=True), gx.layers.Dense(4)])
    tokens = np.array([[1, 2, 0]])
    model(tokens)
    model.layers[1](X)  # has a program now
    with call_context() as context:
        out = model(tokens)
        assert context.mask_of(out).tolist() == [[True, True, False]]


def test_copies_make_their_own():
    layer = gx.layers.Dense(3)
    expected = np.asarray(layer(X))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert np.array_equal(np.asarray(twin(X)), expected)
        twin.kernel.assign(twin.kernel * 0)
        assert not np.asarray(twin(X)).any()
    assert np.array_equal(np.asarray(layer(X)), expected)


def test_programs_keep_no_layer_alive():
    layer = gx.layers.Dense(3)
    layer(X)
    gone = weakref.ref(layer), weakref.ref(layer.kernel._storage)
    del layer
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


@pytest.mark.broad
def test_old_programs_are_forgotten(monkeypatch, traces):
    monkeypatch.setattr(eager_call, "_MOST", 2)
    layer = gx.layers.Activation("relu")
    for n in (1, 2, 3):
        layer(X[:n])
    assert len(eager_call._programs) == 2
    assert layer(X[:1]).shape == (1, 4)  # its plan has the program still
    monkeypatch.setattr(eager_call, "_MOST_PLANS", 3)
    layer(X[:4])
    assert len(layer._gx_plans) == 3
    assert layer(X[:1]).shape == (1, 4)


@pytest.mark.parametrize("built_inside", [True, False])
def test_expressions_of_the_user_behind_a_new_layer_see_values_and_share_no_program(built_inside):
    class Times(gx.Reparam):
        factor = 2.0

        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.inner = next_creator(spec.replace(name="base"))

        def forward(self):
            assert float(ops.sum(self.inner)) == 8.0  # a number, in an eager call
            return self.inner * self.factor

    class TimesThree(Times):
        factor = 3.0

    for kind in (Times, TimesThree):
        with gx.variable_creator_scope(kind, where="**/kernel"):
            layer = gx.layers.Dense(2, kernel_initializer="ones")
            if built_inside:
                layer(X)
        for _ in range(2):
            np.testing.assert_allclose(layer(X), X.sum(1, keepdims=True) * [[kind.factor] * 2], rtol=1e-6)


def test_expressions_in_another_order_share_no_program():
    """Found with a Reparam over LoRA, and LoRA over it, in one process."""

    class Scaled(gx.Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.inner = next_creator(spec.replace(name="base"))
            self.scale = next_creator(spec.replace(name="scale", shape=(), initializer=gx.initializers.Ones()))

        def forward(self):
            return self.inner * self.scale

    lora = gx.reparam.LoRA(2)
    for first, second in ((lora, Scaled), (Scaled, lora)):
        where = lambda spec: spec.path.endswith(("kernel", "kernel/base"))  # noqa: E731
        with gx.variable_creator_scope(second, where=where), gx.variable_creator_scope(first, where=where):
            model = gx.Sequential([gx.layers.Dense(5)])
            out = model(X)
        kernel = np.asarray(model.layers[0].kernel.value)
        np.testing.assert_allclose(out, X @ kernel, rtol=1e-5)
        np.testing.assert_allclose(model(X), X @ kernel, rtol=1e-5)


@pytest.mark.broad
def test_an_array_that_gives_way_to_other_dtypes_has_a_program_of_its_own():
    """What comes of a Python number meets bfloat16 in bfloat16; float32 does not, whichever came first."""
    number, array = jnp.broadcast_to(jnp.asarray(1.0), (2,)), jnp.ones((2,), "float32")
    assert number.weak_type
    other = jnp.ones((2,), "bfloat16")
    for order in ((number, array, number), (array, number, array)):
        relu, add = gx.layers.ReLU(), gx.layers.Rescaling(2.0)
        for x in order:
            for layer in (relu, add):
                found = layer(x) * other
                assert found.dtype == (layer._gx_call(x) * other).dtype
