"""Sizes, counts and axes that are traced values: one message for all that takes such a number."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import CompileError

X = np.ones((4, 2), "float32")

ROWS: dict[str, Callable[[Any], Any]] = {
    "ops.arange: stop": lambda k: ops.arange(k),
    "ops.arange: step": lambda k: ops.arange(0, 10, k),
    "ops.linspace: num": lambda k: ops.linspace(0.0, 1.0, k),
    "ops.zeros: shape": lambda k: ops.zeros((k, 2)),
    "ops.full: shape": lambda k: ops.full(k, 1.0),
    "ops.reshape: shape": lambda k: ops.reshape(X, (k, -1)),
    "ops.one_hot: num_classes": lambda k: ops.one_hot(np.array([1]), k),
    "ops.repeat: repeats": lambda k: ops.repeat(X, k),
    "ops.eye: rows": lambda k: ops.eye(k),
    "ops.pad: pad_width": lambda k: ops.pad(X, ((k, 0), (0, 0))),
    "ops.top_k: k": lambda k: ops.top_k(X, k),
    "ops.sum: axis": lambda k: ops.sum(X, axis=k),
    "ops.norm: ord": lambda k: ops.norm(X, ord=k),
    "shape": lambda k: gx.random.normal((k, 2)),
    "maxval": lambda k: gx.random.randint((2,), 0, k),
    "units": lambda k: gx.layers.Dense(k),
    "scan: length": lambda k: gx.scan(lambda c, _: (c, None), 0, length=k),
    "while_loop: maximum_iterations": lambda k: gx.while_loop(lambda n: n < 3, lambda n: n + 1, 0, k),
    "vectorized_map: chunk_size": lambda k: gx.vectorized_map(lambda r: r, X, chunk_size=k),
    "delta": lambda k: gx.losses.Huber(delta=k),
    "strides": lambda k: gx.layers.Conv2D(2, 3, strides=k),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("how", ["compiled", "mapped"])
def test_a_traced_number_is_told(name: str, how: str) -> None:
    fn = ROWS[name]
    with pytest.raises(CompileError) as caught:
        gx.jit(fn)(2) if how == "compiled" else gx.vectorized_map(fn, np.array([1, 2]))
    assert "= int32[], a traced value" in caught.value.received
    assert "only known when it runs" in str(caught.value)
    assert caught.value.received.startswith(f"{name} = ")


@pytest.mark.parametrize(
    "call", [lambda n: ops.ones(4)[:n], lambda n: np.zeros(n), lambda n: [1] * n, lambda n: [1, 2, 3][n]]
)
def test_what_python_and_its_libraries_make_of_it_is_told_too(call: Callable[[Any], Any]) -> None:
    with pytest.raises(CompileError, match="traced"):
        gx.jit(call)(2)


def test_values_that_are_there_are_sizes() -> None:
    assert ops.zeros((ops.asarray(2), np.int64(3))).shape == (2, 3)
    assert ops.arange(ops.asarray(3)).tolist() == [0, 1, 2]
    assert gx.jit(lambda x: ops.arange(x.shape[0]))(X).tolist() == [0, 1, 2, 3]
