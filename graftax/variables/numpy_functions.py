"""Functions of NumPy that are given Variables: operators compute with `graftax.ops`, the others with the values now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError, CompileError
from graftax.core.typedefs import VariableLike, unwrap

_OPERATORS = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.divide: ("__truediv__", "__rtruediv__"),
    np.floor_divide: ("__floordiv__", "__rfloordiv__"),
    np.remainder: ("__mod__", "__rmod__"),
    np.power: ("__pow__", "__rpow__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
    np.bitwise_and: ("__and__", "__rand__"),
    np.bitwise_or: ("__or__", "__ror__"),
    np.bitwise_xor: ("__xor__", "__rxor__"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.less: ("__lt__", "__gt__"),
    np.less_equal: ("__le__", "__ge__"),
    np.greater: ("__gt__", "__lt__"),
    np.greater_equal: ("__ge__", "__le__"),
}
"""What NumPy calls for ``array + variable``; the methods that compute it, of a Variable on the left, on the right."""


def compute(ufunc: np.ufunc, method: str, inputs: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Return what a function of NumPy gives for Variables among its arguments.

    What an operator stands for, such as ``np.add``, is computed by the operator of the Variable: with the backend, in
    traces and with gradients. Anything else is computed by NumPy, of the values as they are now.

    Args:
        ufunc: The function, such as ``np.square``.
        method: How it was called: ``"__call__"``, or ``"reduce"`` and the like.
        inputs: Its arguments.
        settings: Its keywords.

    Raises:
        CompileError: a value is not there yet, since a function is being compiled or differentiated.
        ArgumentTypeError: the result is to be written into a Variable.
    """
    if method == "__call__" and not settings and ufunc in _OPERATORS:
        left, right = inputs
        of_left, of_right = _OPERATORS[ufunc]
        return getattr(left, of_left)(right) if isinstance(left, VariableLike) else getattr(right, of_right)(left)
    called = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    targets = settings.get("out") or ()
    if any(isinstance(target, VariableLike) for target in targets):
        raise ArgumentTypeError(
            f"{called} got a Variable as out",
            "NumPy would write into its memory, past compiled functions that hold it",
            f"variable.assign({called}(...))",
        )
    arrays = registry.current().arrays
    for one in inputs:
        value = unwrap(one)
        if arrays.is_array(value) and not arrays.is_concrete(value):
            what = f"the variable {getattr(one, '_gx_path', '')!r}" if isinstance(one, VariableLike) else "an array"
            raise CompileError(
                f"{called} got {what} of shape {tuple(value.shape)} while a function is compiled or differentiated",
                "NumPy computes with numbers, and in there a value has none yet, nor would a gradient come back",
                _suggest_function(ufunc, method, in_place=bool(targets)),
            )
    # `numpy` rather than the value: a tape that records tells the user that no gradient comes back from there
    return getattr(ufunc, method)(*(_on_host(one) for one in inputs), **settings)


def _on_host(value: object) -> Any:
    return np.asarray(value) if isinstance(value, VariableLike) else value


def _suggest_function(ufunc: np.ufunc, method: str, in_place: bool) -> str:
    if in_place and ufunc in _OPERATORS:
        return "array = array + variable, which makes a new array; or the like for other operators"
    if method == "reduce":
        return {"add": "ops.sum(variable)", "multiply": "ops.prod(variable)"}.get(ufunc.__name__, "graftax.ops")
    arguments = ", ".join(("variable", "x")[: ufunc.nin])
    if ufunc.__name__ in dir(ops):
        return f"ops.{ufunc.__name__}({arguments})"
    return "functions of graftax.ops, which compute in there"
