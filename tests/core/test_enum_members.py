"""Members of enumerations: those that are texts or numbers count as such, others are refused."""

from enum import Enum, Flag, IntEnum, StrEnum

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.enum_members import unwrap_member
from graftax.core.errors import GraftaxError

X = np.ones((1, 4, 4, 2), "float32")


class New(StrEnum):
    SAME, EDGE, BILINEAR, TANH, SIDE = "same", "edge", "bilinear", "tanh", "right"


class Old(str, Enum):  # noqa: UP042  # as programs for Python 3.10 have it
    SAME, EDGE, BILINEAR, TANH, SIDE = "same", "edge", "bilinear", "tanh", "right"


class Other(Enum):
    SAME, EDGE, BILINEAR, TANH, SIDE = "same", "edge", "bilinear", "tanh", "right"


class Number(IntEnum):
    TWO = 2


class Real(float, Enum):
    TWO = 2.0


class OtherNumber(Enum):
    TWO = 2


class Bits(Flag):
    TWO = 2


TEXTS = {
    "padding": lambda kind: layers.Conv2D(2, 3, padding=kind.SAME)(X).shape,
    "activation": lambda kind: layers.Dense(2, activation=kind.TANH)(X).shape,
    "interpolation": lambda kind: layers.UpSampling2D(2, interpolation=kind.BILINEAR)(X).shape,
    "ops.pad": lambda kind: ops.pad(X, 1, mode=kind.EDGE).shape,
    "ops.image.resize": lambda kind: ops.image.resize(X, (2, 2), kind.BILINEAR).shape,
    "ops.searchsorted": lambda kind: ops.searchsorted(np.float32([1, 2]), np.float32([1]), side=kind.SIDE).tolist(),
    "name": lambda kind: layers.Dense(2, name=kind.SAME).name,
}
NUMBERS = {
    "units": lambda kind: layers.Dense(kind.TWO)(X).shape,
    "axis": lambda kind: ops.sum(X, axis=kind.TWO).shape,
    "operand": lambda kind: ops.add(X, kind.TWO).max().item(),
    "operator": lambda kind: ops.max(gx.Variable(X) * kind.TWO).item(),
    "exponent": lambda kind: ops.power(X, kind.TWO).max().item(),
    "limit": lambda kind: ops.clip(X, kind.TWO, 3.0).max().item(),
    "arange": lambda kind: ops.arange(kind.TWO).tolist(),
    "assign": lambda kind: float(gx.Variable(1.0).assign(kind.TWO)),
    "rate": lambda kind: float(gx.optimizers.SGD(kind.TWO).learning_rate),
    "index": lambda kind: gx.Variable(X[0, 0])[kind.TWO].tolist(),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    assert TEXTS[name](New) == TEXTS[name](Old)
    if name == "name":
        assert TEXTS[name](Old) == "same"
    with pytest.raises(GraftaxError, match=r"(?s)Other.*instead: "):
        TEXTS[name](Other)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    class Plain:
        TWO = 2

    assert NUMBERS[name](Number) == NUMBERS[name](Plain)
    for kind in (OtherNumber, Bits):
        with pytest.raises(GraftaxError, match=rf"(?s){kind.__name__}.*instead: "):
            NUMBERS[name](kind)


def test_what_a_member_is():
    assert [unwrap_member(one) for one in (Old.SAME, Number.TWO, Real.TWO)] == ["same", 2, 2.0]
    assert [type(unwrap_member(one)) for one in (Old.SAME, Number.TWO, Real.TWO)] == [str, int, float]
    assert unwrap_member(Bits.TWO) is Bits.TWO
    assert ops.add(X, Real.TWO).max() == 3
