"""Losses for numbers: what the conformance table does not show."""

import numpy as np
import pytest

import graftax as gx
from graftax import losses
from graftax.core.errors import ArgumentError


def test_cosine_is_the_negative_similarity():
    loss = losses.CosineSimilarity(reduction="none")
    assert loss([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [-3.0, 0.0], [1.0, 1.0]]).tolist() == [-1, 1, 0]
    columns = losses.CosineSimilarity(axis=0, reduction="none")
    assert columns([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]).tolist() == [-1, 0]


@pytest.mark.parametrize("delta", [0, -1.0, float("nan")])
def test_huber_needs_a_distance(delta):
    with pytest.raises(ArgumentError, match="delta"):
        losses.Huber(delta)


def test_delta_is_honoured_when_it_changes():
    huber = losses.Huber(1.0)
    compiled = gx.jit(lambda p: huber(np.zeros((1, 1), "float32"), p))
    three = np.full((1, 1), 3, "float32")
    assert float(compiled(three)) == 2.5
    huber.delta = 2.0
    assert float(compiled(three)) == 4.0
