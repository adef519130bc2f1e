"""Why a compiled function was traced once more, and what helps."""

from __future__ import annotations

import re

from graftax.transforms.compile.guard import BY_ITSELF, IN_OBJECT
from graftax.transforms.compile.key import OTHER_MODULE

_NUMBER = re.compile(r"(?:\S*[./])?(?!trainable:)(\w+): (-?\d[\d.e+-]*) -> -?\d[\d.e+-]*")
"""How a reason looks where an attribute was another number: the name, and the number before."""


_VARIABLE = re.compile(r"\S+ reads (\w+)(?: \(\d+\))?: (\S+) -> (\S+)")
"""How a reason looks where a global, or a variable of a closure, stood for another plain value."""

_INSIDE = re.compile(rf", {IN_OBJECT} (\w+)$")


def retrace_reason(reason: str) -> tuple[str, str]:
    """Return why there was one more trace, and what helps; from what was different."""
    if reason.endswith(BY_ITSELF):
        return (
            "the function changes an attribute or variable that it depends on, so that each call compiles anew",
            "keep what changes in a Variable (self.count.assign_add(1)), and decide by it with graftax.cond",
        )
    if reason.endswith(OTHER_MODULE):
        return (
            "each Module is a part of a program of its own",
            "one program for all takes their states as arguments: graftax.functional_call(module, state, x), with "
            "graftax.state(other); graftax.vectorized_map runs stacked states at once",
        )
    if (inside := _INSIDE.search(reason)) is not None:
        name = inside[1]
        return (
            f"what the object {name} holds is a part of the program, so that each value compiles anew",
            "pass it as an argument, or keep it in a Variable; or, where a Module has the object and compiled code "
            f'reads none of it, untracked = frozenset({{"{name}"}}) in the class of that',
        )
    if (variable := _VARIABLE.fullmatch(reason)) is not None:
        name, before, _ = variable.groups()
        value = f"graftax.Variable({before}, trainable=False)"
        return (
            f"what the name {name} stands for is a part of the program, so that each value compiles anew",
            f"pass it as an argument, or {name} = {value}, and {name}.assign(value) to change it",
        )
    if (setting := _NUMBER.fullmatch(reason)) is not None:
        name, before = setting.groups()
        return (
            f"the number {name} is a part of the program, so that each value compiles anew",
            f"self.{name} = graftax.Variable({before}, trainable=False), which compiled code reads, and "
            f"self.{name}.assign(value) to change it",
        )
    return (
        "each new shape, dtype or setting compiles anew",
        "keep shapes and settings the same (ops.pad, with a mask for what is real)",
    )


def times(count: int) -> str:
    """Return how many traces there were, in words."""
    return "1 trace" if count == 1 else f"{count} traces"
