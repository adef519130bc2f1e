"""Precision and recall: what the conformance table does not show."""

import numpy as np
import pytest

from graftax import metrics
from graftax.core.errors import ArgumentError

Y, P = [0, 1, 1, 1], [0.9, 0.9, 0.2, 0.5]


def test_mt2_of_nothing_is_0():
    for make in (metrics.Precision, metrics.Recall):
        assert float(make().result()) == 0
        assert float(make()([0, 0], [0.0, 0.0])) == 0


def test_thresholds():
    assert float(metrics.Precision()(Y, P)) == 0.5
    assert float(metrics.Recall()(Y, P)) == pytest.approx(1 / 3)  # 0.5 is not above 0.5
    assert float(metrics.Recall(threshold=0.1)(Y, P)) == 1
    assert float(metrics.Precision(threshold=0.1)(Y, P)) == 0.75


@pytest.mark.broad
def test_weights_are_for_samples():
    precision = metrics.Precision()
    precision.update(np.array(Y)[:, None], np.array(P)[:, None], sample_weight=[3, 1, 1, 1])
    assert float(precision.result()) == 0.25


def test_targets_are_0_or_1():
    with pytest.raises(ArgumentError, match=r"y_true\[0\] = 2"):
        metrics.Precision().update([2, 1], [0.1, 0.2])
