"""Lists and dicts given to `compile` stay those of the caller: models have copies, and never share one."""

import copy
import warnings

import numpy as np
import pytest

import graftax as gx

X = np.ones((4, 3), "float32")
Y = {"a": np.ones((4, 1), "float32"), "b": np.full((4, 1), 2.0, "float32")}


def _model(**given):
    x = gx.Input((3,))
    outputs = {name: gx.layers.Dense(1, kernel_initializer="zeros")(x) for name in "ab"}
    model = gx.Model(x, outputs)
    model.compile(gx.optimizers.SGD(0.0), **given)
    return model


def _loss(model):
    return model.evaluate(X, Y, verbose=0)["loss"]


@pytest.mark.broad
@pytest.mark.parametrize("factors", [{"a": 1.0, "b": 1.0}, [1.0, 1.0]], ids=["dict", "list"])
def test_two_models_have_factors_of_their_own(factors):
    given = copy.copy(factors)
    one, other = _model(loss="mse", loss_weights=given), _model(loss="mse", loss_weights=given)
    assert (_loss(one), _loss(other)) == (5.0, 5.0)
    one.compiled_loss_weights["a" if isinstance(given, dict) else 0] = 10.0
    assert (_loss(one), _loss(other), given) == (14.0, 5.0, factors)


@pytest.mark.broad
def test_copies_of_a_model_have_factors_of_their_own():
    one = _model(loss="mse", loss_weights={"a": 1.0, "b": 1.0})
    other = copy.deepcopy(one)
    other.compiled_loss_weights["a"] = 10.0
    assert (_loss(one), _loss(other)) == (5.0, 14.0)


@pytest.mark.broad
def test_saved_factors_are_the_changed_ones(tmp_path):
    one = _model(loss="mse", loss_weights={"a": 1.0, "b": 1.0})
    one.compiled_loss_weights["a"] = 10.0
    one.save(tmp_path / "model")
    assert _loss(gx.load_model(tmp_path / "model")) == 14.0


@pytest.mark.broad
def test_a_change_of_what_was_given_is_warned_of_once():
    given = {"a": 1.0, "b": 1.0}
    model = _model(loss="mse", loss_weights=given)
    given["b"] = 3.0
    with pytest.warns(UserWarning, match=r"model.compiled_loss_weights\['b'\] = 3.0"):
        assert _loss(model) == 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _loss(model)


@pytest.mark.broad
def test_other_lists_and_dicts_may_change():
    loss, metrics = {"a": "mse", "b": "mse"}, {"a": ["mae"]}
    model = _model(loss=loss, metrics=metrics)
    loss["b"] = None
    metrics["a"].append("mse")
    metrics["b"] = ["mae"]
    assert list(model.evaluate(X, Y, verbose=0)) == ["loss", "a_loss", "b_loss", "a_mae"]
    assert (loss, metrics) == ({"a": "mse", "b": None}, {"a": ["mae", "mse"], "b": ["mae"]})


@pytest.mark.parametrize("factor", ["1", float("nan")], ids=["text", "nan"])
def test_a_factor_that_is_no_number_is_refused(factor):
    model = _model(loss="mse", loss_weights={"a": 1.0, "b": 1.0})
    model.compiled_loss_weights["a"] = factor
    with pytest.raises(gx.errors.ArgumentError, match="compiled_loss_weights has .* for 'a'"):
        model.compute_loss(X, Y, Y)


def test_the_names_of_other_libraries_are_told_the_attribute():
    model = _model(loss="mse", loss_weights={"a": 1.0, "b": 1.0})
    with pytest.raises(AttributeError, match=r"model.compiled_loss_weights"):
        _ = model.loss_weights
    with pytest.raises(gx.errors.AssignmentError, match=r"what is meant, model.compiled_loss_weights\[\"output\"\]"):
        model.compiled_loss_weights = {"a": 1.0}


def _append(given):
    given.append("mse")


def _assign(given):
    given["a"] = "mae"


def _assign_within(given):
    given["a"].append("mse")


GIVEN = {
    "loss": (lambda: {"a": "mse", "b": "mse"}, _assign, "'a' was 'mse' and is 'mae'"),
    "metrics": (lambda: {"a": ["mae"]}, _assign_within, "'a/1' was None and is 'mse'"),
    "weighted_metrics": (lambda: {"a": ["mae"], "b": None}, _assign_within, "was None and is 'mse'"),
}


@pytest.mark.broad
@pytest.mark.parametrize("name", GIVEN)
def test_a_change_within_fit_is_told_once(name):
    make, change, told = GIVEN[name]
    given = make()
    model = _model(**{"loss": "mse", name: given})
    changes = gx.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: change(given) if epoch == 1 else None)
    with pytest.warns(UserWarning, match=f"compile was given as {name} has changed since then: .*{told}") as seen:
        model.fit(X, Y, epochs=4, verbose=0, callbacks=[changes])
    assert len(seen) == 1
    model.fit(X, Y, verbose=0)  # what is there now is known


@pytest.mark.broad
def test_a_change_for_another_compile_is_not_told():
    loss = {"a": "mse", "b": "mse"}
    model = _model(loss=loss)

    def change(epoch, logs):
        if epoch == 1:
            loss["a"] = "mae"
            model.compile(model.optimizer, loss)

    model.fit(X, Y, epochs=3, verbose=0, callbacks=[gx.callbacks.LambdaCallback(on_epoch_begin=change)])


@pytest.mark.broad
@pytest.mark.parametrize("form", ["arrays", "batches"])
def test_a_change_of_class_weights_is_told(form):
    weights, x, y = {0: 1.0, 1: 2.0}, np.ones((4, 3), "float32"), np.array([0, 1, 0, 1])
    model = gx.Sequential([gx.layers.Dense(1, activation="sigmoid")])
    model.compile(gx.optimizers.SGD(0.0), "binary_crossentropy")
    data = {"x": x, "y": y} if form == "arrays" else {"x": [(x, y)]}
    changes = gx.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: weights.update({1: 5.0}))
    with pytest.warns(
        UserWarning, match=r"class_weight has changed since then: 1 was 2.0 and is 5.0(.|\n)*initial_epoch"
    ):
        model.fit(**data, epochs=2, verbose=0, class_weight=weights, callbacks=[changes])
    model.fit(**data, initial_epoch=2, epochs=3, verbose=0, class_weight=weights)  # as the message says
