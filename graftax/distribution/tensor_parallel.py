"""tensor_parallel: the rules that split attention and pairs of Dense layers the way of Megatron-LM."""

from __future__ import annotations

import re

from graftax.core.selectors import Selector, SelectorLike, compile_selector
from graftax.distribution.rules import OptionalRule, Rule


def tensor_parallel(axis: str = "model", where: SelectorLike = "**") -> list[Rule]:
    """Return rules that split `MultiHeadAttention` by heads, and pairs of `Dense` layers by their inner units.

    The kernels of ``query``, ``key``, ``value`` and ``up`` are split by columns, those of ``output`` and ``down`` by
    rows, so that each pair needs one sum over the devices (Shoeybi et al., arXiv:1909.08053). Pairs of Dense layers
    are known by the names ``up`` and ``down`` of the attributes that hold them. Biases of the former are split, too.

    Args:
        axis: The axis of the mesh. Defaults to ``"model"``.
        where: Which part of the model. Defaults to ``"**"``, all of it.

    Example:
        >>> [axes for _, axes in tensor_parallel()]
        [(None, 'model'), ('model', None), ('model',)]
    """
    part = compile_selector(where)
    everything = isinstance(where, str) and where == "**"

    def named(names: str, weight: str) -> Selector:
        # one pattern, so that a model need not have all of these
        found = compile_selector(re.compile(rf"(^|/)({names})/{weight}$"))
        return found if everything else found & part

    return [
        (named("query|key|value|up", "kernel"), (None, axis)),
        (named("output|down", "kernel"), (axis, None)),
        OptionalRule(named("query|key|value|up", "bias"), (axis,)),
    ]
