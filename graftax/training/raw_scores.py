"""The check that losses and metrics of probabilities do not get raw scores, which a compiled step would accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from graftax import ops
from graftax.backend import traced_checks
from graftax.core import user_line
from graftax.core.typedefs import Array
from graftax.metrics.metric import Metric
from graftax.transforms.gradients.custom_gradient import stop_gradient
from graftax.variables.variable import Variable


class RawScores(Metric):
    """The prediction farthest outside of the valid range of a loss or metric so far; 0 if there was none.

    It is a Variable that each step assigns, and that is read only once, so no step waits.

    Args:
        name: Its name.
    """

    untracked: ClassVar[frozenset[str]] = frozenset({"explain"})
    explain: traced_checks.Explain | None = None
    worst: Variable | None = None

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Compare predictions with the limits that losses and metrics report while they are traced in the block."""
        found: list[Array] = []

        def record(explain: traced_checks.Explain, wrong: Callable[[Any], Any], values: Any) -> None:
            object.__setattr__(self, "explain", explain)
            bad = ops.where(wrong(values), values, 0.0)
            low, high = ops.min(bad), ops.max(bad)
            found.append(ops.where(low < 0, low, high))

        with traced_checks.score_listeners.entered(record):
            yield
        if found:
            if self.worst is None:
                self.worst = self.add_variable(())
            now = [ops.cast(stop_gradient(one), "float32") for one in found]
            worst = self.worst.value
            for one in now:
                worst = ops.where(ops.abs(one) > ops.abs(worst), one, worst)
            self.worst.assign(worst)

    def warn(self, output: str, user: str) -> bool:
        """Warn if a prediction was out of range so far, and return whether one was.

        Args:
            output: The name of the output.
            user: ``"loss"`` or ``"metric"``, whichever takes the prediction.
        """
        if self.explain is None or self.worst is None:
            return False
        worst = self.worst.numpy()
        error = self.explain(worst) if worst else None
        if error is not None:
            means = "Training on them" if user == "loss" else "A metric of them"
            of = f" of the output {output!r}" if output else ""
            user_line.warn(
                f"{error.received}{of} in the first batch: {error.reason}. {means} means nothing. "
                f"Instead: {error.instead} for the {user}, or a last layer that gives what the {user} takes, such as "
                'layers.Activation("softmax" or "sigmoid").'
            )
        return error is not None
