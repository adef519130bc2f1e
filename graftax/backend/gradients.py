"""What a backend offers that differentiates: backwards, forwards, by rules of others, and recorded for a tape.

Numbers at kinks, which differ among libraries, are a part of the contract, in `graftax.backend.api`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from graftax.backend.tracing import Tracing
from graftax.core.typedefs import Array


class Recorder(Protocol):
    """What wants to know which operations are run on the arrays that it tracks."""

    def tracks(self, values: Sequence[Any]) -> bool:
        """Tell whether it tracks one of these arrays, told apart by identity."""
        ...

    def record(self, call: Callable[..., Sequence[Any]], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Record that ``outputs`` were computed as ``call(*inputs)``, which any transform may call again.

        ``call.key`` is equal for calls that do the same, and None (or cannot be hashed) where that is not known.
        """
        ...


class Gradients(Tracing, Protocol):
    """Derivatives of functions of arrays."""

    def value_and_grad(self, function: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[tuple[Any, Any], Any]]:
        """Return a function that gives ``((value, aux), gradient)``; ``function`` returns ``(value, aux)``."""
        ...

    def value_and_reached_grad(
        self, function: Callable[[list[Any]], tuple[Any, Any]]
    ) -> Callable[[list[Any]], tuple[tuple[Any, Any], list[Any]]]:
        """Do as `value_and_grad` for a list of arrays, with None for each on which the value does not depend."""
        ...

    def start_recording(self, recorder: Recorder) -> tuple[Any, Any]:
        """Tell the recorder what this thread computes from now on; the level that records, and the one around it."""
        ...

    def stop_recording(self, recorder: Recorder, level: object) -> None:
        """Tell it no more; recorders may stop in any order."""
        ...

    def copy_unrecorded(self, value: Array, level: object) -> Array:
        """Return a copy that the recorders of that level do not notice."""
        ...

    def vjp(self, function: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Return the results, and the function from their cotangents to those of the arguments."""
        ...

    def reached_vjp(
        self, function: Callable[[list[Any]], list[Any]], values: list[Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        """Do as `vjp` for a list of arrays, with None for the cotangent of each on which no result depends."""
        ...

    def vjp_with_aux(
        self, function: Callable[..., tuple[Any, Any]], *args: Any
    ) -> tuple[Any, Callable[[Any], tuple[Any, ...]], Any]:
        """Do as `vjp` for a function that returns ``(results, aux)``; ``aux`` has no cotangents."""
        ...

    def tap(self, value: Array, token: Array, hear: Callable[[Any], None], level: object) -> Array:
        """Return the value at a level; when cotangents go back to ``token``, ``hear`` gets that of the value.

        ``token`` is a floating scalar that is differentiated at that level.
        """
        ...

    def custom_vjp(
        self,
        function: Callable[[list[Any]], list[Any]],
        forward: Callable[[list[Any]], tuple[list[Any], list[Any], Any]],
        backward: Callable[[list[Any], Any, list[Any]], list[Any]],
        inputs: list[Any],
        refused: Sequence[Callable[[], Exception] | None],
    ) -> list[Any]:
        """Call ``function(inputs)``, with a rule for its cotangents.

        ``forward(inputs)`` gives the same results, arrays to keep, and any object to keep. ``backward(arrays, object,
        cotangents of results)`` gets None for an integer result, and gives the cotangents of the inputs, None for zero.
        All three are pure and may be run later, and at levels inside the present one. ``refused`` has for each input
        what gives the error to raise where that is differentiated.
        """
        ...

    def jvp(self, function: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return the results and their tangents."""
        ...
