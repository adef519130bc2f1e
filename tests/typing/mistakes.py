"""Mistakes that checkers must find: each marked line is one, and a mark where nothing is found is an error itself."""

from __future__ import annotations

import numpy as np

import graftax as gx
from graftax import layers, ops
from graftax.core.typedefs import Array

X = np.ones((4, 3), "float32")


class Wrong(gx.Layer):
    """Gives something else than it says."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x: Array) -> Array:
        hidden: Array = self.dense(x)
        return hidden.shape  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


class Rule(gx.Optimizer):
    """Keeps what is no slot."""

    def create_slots(self, variable: gx.Variable) -> dict[str, gx.Slot]:
        return {"momentum": "zeros"}  # type: ignore[dict-item]  # pyright: ignore[reportReturnType]


def the_constructor() -> None:
    """A keyword misspelt, a value of the wrong type, one too few, one too many."""
    layers.Dense(4, activatoin="relu")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    layers.Dense("4")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    layers.Dense()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    layers.Flatten("channels", True, "float32", 4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gx.optimizers.Adam(0.1, clip_norm=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gx.losses.Huber(delta="1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gx.metrics.Mean(dtypes="float32")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gx.reparam.FakeQuant(per="row")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def the_attribute() -> None:
    """Misspelt names, of objects and of namespaces."""
    dense = layers.Dense(4)
    dense.kernl  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    model = gx.Sequential([dense])
    model.fitt(X)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    adam = gx.optimizers.Adam()
    adam.iteration  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    layers.Dens  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gx.optimizers.rule  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gx.constraints.Argument  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def the_call() -> None:
    """What goes in and what comes out."""
    text: str = layers.Dense(2)(X)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    ops.matmul(text)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gx.Sequential([layers.Dense(1)]).fit(X, epoch=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gx.Variable([1.0], trainabel=False)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

    @gx.jit
    def step(x: Array) -> Array:
        return x

    x = ops.asarray(X)
    step(x, x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gx.value_and_grad(step)(x, x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
