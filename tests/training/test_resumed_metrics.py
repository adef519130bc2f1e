"""Runs that are resumed where their metrics appear late, or are others than those of the checkpoint."""

import shutil

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import ModelCheckpoint
from graftax.core.errors import ShapeMismatch
from graftax.training.objectives import require_objectives
from graftax.training.run import Run

X = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
Y = (X[:, :1] > 0).astype("float32")


class Own(gx.Sequential):
    """Its step computes no compiled metric: these appear at the first validation."""

    def train_step(self, batch):
        x, y = batch
        variables = self.trainable_variables
        return {"loss": self.optimizer.minimize(lambda: ops.mean((self(x, training=True) - y) ** 2), variables)}


class Total(gx.metrics.Metric):
    """Counts all batches that it ever saw, whatever is reset."""

    def __init__(self):
        super().__init__("total")
        self.count = self.add_variable((), name="count")

    def update(self, y_true, y_pred):
        self.count.assign_add(1.0)

    def result(self):
        return self.count.value

    def reset(self):
        pass


def run(folder, epochs, metrics, kind=Own, every=3, **options):
    gx.set_random_seed(3)
    model = kind([layers.Dense(1)])
    model.compile("sgd", "mse", metrics=metrics)
    validation = {"validation_data": (X, Y)} if kind is Own else {}
    history = model.fit(
        X, Y, batch_size=4, epochs=epochs, verbose=0, resume=folder, callbacks=[ModelCheckpoint(folder, every=every)],
        **{**validation, **options},
    )  # fmt: skip
    return model, history.history


@pytest.mark.broad
@pytest.mark.parametrize(
    "make",
    [
        lambda: ["mae", Total()],
        pytest.param(
            lambda: [gx.metrics.MeanAbsoluteError(), gx.metrics.AUC(from_logits=True)], marks=pytest.mark.broad
        ),
    ],
)
def test_metrics_that_only_a_validation_makes(tmp_path, make):
    run(tmp_path / "broken", 2, make())
    model, resumed = run(tmp_path / "broken", 4, make())
    whole, unbroken = run(tmp_path / "whole", 4, make())
    assert resumed == unbroken
    for one, other in zip(model.objectives.metrics, whole.objectives.metrics, strict=True):
        for v, w in zip(one.variables, other.variables, strict=True):
            np.testing.assert_array_equal(v.numpy(), w.numpy())


@pytest.mark.broad
@pytest.mark.filterwarnings("ignore:metrics of compile. 'mae'. Own.train_step never updates:UserWarning")
def test_a_run_without_the_validation_says_what_it_leaves(tmp_path):
    run(tmp_path, 2, ["mae"])
    with pytest.warns(UserWarning, match="nothing in this run measures .*: 'mae'"):
        _, history = run(tmp_path, 3, ["mae"], validation_data=None)
    assert len(history["loss"]) == 3


@pytest.mark.broad
def test_a_new_metric_begins_and_the_others_go_on(tmp_path):
    run(tmp_path, 2, [Total()], gx.Sequential)
    with pytest.warns(UserWarning, match="new, and count from this epoch: 'mae'"):
        _, history = run(tmp_path, 3, ["mae", Total()], gx.Sequential)  # before the one that there was
    assert history["total"] == [3.0, 6.0, 9.0]
    assert len(history["mae"]) == 1


def test_a_metric_that_is_gone_is_told_and_the_others_go_on(tmp_path):
    run(tmp_path, 2, ["mae", Total()], gx.Sequential)
    with pytest.warns(UserWarning, match="left out: 'mae'"):
        _, history = run(tmp_path, 3, [Total()], gx.Sequential)
    assert history["total"] == [3.0, 6.0, 9.0]


def test_a_new_metric_in_the_middle_of_an_epoch_says_from_where_it_counts(tmp_path):
    run(tmp_path / "a", 1, [], gx.Sequential, every=2)
    shutil.rmtree(tmp_path / "a" / "step-3")
    with pytest.warns(UserWarning, match="count from step 3 of this epoch: 'mae'"):
        run(tmp_path / "a", 1, ["mae"], gx.Sequential, every=2)


@pytest.mark.broad
def test_a_metric_of_another_size_is_told_in_the_words_of_fit(tmp_path):
    run(tmp_path, 1, [gx.metrics.AUC(num_thresholds=20, from_logits=True)], gx.Sequential)
    with pytest.raises(ShapeMismatch, match="metrics/auc") as caught:
        run(tmp_path, 2, [gx.metrics.AUC(num_thresholds=30, from_logits=True)], gx.Sequential)
    assert "as in the run that is resumed" in caught.value.instead
    assert "skip=" not in str(caught.value)


@pytest.mark.broad
def test_a_checkpoint_whose_metrics_are_a_list(tmp_path, monkeypatch):
    def roots(self):
        return {**named(self), "metrics": require_objectives(self.model).metrics}

    named = Run.roots
    with monkeypatch.context() as patch:
        patch.setattr(Run, "roots", roots)
        run(tmp_path, 2, [Total()], gx.Sequential, every=100)
    assert run(tmp_path, 3, [Total()], gx.Sequential)[1]["total"] == [3.0, 6.0, 9.0]
