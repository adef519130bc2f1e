"""Labels that are aligned with steps: how many steps they need, and the error for those that have too few."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.errors import DataError
from graftax.core.typedefs import Array, ArrayLike

_Host: TypeAlias = np.ndarray[Any, Any]
_Values: TypeAlias = _Host | Array


def require_steps(labels: ArrayLike, lengths: ArrayLike, counted: ArrayLike, blank: int) -> None:
    """Raise if labels of a sample have no alignment: each needs a step, and equal neighbours a blank between them.

    Values that are not there yet are looked at in functions compiled with ``checked=True``.

    Args:
        labels: Of shape ``(batch, labels)``, padded at their end with the blank or -1.
        lengths: The number of steps of each sample.
        counted: Which samples count.
        blank: The class that stands for no label.

    Raises:
        DataError: names the first such sample.
    """
    given: list[Any] = [labels, lengths, counted]
    arrays = registry.current().arrays
    if all(not arrays.is_array(one) or arrays.is_concrete(one) for one in given):
        error = _too_few(blank, *map(_host, given))
        if error is not None:
            raise error
    elif traced_checks.is_checking():
        seen, steps, counting = map(ops.asarray, given)
        bad = ops.any(ops.logical_and(ops.logical_and(_steps_needed(seen, blank) > steps, steps > 0), counting))
        traced_checks.emit(partial(_too_few, blank), bad, seen, steps, counting)


def _host(value: object) -> _Host:
    arrays, given = registry.current().arrays, cast("Array", value)
    return arrays.to_numpy(given) if arrays.is_array(given) else np.asarray(given)


def _is_label(labels: _Values, blank: int) -> Any:
    there: Any = labels >= 0  # other negative numbers are told elsewhere
    return there & (labels != blank)


def _steps_needed(labels: _Values, blank: int) -> Any:
    """Return the number of steps that the labels of each sample need."""
    there = _is_label(labels, blank)
    doubled = there[:, 1:] & (labels[:, 1:] == labels[:, :-1])
    return there.sum(-1) + doubled.sum(-1)


def _too_few(blank: int, labels: _Host, lengths: _Host, counted: _Host) -> DataError | None:
    needed = _steps_needed(labels, blank)
    wrong = (needed > lengths) & (lengths > 0) & counted
    if not wrong.any():
        return None
    row = int(np.argwhere(wrong)[0, 0])
    there = labels[row][_is_label(labels[row], blank)]
    steps = int(np.broadcast_to(lengths, wrong.shape)[row])
    doubled = int(needed[row]) - len(there)
    more = f" and {doubled} blank{'s' * (doubled > 1)} between equal neighbours" if doubled else ""
    shown = there.tolist() if len(there) <= _SHOWN else [*there[:_SHOWN].tolist(), ...]
    return DataError(
        f"labels[{row}] = {shown} for {steps} step{'s' * (steps > 1)}".replace("Ellipsis", "..."),
        f"{len(there)} labels{more} need {int(needed[row])} steps: no alignment has them, and the loss is infinite",
        "a mask that keeps more steps, a model with smaller strides, or shorter labels; "
        "CTC(zero_infinity=True) to count such a sample as 0",
    )


_SHOWN = 10  # labels
