"""Calls that do not fit a signature: what is said, and that no frame of graftax is shown."""

import traceback

import numpy as np
import pytest

import graftax as gx
from graftax.core.checked_calls import checked_call
from graftax.errors import ArgumentTypeError


class Counter:
    """Something with a method that is called often."""

    @checked_call
    def add(self, count: int, times: int = 1) -> int:
        """Return a product."""
        if count < 0:
            raise ValueError("negative")
        return count * times


def test_calls_that_fit_pass():
    assert Counter().add(2, times=3) == 6
    with pytest.raises(ValueError, match="negative"):
        Counter().add(-1)


@pytest.mark.parametrize(
    ("call", "received"),
    [
        (lambda: Counter().add(), "Counter.add() got no count"),
        (lambda: Counter().add(1, tims=2), "Counter.add() got tims=2"),
        (lambda: Counter().add(1, 2, 3), "Counter.add() got 3 positional arguments"),
    ],
)
def test_calls_that_do_not_fit(call, received):
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    assert caught.value.received == received


@pytest.mark.parametrize(
    "call",
    [
        lambda: gx.Variable(np.ones(2)).assign(1.0, 2.0),
        lambda: gx.optimizers.Adam().apply_gradients([], []),
        lambda: gx.generation.Generator(lambda tokens, cache: (tokens, cache)),
        lambda: gx.generation.Generator(lambda tokens, cache: (tokens, cache), 4)([[1]]),
    ],
    ids=["assign", "door", "constructor", "call"],
)
def test_no_frame_of_graftax_is_shown(call):
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    shown = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert {__file__} == set(shown)


def test_lines_for_habits_from_elsewhere():
    with pytest.raises(ArgumentTypeError) as caught:
        gx.optimizers.Adam().apply_gradients([], [])
    assert "optimizer.apply(gradients, variables)" in caught.value.instead
    with pytest.raises(ArgumentTypeError) as caught:
        gx.generation.Generator(lambda tokens, cache: (tokens, cache), 4)([[1]])
    assert caught.value.received == "generator() got no cache"
    assert "cache=layer.make_cache(" in caught.value.instead
