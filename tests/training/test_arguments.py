"""Arguments of compile, fit, evaluate and predict, and foreign names of models: used, or refused with a way out."""

import contextlib
import io

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, GraftaxError, MissingAttributeError
from graftax.training import foreign_names

X = np.arange(6, dtype="float32")[:, None]
Y = np.zeros((6, 1), "float32")


def line(**options):
    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(**{"optimizer": gx.optimizers.SGD(0.0), "loss": "mse", **options})
    return model


def three_beats(error):
    assert isinstance(error, GraftaxError)
    assert error.received
    assert error.reason
    assert error.instead


COUNTS = [0, -1, 2.0, True, "3", [1], None, float("nan")]
VALID = {"validation_data": (X, Y)}
REFUSED = [
    *(("fit", {"epochs": value}) for value in COUNTS),
    *(("fit", {"batch_size": value}) for value in COUNTS if value is not None),
    *(("fit", {"steps_per_epoch": value}) for value in COUNTS if value is not None),
    *(("fit", {"validation_steps": value, **VALID}) for value in COUNTS if value is not None),
    *(("fit", {"validation_batch_size": value, **VALID}) for value in COUNTS if value is not None),
    *(("fit", {"validation_freq": value, **VALID}) for value in (0, -1, 2.0, True, "3", [0], [], [1.5], None)),
    *(("fit", {"initial_epoch": value, "epochs": 9}) for value in (-1, 2.0, True, "3", None, 10)),
    *(("fit", {"validation_split": value}) for value in (-0.2, 1.0, 2, True, "half", None, float("nan"))),
    *(("fit", {"shuffle": value}) for value in ("batch", 1, None)),
    *(("fit", {"check_nans": value}) for value in ("yes", 1, None)),
    *(
        (method, {"verbose": value})
        for method in ("fit", "evaluate", "predict")
        for value in ("loud", 3, -1, 0.5, None)
    ),
    *((method, {"callbacks": [value]}) for method in ("fit", "evaluate", "predict") for value in ("log", gx.Callback)),
    *((method, {"callbacks": 3}) for method in ("fit", "evaluate", "predict")),
    *((method, {"steps": value}) for method in ("evaluate", "predict") for value in COUNTS if value is not None),
    *((method, {"batch_size": value}) for method in ("evaluate", "predict") for value in COUNTS if value is not None),
    *((method, {"reset_metrics": 1}) for method in ("train_on_batch", "test_on_batch")),
    ("fit", {"validation_split": 0.5, **VALID}),
    ("fit", {"validation_steps": 2}),
    ("fit", {"validation_batch_size": 2}),
    ("fit", {"validation_freq": 2}),
    ("fit", {"sample_weight": 2.0}),
    ("fit", {"sample_weight": [1.0] * 5}),
    ("fit", {"sample_weight": "heavy"}),
    ("fit", {"sample_weight": {"a": np.ones(6)}}),
    *(("compile", {"steps_per_execution": value}) for value in COUNTS),
    *(("compile", {"run_eagerly": value}) for value in ("yes", 1, None)),
    ("compile", {"loss": "mse", "metrics": 3}),
    ("compile", {"loss": 3}),
    ("compile", {"optimizer": 3}),
    ("compile", {"loss": None, "loss_weights": [2.0]}),
    ("compile", {"loss_weights": "heavy"}),
    ("compile", {"loss_weights": {"a": "heavy"}}),
    ("compile", {"loss_weights": [float("nan")]}),
    ("compile", {"loss": []}),
    ("compile", {"loss": {}}),
]


@pytest.mark.parametrize(("method", "options"), REFUSED)
def test_t9_arguments_that_make_no_sense_are_refused(method, options):
    model = line()
    data = {"fit": (X, Y), "evaluate": (X, Y), "predict": (X,), "compile": ()}.get(method, (X, Y))
    quiet = {"verbose": 0} if method in ("fit", "evaluate", "predict") else {}
    with pytest.raises((ValueError, TypeError)) as caught:
        getattr(model, method)(*data, **{**quiet, **options})
    three_beats(caught.value)
    assert not model.variables or method == "fit"


LATER = [
    ({"loss_weights": [1.0, 2.0]}, {}),
    ({"loss_weights": {"a": 2.0}}, {}),
    ({"metrics": {"a": ["mae"]}}, {}),
    ({"loss": ["mse", "mae"]}, {}),
    ({"loss": {"a": "mse"}}, {}),
    ({}, {"sample_weight": {"a": np.ones(6)}}),
]


@pytest.mark.parametrize(("compiled", "given"), LATER)
def test_what_only_the_outputs_can_tell_is_refused_at_the_first_batch(compiled, given):
    with pytest.raises((ValueError, TypeError)) as caught:
        line(**compiled).fit(X, Y, verbose=0, **given)
    three_beats(caught.value)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "options",
    [
        {"epochs": np.int64(2), "batch_size": np.int32(3), "initial_epoch": np.int8(1)},
        {"verbose": False},
        {"verbose": np.False_.item()},
        {"callbacks": None},
        {"callbacks": ()},
        {"validation_freq": (1,), **VALID},
    ],
)
def test_arguments_that_do(options):
    line().fit(X, Y, **{"verbose": 0, **options})


@pytest.mark.parametrize("freq", [5, [7]])
def test_a_validation_that_never_comes_is_told(freq):
    with pytest.warns(UserWarning, match="no validation at all"):
        line().fit(X, Y, epochs=2, validation_freq=freq, verbose=0, **VALID)


TABLES = {
    "compile": foreign_names.COMPILE,
    "fit": foreign_names.FIT,
    "evaluate": foreign_names.EVALUATE,
    "predict": foreign_names.PREDICT,
    "train_on_batch": foreign_names.TRAIN_ON_BATCH,
    "test_on_batch": foreign_names.ON_BATCH,
}


@pytest.mark.parametrize(("method", "name"), [(method, name) for method, table in TABLES.items() for name in table])
def test_a4_arguments_from_elsewhere_name_ours(method, name):
    with pytest.raises(TypeError) as caught:
        getattr(line(), method)(**{name: 3})
    three_beats(caught.value)
    assert name in caught.value.received
    assert caught.value.instead == TABLES[method][name]


@pytest.mark.parametrize(
    ("method", "name", "meant"),
    [
        ("fit", "epoch", "epochs"),
        ("fit", "batchsize", "batch_size"),
        ("fit", "batch_sise", "did you mean batch_size"),
        ("fit", "call_backs", "did you mean callbacks"),
        ("compile", "jit_compile", "always compiled"),
        ("compile", "metric", "did you mean metrics"),
        ("compile", "optimiser", "did you mean optimizer"),
        ("evaluate", "batchsize", "batch_size"),
        ("predict", "verbosity", "did you mean verbose"),
        ("predict", "zzz", "without it"),
    ],
)
def test_a4_misspelt_arguments(method, name, meant):
    with pytest.raises(TypeError, match=meant):
        getattr(line(), method)(**{name: 3})


# --- names of models in other libraries -------------------------------------------------------------------------------


@pytest.mark.in_turn(4, 1, broad=2)
@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("name", foreign_names.METHODS)
def test_a4_attributes_from_elsewhere_say_what_to_write_and_that_runs(name, built):
    model = gx.Sequential([layers.Dense(1)])
    if built:
        model(X)
    with pytest.raises(MissingAttributeError) as caught:
        getattr(model, name)
    three_beats(caught.value)
    assert "not built" not in str(caught.value)
    assert not hasattr(model, name)
    model(X)
    model.compile(gx.optimizers.SGD(0.1), "mse")
    code = caught.value.instead
    space = {"graftax": gx, "model": model, "x": X, "y": Y, "batch": (X, Y), "batches": [(X, Y)], "loss_fn": None}
    space["loss_fn"] = lambda: ops.sum(model(X))
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "line", "exec"), space)


def test_a4_misspelt_attributes_are_still_told_by_layers():
    with pytest.raises(AttributeError, match="kernal"):
        gx.Sequential([layers.Dense(1)]).kernal  # noqa: B018


def test_the_table_of_attributes_names_nothing_that_models_have():
    model = line()
    model(X)
    assert [name for name in foreign_names.METHODS if name in dir(model)] == []


def test_the_errors_of_arguments_are_short():
    for options in ({"epochs": list(range(9999))}, {"verbose": "x" * 9999}, {"validation_split": "x" * 9999}):
        with pytest.raises((ValueError, TypeError)) as caught:
            line().fit(X, Y, **{"verbose": 0, **options})
        assert len(str(caught.value)) < 700
    with pytest.raises(ArgumentError) as told:
        line().fit(X, Y, verbose="loud")
    assert "'loud'" in told.value.received


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda model, loss: None, "None"),
        (lambda model, loss: loss, "shape"),
        (lambda model, loss: (loss,), "tuple"),
        (lambda model, loss: {"loss": ops.ones(3)}, r"shape \(3,\)"),
        (lambda model, loss: {3: loss}, "3"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "train_on_batch", "evaluate"])
def test_a_step_returns_numbers_by_name(returned, said, method):
    class Own(gx.Sequential):
        def train_step(self, batch):
            return returned(self, ops.mean(self(batch[0])))

        test_step = train_step

    model = Own([layers.Dense(1)])
    model.compile("sgd")
    with pytest.raises(TypeError, match=said) as caught:
        getattr(model, method)(X, Y, **({} if method == "train_on_batch" else {"verbose": 0}))
    three_beats(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("on_batch_end", "on_train_batch_end"),
        ("on_epoch_ends", "on_epoch_end"),
        ("on_train_begins", "on_train_begin"),
        ("on_fit_end", "on_train_end"),
        ("on_validation_end", "on_test_end"),
        ("on_train_step_end", "on_train_batch_end"),
        ("on_load_checkpoint", "another name, without on_"),
    ],
)
def test_a_hook_that_nobody_would_call_is_refused(name, meant):
    callback = type("Mine", (gx.Callback,), {name: lambda self, logs=None: None})()
    with pytest.raises(TypeError, match=meant):
        line().fit(X, Y, verbose=0, callbacks=[callback])


def test_methods_of_callbacks_that_are_no_hooks_may_be():
    class Mine(gx.Callback):
        on_what = 3

        def on_epoch_end(self, epoch, logs=None):
            self.on_improvement()

        def on_improvement(self):
            self.improved = True

    callback = Mine()
    line().fit(X, Y, verbose=0, callbacks=[callback])
    assert callback.improved


def test_a_callback_that_does_not_set_its_model_is_told_how():
    class Mine(gx.Callback):
        def set_model(self, model):
            self.mine = model

        def on_epoch_end(self, epoch, logs=None):
            self.mine.stop_training = True
            self.found = self.model

    with pytest.raises(AttributeError, match=r"super\(\)\.set_model\(model\) in Mine\.set_model"):
        line().fit(X, Y, verbose=0, callbacks=[Mine()])


def test_progress_refuses_what_it_would_not_show():
    with pytest.raises(ArgumentError, match="loud"):
        gx.callbacks.Progress(verbose="loud")
