"""Whether the data of a call stay in 64 bits: they do for a model that computes in them, where the backend has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from graftax.core.wrapping import wraps
from graftax.layers.layer import Layer
from graftax.training.narrowing import has_wide_floats, stays_wide
from graftax.variables.graph.module import walk
from graftax.variables.variable import Variable

_WIDE = ("float64", "complex128")
_Args = ParamSpec("_Args")
_Model = TypeVar("_Model", bound=Layer)
_Result = TypeVar("_Result")


def in_width_of_model(
    method: Callable[Concatenate[_Model, _Args], _Result],
) -> Callable[Concatenate[_Model, _Args], _Result]:
    """Return a method of a model whose data are floats of 64 bits if the model computes in these, else of 32."""

    @wraps(method)
    def run(self: _Model, /, *args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        if not has_wide_floats():
            return method(self, *args, **kwargs)
        with stays_wide.entered(_computes_wide(self)):
            return method(self, *args, **kwargs)

    return run


def _computes_wide(model: Layer) -> bool:
    return any(map(_is_wide, walk(model)))


def _is_wide(node: Any) -> bool:
    if isinstance(node, Layer):
        return node._gx_dtypes.compute_dtype in _WIDE
    return isinstance(node, Variable) and node.dtype in _WIDE
