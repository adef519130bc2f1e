"""All metrics: saved before their first batch or after it, and restored into one that has seen batches or none."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from tests.conformance.metric_rows import ROWS, M, Row, data

BY_DATA = {
    "f1_of_each": lambda: M.F1Score(),
    "f_beta_weighted": lambda: M.FBetaScore("weighted", 2.0),
    "r2": lambda: M.R2Score(),
    "r2_of_each": lambda: M.R2Score(None),
    "auc_of_labels": lambda: M.AUC(num_thresholds=5, multi_label=True),
}
"""Metrics whose first batch says how large their Variable is."""
TABLE = {**ROWS, **{name: Row(make, "bits", "probabilities", None) for name, make in BY_DATA.items()}}


@pytest.fixture(params=TABLE.values(), ids=TABLE.keys())
def row(request) -> Row:
    return request.param


def batches(row):
    if row.formula is not None:
        return data(row)
    draw = np.random.default_rng(0)
    return (draw.random((12, 3)) > 0.5).astype("float32"), draw.random((12, 3)).astype("float32")


def test_each_metric_without_a_variable_at_first_has_a_row():
    made = [row.make() for row in TABLE.values()]
    assert {type(metric) for metric in made if not metric.variables} == {M.F1Score, M.FBetaScore, M.R2Score, M.AUC}
    own = {kind for kind in vars(M).values() if isinstance(kind, type) and "_gx_shapes_by_data" in vars(kind)}
    assert own == {M.Metric, M.FBetaScore, M.R2Score, M.AUC}


def agree(one, other):
    found, wanted = np.broadcast_arrays(np.asarray(one.result()), np.asarray(other.result()))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("before", [False, True], ids=["unused", "used"])
@pytest.mark.parametrize("into", [False, True], ids=["into-unused", "into-used"])
def test_a_strict_restore_gives_what_was_counted(row, before, into, tmp_path):
    y, p = batches(row)
    one, other = row.make(), row.make()
    if before:
        one.update(y[:4], p[:4])
    if into:
        other.update(y[4:9], p[4:9])
    gx.Checkpoint(metric=one, beside=gx.Variable(1.0)).save(tmp_path / "1")
    gx.Checkpoint(metric=other, beside=gx.Variable(2.0)).restore(tmp_path / "1").assert_consumed()
    agree(other, one)
    one.update(y[4:], p[4:])
    other.update(y[4:], p[4:])
    agree(other, one)


@pytest.mark.broad
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"])
def test_a_reset_after_the_restore_forgets_it(row, copied, tmp_path):
    y, p = batches(row)
    one, other, new = row.make(), row.make(), row.make()
    one.update(y[:4], p[:4])
    gx.Checkpoint(metric=one, beside=gx.Variable(1.0)).save(tmp_path / "1")
    gx.Checkpoint(metric=other, beside=gx.Variable(2.0)).restore(tmp_path / "1")
    agree(copied(other), one)
    other.reset()
    for metric in (other, new):
        metric.update(y[4:], p[4:])
    agree(other, new)


def test_the_report_says_what_is_reset_and_the_mode_overlap_leaves_it(tmp_path):
    one, other, weight = M.F1Score(), M.F1Score(), gx.Variable(1.0)
    gx.Checkpoint(all={"metric": one, "weight": weight}).save(tmp_path / "1")
    other.update(np.eye(2), np.eye(2))
    checkpoint = gx.Checkpoint(all={"metric": other, "weight": weight})
    assert not checkpoint.restore(tmp_path / "1", mode="overlap").reset
    assert other.result().tolist() == [1, 1]
    assert checkpoint.restore(tmp_path / "1").reset == ("all/metric/sums",)
    assert other.result().tolist() == [0, 0]


@pytest.mark.broad
def test_a_value_of_another_shape_is_refused(tmp_path):
    one, other = (M.AUC(num_thresholds=n, multi_label=True) for n in (5, 6))
    one.update(np.eye(2), np.eye(2))
    gx.Checkpoint(metric=one, beside=gx.Variable(1.0)).save(tmp_path / "1")
    beside = gx.Variable(2.0)
    with pytest.raises(gx.errors.SettingsMismatch, match="num_thresholds=5"):
        gx.Checkpoint(metric=other, beside=beside).restore(tmp_path / "1")
    with pytest.raises(gx.errors.ShapeMismatch, match=r"shape \(2, 4, 5, 2\) saved"):
        gx.Checkpoint(metric=other, beside=beside).restore(tmp_path / "1", settings="program")
    assert (float(beside), float(other.result())) == (2, 0)


class Late(M.Metric):
    """A metric of one's own that makes its Variable at the first batch."""

    def __init__(self):
        super().__init__()
        self.total = None

    def update(self, values):
        if self.total is None:
            self.total = self.add_variable((len(values),), 1.0)
        self.total.assign_add(values)

    def result(self):
        return gx.ops.asarray(0.0) if self.total is None else self.total.value


def test_metrics_of_your_own_start_again_from_their_first_values(tmp_path):
    one, other = Late(), Late()
    gx.Checkpoint(metric=one, beside=gx.Variable(1.0)).save(tmp_path / "1")
    other.update(np.array([2.0, 3.0]))
    gx.Checkpoint(metric=other, beside=gx.Variable(2.0)).restore(tmp_path / "1")
    assert other.result().tolist() == [1, 1]


def test_a_reset_of_your_own_drops_what_waits_for_it(tmp_path):
    one, other = Late(), Late()
    one.update(np.array([2.0, 3.0]))
    gx.Checkpoint(metric=one, beside=gx.Variable(1.0)).save(tmp_path / "1")
    gx.Checkpoint(metric=other, beside=gx.Variable(2.0)).restore(tmp_path / "1")
    other.reset()
    other.update(np.array([5.0, 5.0]))
    assert other.result().tolist() == [6, 6]
