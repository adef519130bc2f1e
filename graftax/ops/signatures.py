"""What the signature of a row says: parameters, which must be given, their types and defaults."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from graftax.ops.table import ARRAYS, SEQUENCES, TYPES, Op


def parameters(op: Op) -> list[str]:
    """The names in order, a star before the one that takes many."""
    arguments = _arguments(op)
    names = [argument.arg for argument in arguments.args]
    if arguments.vararg:
        names.append(f"*{arguments.vararg.arg}")
    return names + [argument.arg for argument in arguments.kwonlyargs]


def bare(name: str) -> str:
    """The name without a star."""
    return name.lstrip("*")


def _arguments(op: Op) -> ast.arguments:
    return ast.parse(f"def f({op.signature}): ...").body[0].args  # type: ignore[attr-defined,no-any-return]


def _with_defaults(op: Op) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    arguments = _arguments(op)
    missing: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    yield from zip(arguments.args, [*missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def needed(op: Op) -> list[str]:
    """The parameters that must be given."""
    return [argument.arg for argument, default in _with_defaults(op) if default is None]


def settings(op: Op) -> Iterator[tuple[str, str, str | None]]:
    """The parameters that are no arrays: name, type, and default as Python writes it (None if it must be given)."""
    for argument, default in _with_defaults(op):
        name = argument.arg
        if name not in ARRAYS | SEQUENCES and name != "object":
            kind = ast.unparse(argument.annotation) if argument.annotation else TYPES[name]
            yield name, kind, None if default is None else ast.unparse(default)


def compiled_head(op: Op) -> str:
    """The parameters as the function is compiled with them.

    What must be given is ``absent`` unless it is; more arguments than there are, and unknown names, are gathered: so
    that all is told in our words.
    """
    arguments = _arguments(op)
    named = {argument.arg: default for argument, default in _with_defaults(op)}
    gathered = arguments.vararg.arg if arguments.vararg else "more"

    def head(argument: ast.arg) -> str:
        default = named[argument.arg]
        return f"{argument.arg}={'absent' if default is None else ast.unparse(default)}"

    parts = [*map(head, arguments.args), f"*{gathered}", *map(head, arguments.kwonlyargs), "**unknown"]
    return ", ".join(parts)


def signature(op: Op) -> inspect.Signature:
    """What editors and ``help`` show."""
    space: dict[str, Any] = {}
    exec(compile(f"def f({op.signature}): ...", op.name, "exec"), space)
    found = inspect.signature(space["f"])
    return found.replace(parameters=[one.replace(annotation=one.empty) for one in found.parameters.values()])
