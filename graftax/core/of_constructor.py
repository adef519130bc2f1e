"""OfConstructor: an argument that only the constructor reads, and that no attribute keeps."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import AssignmentError
from graftax.core.ours import is_ours


class OfConstructor:
    """Refuses that its name is assigned, since nothing would read it; subclasses of the user's may have such a name.

    Args:
        instead: What to write, where ``{value}`` stands for what was assigned.

    Example:
        >>> from graftax.layers import LSTM, Bidirectional
        >>> both = Bidirectional(LSTM(2))
        >>> try:
        ...     both.layer = LSTM(3)
        ... except AssignmentError as error:
        ...     print(error.instead)
        both.forward_layer = ..., and both.backward_layer = ... with go_backwards=True
    """

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type[Any]) -> Any:
        if owner is None or self._name not in vars(owner):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {self._name!r}")
        return vars(owner)[self._name]

    def __set__(self, owner: Any, value: object) -> None:
        kind = type(owner)
        if not is_ours(kind):
            vars(owner)[self._name] = value
            return
        raise AssignmentError(
            f"{kind.__name__}.{self._name} = {value!r:.60}",
            "it was used when this was made, and nothing would read it now",
            self._instead.replace("{value}", f"{value!r:.60}"),
        )
