"""The body of a loop, traced: with a carry that keeps its dtypes, and the same program at each turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.transforms.flow.attribute_changes import traced_until_stable
from graftax.transforms.lifting.agreement import as_dtypes, common_dtypes
from graftax.transforms.lifting.outline import Outline
from graftax.transforms.lifting.parts import Part


class Settled(NamedTuple):
    """A body, and what it starts with."""

    part: Part
    leaves: list[Any]
    """Those of the first carry, in the dtypes that it keeps."""
    changed: list[str]
    """Plain attributes that the Python of the body changed on the way."""


def trace_until_stable(
    name: str,
    fn: Callable[..., Any],
    body: Callable[[list[Any]], tuple[Any, ...]],
    init: Outline,
    others: Sequence[Any] = (),
) -> Settled:
    """Trace the body of a loop until its carry keeps its dtypes, and return it.

    Args:
        name: What the loop is called in messages.
        fn: What the user wrote.
        body: The same as a function of arrays: takes the leaves of the carry, and the others; the first of what it
            returns is the next carry.
        init: The first carry.
        others: What the body takes besides, or what stands for it.

    Raises:
        DTypeError: There are no such dtypes.
    """
    is_weak = registry.current().arrays.is_weak
    changed: list[str] = []
    last = False
    while True:  # a Python number as a start gives way to what comes out, which may give way in turn
        anew = partial(Part, name, body, [*init.leaves, *others], (fn,))
        part = anew()
        changed += part.changed
        part = traced_until_stable(name, "body", part, anew)
        dtypes = common_dtypes(name, ["init", "the result"], [init, part.outlines[0]], "carry")
        weak = any(map(is_weak, init.leaves))
        same = dtypes == [str(leaf.dtype) for leaf in init.leaves] and not part.program.numbers_gave_way
        init = Outline(init.structure, as_dtypes(init.leaves, dtypes))
        if last or not weak or same:
            return Settled(part, init.leaves, changed)
        last = True
