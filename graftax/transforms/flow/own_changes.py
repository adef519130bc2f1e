"""Bodies of loops that change plain attributes: no later turn may thereby be another program than the first.

The Python of a body runs once for all turns. ``self.ready = True`` in it, after ``if not self.ready``, would leave all
turns as the first one is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.backend import registry
from graftax.core.errors import StateError
from graftax.transforms.lifting.parts import Part


class ChangingBodyError(StateError):
    """A body of a loop of which a later turn would be another program than the first."""


def steady(name: str, part: Part, anew: Callable[[], Part]) -> Part:
    """A part as it is after all that its own Python changes; one that changes nothing is that already.

    Args:
        name: What the loop is called in messages.
        part: The body, traced.
        anew: Traces it again.

    Raises:
        ChangingBodyError: later turns would be other programs.
    """
    if not part.changed:
        return part
    again = anew()
    if not again.changed and _alike(part, again):
        return again
    raise ChangingBodyError(
        f"the body of a {name} changes {', '.join(again.changed or part.changed)}, on which it depends",
        "its Python runs once for all turns, so that later ones would not see the change",
        f"keep it in a Variable: gx.Variable(False, trainable=False), and decide by it with gx.cond; or call {name} "
        "after a first turn without it",
    )


def _alike(one: Part, other: Part) -> bool:
    """True if they are known to be the same program."""
    if [*one.found] != [*other.found] or one.written != other.written or len(one.constants) != len(other.constants):
        return False
    known = one.program.key, other.program.key
    return None not in known and known[0] == known[1] and all(map(_equal, one.constants, other.constants))


def _equal(one: Any, other: Any) -> bool:
    arrays = registry.current().arrays
    if one is other:
        return True
    if not (arrays.is_concrete(one) and arrays.is_concrete(other)):
        return False
    same_kind = (one.shape, one.dtype) == (other.shape, other.dtype)
    return same_kind and arrays.to_numpy(one).tobytes() == arrays.to_numpy(other).tobytes()
