"""Tokens are int32: larger ones in a prompt are refused, never another token."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.generation import Generator


def step(tokens, cache):
    return ops.one_hot(ops.clip(tokens[:, -1], 0, 4), 5), cache


@pytest.mark.parametrize(
    "prompt",
    [[[1, 2**31]], [[2**40]], np.uint32([[1, 2**31]]), np.uint32([[2**32 - 1]]), np.int64([[2**32 + 1]])],
    ids=["list", "larger", "uint32", "uint32 of -1", "int64"],
)
def test_a_token_beyond_int32_is_refused(prompt):
    with pytest.raises(ArgumentError, match=r"(?s)(token|integer) \d+.*int32.*instead: "):
        Generator(step, 1)(prompt, np.int32(0))


def test_others_of_unsigned_kinds_are_taken():
    for dtype in ("uint8", "uint32"):
        assert Generator(step, 1)(np.array([[1, 3]], dtype), np.int32(0)).tokens.tolist() == [[3]]
    traced = gx.jit(lambda prompt: Generator(step, 1)(prompt, np.int32(0)).tokens)
    assert traced(np.uint32([[1, 2**32 - 1]])).tolist() == [[4]]  # not that of token -1
