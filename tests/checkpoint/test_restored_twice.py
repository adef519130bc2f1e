"""Two restores into a model that is not built: the latest value of each Variable and slot counts, and none waits on."""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.ones((8, 3), "float32")
Y = X[:, :1]


def made():
    model = gx.Sequential([layers.Dense(4), layers.Dense(1)])
    model.compile(gx.optimizers.Adam(0.1), "mse")
    return model


def roots(model, kind):
    return {"model": model} if kind == "model" else {"model": model, "optimizer": model.optimizer}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    found = []
    for seed in range(2):
        gx.set_random_seed(seed)
        model, folder = made(), tmp_path_factory.mktemp("run")
        model.fit(X * (seed + 1), Y, epochs=seed + 1, verbose=0)
        for kind in ("model", "all"):
            gx.Checkpoint(**roots(model, kind)).save(folder / kind)
        found.append((model, folder))
    return found


@pytest.mark.parametrize("kinds", list(itertools.product(("model", "all"), repeat=2)), ids=str)
def test_the_latest_values_count(runs, kinds):
    model = made()
    reports = [
        gx.Checkpoint(**roots(model, kind)).restore(folder / kind)
        for (_, folder), kind in zip(runs, kinds, strict=True)
    ]
    model.build((None, 3))
    model.optimizer.build(model)
    for report in reports:
        assert report.assert_consumed().deferred == ()
    weights, slots = runs[1][0], [run for (run, _), kind in zip(runs, kinds, strict=True) if kind == "all"][-1:]
    for path, value in gx.state(model).items():
        np.testing.assert_array_equal(value, gx.state(weights)[path])
    for run in slots:
        for path, value in gx.state(model.optimizer).items():
            np.testing.assert_array_equal(value, gx.state(run.optimizer)[path])
    model.fit(X, Y, verbose=0)


def test_a_part_of_the_second_leaves_the_rest_of_the_first(runs):
    model = made()
    (first, one), (second, two) = runs
    gx.Checkpoint(model=model, optimizer=model.optimizer).restore(one / "all")
    gx.Checkpoint(model=model).restore(two / "model", only="model/layers/1/**")
    model.build((None, 3))
    model.optimizer.build(model)
    np.testing.assert_array_equal(model.layers[0].kernel, first.layers[0].kernel)
    np.testing.assert_array_equal(model.layers[1].kernel, second.layers[1].kernel)
    for path, value in gx.state(model.optimizer).items():
        np.testing.assert_array_equal(value, gx.state(first.optimizer)[path])
    model.fit(X, Y, verbose=0)


def test_slots_of_a_model_that_is_built_later_wait_for_it(tmp_path):
    def pair():
        body = layers.Dense(2)
        models = [gx.Sequential([body, layers.Dense(1)]) for _ in range(2)]
        return models, gx.optimizers.Adam(0.1)

    models, optimizer = pair()
    for model in models:
        model.compile(optimizer, "mse")
        model.fit(X, Y, verbose=0)
    gx.Checkpoint(models=models, optimizer=optimizer).save(tmp_path / "both")
    expected = [model.fit(X, Y, verbose=0).history["loss"] for model in models]
    others, optimizer = pair()
    gx.Checkpoint(models=others, optimizer=optimizer).restore(tmp_path / "both")
    found = []
    for model in others:
        model.compile(optimizer, "mse")
        found.append(model.fit(X, Y, verbose=0).history["loss"])
    assert found == expected


@pytest.mark.parametrize("built", ["", "pq"], ids=["none", "both"])
def test_one_saved_model_gives_its_slots_to_two(tmp_path, built):
    def alone():
        return gx.Sequential([layers.Dense(2)])

    def step(optimizer, *models):
        loss = lambda: sum(gx.ops.mean(model(X) ** 2) for model in models)  # noqa: E731
        optimizer.minimize(loss, [v for model in models for v in model.trainable_variables])

    saved, optimizer = alone(), gx.optimizers.Adam(0.01)
    saved(X)
    for _ in range(3):
        step(optimizer, saved)
    gx.Checkpoint(a=saved, o=optimizer).save(tmp_path / "one")
    step(optimizer, saved)
    two, optimizer = {"p": alone(), "q": alone()}, gx.optimizers.Adam(0.01)
    for name in built:
        two[name](X)
    report = gx.Checkpoint(**two, o=optimizer).restore(tmp_path / "one", map={"p": "a", "q": "a"})
    for model in two.values():
        model(X)
    assert report.assert_consumed().deferred == ()
    step(optimizer, *two.values())
    for model in two.values():
        np.testing.assert_allclose(model.layers[0].kernel, saved.layers[0].kernel, rtol=1e-6)
