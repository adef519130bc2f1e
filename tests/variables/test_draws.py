"""More distributions: the same on both backends, with the moments and quantiles of their densities."""

import math
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import random
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, DTypeError, ShapeError

MANY = (4000,)
EULER = 0.5772156649
CASES: dict[str, tuple[Any, float, float]] = {
    "exponential": (lambda shape, **o: random.exponential(shape, 2.0, **o), 2.0, 4.0),
    "gumbel": (lambda shape, **o: random.gumbel(shape, 1.0, 2.0, **o), 1 + 2 * EULER, 4 * math.pi**2 / 6),
    "laplace": (lambda shape, **o: random.laplace(shape, -1.0, 0.5, **o), -1.0, 0.5),
    "gamma": (lambda shape, **o: random.gamma(shape, 3.5, **o), 3.5, 3.5),
    "gamma below 1": (lambda shape, **o: random.gamma(shape, 0.3, **o), 0.3, 0.3),
    "beta": (lambda shape, **o: random.beta(shape, 2.0, 0.5, **o), 0.8, 1 / (6.25 * 3.5)),
    "logistic": (lambda shape, **o: random.logistic(shape, 1.0, 0.5, **o), 1.0, 0.25 * math.pi**2 / 3),
    "student_t": (lambda shape, **o: random.student_t(shape, 9.0, **o), 0.0, 9 / 7),
    "dirichlet": (lambda shape, **o: random.dirichlet((*shape, 2), [2.0, 0.5], **o)[..., 0], 0.8, 1 / (6.25 * 3.5)),
}
each = pytest.mark.parametrize(("draw", "mean", "variance"), CASES.values(), ids=CASES.keys())


@each
def test_moments_are_those_of_the_density(draw: Any, mean: float, variance: float) -> None:
    with use("numpy"):
        found = np.asarray(draw(MANY, seed=1), "float64")
    assert found.shape == MANY
    assert abs(found.mean() - mean) < 5 * math.sqrt(variance / MANY[0])
    assert found.var() == pytest.approx(variance, rel=0.2)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@each
def test_a_seed_gives_the_same_everywhere(draw: Any, mean: float, variance: float) -> None:
    with use("numpy"):
        wanted = np.asarray(draw((2, 3), seed=7))
    np.testing.assert_allclose(draw((2, 3), seed=7), wanted, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(gx.jit(lambda: draw((2, 3), seed=7))(), wanted, rtol=2e-5, atol=1e-6)
    assert str(draw((2,), dtype="float16", seed=0).dtype) == "float16"


@pytest.mark.broad
def test_choices_with_and_without_replacement() -> None:
    rows = np.arange(8, dtype="float32").reshape(4, 2)
    for backend in ("jax", "numpy"):
        with use(backend):
            assert sorted(np.asarray(random.choice(5, 5, replace=False, seed=3)).tolist()) == [0, 1, 2, 3, 4]
            assert random.choice(rows, 3, seed=0).shape == (3, 2)
            counts = np.bincount(np.asarray(random.choice(3, 3000, p=[0.2, 0.0, 0.8], seed=1)), minlength=3) / 3000
            np.testing.assert_allclose(counts, [0.2, 0, 0.8], atol=0.04)
            one = random.choice(3, 2, replace=False, p=[0.5, 0.0, 0.5], seed=2)
            assert sorted(np.asarray(one).tolist()) == [0, 2]


def test_what_cannot_be_drawn_is_told() -> None:
    for draw in (
        lambda: random.exponential((2,), -1.0),
        lambda: random.gamma((2,), 0.0),
        lambda: random.beta((2,), 1.0, np.nan),
        lambda: random.dirichlet((), 1.0),
        lambda: random.choice(3, 4, replace=False),
        lambda: random.choice(3, -1),
        lambda: random.choice(3, 2, p=[0.5, 0.5, 0.5]),
        lambda: random.choice(3, 2, replace=False, p=[1.0, 0.0, 0.0]),
    ):
        with pytest.raises(ArgumentError):
            draw()
    with pytest.raises(ShapeError):
        random.choice(3, 2, p=[0.5, 0.5])
    with pytest.raises(ShapeError):
        random.gamma((2,), [1.0, 2.0, 3.0])
    with pytest.raises(DTypeError):
        random.gumbel((2,), dtype="int32")
