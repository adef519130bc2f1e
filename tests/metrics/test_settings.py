"""What a metric has counted belongs to its settings: a checkpoint compares these."""

from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import metrics
from graftax.core.errors import SettingsMismatch

TRUE, PRED = np.array([[1.0], [0.0], [1.0], [0.0]]), np.array([[0.9], [0.4], [0.3], [0.6]])

PAIRS = {
    "threshold": (lambda: metrics.Precision(0.5), lambda: metrics.Precision(0.2)),
    "several thresholds": (lambda: metrics.Recall([0.1, 0.5]), lambda: metrics.Recall([0.2, 0.5])),
    "class_id": (lambda: metrics.Recall(class_id=0), lambda: metrics.Recall(0.5)),
    "of classes that wait": (lambda: metrics.F1Score(threshold=0.5), lambda: metrics.F1Score(threshold=0.1)),
    "k": (lambda: metrics.Precision(top_k=1), lambda: metrics.Precision(top_k=2)),
    "curve": (lambda: metrics.AUC(curve="ROC"), lambda: metrics.AUC(curve="PR")),
    "accuracy": (lambda: metrics.BinaryAccuracy(0.5), lambda: metrics.BinaryAccuracy(0.1)),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", PAIRS)
def test_totals_do_not_go_on_under_other_settings(name: str, tmp_path: Path) -> None:
    made, other = PAIRS[name]
    saved, same, different = made(), made(), other()
    saved.update(TRUE, PRED)
    gx.Checkpoint(metric=saved).save(tmp_path / "one")
    gx.Checkpoint(metric=same).restore(tmp_path / "one")
    assert np.array_equal(np.asarray(same.result()), np.asarray(saved.result()))
    with pytest.raises(SettingsMismatch, match="metric: was saved with ") as error:
        gx.Checkpoint(metric=different).restore(tmp_path / "one")
    assert 'settings="program"' in error.value.instead
    report = gx.Checkpoint(metric=different).restore(tmp_path / "one", settings="program")
    assert [line.path for line in report.other_settings] == ["metric"]


@pytest.mark.parametrize("name", PAIRS)
def test_the_saved_settings_can_be_assigned(name: str, tmp_path: Path) -> None:
    made, other = PAIRS[name]
    saved, different = made(), other()
    saved.update(TRUE, PRED)
    gx.Checkpoint(metric=saved).save(tmp_path / "one")
    gx.Checkpoint(metric=different).restore(tmp_path / "one", settings="saved")
    for metric in (saved, different):
        metric.update(TRUE, PRED[::-1])
    assert np.array_equal(np.asarray(different.result()), np.asarray(saved.result()))


def test_attributes_that_are_no_arguments_are_no_settings(tmp_path: Path) -> None:
    class Seen(metrics.Mean):
        batches = 0

        def update(self, values, sample_weight=None, mask=None):
            self.batches += 1
            super().update(values, sample_weight, mask)

    seen, fresh = Seen(), Seen()
    seen([1.0, 3.0])
    gx.Checkpoint(metric=seen).save(tmp_path / "one")
    gx.Checkpoint(metric=fresh).restore(tmp_path / "one")
    assert float(fresh.result()) == 2.0


@pytest.mark.broad
@pytest.mark.parametrize("steps", [3, 4])
def test_a_resumed_run_tells_of_other_settings_within_an_epoch(steps: int, tmp_path: Path) -> None:
    x = np.ones((8, 1), "float32")

    def run(threshold: float, *stops: gx.Callback, resume: str | None = None) -> None:
        model = gx.Sequential([gx.layers.Dense(1, activation="sigmoid")])
        model.compile("sgd", "binary_crossentropy", [metrics.Precision(threshold)])
        saves = gx.callbacks.ModelCheckpoint(str(tmp_path / "run"))
        model.fit(x, x, batch_size=2, epochs=2, verbose=0, callbacks=[saves, *stops], resume=resume)

    run(0.5, gx.callbacks.StopAtStep(steps))
    if steps == 3:
        with pytest.warns(UserWarning, match=r"threshold=0\.1 of the program, and had threshold=0\.5"):
            run(0.1, resume=str(tmp_path / "run"))
    else:
        run(0.1, resume=str(tmp_path / "run"))  # an epoch begins, and with it the metric


@pytest.mark.broad
@pytest.mark.parametrize(
    ("metric", "first", "second", "line"),
    [
        (lambda: metrics.F1Score(average="macro"), 2, 3, "a new F1Score(...)"),
        (metrics.R2Score, 2, 3, "a new R2Score(...)"),
    ],
)
def test_other_columns_need_a_new_metric(metric, first: int, second: int, line: str) -> None:
    one = metric()
    one.update(np.eye(first), np.eye(first))
    one.reset()  # it keeps its columns
    with pytest.raises(gx.errors.ShapeError) as error:
        one.update(np.eye(second), np.eye(second))
    assert line in error.value.instead
    assert "reset" not in error.value.instead
    other = metric()
    assert float(other(np.eye(second), np.eye(second))) == 1.0
