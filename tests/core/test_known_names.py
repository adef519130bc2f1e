"""Names that there are not: the nearest one comes first."""

import pytest

import graftax as gx
from graftax.core.known_names import unknown
from graftax.losses import registry as losses
from graftax.metrics import registry as metrics
from graftax.optimizers import registry as optimizers


def test_the_nearest_and_all():
    error = unknown("colour", "gren", ["red", "green"], "or a function")
    assert (error.received, error.instead) == ("colour='gren'", "colour='green'; there are red, green; or a function")


def test_nothing_is_near():
    assert unknown("colour", 7, ["red"]).instead == "there are red"


@pytest.mark.parametrize(
    ("get", "wrong", "right"),
    [
        (losses.get, "mean_square_error", "mean_squared_error"),
        (metrics.get, "acuracy", "accuracy"),
        (optimizers.get, "Adm", "adam"),
        (gx.activations.get, "Rellu", "relu"),
        (gx.initializers.get, "orthogonnal", "orthogonal"),
        (gx.constraints.get, "nonneg", "non_neg"),
        (gx.regularizers.get, "L1_LL2", "l1_l2"),
    ],
)
def test_everything_that_has_names(get, wrong, right):
    with pytest.raises(gx.errors.ArgumentError, match=f"={right!r};"):
        get(wrong)
