"""A layer that was never adapted raises before anything is computed: in eager code, compiled, trained and exported."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(3, 2, (8, 3)).astype("float32")
NEVER = r"(Normalization|Discretization|Lookup|TextVectorization)\) has no (.|\n)*adapt\(\) was not called"


class Apart(gx.Model):
    """Normalizes with statistics that it takes itself, from each batch."""

    def __init__(self):
        super().__init__()
        self.normalization = layers.Normalization()

    def call(self, x):
        self.normalization.mean.assign(gx.ops.mean(x, axis=0))
        self.normalization.variance.assign(gx.ops.var(x, axis=0))
        return self.normalization(x)


class Sometimes(gx.Model):
    """Normalizes if the sum of the input is not 0."""

    def __init__(self):
        super().__init__()
        self.normalization = layers.Normalization()

    def call(self, x):
        return gx.cond(gx.ops.sum(abs(x)) > 0, lambda: self.normalization(x), lambda: x)


def made(first=layers.Normalization, **how):
    gx.set_random_seed(0)
    model = gx.Sequential([first(), layers.Dense(1)])
    model.compile("sgd", "mse", **how)
    return model


USES = {
    "call": lambda model, _: model(X),
    "jit": lambda model, _: gx.jit(lambda x: model(x))(X),
    "checked": lambda model, _: gx.jit(lambda x: model(x), checked=True)(X),
    "gradient": lambda model, _: gx.jit(gx.grad(lambda x: gx.ops.sum(model(x))))(X),
    "map": lambda model, _: gx.jit(lambda x: gx.vectorized_map(model, x[:, None]))(X),
    "fit": lambda model, _: model.fit(X, X[:, :1], verbose=0),
    "evaluate": lambda model, _: model.evaluate(X, X[:, :1], verbose=0),
    "predict": lambda model, _: model.predict(X, verbose=0),
    "train_on_batch": lambda model, _: model.train_on_batch(X, X[:, :1]),
    "export": lambda model, folder: model.export(folder / "net", X),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("use", USES)
def test_whatever_runs_it_raises(use, tmp_path):
    if use == "export":
        pytest.importorskip("flatbuffers")
    model = made()
    with pytest.raises(gx.errors.StateError, match=NEVER):
        USES[use](model, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", [{"steps_per_execution": 2}, {"run_eagerly": True}], ids=str)
@pytest.mark.broad
def test_fit_raises_before_the_first_step_and_goes_on_after_adapt(how):
    model = made(**how)
    with pytest.raises(gx.errors.StateError, match=NEVER):
        model.fit(X, X[:, :1], batch_size=2, shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 0
    model.layers[0].adapt(X)
    loss = model.fit(X, X[:, :1], batch_size=2, shuffle=False, verbose=0).history["loss"]
    other = made(**how)
    other.layers[0].adapt(X)
    assert loss == other.fit(X, X[:, :1], batch_size=2, shuffle=False, verbose=0).history["loss"]


TEXTS = np.array(["a b", "b"])
OTHERS = {
    "discretization": (lambda: layers.Discretization(num_bins=3), X),
    "integer_lookup": (layers.IntegerLookup, X.astype("int32")),
    "string_lookup": (layers.StringLookup, TEXTS),
    "text_vectorization": (layers.TextVectorization, TEXTS),
}


@pytest.mark.parametrize("name", OTHERS)
def test_so_do_the_others_with_adapt(name):
    make, data = OTHERS[name]
    layer = make()
    with pytest.raises(gx.errors.StateError, match=NEVER):
        layer(data)
    if data.dtype.kind != "U":  # which no compiled function takes
        with pytest.raises(gx.errors.StateError, match=NEVER):
            made(make).predict(data, verbose=0)


@pytest.mark.broad
def test_statistics_that_are_assigned_or_restored_count(tmp_path):
    adapted = made()
    adapted.layers[0].adapt(X)
    wanted = adapted(X)
    gx.Checkpoint(model=adapted).save(tmp_path / "one")
    restored, assigned = made(), made()
    for model in (restored, assigned):
        model.build((None, 3))
    gx.Checkpoint(model=restored).restore(tmp_path / "one")
    assigned.set_weights(adapted.get_weights())
    for model in (restored, assigned):
        np.testing.assert_allclose(model.predict(X, verbose=0), wanted, rtol=1e-6)
        np.testing.assert_allclose(model(X), wanted, rtol=1e-6)


def test_a_program_whose_layer_loses_its_statistics_raises_at_its_next_run():
    layer = layers.Normalization()
    layer.adapt(X)
    run = gx.jit(lambda x: layer(x))
    for _ in range(3):  # from the third call on, calls that are alike are recognized as a whole
        first = run(X)
    saved = layer.get_weights()
    layer.set_weights([np.full(3, np.nan, "float32")] * 2)
    layer.count.assign(0)
    with pytest.raises(gx.errors.StateError, match=NEVER):
        run(X)
    layer.set_weights(saved)
    np.testing.assert_array_equal(run(X), first)
    assert run.trace_count == 1


def test_a_function_that_assigns_the_statistics_itself_runs():
    model = Apart()
    model.normalization.build((None, 3))
    out = gx.jit(lambda x: model(x))(X)
    np.testing.assert_allclose(out, (X - X.mean(0)) / X.std(0), atol=1e-5)


def test_a_branch_that_does_not_run_may_have_no_statistics():
    model = Sometimes()
    np.testing.assert_array_equal(gx.jit(lambda x: model(x))(X * 0), X * 0)


@pytest.mark.broad
def test_a_trace_alone_does_not_raise():
    model = made()
    model.build((None, 3))
    assert gx.jit(lambda x: model(x)).lower(X).read
    assert gx.memory_report(model, (X, X[:, :1])).weights
