"""What a step of the user's leaves unread: weights of samples are refused or warned of, metrics warned of."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core import tree, user_line
from graftax.core.errors import DataError
from graftax.training.batch import unpack
from graftax.training.objectives import Objectives
from graftax.training.used_by_step import Use, replaces_compute_loss, unused_arguments
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.transforms.compile.key import is_static
from graftax.transforms.compile.trace import Entry


class UnreadByStep:
    """Finds in the program of a step what the user gave to the loop and no result of the step depends on.

    A step of this library uses all that it takes, or refuses it. One that the user wrote, or whose `compute_loss` or
    `compute_metrics` the user wrote, may drop weights and metrics. A step that runs eagerly is no program, and is not
    looked at.

    Args:
        model: The model.
        step: The name of the step, ``"train_step"`` or ``"test_step"``.
        weighted_by: The arguments by which the user gave weights to this loop, such as ``"sample_weight="``; none if
            weights come with the batches.
        trained: Of the step that trains, for that of a validation beside it: a metric that either updates is shown.
        warns_of_metrics: False if a validation follows, which may show them, and use the losses of `compile`.
        warns_of_terms: Whether terms that layers and weights add to the loss are looked at.
    """

    def __init__(
        self,
        model: Any,
        step: str,
        weighted_by: tuple[str, ...] = (),
        trained: UnreadByStep | None = None,
        warns_of_metrics: bool = True,
        warns_of_terms: bool = False,
    ) -> None:
        self._model, self._warns_of_terms = model, warns_of_terms
        self._asks_loss = step == "train_step" or trained is not None
        self._idle_loss: list[str] = []
        self.step, self._weighted_by, self._trained = step, weighted_by, trained
        self._asks_metrics, self._warns_of_metrics = True, warns_of_metrics
        self._idle: list[str] = []  # metrics
        self._own = [name for name in (step, "compute_loss", "compute_metrics") if model._gx_has_own(name)]
        self._kind = type(model).__name__
        self._warns_of_weights = True

    def look(self, run: CompiledFunction[..., Any], batch: object, objectives: Objectives) -> None:
        """Look at the program of ``run(batch)``, which has been traced; warn once for all that are looked at.

        Raises:
            DataError: the program does not read weights that the user gave by an argument.
        """
        x, y, weights = unpack(batch)
        metrics = objectives.given_metrics() if self._asks_metrics and {*self._own} - {"compute_loss"} else []
        if not self._own:
            return
        use = self._use()
        if weights is None and not metrics and use is None:
            return
        entry = run.trace_arguments(batch)[0]
        if use is not None:
            self._look_at_loss(entry, objectives, use)
        if weights is not None:
            self._look_at_weights(entry, _count((x, y)), weights)
        changed = {id(storage) for storage in entry.written}
        idle = [
            name
            for name, metric in metrics
            if metric is None or not any(id(variable._storage) in changed for variable in metric.variables)
        ]
        self._idle = idle if self._trained is None else [name for name in idle if name in self._trained._idle]
        if self._idle and self._warns_of_metrics:
            self._asks_metrics = False
            own = next(name for name in self._own if name != "compute_loss")
            line = "self" if own == self.step else "super()"
            user_line.warn(
                f"metrics of compile: {', '.join(map(repr, self._idle))}. {self._kind}.{own} never updates them, "
                f"so they are not among its numbers. Instead: return {{'loss': loss, **{line}.compute_metrics(x, y, "
                "y_pred, sample_weight)}"
            )

    def _use(self) -> Use | None:
        """Return what the step has used of the loss; None if it was not watched, or all was said."""
        functions = self._model._gx_functions
        return None if functions is None or not self._asks_loss else functions.used.get(self.step)

    def _look_at_loss(self, entry: Entry, objectives: Objectives, use: Use) -> None:
        """Warn of losses that no step uses, and of terms that the one that trains does not read.

        A validation may use the losses: before it was looked at, only those of a replaced `compute_loss` are idle.
        """
        idle = unused_arguments(self._model, entry, objectives, use)
        self._idle_loss = idle if self._trained is None else [one for one in idle if one in self._trained._idle_loss]
        own = [name for name in self._own if name != "compute_metrics"] or [self.step]
        where = " and ".join(f"{self._kind}.{name}" for name in own)
        if own[-1] == "compute_loss":
            line = "super().compute_loss(x, y, y_pred, sample_weight) + ... in compute_loss"
        else:
            line = f"self.compute_loss(x, y, y_pred, sample_weight) in {own[-1]}"
        is_certain = self._trained is not None or replaces_compute_loss(self._model)
        if self._idle_loss and self._warns_of_metrics and is_certain:
            self._asks_loss = False
            given = " and ".join(self._idle_loss)
            user_line.warn(f"{given} of compile: not used in {where}. Instead: {line}; or compile without {given}")
        if use.unread and self._warns_of_terms:
            self._warns_of_terms = False
            more = f" and {len(use.unread) - 3} more" if len(use.unread) > 3 else ""
            user_line.warn(
                f"{', '.join(use.unread[:3])}{more}: not added to the loss in {where}, so without effect. "
                f"Instead: loss + sum(self.losses) in {own[-1]}; or layers without such terms"
            )

    def _look_at_weights(self, entry: Entry, before: int, weights: object) -> None:
        there = [path for path, leaf in tree.flatten_with_paths(weights) if leaf is not None]
        idle = [there[number - before] for number in entry.program.unread if 0 <= number - before < len(there)]
        if not idle:
            return
        of = f" of {', '.join(map(repr, idle))}" if any(idle) else ""
        own = self._own[0]
        why = f"{self._kind}.{own} does not use them: no result depends on them"
        if own == self.step:
            instead = "x, y, sample_weight = batch, and self.compute_loss(x, y, y_pred, sample_weight)"
        elif own == "compute_loss":
            instead = "ops.mean(losses * sample_weight), with losses of shape (batch,), in compute_loss"
        else:
            instead = "super().compute_metrics(x, y, y_pred, sample_weight) in compute_metrics"
        if self._weighted_by:
            given = " and ".join(self._weighted_by)
            raise DataError(f"{given}{of} for a model with its own {own}", why, f"{instead}; or without {given}")
        if self._warns_of_weights:
            self._warns_of_weights = False
            user_line.warn(f"the batches have sample weights{of}. {why}. Instead: {instead}")


def _count(parts: object) -> int:
    """Return how many arguments of a program the arrays of a part of a batch are."""
    return sum(not is_static(leaf) for leaf in registry.current().tracing.flatten(parts)[0])
