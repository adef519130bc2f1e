"""Metrics of several numbers in `compile`, and the spellings of `compute_loss` and `summary`."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.metrics import F1Score, FBetaScore

X = np.ones((4, 2), "float32")
Y = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], "float32")


def net():
    model = gx.Sequential([layers.Dense(3, activation="softmax")])
    model(X)
    return model


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("where", ["metrics", "weighted_metrics"])
@pytest.mark.parametrize(
    ("metric", "instead"),
    [
        (F1Score(), 'F1Score("macro")'),
        (F1Score(threshold=0.5), 'F1Score("macro", threshold=0.5)'),
        (FBetaScore(beta=2.0), 'FBetaScore("macro", beta=2)'),
    ],
)
def test_a_metric_with_a_number_for_each_class_is_refused_before_any_step(metric, instead, where):
    model = net()
    with pytest.raises(ArgumentError, match="a number for each class") as caught:
        model.compile("sgd", "categorical_crossentropy", **{where: [metric]})
    assert caught.value.instead.startswith(instead)
    written = eval(caught.value.instead.partition(";")[0], {"F1Score": F1Score, "FBetaScore": FBetaScore})
    model.compile("sgd", "categorical_crossentropy", **{where: [written, "f1_score"]})
    assert np.isfinite(model.fit(X, Y, verbose=0).history["loss"]).all()


def test_compute_loss_takes_targets_and_predictions_by_name_alone():
    model = net()
    model.compile("sgd", "mse")
    found = model.compute_loss(y=Y, y_pred=np.zeros_like(Y))
    assert float(found) == pytest.approx((Y**2).mean())


def test_a_summary_goes_to_a_function_and_tells_what_it_does_without(capsys):
    model, texts = net(), []
    model.summary()
    model.summary(print_fn=texts.append)
    assert capsys.readouterr().out == texts[0] + "\n"
    for name, instead in (("line_length", "without it"), ("expand_nested", "expand=True")):
        with pytest.raises(ArgumentTypeError, match=name) as caught:
            model.summary(**{name: 3})
        assert instead in caught.value.instead


@pytest.mark.broad
@pytest.mark.parametrize("op", ["cholesky", "inv"])
def test_a_checked_program_has_the_remedy_of_the_matrix(op):
    matrix = -np.eye(3, dtype="float32") if op == "cholesky" else np.zeros((3, 3), "float32")
    for run in (getattr(gx.ops, op), gx.jit(getattr(gx.ops, op), checked=True)):
        with pytest.raises(gx.errors.NumericsError) as caught:
            run(matrix)
        assert "ops.eye(n) * 1e-6" in caught.value.instead


def test_fit_says_where_steps_per_execution_is_set():
    model = net()
    model.compile("sgd", "categorical_crossentropy")
    with pytest.raises(ArgumentTypeError) as caught:
        model.fit(X, Y, steps_per_execution=2)
    assert caught.value.instead == "compile(..., steps_per_execution=2)"
