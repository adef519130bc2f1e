"""Values of the program that a waiting value replaces although they are newer: the program has gone on since."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from graftax.core import user_line
from graftax.variables.calls import contexts
from graftax.variables.state.storage import Storage
from graftax.variables.variable import Variable

_MARKS = 8
_LARGEST = 4096
"""How many numbers a Variable has at most whose value is kept for a comparison."""


class Marks:
    """The smallest Variables to which a restore gave values, and these: they tell whether the program has gone on.

    Args:
        restored: The Variables, which have their values.
    """

    def __init__(self, restored: Iterable[Variable] = ()) -> None:
        moving = [one for one in restored if one.trainable or one.role in ("counter", "state")]
        small = sorted((one for one in moving if one.size <= _LARGEST), key=lambda one: one.size)
        self._values = [(weakref.ref(one), value) for one in small[:_MARKS] if (value := _value_of(one)) is not None]

    def find_moved(self) -> str | None:
        """Return the path of one that has another value now; None if all are as they were restored."""
        for ref, before in self._values:
            now = ref()
            if now is not None and not _same(_value_of(now), before):
                return now.path
        return None


def warn_of_replaced(path: str, variable: Variable, saved: Any, source: str | None, marks: Marks) -> None:
    """Warn if a waiting value replaces one that the program has worked out since the restore.

    What appears in a build or in a call of a layer is what the values wait for, and zeros are a place for a value: no
    warning there, nor as long as what was restored has not changed.

    Args:
        path: Where the Variable is, from the roots of the checkpoint.
        variable: It, with the value of the program.
        saved: The waiting value.
        source: The checkpoint.
        marks: The state of the program after the restore.
    """
    if contexts.top is not None or variable.role not in ("weight", "state"):
        return
    value = _value_of(variable)
    if value is None or not value.any() or _same(value, np.asarray(saved).astype(value.dtype)):
        return
    if (moved := marks.find_moved()) is None:
        return
    user_line.warn(
        f"{path!r} was made after the restore of {source!r}, and takes the value that waited for it from there, in "
        f"place of the one that it was made with; but the program has gone on since: {moved!r} has changed. "
        f"Instead: {_as_code(path)}.assign(value) after this line, if the new value is meant; make it before the "
        f"restore, if the saved one is; or let the restore skip {path!r}, so that nothing waits for it."
    )


def _as_code(path: str) -> str:
    """Return ``model.fisher[0]`` for ``model/fisher/0``."""
    return re.sub(r"/(\d+)(?=/|$)", r"[\1]", path).replace("/", ".")


def _value_of(variable: Variable) -> np.ndarray[Any, Any] | None:
    """Return the value on the host; None if it is spread over devices, or is no number now."""
    kept: Storage = variable._storage
    if kept.home is not None:
        return None
    buffer, arrays = kept.value_now(), kept.backend.arrays
    return np.array(arrays.to_numpy(buffer)) if arrays.is_concrete(buffer) else None


def _same(one: np.ndarray[Any, Any] | None, other: np.ndarray[Any, Any]) -> bool:
    return one is not None and bool(np.all((one == other) | ((one != one) & (other != other))))
