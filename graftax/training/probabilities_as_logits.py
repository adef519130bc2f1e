"""The warning of a loss or metric of logits that gets probabilities: those of an activation at the end of the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

from graftax.backend.traced_checks import probability_listeners
from graftax.core import user_line
from graftax.losses.likelihood import CTC
from graftax.losses.loss import Loss


class ProbabilitiesAsLogits:
    """Compares what losses and metrics get with the results of softmax and sigmoid in the same step.

    Only the very array that such an op gave counts: what was computed from it may be anything. Each output is told
    about once.
    """

    def __init__(self) -> None:
        self._given: dict[int, tuple[str, ref[Any]]] = {}
        self._told: set[str] = set()

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Hear of the results in the block, which is one step or its trace."""
        try:
            with probability_listeners.entered(self._hear):
                yield
        finally:
            self._given.clear()

    def _hear(self, op: str, result: Any) -> None:
        self._given[id(result)] = op, ref(result)

    def warn(self, output: str, prediction: object, taker: Any) -> None:
        """Warn if a prediction is such a result, and what takes it is told that it is logits.

        Args:
            output: The name of the output; empty if there is only one.
            prediction: The prediction.
            taker: The loss or metric.
        """
        op, result = self._given.get(id(prediction), ("", None))
        is_of_op = result is not None and result() is prediction  # an array that is gone may have had the same id
        takes_only_logits = isinstance(taker, CTC)
        is_for_logits = takes_only_logits or getattr(taker, "from_logits", None) is True
        if not is_of_op or not is_for_logits or output in self._told:
            return
        self._told.add(output)
        kind, user = type(taker).__name__, "loss" if isinstance(taker, Loss) else "metric"
        of = f" of the output {output!r}" if output else ""
        shown = f"{kind}()" if takes_only_logits else f"{kind}(from_logits=True)"
        other = "" if takes_only_logits else f"{kind}() without from_logits=True, or "
        user_line.warn(
            f"the predictions{of} are what {op} gave, and the {user} {shown} takes them for logits: "
            "it computes the probabilities of probabilities, which are nearly alike. "
            f"Instead: {other}no {op} at the end of the model"
        )
