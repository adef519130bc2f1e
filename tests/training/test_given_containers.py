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
