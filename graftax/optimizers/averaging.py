"""Averages of weights over the updates, to evaluate with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graftax import ops
from graftax.errors import ArgumentError
from graftax.optimizers.gradients import cast_to
from graftax.optimizers.slot import Row, Slot, compute_dtype
from graftax.typedefs import Array
from graftax.variables.variable import Variable

SLOT = "moving_average"


def check_momentum(momentum: float | None) -> float | None:
    """The momentum, if it is one."""
    if momentum is not None and not 0 <= momentum < 1:
        raise ArgumentError(
            f"ema_momentum={momentum!r}",
            "an average keeps a fraction in [0, 1) of itself",
            "ema_momentum=0.999, or None for no average",
        )
    return momentum


def slot_for(variable: Variable) -> Slot:
    """The average of a variable, which starts as its value."""

    def start(key: Any, shape: Any, dtype: str) -> Array:
        return cast_to(variable.value, dtype)

    return Slot(dtype=compute_dtype(variable.dtype), initializer=start)


def follow(variables: list[Variable], rows: Mapping[int, Row], momentum: float, first: Array) -> None:
    """Move the averages towards the values; with the first update of all they become these."""
    for variable in variables:
        average = rows[id(variable)].slots[SLOT]
        value = cast_to(variable.value, average.dtype)
        average.assign(ops.where(first, value, average.value + (1 - momentum) * (value - average.value)))


@contextmanager
def swapped(pairs: list[tuple[Variable, Variable]]) -> Iterator[None]:
    """Inside, each variable has the value of its average; at the end its own again, whatever happens."""
    before = [variable.value for variable, _ in pairs]
    try:
        for variable, average in pairs:
            variable.assign(cast_to(average.value, variable.dtype))
        yield
    finally:
        for (variable, _), value in zip(pairs, before, strict=True):
            variable.assign(value)
