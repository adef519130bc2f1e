"""What can be differentiated forwards only says so itself, before JAX meets it on the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.core

from graftax.backend.jax import checks, tracing

_forwards_p = tracing.Primitive("graftax_forwards_only")


def forward_only(tree: object, explain: Callable[[], Exception]) -> Any:
    """Return the same arrays, which raise what ``explain`` gives when they are differentiated backwards."""

    def guarded(leaf: object) -> Any:
        return _forwards_p.bind(leaf, explain=explain) if checks.is_floating(leaf) else leaf

    return jax.tree.map(guarded, tree)


@_forwards_p.def_abstract_eval  # type: ignore[untyped-decorator]
def _(value: jax.Array, *, explain: object) -> Any:
    return jax.core.ShapedArray(value.shape, value.dtype, weak_type=value.weak_type)


@_forwards_p.def_impl  # type: ignore[untyped-decorator]
def _(value: object, *, explain: object) -> Any:
    return value


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (value,), (tangent,) = primals, tangents
    return _forwards_p.bind(value, **params), _forwards_p.bind(tangent, **params)


def _transpose(cotangent: object, value: object, *, explain: Callable[[], Exception]) -> Any:
    raise explain()


tracing.derivative_rules[_forwards_p] = _jvp
tracing.transpose_rules[_forwards_p] = _transpose
tracing.row_rules[_forwards_p] = lambda args, dims, **params: (_forwards_p.bind(*args, **params), dims[0])
tracing.lower_as(_forwards_p, lambda context, value, **params: [value])
