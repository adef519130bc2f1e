"""Models of float64 get data of float64, whatever the form; models of float32 get float32, also where JAX has both."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

SECONDS = 1.7e9 + np.arange(6.0)[:, None]
TARGETS = SECONDS - 1.7e9
BEFORE = gx.initializers.Constant(-1.7e9)


@pytest.fixture(autouse=True)
def x64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def model_of(dtype, **options):
    dense = layers.Dense(1, kernel_initializer="ones", bias_initializer=BEFORE, dtype=dtype)
    model = gx.Sequential([dense])
    model.compile(gx.optimizers.SGD(0.0), "mse", **options)
    return model


class Samples:
    workers = 0

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return SECONDS[i], TARGETS[i]


class Threaded(Samples):
    workers = 2


def of_pandas():
    return pytest.importorskip("pandas").DataFrame({"t": SECONDS[:, 0]})


def of_torch():
    return pytest.importorskip("torch").from_numpy(SECONDS)


FORMS = {
    "arrays": lambda: ((SECONDS, TARGETS), {}),
    "big-endian": lambda: ((SECONDS.astype(">f8"), TARGETS.astype(">f8")), {}),
    "lists": lambda: ((SECONDS.tolist(), TARGETS.tolist()), {}),
    "jax": lambda: ((jax.numpy.asarray(SECONDS), jax.numpy.asarray(TARGETS)), {}),
    "dict": lambda: (({"t": SECONDS}, TARGETS), {}),
    "batches": lambda: (([(SECONDS[:4], TARGETS[:4]), (SECONDS[4:], TARGETS[4:])],), {}),
    "generator": lambda: (((SECONDS[i:], TARGETS[i:]) for i in (0, 2, 4)), {}),
    "prefetched": lambda: ((gx.data.prefetch([(SECONDS, TARGETS)]),), {}),
    "samples": lambda: ((Samples(),), {"batch_size": 4}),
    "samples in threads": lambda: ((Threaded(),), {"batch_size": 4}),
    "weights of classes": lambda: ((SECONDS, TARGETS), {"class_weight": {0: 3.0}}),
    "validation split": lambda: ((SECONDS, TARGETS), {"validation_split": 0.3}),
    "table": lambda: ((of_pandas(), TARGETS), {}),
    "tensor": lambda: ((of_torch(), TARGETS), {}),
}
OF_PEERS = ("table", "tensor")


def wanted(names=FORMS):
    return [pytest.param(name, marks=[pytest.mark.references] if name in OF_PEERS else []) for name in names]


@pytest.mark.parametrize("name", wanted())
@pytest.mark.parametrize("eagerly", [False, True])
def test_a_model_of_float64_loses_no_digit_in_fit(name, eagerly):
    data, options = FORMS[name]()
    data = data if isinstance(data, tuple) else (data,)
    model = model_of("float64", run_eagerly=eagerly)
    if name == "dict":
        inner, given = model.layers[0], gx.Input((1,), name="t", dtype="float64")
        model = gx.Model({"t": given}, inner(given))
        model.compile(gx.optimizers.SGD(0.0), "mse", run_eagerly=eagerly)
    logs = model.fit(*data, **options, verbose=0).history
    assert logs["loss"] == [0.0]
    assert logs.get("val_loss", [0.0]) == [0.0]


@pytest.mark.parametrize(
    "given", [SECONDS, SECONDS.tolist(), [SECONDS[:2], SECONDS[2:]]], ids=["array", "list", "batches"]
)
def test_evaluation_and_prediction_too(given):
    model = model_of("float64")
    found = model.predict(iter(given) if isinstance(given[0], np.ndarray) and given[0].ndim == 2 else given, verbose=0)
    np.testing.assert_array_equal(found, TARGETS)
    assert found.dtype == "float64"
    assert model.evaluate(SECONDS, TARGETS, verbose=0)["loss"] == 0.0
    np.testing.assert_array_equal(model.predict_on_batch(SECONDS), TARGETS)
    assert model.test_on_batch(SECONDS, TARGETS)["loss"] == model.train_on_batch(SECONDS, TARGETS)["loss"] == 0.0


def test_a_step_of_ones_own_gets_what_the_model_computes_in():
    seen = []

    class Own(gx.Model):
        def __init__(self, dtype):
            super().__init__()
            self.dense = layers.Dense(1, dtype=dtype)

        def call(self, x):
            return self.dense(x)

        def train_step(self, batch):
            x, y = batch
            seen.append((str(x.dtype), str(y.dtype)))
            self.optimizer.minimize(lambda: ops.mean((self(x) - y) ** 2), self.trainable_variables)
            return {}

    for dtype in ("float32", "float64"):
        model = Own(dtype)
        model.compile("sgd")
        model.fit(TARGETS, TARGETS, verbose=0)
    assert set(seen[: len(seen) // 2]) == {("float32",) * 2}
    assert set(seen[len(seen) // 2 :]) == {("float64",) * 2}


def test_weights_of_samples_keep_their_digits():
    model = model_of("float64")
    weights = np.full(6, 1 + 1e-12)
    found = model.evaluate(SECONDS + 1, TARGETS, sample_weight=weights, verbose=0)["loss"]
    assert found == pytest.approx(1.0, abs=1e-6)
    logs = model.fit(SECONDS + 1, TARGETS, sample_weight=1e9 * weights, class_weight={0: 1.0}, verbose=0).history
    assert logs["loss"][0] == pytest.approx(1e9, rel=1e-6)


def test_the_policy_of_all_layers_counts():
    gx.set_dtype_policy("float64")
    try:
        dense = layers.Dense(1, kernel_initializer="ones", bias_initializer=BEFORE)
        model = gx.Sequential([layers.Lambda(lambda x: x), dense])
        np.testing.assert_array_equal(model.predict(SECONDS, verbose=0), TARGETS)
    finally:
        gx.set_dtype_policy("float32")


def test_a_model_of_float32_in_fit_of_one_of_float64():
    narrow, found = model_of("float32"), []
    narrow.predict(SECONDS, verbose=0)

    class Beside(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            found.append(narrow.predict(SECONDS, verbose=0).dtype)

    assert model_of("float64").fit(SECONDS, TARGETS, epochs=2, verbose=0, callbacks=[Beside()]).history["loss"] == [
        0,
        0,
    ]
    assert found == ["float32", "float32"]
