"""What every layer does, whatever it computes: section 18 of the semantics."""

import threading

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from tests.layers.small_layers import Around, Scale, X


class Flag(gx.Layer):
    """Notes the training flag that it got."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def call(self, x, training=None):
        self.seen.append(training)
        return x + 0


class DefaultsToTraining(Flag):
    def call(self, x, training=True):
        return super().call(x, training)


class AroundWithFlag(Around):
    def call(self, x, training=None):
        return super().call(x)


# --- the training flag ----------------------------------------------------------------------------------------------


def test_kl5_explicit_wins_then_the_enclosing_call_then_the_default():
    flag, default = Flag(), DefaultsToTraining()
    for training in (None, True, False):
        Around(Around(flag))(X, training=training)
        Around(default)(X, training=training)
        AroundWithFlag(flag)(X, training=training)
        Around(flag, training=False)(X, training=training)
    assert flag.seen == [None, None, False, True, True, False, False, False, False]
    assert default.seen == [True, True, False]


def test_kl5_each_thread_has_its_own_context():
    flag, inside, outside = Flag(), threading.Event(), threading.Event()

    class Waiting(gx.Layer):
        def call(self, x):
            inside.set()
            outside.wait(10)
            return x + 0

    thread = threading.Thread(target=lambda: Waiting()(X, training=True))
    thread.start()
    inside.wait(10)
    flag(X)
    outside.set()
    thread.join()
    assert flag.seen == [None]


# --- trainable ------------------------------------------------------------------------------------------------------


def test_kl7_freezing_reaches_below_and_silences_penalties():
    inner = layers.Dense(2, kernel_regularizer="l2")
    outer = Around(inner)
    outer(X)
    assert len(outer.losses) == 1
    outer.trainable = False
    assert not inner.trainable
    assert outer.losses == inner.losses == outer.trainable_variables == []
    assert len(outer.non_trainable_variables) == 2
    outer.trainable = True
    assert len(outer.losses) == 1


# --- masks ----------------------------------------------------------------------------------------------------------


class MaskNoting(gx.Layer):
    supports_masking = True

    def call(self, x, mask=None):
        self.mask = mask
        return x + 0


@pytest.mark.broad
def test_kl10_a_mask_passes_through_dense():
    noting = MaskNoting()
    embedding, dense, dropout = layers.Embedding(9, 2, mask_zero=True), layers.Dense(3), layers.Dropout(0.5)

    class Model(gx.Layer):
        def call(self, x, training=None):
            return noting(dropout(dense(embedding(x))))

    for training in (False, True):
        model = Model()
        model.parts = [embedding, dense, dropout, noting]
        model(np.array([[1, 2, 0, 0]]), training=training)
        assert noting.mask.tolist() == [[True, True, False, False]]


def test_kl10_a_dropped_mask_is_told_once():
    noting, unaware = MaskNoting(), Scale(name="unaware")
    embedding = layers.Embedding(9, 2, mask_zero=True)

    class Model(gx.Layer):
        def call(self, x):
            return noting(unaware(embedding(x)))

    model = Model()
    model.parts = [embedding, unaware, noting]
    with pytest.warns(UserWarning, match=r"'parts/1' \(Scale\) is dropped.*\n?.*supports_masking"):
        model(np.array([[1, 0]]))
    model(np.array([[1, 0]]))  # a second warning would be an error here
    assert noting.mask is None


def test_kl10_a_mask_passes_inside_a_compiled_function():
    noting, embedding = MaskNoting(), layers.Embedding(9, 2, mask_zero=True)

    class Model(gx.Layer):
        def call(self, x):
            out = noting(embedding(x))
            return out * ops.cast(ops.expand_dims(noting.mask, -1), "float32")

        def compute_mask(self, inputs, mask):
            return None  # it is used up

    model = Model()
    model.parts = [embedding, noting]
    with pytest.warns(UserWarning, match=r"parts/1.mask keeps a traced value"):
        out = np.asarray(gx.jit(model)(np.array([[1, 0]])))
    assert out[0, 0].any()
    assert not out[0, 1].any()


def test_a_layer_that_nobody_holds_is_told_of():
    dense = layers.Dense(3)

    class Model(gx.Layer):
        def call(self, x):
            return dense(x)

    with pytest.warns(UserWarning, match=r"'dense' \(Dense\) is built in a call of 'model' \(Model\), which") as caught:
        Model()(X)
    assert caught[0].filename == __file__
    Model()(X)  # built by somebody else, such as a frozen network, it is nobody's mistake


# --- dtypes ---------------------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_kl12_mixed_precision():
    layer = layers.Dense(2, dtype="mixed_float16")
    out = layer(X)
    assert (str(out.dtype), layer.dtype, layer.compute_dtype) == ("float16", "float32", "float16")
    assert {v.dtype for v in layer.variables} == {"float32"}
    gradient = gx.grad(lambda: ops.sum(ops.cast(layer(X), "float32")), wrt=layer.kernel)()
    assert str(gradient.dtype) == "float32"


def test_kl13_floats_are_cast_wherever_they_are_and_integers_are_not():
    seen = []

    class Noting(gx.Layer):
        def call(self, x, extra=None, numbers=None):
            seen.extend(str(a.dtype) for a in (x["a"], *extra, numbers))
            return x["a"]

    Noting(dtype="bfloat16")({"a": X}, extra=[X, X], numbers=np.arange(3))
    assert seen == ["bfloat16"] * 3 + ["int32"]


def test_the_global_policy_is_for_layers_made_later():
    before = layers.Dense(2)
    gx.set_dtype_policy("mixed_bfloat16")
    try:
        assert str(layers.Dense(2)(X).dtype) == "bfloat16"
        assert before.compute_dtype == "float32"
    finally:
        gx.set_dtype_policy("float32")


# --- losses ---------------------------------------------------------------------------------------------------------


class Penalised(gx.Layer):
    def call(self, x):
        self.add_loss(ops.sum(x))
        return x + 0


def test_kl17_losses_are_those_of_the_latest_call():
    model = Around(Penalised())
    model(np.ones((3, 1), "float32"))
    assert [float(loss) for loss in model.losses] == [3]
    model(np.ones((5, 1), "float32"))
    assert [float(loss) for loss in model.losses] == [5]


def test_kl23_losses_of_nested_layers_do_not_pile_up():
    class Model(gx.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Penalised()

        def call(self, x):
            self.add_loss(4.0)
            return self.inner(x)

    model = Model()
    for _ in range(2):
        model(np.ones((3, 1), "float32"))
        assert sum(float(loss) for loss in model.losses) == 7


def test_losses_inside_a_compiled_gradient():
    model = Around(Penalised())

    def loss(x):
        model(x)
        return sum(model.losses)

    np.testing.assert_array_equal(gx.jit(gx.grad(loss))(ops.asarray(X)), np.ones((3, 4)))
    assert [float(loss) for loss in model.losses] == [X.sum()]  # carried out of the trace


def test_kl15_one_initializer_object_gives_different_weights():
    shared = gx.initializers.GlorotUniform(seed=1)
    a, b = layers.Dense(4, kernel_initializer=shared), layers.Dense(4, kernel_initializer=shared)
    model = Around(layers.Add())
    model.a, model.b = a, b
    a(X), b(X)
    assert (a.kernel.numpy() != b.kernel.numpy()).any()


def test_kl16_equal_seeds_give_equal_models():
    def make():
        gx.set_random_seed(3)
        model = Around(layers.Dense(4))
        model(X)
        return model.inner.kernel.numpy()

    np.testing.assert_array_equal(make(), make())


def test_an_unseeded_model_differs_from_the_one_before():
    kernels = []
    for _ in range(2):
        layer = layers.Dense(4)
        layer(X)
        kernels.append(layer.kernel.numpy())
    assert (kernels[0] != kernels[1]).any()


def test_add_weight_goes_through_the_creators():
    specs = []

    def log(next_creator, spec):
        specs.append((spec.path, spec.shape, spec.role, spec.owner))
        return next_creator(spec)

    with gx.variable_creator_scope(log, roles=None):
        layer = layers.BatchNormalization()
        layer(X)
    assert [s[:3] for s in specs] == [
        ("gamma", (4,), "weight"),
        ("beta", (4,), "weight"),
        ("moving_mean", (4,), "state"),
        ("moving_variance", (4,), "state"),
    ]
    assert all(owner is layer for *_, owner in specs)
