"""A call of a layer whose errors tell which layer it was, and what it got."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from graftax.core.later import import_later
from graftax.core.short_traceback import cause_to_show

if TYPE_CHECKING:
    from graftax.layers import call_errors
else:
    call_errors = import_later("graftax.layers.call_errors")


class ExplainedCall:
    """A block in which a layer is called: errors from it tell the layer, and what it got.

    A class takes half the time of a generator, at each call.

    Args:
        layer: The layer.
        args: What it was called with.
        kwargs: What it was called with by name.
    """

    __slots__ = ("_args", "_kwargs", "_layer")

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._layer, self._args, self._kwargs = layer, args, kwargs

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            return
        better = call_errors.explain_call(self._layer, self._layer._gx_title(), error, self._args, self._kwargs)
        if better is not None:
            raise better from cause_to_show(better, error)
