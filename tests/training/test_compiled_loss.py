"""Variables of the losses that a model was compiled with are part of the model: trained, saved, copied, restored."""

import copy
import warnings
from functools import partial

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
Y = X[:, :1] * 2


class Running(gx.losses.Loss):
    """Divides by a moving average of the errors."""

    def __init__(self, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.scale = gx.Variable(1.0, trainable=False)

    def call(self, y_true, y_pred):
        errors = (y_true - y_pred) ** 2
        mean = ops.stop_gradient(ops.mean(errors))
        self.scale.assign(self.momentum * self.scale + (1 - self.momentum) * mean)
        return ops.mean(errors, axis=-1) / self.scale


class Scaled(gx.losses.Loss):
    """Learns the logarithm of the variance."""

    def __init__(self):
        super().__init__()
        self.log_s = gx.Variable(0.0)

    def call(self, y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 2 * ops.exp(-self.log_s) + self.log_s, axis=-1)


class KilledError(Exception):
    pass


def _model(loss, **options):
    gx.set_random_seed(0)
    model = gx.Sequential([gx.Input((4,)), gx.layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), loss, **options)
    return model


def _paths(variables):
    return [variable.path for variable in variables]


@pytest.mark.broad
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
def test_a_trainable_one_is_trained(compiled):
    loss = Scaled()
    model = _model(loss, run_eagerly=not compiled)
    assert _paths(model.trainable_variables)[-1] == "compiled_loss/log_s"
    kernel, bias, s = (v.numpy().astype("float64") for v in model.trainable_variables)
    model.fit(X, Y, batch_size=32, epochs=3, verbose=0, shuffle=False)
    for _ in range(3):
        error = X @ kernel + bias - Y
        slope, change = 2 * error / error.size * np.exp(-s), 1 - np.mean(error**2) * np.exp(-s)
        kernel, bias, s = kernel - 0.1 * X.T @ slope, bias - 0.1 * slope.sum(0), s - 0.1 * change
    for variable, wanted in zip(model.trainable_variables, (kernel, bias, s), strict=True):
        np.testing.assert_allclose(variable.numpy(), wanted, rtol=1e-4)
    loss.log_s.trainable = False
    assert _paths(model.trainable_variables) == ["layers/0/kernel", "layers/0/bias"]


@pytest.mark.broad
@pytest.mark.parametrize("kind", [Running, Scaled])
def test_a_run_that_was_killed_goes_on_as_it_was(kind, tmp_path):
    def run(folder, kill=None):
        model = _model(kind())

        def end(batch, logs):
            if int(model.optimizer.iterations) == kill:
                raise KilledError

        hooks = [gx.callbacks.ModelCheckpoint(folder, every=2), gx.callbacks.LambdaCallback(on_train_batch_end=end)]
        model.fit(X, Y, batch_size=8, epochs=3, verbose=0, callbacks=hooks, resume=folder)
        return [variable.numpy() for variable in model.variables]

    whole = run(tmp_path / "whole")
    with pytest.raises(KilledError):
        run(tmp_path / "killed", 7)
    for one, other in zip(whole, run(tmp_path / "killed"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_checkpoints_have_it(tmp_path):
    model = _model(Running())
    model.fit(X, Y, verbose=0)
    gx.Checkpoint(model=model, optimizer=model.optimizer).save(tmp_path / "c")
    model.save_weights(tmp_path / "w")
    other = _model(Running())
    report = other.load_weights(tmp_path / "w").assert_consumed()
    assert "model/compiled_loss/scale" in [one.path for one in report.restored]
    assert float(other.compiled_loss.scale) == float(model.compiled_loss.scale) != 1.0
    again = _model(Running())
    gx.Checkpoint(model=again, optimizer=again.optimizer).restore(tmp_path / "c").assert_consumed()
    assert float(again.compiled_loss.scale) == float(model.compiled_loss.scale)


def test_values_wait_for_compile(tmp_path):
    model = _model(Running())
    model.compiled_loss.scale.assign(3.0)
    model.save_weights(tmp_path / "w")
    bare = gx.Sequential([gx.Input((4,)), gx.layers.Dense(1)])
    report = bare.load_weights(tmp_path / "w")
    assert report.deferred == ("model/compiled_loss/scale",)
    bare.compile("sgd", Running())
    assert float(bare.compiled_loss.scale) == 3.0
    report.assert_consumed()
    with pytest.raises(gx.errors.UnusedInCheckpoint, match="compiled_loss/scale"):
        _model("mse").load_weights(tmp_path / "w")


def test_a_checkpoint_without_it_is_refused_until_it_is_skipped(tmp_path):
    _model("mse").save_weights(tmp_path / "w")
    model = _model(Running())
    checkpoint = gx.Checkpoint(model=model)
    with pytest.raises(gx.errors.MissingInCheckpoint, match="model/compiled_loss/scale"):
        checkpoint.restore(tmp_path / "w")
    checkpoint.restore(tmp_path / "w", skip="model/compiled_loss/**").assert_consumed()


@pytest.mark.broad
def test_a_whole_model(tmp_path):
    model = _model(Running(0.5))
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "m")
    again = gx.load_model(tmp_path / "m", custom=[Running])
    assert again.compiled_loss.momentum == 0.5
    assert again.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)


@pytest.mark.broad
def test_an_evaluation_leaves_it_as_it_was():
    model = _model(Running())
    model.fit(X, Y, verbose=0)
    kept = float(model.compiled_loss.scale)
    model.evaluate(X, Y, batch_size=8, verbose=0)
    assert float(model.compiled_loss.scale) == kept
    with_validation, without = _model(Running()), _model(Running())
    with_validation.fit(X, Y, epochs=2, verbose=0, validation_data=(X[:8], Y[:8]))
    without.fit(X, Y, epochs=2, verbose=0)
    assert float(with_validation.compiled_loss.scale) == float(without.compiled_loss.scale)


def test_a_copy_has_its_own():
    model = _model(Running())
    twin = copy.deepcopy(model)
    twin.compiled_loss.scale.assign(5.0)
    assert float(model.compiled_loss.scale) == 1.0
    assert twin.objectives.given_arguments()["loss"] is twin.compiled_loss


def test_another_compile_replaces_it():
    model = _model(Running())
    model.compile("sgd", Scaled())
    assert _paths(model.variables)[-1] == "compiled_loss/log_s"
    model.compile("sgd", "mse")
    assert _paths(model.variables) == ["layers/0/kernel", "layers/0/bias"]
    assert not hasattr(model, "compiled_loss")


def test_losses_without_variables_change_nothing():
    class Plain(gx.losses.Loss):
        def call(self, y_true, y_pred):
            return ops.mean(ops.abs(y_true - y_pred), axis=-1)

    model = _model(Plain())
    assert not hasattr(model, "compiled_loss")


def test_losses_that_the_model_has_stay_where_they_are():
    model = gx.Sequential([gx.Input((4,)), gx.layers.Dense(1)])
    model.own = Running()
    model.compile("sgd", model.own)
    assert _paths(model.variables)[-1] == "own/scale"
    assert not hasattr(model, "compiled_loss")


def test_several_outputs():
    x = gx.Input((4,))
    model = gx.Model(x, {"a": gx.layers.Dense(1)(x), "b": gx.layers.Dense(1)(x)})
    model.compile("sgd", {"a": Running(), "b": "mse"})
    assert _paths(model.variables)[-1] == "compiled_loss/a/scale"


def test_modules_and_their_methods_as_losses():
    class Weighed(gx.Module):
        def __init__(self):
            self.factor = gx.Variable(1.0)

        def __call__(self, y_true, y_pred):
            return self.factor * ops.mean((y_true - y_pred) ** 2, axis=-1)

        def loss(self, y_true, y_pred):
            return self(y_true, y_pred)

    for loss in (Weighed(), Weighed().loss):
        model = _model(loss)
        assert _paths(model.variables)[-1] == "compiled_loss/factor"


def _closed_over(variable):
    return lambda y_true, y_pred: variable * ops.mean((y_true - y_pred) ** 2, axis=-1)


class PlainObject:
    def __init__(self):
        self.factor = gx.Variable(1.0)

    def __call__(self, y_true, y_pred):
        return self.factor * ops.mean((y_true - y_pred) ** 2, axis=-1)


@pytest.mark.broad
@pytest.mark.parametrize(
    "options",
    [
        {"loss": _closed_over(gx.Variable(1.0))},
        {"loss": PlainObject()},
        {"loss": "mse", "loss_weights": [gx.Variable(1.0)]},
    ],
    ids=["function", "object", "factor"],
)
def test_variables_that_nobody_has_are_warned_of(options):
    with pytest.warns(UserWarning, match="belongs to no Module: it is neither trained nor saved"):
        _model(**options).fit(X, Y, verbose=0)


def _forward_to(loss):
    return lambda y_true, y_pred: loss(y_true, y_pred)


def _call(loss, y_true, y_pred):
    return loss(y_true, y_pred)


IN_FUNCTIONS = {
    "closure": _forward_to,
    "partial": lambda loss: partial(_call, loss),
    "partial by name": lambda loss: partial(lambda y_true, y_pred, loss: loss(y_true, y_pred), loss=loss),
    "partial of a closure": lambda loss: partial(_forward_to(loss)),
}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", IN_FUNCTIONS)
@pytest.mark.parametrize("way", ["fit", "train_on_batch"])
def test_losses_in_functions_are_warned_of_where_nobody_trains_them(kind, way):
    step = {"fit": lambda one: one.fit(X, Y, verbose=0), "train_on_batch": lambda one: one.train_on_batch(X, Y)}[way]
    with pytest.warns(UserWarning, match=r"\(Scaled\), which is no part of this model.*'log_s' are neither trained"):
        step(_model(IN_FUNCTIONS[kind](Scaled())))
    held = _model("mse")
    held.own = Scaled()
    held.compile("sgd", IN_FUNCTIONS[kind](held.own))
    frozen = Scaled()
    frozen.log_s.trainable = False
    network = gx.Sequential([gx.Input((1,)), gx.layers.Dense(1)])  # a teacher, which is not meant to be trained
    compared = lambda y_true, y_pred: ops.mean((network(y_true) - network(y_pred)) ** 2, axis=-1)  # noqa: E731
    for model in (held, *map(_model, (IN_FUNCTIONS[kind](frozen), IN_FUNCTIONS[kind](Running()), compared))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            step(model)


@pytest.mark.parametrize("wrap", [lambda f, v: f(v), lambda f, v: partial(lambda v, a, b: f(v)(a, b), v)])
def test_a_variable_in_a_function_is_told_by_a_step_on_a_batch_too(wrap):
    model = _model(wrap(_closed_over, gx.Variable(1.0)))
    with pytest.warns(UserWarning, match="belongs to no Module: it is neither trained nor saved"):
        model.train_on_batch(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.train_on_batch(X, Y)


@pytest.mark.broad
def test_variables_that_somebody_has_are_not():
    model = gx.Sequential([gx.Input((4,)), gx.layers.Dense(1)])
    model.factor = gx.Variable(1.0)
    model.compile("sgd", _closed_over(model.factor))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y, verbose=0)


@pytest.mark.broad
def test_factors_may_change():
    weights = {"a": 1.0, "b": 1.0}
    x = gx.Input((4,))
    model = gx.Model(x, {"a": gx.layers.Dense(1)(x), "b": gx.layers.Dense(1)(x)})
    model.compile(gx.optimizers.SGD(0.0), "mse", loss_weights=weights)
    targets = {"a": Y, "b": 2 * Y}

    def parts():
        found = model.evaluate(X, targets, verbose=0)
        return found["loss"], found["a_loss"], found["b_loss"]

    total, a, b = parts()
    np.testing.assert_allclose(total, a + b, rtol=1e-6)
    model.compiled_loss_weights["b"] = 3.0
    assert weights == {"a": 1.0, "b": 1.0}
    total, a, b = parts()
    np.testing.assert_allclose(total, a + 3 * b, rtol=1e-6)
    model.fit(X, targets, verbose=0)
    model.compiled_loss_weights["a"] = 0.5
    history = model.fit(X, targets, verbose=0).history
    np.testing.assert_allclose(history["loss"][0], 0.5 * a + 3 * b, rtol=1e-5)


def test_a_factor_that_is_a_variable_is_saved():
    factor = gx.Variable(0.5, trainable=False)
    model = _model("mse", loss_weights=[factor])
    assert _paths(model.variables)[-1] == "compiled_loss_weights/0"


class Unnamed(gx.losses.Loss):
    """Makes its Variable in its first call, under a name that its constructor does not know."""

    def __init__(self):
        super().__init__()
        self.is_made = False

    def call(self, y_true, y_pred):
        if not self.is_made:
            self.factor, self.is_made = gx.Variable(0.5, name="factor"), True
        return ops.mean((y_true - y_pred * self.factor) ** 2, axis=-1)


def _with_unnamed():
    gx.set_random_seed(0)
    model = gx.Sequential([gx.Input((3,)), layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1, momentum=0.9), Unnamed())
    return model


@pytest.mark.parametrize("way", ["restore", "twice", "cover", "load_weights"])
def test_a_variable_of_a_first_call_waits_for_it_under_any_name(tmp_path, way):
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
    trained = _with_unnamed()
    trained.fit(x, x[:, :1], epochs=3, verbose=0)
    trained.save_weights(tmp_path / "weights")
    gx.Checkpoint(model=trained, optimizer=trained.optimizer).save(tmp_path / "all")
    other = _with_unnamed()
    if way == "load_weights":
        other.load_weights(tmp_path / "weights")
    for _ in range(2 if way == "twice" else way != "load_weights"):
        mode = "cover" if way == "cover" else "exact"
        gx.Checkpoint(model=other, optimizer=other.optimizer).restore(tmp_path / "all", mode=mode)
    assert other.evaluate(x, x[:, :1], verbose=0) == trained.evaluate(x, x[:, :1], verbose=0)
    if way != "load_weights":  # which has no slots
        other.fit(x, x[:, :1], epochs=2, verbose=0)
        trained.fit(x, x[:, :1], epochs=2, verbose=0)
    np.testing.assert_array_equal(other.compiled_loss.factor, trained.compiled_loss.factor)


def test_what_a_loss_never_makes_has_no_place(tmp_path):
    trained = _with_unnamed()
    trained.fit(np.ones((4, 3), "float32"), np.ones((4, 1), "float32"), verbose=0)
    gx.Checkpoint(model=trained).save(tmp_path / "all")
    other = gx.Sequential([gx.Input((3,)), layers.Dense(1)])
    other.compile("sgd", "mse")
    with pytest.raises(gx.errors.UnusedInCheckpoint, match="compiled_loss/factor"):
        gx.Checkpoint(model=other).restore(tmp_path / "all")
