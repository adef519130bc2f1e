"""A loss that compares samples, with a call of its own, needs an among of its own where some are hidden."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops

LABELS = np.array([0, 0, 1, 1])
POINTS = np.eye(4, 3, dtype="float32")


class Doubled(gx.losses.NTXent):
    def call(self, y_true, y_pred):
        return 2.0 * super().call(y_true, y_pred)


class Whole(Doubled):
    def among(self, y_true, y_pred, visible):
        return 2.0 * super().among(y_true, y_pred, visible)


def test_hidden_samples_need_it():
    with pytest.raises(gx.errors.ArgumentError, match="its call is its own") as caught:
        Doubled()(LABELS, POINTS, mask=[True, True, True, False])
    assert "def among(self, y_true, y_pred, visible) in Doubled" in caught.value.instead


@pytest.mark.broad
def test_without_hidden_samples_it_does_not():
    plain = gx.losses.NTXent()
    np.testing.assert_allclose(Doubled()(LABELS, POINTS), 2.0 * plain(LABELS, POINTS), rtol=1e-6)


@pytest.mark.broad
def test_with_both():
    plain, keep = gx.losses.NTXent(), [True, True, True, False]
    ours = Whole()(LABELS, POINTS, mask=keep)
    np.testing.assert_allclose(ours, 2.0 * plain(LABELS, POINTS, mask=keep), rtol=1e-6)


def test_an_own_loss_that_compares_and_defines_no_among():
    class Spread(gx.losses.Loss):
        compares = True

        def call(self, y_true, y_pred):
            return ops.mean((y_pred - ops.mean(y_pred, axis=0)) ** 2, axis=-1)

    assert Spread()(LABELS, POINTS).shape == ()
