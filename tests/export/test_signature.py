"""Signature: names and Specs of inputs, from Specs, examples and structures."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.export import Signature, Spec


def score(tokens: Any, weights: Any = None, *, scale: float = 1.0) -> Any:
    return tokens


@pytest.mark.parametrize(
    ("fn", "names"),
    [
        (score, ["tokens", "weights"]),
        (gx.jit(score), ["tokens", "weights"]),
        (lambda *arrays: arrays, ["x", "x1"]),
        (layers.MultiHeadAttention(2, 4), ["query", "value"]),
        (lambda x, *more: x, ["x", "x1"]),
    ],
    ids=["function", "compiled", "any number", "layer", "one and more"],
)
def test_inputs_are_called_as_the_function_calls_them(fn: Any, names: list[str]) -> None:
    assert Signature(fn, Spec("b 2"), Spec("b 2")).names == names


def test_an_example_stands_for_a_spec_whose_first_axis_is_free() -> None:
    signature = Signature(score, np.ones((4, 3)), 2)
    assert signature.specs == [Spec("batch 3"), Spec("", "int32")]
    assert [one.shape for one in signature.example or ()] == [(4, 3), ()]
    assert Signature(score, np.ones((4, 3)), Spec("")).example is None
    assert Signature(score, [[1, 2], [3, 4]]).specs == [Spec("batch 2", "int32")]


def test_inputs_may_be_structures_whose_leaves_have_paths() -> None:
    signature = Signature(score, {"ids": Spec("b t", "int32"), "more": (Spec("b"), None)}, None)
    assert signature.names == ["tokens/ids", "tokens/more/0"]
    assert signature.free == ["b", "t"]


def test_what_is_no_function_and_no_input_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="a signature is a function"):
        Signature(3, Spec("b"))  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="an input is a Spec, an example array"):
        Signature(score, "b 8")
    with pytest.raises(ArgumentTypeError, match="constraints='t >= 2'"):
        Signature(score, Spec("t"), constraints="t >= 2")
    with pytest.raises(ArgumentError, match="no size of the inputs is called s"):
        Signature(score, Spec("t"), constraints=["s >= 2"])
    with pytest.raises(ArgumentError, match="all of them stay live"):
        Signature(score, Spec("t"), assigns=True, fold=False)
