"""Keywords that methods of losses, metrics, schedules and models have elsewhere are answered with the line to write."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentTypeError

X = np.ones((4, 2), "float32")


def model() -> gx.Model:
    made = gx.Sequential([gx.layers.Dense(1)])
    made.compile("sgd", "mse")
    made(X)
    return made


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "compute_loss, training": (
        lambda: model().compute_loss(X, X[:, :1], X[:, :1], None, training=True),
        "leave it out",
    ),
    "compute_loss, five": (
        lambda: model().compute_loss(X, X, X, None, True),
        "y_pred, sample_weight), without training",
    ),
    "compute_loss, weights": (
        lambda: model().compute_loss(y=X, y_pred=X, weights=1),
        "sample_weight= in place of weights=",
    ),
    "compute_metrics": (lambda: model().compute_metrics(X, X, X, training=True), "leave it out"),
    "train_step": (lambda: model().train_step(data=(X, X)), "batch= in place of data="),
    "test_step": (lambda: model().test_step(data=(X, X)), "batch= in place of data="),
    "predict_step": (lambda: model().predict_step(data=X), "x= in place of data="),
    "loss, torch": (lambda: gx.losses.MeanSquaredError()(input=X, target=X), "y_true= in place of target="),
    "loss, logits": (lambda: gx.losses.BinaryCrossentropy()(labels=X, logits=X), "y_pred= in place of logits="),
    "loss, weight": (lambda: gx.losses.MeanSquaredError()(X, X, weight=X), "sample_weight= in place of weight="),
    "loss, mistyped": (lambda: gx.losses.MeanSquaredError()(X, X, sample_weights=X), "sample_weight= in place of"),
    "CTC, logits": (lambda: gx.losses.CTC()(X, X, logit_lengths=[2]), "mask=np.arange(steps) < lengths[:, None]"),
    "CTC, inputs": (lambda: gx.losses.CTC()(X, X, input_length=[2]), "mask=np.arange(steps) < lengths[:, None]"),
    "CTC, labels": (lambda: gx.losses.CTC()(X, X, label_length=[2]), "padded at their end with -1"),
    "CTC, blank": (lambda: gx.losses.CTC()(X, X, blank_index=2), "graftax.losses.CTC(blank=...)"),
    "metric, torch": (lambda: gx.metrics.BinaryAccuracy().update(preds=X, target=X), "y_pred= in place of preds="),
    "metric, called": (lambda: gx.metrics.AUC()(preds=X, target=X), "y_true= in place of target="),
    "metric, weights": (lambda: gx.metrics.Mean().update_state(X, weights=X), "sample_weight= in place of weights="),
    "metric, IoU": (lambda: gx.metrics.MeanIoU(2).update_state(X, X, weight=X), "sample_weight= in place of weight="),
    "metric, R2": (lambda: gx.metrics.R2Score().update(preds=X, target=X), "y_pred= in place of preds="),
    "schedule": (lambda: gx.optimizers.schedules.CosineDecay(0.1, 9)(count=1), "step= in place of count="),
    "minimize": (lambda: gx.optimizers.SGD().minimize(lambda: 1.0, var_list=[]), "variables= in place of var_list="),
}


@pytest.mark.parametrize("name", CALLS)
def test_methods(name: str) -> None:
    call, instead = CALLS[name]
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    assert instead in caught.value.instead
    assert not caught.value.received.startswith("cTC")


def test_a_loss_of_keras_that_passes_training_on_works_without_it() -> None:
    class Own(gx.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = gx.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def compute_loss(
            self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
        ) -> Any:
            return super().compute_loss(x, y, y_pred, sample_weight)

    own = Own()
    own.compile("sgd", "mse")
    assert "loss" in own.fit(X, X[:, :1], verbose=0).history


@pytest.mark.broad
def test_masks_say_of_ctc_what_lengths_say_elsewhere() -> None:
    rng, steps = np.random.default_rng(0), 6
    logits, labels = rng.normal(size=(2, steps, 4)), np.array([[1, 2, 3], [3, 3, 3]])
    lengths, of_labels = np.array([6, 4]), np.array([3, 1])
    padded = np.where(np.arange(labels.shape[1]) < of_labels[:, None], labels, -1)
    found = gx.losses.CTC(reduction="none")(padded, logits, mask=np.arange(steps) < lengths[:, None])
    alone = [
        float(gx.losses.CTC()(labels[i : i + 1, : of_labels[i]], logits[i : i + 1, : lengths[i]])) for i in range(2)
    ]
    np.testing.assert_allclose(found, alone, rtol=1e-5)
