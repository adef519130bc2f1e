"""An output that has a loss or a metric, and no targets: the error names it and says what to write."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import DataError

X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
A = X[:, :1]


def two(loss, **options):
    given = gx.Input((3,))
    model = gx.Model(given, {name: layers.Dense(1, name=name)(given) for name in ("a", "b")})
    model.compile("sgd", loss, **options)
    return model


WITH_METRIC = ({"a": "mse"}, {"metrics": {"b": "mae"}})
WITH_BOTH = ({"a": "mse", "b": "mse"}, {"metrics": {"b": "mae"}})


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize(("loss", "options"), [WITH_METRIC, WITH_BOTH], ids=["metric", "loss"])
@pytest.mark.parametrize("y", [{"a": A}, {"a": A, "b": None}], ids=["none", "None"])
def test_targets_that_are_missing(y, loss, options, eagerly):
    model = two(loss, **options, run_eagerly=eagerly)
    user = "loss" if "b" in loss else "metric"
    told = rf"(?s)the output 'b' has a {user}.*y=\{{'a': \.\.\., 'b': \.\.\.\}}.*sample_weight=\{{'b': weights\}} of 0"
    for run in (model.fit, model.evaluate):
        with pytest.raises(DataError, match=told):
            run(X, y, verbose=0)
    with pytest.raises(DataError, match=told):
        model.train_on_batch(X, y)


@pytest.mark.broad
def test_rows_of_weight_0_need_any_targets():
    model = two(*WITH_BOTH[:1], weighted_metrics={"b": ["mae"]})
    missing = {"a": A, "b": np.full_like(A, np.nan)}
    found = model.evaluate(X, missing, sample_weight={"b": np.zeros(8)}, verbose=0)
    assert found["b_loss"] == found["b_mae"] == 0
    np.testing.assert_allclose(found["loss"], found["a_loss"], rtol=1e-6)


@pytest.mark.parametrize("y", [A, [A]], ids=["array", "list"])
def test_outputs_that_share_one_target(y):
    model = two("mse")
    with pytest.raises(DataError) as error:
        model.fit(X, y, verbose=0)
    line = "y={'a': y, 'b': y}"
    assert line in error.value.instead
    model.fit(X, {"a": A, "b": A}, verbose=0)  # as the line says


@pytest.mark.parametrize("given", [A.repeat(3, 1), (X,)], ids=["array", "tuple"])
def test_a_validation_without_targets_is_refused_before_the_first_epoch(given):
    model = gx.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(DataError, match=r"(?s)x alone.*targets.*instead: validation_data=\(x_val, y_val\)"):
        model.fit(X, A, validation_data=given, verbose=0)
    assert not model.built


def test_a_validation_without_targets_is_that_of_a_step_of_ones_own():
    class Spread(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def test_step(self, batch):
            return {"spread": gx.ops.std(self(batch[0]))}

    model = Spread()
    model.compile("sgd", "mse")
    assert "val_spread" in model.fit(X, A, validation_data=X, verbose=0).history
