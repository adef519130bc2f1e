"""Parts of programs that change plain attributes: no run may thereby be another program than the one traced.

The Python of a body runs once for all turns. ``self.ready = True`` in it, after ``if not self.ready``, would leave all
turns as the first one is. That of a branch runs once, too, even if no run ever takes the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graftax.backend import registry
from graftax.core.errors import StateError, TracerLeakError
from graftax.core.typedefs import Array
from graftax.transforms.lifting.parts import Part


class ChangingBodyError(StateError):
    """Raised for a part of a loop of which a later turn would be another program than the first."""


def require_no_changes(name: str, label: str, part: Part) -> Part:
    """Return a branch that changes no attribute.

    Args:
        name: What the control flow is called in messages.
        label: What the branch is called.
        part: The branch, traced.

    Raises:
        StateError: It changes one.
    """
    if part.changed:
        raise StateError(
            f"{label} of a {name} changes {', '.join(part.changed)}",
            "all branches are traced, whichever runs, so that it would be changed even where the branch does not run",
            f"change it outside of the {name}; or keep it in a Variable, gx.Variable(False, trainable=False), and "
            "assign that",
        )
    return part


def traced_until_stable(name: str, function: str, part: Part, retrace: Callable[[], Part]) -> Part:
    """Return a part as it is after all that its own Python changes; one that changes nothing is that already.

    Args:
        name: What the loop is called in messages.
        function: Which part of it this is: its body, or its condition.
        part: The part, traced.
        retrace: Traces it again.

    Raises:
        ChangingBodyError: later turns would be other programs.
    """
    if not part.changed:
        return part if not part.keeping else _retrace_part(name, function, part, retrace)
    again = retrace()
    # what somebody counts beside, in an object that the program does not depend on, does it no harm
    beside = bool(again.changed) and all(name in again.changed_around for name in again.changed)
    if (beside or not again.changed) and _is_same_program(part, again, unless_known=beside):
        return again
    raise _dependence_error(name, f"the {function}", again.changed or part.changed)


def _retrace_part(name: str, function: str, part: Part, retrace: Callable[[], Part]) -> Part:
    """Return a part that leaves traced values in attributes, if the next turn reads none of them.

    It is traced once more with the values in place, which have no numbers: what reads one fails.
    """
    try:
        if _is_same_program(part, again := retrace()):
            return again
    except TracerLeakError as error:
        raise _keeping_error(name, function, part) from error
    raise _keeping_error(name, function, part)


def _keeping_error(name: str, function: str, part: Part) -> ChangingBodyError:
    return ChangingBodyError(
        f"the {function} of a {name} keeps a value from turn to turn in {', '.join(part.keeping)}",
        "its Python runs once for all turns, so that each would begin with the value from before the loop",
        "keep it in a Variable, self.total = gx.Variable(0.0, trainable=False), and assign it; or in the carry",
    )


def require_same_program(name: str, part: Part, again: Part, changed: Sequence[str]) -> None:
    """Raise if a condition is another program after the body has changed attributes.

    Args:
        name: What the loop is called in messages.
        part: The condition, traced before the body.
        again: The same after it.
        changed: What the body has changed.
    """
    if not _is_same_program(part, again):
        raise _dependence_error(name, "the body", changed, "the condition")


def _dependence_error(name: str, function: str, changed: Sequence[str], user: str = "it") -> ChangingBodyError:
    return ChangingBodyError(
        f"{function} of a {name} changes {', '.join(changed)}, on which {user} depends",
        "its Python runs once for all turns, so that later ones would not see the change",
        f"keep it in a Variable: gx.Variable(False, trainable=False), and decide by it with gx.cond; or call {name} "
        "after a first turn without it",
    )


def _is_same_program(first: Part, second: Part, unless_known: bool = False) -> bool:
    """Return True if they are known to be the same program; or, if asked for, unless they are known not to be.

    What is not known are functions of Python in a program, such as the rules of a `graftax.custom_gradient`, which are
    made anew each time. What they close over is compared.
    """
    if (
        [*first.found] != [*second.found]
        or first.written != second.written
        or len(first.constants) != len(second.constants)
    ):
        return False
    known = first.program.key, second.program.key
    same = None not in known and known[0] == known[1]
    if not same and not (unless_known and first.program.may_equal(second.program)):
        return False
    return all(map(_is_equal, first.constants, second.constants))


def _is_equal(first: Array, second: Array) -> bool:
    arrays = registry.current().arrays
    if first is second:
        return True
    if not (arrays.is_concrete(first) and arrays.is_concrete(second)):
        return False
    same_kind = (first.shape, first.dtype) == (second.shape, second.dtype)
    return same_kind and arrays.to_numpy(first).tobytes() == arrays.to_numpy(second).tobytes()
