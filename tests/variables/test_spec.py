"""VariableSpec: replace, and what becomes of a part."""

from dataclasses import FrozenInstanceError

import pytest

from graftax.core.errors import CreatorError
from graftax.variables.initializers import Ones, Zeros
from graftax.variables.spec import VariableSpec

SPEC = VariableSpec(
    shape=(4, 3),
    dtype="float32",
    initializer=Zeros(),
    name="kernel",
    path="dense/kernel",
    regularizer=abs,
    constraint=abs,
)


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        SPEC.shape = (1,)


def test_replace_keeps_the_rest():
    changed = SPEC.replace(dtype="float16", trainable=False)
    assert (changed.dtype, changed.trainable, changed.shape, changed.path) == ("float16", False, (4, 3), "dense/kernel")
    assert changed.regularizer is changed.constraint is abs
    assert SPEC.dtype == "float32"


def test_another_name_makes_a_part():
    part = SPEC.replace(name="left", shape=(4, 2))
    assert (part.path, part.name, part.regularizer, part.constraint) == ("dense/kernel/left", "left", None, None)
    assert SPEC.replace(name="left", regularizer=abs).regularizer is abs
    assert SPEC.replace(name="left", path="else/where").path == "else/where"
    assert SPEC.replace(name="kernel").path == "dense/kernel"


def test_vc6_unknown_field():
    with pytest.raises(CreatorError, match="unknown field shpe, init for the variable 'dense/kernel'"):
        SPEC.replace(shpe=(1,), init=Ones(), shape=(2, 2))
