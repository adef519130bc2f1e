"""What the methods of a Model that users override get: all of the batch."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.arange(1, 25, dtype="float32").reshape(8, 3)
Y = X.sum(1, keepdims=True)
WEIGHTS = np.linspace(0.5, 2, 8, dtype="float32")


class Looks(gx.Model):
    """Sums of what `compute_loss` and `compute_metrics` get."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, kernel_initializer="ones")
        self.seen = {f"{at}_{what}": gx.metrics.Sum(f"{at}_{what}") for at in ("loss", "metrics") for what in "xypw"}

    def call(self, x):
        return self.dense(x["a"] if isinstance(x, dict) else x)

    def look(self, at, x, y, y_pred, sample_weight):
        x = x["a"] if isinstance(x, dict) else x
        for what, value in zip("xypw", (x, y, y_pred, sample_weight), strict=True):
            self.seen[f"{at}_{what}"].update(ops.zeros(1) if value is None else value)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        self.look("loss", x, y, y_pred, sample_weight)
        return super().compute_loss(x, y, y_pred, sample_weight)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        self.look("metrics", x, y, y_pred, sample_weight)
        return super().compute_metrics(x, y, y_pred, sample_weight)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize("nested", [False, True], ids=["", "dict"])
@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "eager"])
@pytest.mark.parametrize("run", ["fit", "evaluate", "validation"])
def test_all_of_the_batch(run, eager, nested, weights):
    model = Looks()
    model.compile(gx.optimizers.SGD(0.0), "mse", run_eagerly=eager, steps_per_execution=1)
    x = {"a": X, "b": X[:, :0]} if nested else X
    if run == "evaluate":
        found = model.evaluate(x, Y, batch_size=4, sample_weight=weights, verbose=0)
    else:
        given = {"validation_data": (x, Y, weights)} if run == "validation" else {}
        found = model.fit(x, Y, batch_size=4, sample_weight=weights, verbose=0, **given).history
        begins = "val_" if run == "validation" else ""
        found = {name.removeprefix(begins): values[-1] for name, values in found.items() if name.startswith(begins)}
    total = 0.0 if weights is None else float(weights.sum())
    for at in ("loss", "metrics"):
        for what, expected in zip("xypw", (X.sum(), Y.sum(), Y.sum(), total), strict=True):
            assert found[f"{at}_{what}"] == pytest.approx(expected), (at, what)
