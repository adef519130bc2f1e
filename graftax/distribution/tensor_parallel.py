"""tensor_parallel: rules that split attention and pairs of Dense layers as in Megatron-LM."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from graftax.core.errors import ArgumentTypeError
from graftax.core.selectors import Selectable, Selector, SelectorLike, compile_selector
from graftax.core.short_traceback import door
from graftax.core.spellings import owners_of
from graftax.distribution.rules import OptionalRule, Rule


@door
def tensor_parallel(
    axis: str = "model", where: SelectorLike = "**", pairs: Sequence[tuple[SelectorLike, SelectorLike]] | None = None
) -> list[Rule]:
    """Return rules that split `MultiHeadAttention` by heads, and pairs of `Dense` layers by their inner units.

    The kernels of the first of a pair are split by columns, those of the second by rows, so that each pair needs one
    sum over the devices (Shoeybi et al., arXiv:1909.08053); biases of the first are split, too. ``query``, ``key`` and
    ``value`` of `MultiHeadAttention` are followed by its ``output``; `TransformerEncoder` and `TransformerDecoder` have
    a pair of Dense layers. Both are found by their classes, not by names.

    Args:
        axis: The axis of the mesh. Defaults to ``"model"``.
        where: The part of the model, as a glob of paths. Defaults to ``"**"``: all of it.
        pairs: Other pairs of Dense layers, each as selectors of the weights of the first and of the second; each must
            select something. Defaults to None: ``("**/up/**", "**/down/**")`` if the model has such layers.

    Raises:
        ArgumentTypeError: ``pairs`` has an element that is not a pair.
        SelectorError: a selector is invalid.

    Example:
        >>> [axes for _, axes in tensor_parallel()]
        [(None, 'model'), ('model', None), ('model',)]
        >>> len(tensor_parallel(pairs=[("**/wide/**", "**/narrow/**")]))
        6
    """
    part: Selector | None = compile_selector(where)
    if isinstance(where, str) and where == "**":
        part = None
    up, down = ("**/up/**", "**/down/**") if pairs is None else (None, None)
    rules = _rules(axis, part, _Held("_gx_column_parts", up), _Held("_gx_row_parts", down))
    for pair in pairs or ():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentTypeError(
                f"pairs has {pair!r:.60}",
                "each is a pair of selectors: of the weights of the first Dense layer, and of the second",
                'pairs=[("**/up/**", "**/down/**")]',
            )
        rules += _rules(axis, part, *pair)
    return rules


def _rules(axis: str, part: Selector | None, first: SelectorLike, second: SelectorLike) -> list[Rule]:
    def weights(name: str, chosen: SelectorLike) -> Selector:
        # the path ends in the name, so parts of an expression are not selected by themselves
        found = compile_selector(re.compile(rf"(^|/){name}$")) & compile_selector(chosen)
        return found if part is None else found & part

    return [
        (weights("kernel", first), (None, axis)),
        (weights("kernel", second), (axis, None)),
        OptionalRule(weights("bias", first), (axis,)),
    ]


class _Held:
    """A selector of weights in a layer that is an attribute, with one of the given names, of a layer of a class.

    Args:
        attribute: The class attribute that has the names of attributes for such layers.
        also: A glob of further weights; None for none.
    """

    def __init__(self, attribute: str, also: str | None) -> None:
        self._attribute = attribute
        self._also = None if also is None else compile_selector(also)
        self.__name__ = "followed_by_a_sum" if attribute == "_gx_row_parts" else "of_inner_units"

    def __call__(self, variable: Selectable) -> bool:
        for layer, holder in pairwise(owners_of(variable)):
            names: tuple[str, ...] = getattr(type(holder), self._attribute, ())
            if any(getattr(holder, name, None) is layer for name in names):
                return True
        return self._also is not None and self._also.matches(variable)
