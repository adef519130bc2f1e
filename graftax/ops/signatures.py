"""What a row of the table says: the op and its parameters, each with its kind and default."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, replace
from functools import cache

from graftax.ops.parameter_kinds import KINDS, Kind

NUMPY = "numpy_functions"
"""The home of ops that are functions of the NumPy namespace of the backend: it has checks of their arguments."""


@dataclass(frozen=True, slots=True)
class Op:
    """One row.

    Args:
        name: As in ``ops.name``.
        signature: The parameters with their kinds, as Python writes types.
        result: The type of the result.
        doc: One sentence.
        home: The file of `graftax.ops` with its function, and checks of its arguments.
        fused: Backends may compile it, since all but the arrays is static and no value is looked at.
        weak: Python numbers among the operands take the dtype of the others.
    """

    name: str
    signature: str
    result: str
    doc: str
    home: str
    fused: bool
    weak: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an op.

    Args:
        name: As in calls.
        kind: What it takes.
        optional: True if None passes.
        default: As Python writes it; None if the argument must be given.
        starred: True if it gathers all that follows.
        by_name: True if it is given by keyword alone.
        named: True if it gathers all keywords that are no other parameter.
    """

    name: str
    kind: Kind
    optional: bool = False
    default: str | None = None
    starred: bool = False
    by_name: bool = False
    named: bool = False

    @property
    def takes_arrays(self) -> bool:
        """Tell whether it takes one array, or a list of them."""
        return self.kind.takes in ("array", "arrays")


@cache
def parameters(op: Op) -> tuple[Parameter, ...]:
    """Return the parameters of an op, in order.

    Raises:
        SyntaxError: If the row has a kind that there is not.
    """
    definition = ast.parse(f"def f({op.signature}): ...").body[0]
    assert isinstance(definition, ast.FunctionDef)  # it was just written
    given = definition.args
    found = []
    defaults = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults]
    for argument, default in zip(given.args, defaults, strict=True):
        found.append(_parameter(op, argument, default))
    if given.vararg:
        found.append(_parameter(op, given.vararg, None, starred=True))
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(_parameter(op, argument, default, by_name=True))
    if given.kwarg:
        found.append(replace(_parameter(op, given.kwarg, None), named=True))
    return tuple(found)


def _parameter(
    op: Op, argument: ast.arg, default: ast.expr | None, starred: bool = False, by_name: bool = False
) -> Parameter:
    written = ast.unparse(argument.annotation) if argument.annotation else "Operand"
    name = written.removesuffix(" | None")
    if name not in KINDS:
        raise SyntaxError(f"{op.name}: {argument.arg}: {written}; graftax.ops.parameter_kinds has no such kind")
    said = None if default is None else ast.unparse(default)
    return Parameter(argument.arg, KINDS[name], name != written, said, starred, by_name)


def array_parameters(op: Op) -> tuple[Parameter, ...]:
    """Return the parameters that are one array each."""
    return tuple(one for one in parameters(op) if one.kind.takes == "array")


def settings(op: Op) -> tuple[Parameter, ...]:
    """Return the parameters that are no arrays."""
    return tuple(one for one in parameters(op) if one.kind.takes not in ("array", "arrays", "data") and not one.named)


def required_names(op: Op) -> list[str]:
    """Return the names of what must be given."""
    return [one.name for one in parameters(op) if one.default is None and not (one.starred or one.named)]


def format_parameters(op: Op) -> str:
    """Return the parameters as messages show them: names and defaults."""
    return str(signature(op)).removeprefix("(").removesuffix(")")


@cache
def signature(op: Op) -> inspect.Signature:
    """Return what ``help`` and ``inspect`` show."""
    return inspect.Signature([_shown_parameter(one) for one in parameters(op)])


def _shown_parameter(one: Parameter) -> inspect.Parameter:
    found = inspect.Parameter(one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if one.starred:
        found = found.replace(kind=inspect.Parameter.VAR_POSITIONAL)
    elif one.named:
        found = found.replace(kind=inspect.Parameter.VAR_KEYWORD)
    elif one.by_name:
        found = found.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    return found if one.default is None else found.replace(default=ast.literal_eval(one.default))
