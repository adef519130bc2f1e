"""What errors of JAX mean where a size is free while a program is exported, in three beats."""

from __future__ import annotations

import re
from collections.abc import Callable

from graftax.core.broadcasting import mismatch, suggestion
from graftax.core.errors import ExportError, GraftaxError, ShapeError
from graftax.core.foreign_errors import sizes_in_text

_LATER = "its value is not known before the exported program runs, and Python needs it now"


def decision(text: str) -> ExportError:
    """Return the error for what JAX cannot decide for all values of a free size."""
    compared = re.match(r"Symbolic dimension comparison '(.*?)' ([<>]=?) '(.*?)' is inconclusive", text)
    if compared is not None:
        left, sign, right = compared.groups()
        return by_size(
            f"{left} {sign} {right}", _constraint(left, sign, right), _constraint(left, _OPPOSITE[sign], right)
        )
    divided = re.match(
        r"Cannot divide evenly the sizes of shapes (\((?:[^()]|\([^()]*\))*\)) and (\((?:[^()]|\([^()]*\))*\))", text
    )
    if divided is not None:
        return ExportError(
            f"a reshape of {divided[1]} to {divided[2]}",
            "for some values of the free sizes the elements do not fill the new shape",
            'an expression as the size: Spec("2*n 8"), of which halves are whole; or a number',
        )
    sliced = re.search(r"the (?:start|stop) \((.*)\) must be resolved statically if it is >= 0", text)
    if sliced is not None:
        return by_size(f"{sliced[1]} >= 0", f"{sliced[1]} >= 0", f"{sliced[1]} <= -1")
    used = re.search(r"Symbolic dimension '(.*)' used in a context that requires a constant", text)
    if used is None:
        return ExportError(
            "a free size is used as a number", text.partition("\n")[0], 'a number for that size: Spec("batch 8")'
        )
    return ExportError(
        f"the free size {used[1]} is used as a number",
        _LATER,
        "graftax.scan or graftax.map_fn in place of a loop over the rows of an array; x.shape[0] itself, or "
        'ops.cast(x.shape[0], "float32"), to compute with it; or a number for that size: Spec("8 4")',
    )


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def by_size(condition: str, *ways: str) -> ExportError:
    """Return the error for a condition on sizes that holds for some and not for others.

    Args:
        condition: What was asked.
        *ways: The constraints that decide it.
    """
    return ExportError(
        f"the function decides by a free size: {condition}",
        "the program is written once for all sizes, and this is true for some of them and false for others",
        f"constraints={' or '.join(f'[{one!r}]' for one in ways)}, whichever always holds; a number for that size in "
        "the Spec; or a function without this decision",
    )


def _constraint(left: str, sign: str, right: str) -> str:
    """Return the constraint under which a comparison holds."""
    if sign == ">":
        return f"{left} >= {int(right) + 1}" if right.lstrip("-").isdigit() else f"{left} >= {right} + 1"
    if sign == "<":
        return f"{left} <= {int(right) - 1}" if right.lstrip("-").isdigit() else f"{left} <= {right} - 1"
    return f"{left} {sign} {right}"


def integer() -> ExportError:
    """Return the error for a free size where Python or NumPy needs an integer."""
    return ExportError(
        "a free size is used as a Python integer (the end of a range, a length, a size of NumPy)",
        _LATER,
        "graftax.scan in place of a loop over range(x.shape[1]), x.shape[0] in place of len(x), ops in place of NumPy "
        "as in ops.arange(x.shape[1]), x[:, -1] in place of x[:, x.shape[1] - 1]; or a number for that size "
        "in the Spec",
    )


def _number() -> ExportError:
    return ExportError(
        "a free size is used as a Python number",
        _LATER,
        'ops.cast(x.shape[1], "float32"), an array, in place of float(x.shape[1]); ops.sqrt of that in place of '
        "math.sqrt and ** 0.5; or a number for that size in the Spec",
    )


def _subscript(text: str) -> ExportError:
    return ExportError(
        f"a free size is used as a subscript: {text}",
        "a number in brackets is known when the program is written",
        "x[:, -1] for the last one; ops.take(x, x.shape[1] // 2, axis=1) for another",
    )


def _product(left: str, right: str) -> ShapeError:
    before = [sizes_in_text(f"({one})")[:-2] for one in (left, right)]
    why = mismatch(*before) or "the axes before the last two do not broadcast"
    return ShapeError(f"matmul: [{left}] and [{right}]", f"of the axes before the last two, {why}", suggestion(*before))


def _free_size_error(operation: str) -> ExportError:
    return ExportError(
        f"a free size where JAX needs a number: {operation}", _LATER, 'a number for that size: Spec("b 64")'
    )


_EXPRESSION = r"(-? ?\w+ [-+*] .*|- \w+|\S*\*\S*|(?:floordiv|mod|max|min)\(.*\))"
"""A size that is computed from others, which no string in brackets looks like."""

BY_TEXT: list[tuple[re.Pattern[str], Callable[..., GraftaxError]]] = [
    (re.compile("^'_DimExpr' object cannot be interpreted as an integer"), integer),
    (re.compile("^(?:list|tuple|range) indices must be integers or slices, not _DimExpr"), integer),
    (re.compile(r"^(?:float\(\) argument must be a string or a|must be) real number, not '?_DimExpr"), _number),
    (re.compile("^loop of ufunc does not support argument . of type _DimExpr"), _number),
    (re.compile("^Symbolic dimension cannot be raised to non-integer powers"), _number),
    (re.compile(r"^unsupported format string passed to _DimExpr"), integer),
    (re.compile(rf"^only integers, slices .* are valid indices\. Got {_EXPRESSION}$"), _subscript),
    (re.compile(r"^Incompatible types for matmul arguments: \w+\[(.*)\] and \w+\[(.*)\]$"), _product),
    (re.compile(r"^(Shape polymorphism for .*)$"), _free_size_error),
]
"""Those known by the words of their text."""
