"""Weights that are all 0 leave nothing to learn: `fit` and `evaluate` say so."""

import numpy as np
import pytest

import graftax as gx

X, Y, NONE = np.ones((8, 3), "float32"), np.ones((8, 1), "float32"), np.zeros(8, "float32")


def made(*layers, **options):
    model = gx.Sequential([*layers, gx.layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.0), "mse", **options)
    return model


RUNS = {
    "fit": lambda: made().fit(X, Y, sample_weight=NONE, batch_size=2, verbose=0),
    "several steps": lambda: made(steps_per_execution=2).fit(X, Y, sample_weight=NONE, batch_size=2, verbose=0),
    "batches": lambda: made().fit([(X, Y, NONE), (X, Y, NONE)], verbose=0),
    "classes": lambda: made().fit(X, Y, class_weight={1: 0.0}, verbose=0),
    "evaluate": lambda: made().evaluate(X, Y, sample_weight=NONE, batch_size=2, verbose=0),
    "validation": lambda: made().fit(X, Y, validation_data=(X, Y, NONE), verbose=0),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", RUNS)
def test_it_is_told(name):
    with pytest.warns(UserWarning, match="all sample weights in the . batches of Sequential .* are 0") as told:
        RUNS[name]()
    assert len(told) == 1


@pytest.mark.broad
def test_it_is_not_told_where_something_counts():
    some = np.array([0, 0, 0, 0, 0, 0, 0, 1], "float32")
    made().fit(X, Y, sample_weight=some, batch_size=2, verbose=0)
    made().fit([(X, Y, NONE), (X, Y, some)], verbose=0)
    made().train_on_batch(X, Y, sample_weight=NONE)
    made(gx.layers.ActivityRegularization(l2=0.1)).fit(X, Y, sample_weight=NONE, verbose=0)


def test_an_output_without_weights_counts():
    given = gx.Input((3,))
    model = gx.Model(given, {name: gx.layers.Dense(1, name=name)(given) for name in ("a", "b")})
    model.compile("sgd", "mse")
    model.fit(X, {"a": Y, "b": Y}, sample_weight={"a": NONE, "b": NONE + 1}, verbose=0)
    model.fit(X, {"a": Y, "b": Y}, sample_weight={"a": NONE}, verbose=0)
