"""The limits of indices and labels in a batch, which a step reports while it is traced.

A compiled step sees no values, so it cannot raise for an index out of range. Its batches come from the host, where
they can be checked before the step. Limits belong to a trace: batches of other shapes, and other steps, have others.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from graftax.backend import registry, traced_checks
from graftax.backend.rendezvous import process_group
from graftax.core import tree
from graftax.core.typedefs import Array
from graftax.core.wrapping import carry_names
from graftax.layers.call_context import part_of_program
from graftax.training.batch import NAMES
from graftax.training.outputs import OutputShape

Outputs = dict[str, OutputShape]


class _Limit(NamedTuple):
    wrong: Callable[[Any], Any]
    explain: traced_checks.Explain
    layer: str


class Limits:
    """The limits of the arrays of a batch in one trace. Limits of values computed from these are not known.

    Args:
        batch: The batch that the trace was made for.
    """

    def __init__(self, batch: object) -> None:
        self.by_path: dict[str, list[_Limit]] = {}
        """The limits by path; empty if no array of the batch has limits."""
        self.outputs: Outputs = {}
        """The shapes of the outputs that the compiled losses have seen, by name."""
        self._paths = {id(leaf): path for path, leaf in tree.flatten_with_paths(batch)}

    def record(self, explain: traced_checks.Explain, wrong: Callable[[Any], Any], value: object) -> None:
        """Record a limit if it is one of an array of the batch."""
        if (path := self._paths.get(id(value))) is not None:
            self.by_path.setdefault(path, []).append(_Limit(wrong, explain, part_of_program()))

    def check(self, batch: object) -> None:
        """Raise if an array has a value outside of its limits.

        Raises:
            IndexRangeError: the same error as that of an eager step.
        """
        if not self.by_path:
            return
        for path, leaf in tree.flatten_with_paths(batch):
            limits = self.by_path.get(path)
            values = None if limits is None else _on_host(leaf)
            if limits is None or values is None:
                continue
            for limit in limits:
                error = limit.explain(values) if limit.wrong(values).any() else None
                if error is None:
                    continue
                part, _, below = path.partition("/")
                error.add_context(f"{NAMES[int(part)]}{f'/{below}' if below else ''} of a batch")
                if limit.layer:
                    error.add_context(f"layer {limit.layer!r}")
                raise error


def _on_host(leaf: Array) -> np.ndarray[Any, Any] | None:
    """Return an array of a batch on the host; None for one that may lie partly in other processes."""
    if isinstance(leaf, np.ndarray):
        return leaf
    return None if process_group() is not None else registry.current().arrays.to_numpy(leaf)


class Checker(Protocol):
    """What checks the batches of a run."""

    def check(self, limits: Limits) -> None:
        """Check them with the limits of the trace that is about to run."""
        ...


class NextRun:
    """Who checks the batches of the next run of a step of a model; none for runs that nobody has announced."""

    checker: Callable[[], Checker | None] | None = None

    def __reduce__(self) -> tuple[type[NextRun], tuple[()]]:
        return NextRun, ()  # a copy of the model traces its own steps

    def check(self, limits: Limits) -> None:
        """Check the batches of the run that begins."""
        announced, self.checker = self.checker, None
        checker = announced and announced()
        if checker is not None:
            checker.check(limits)


class LimitRecordingStep:
    """A step whose traces record their limits, and have batches checked before they run.

    Args:
        model: The model.
        step: One of its steps, a function of a batch.
    """

    def __init__(self, model: Any, step: Callable[[Any], Any]) -> None:
        self._model = model
        self._step = step
        self._next = next_run_of(model)
        carry_names(self, step)

    def __call__(self, batch: object) -> Any:
        """Run the step."""
        limits, objectives = Limits(batch), self._model._gx_objectives
        if objectives is not None:
            objectives.outputs = {}  # so that those of this trace are found
        hearing = nullcontext() if objectives is None else objectives.probabilities.listen()
        with traced_checks.listeners.entered(limits.record), hearing:
            out = self._step(batch)
        if objectives is not None and objectives.looks:
            limits.outputs = objectives.outputs
        before = traced_checks.before_runs.top
        if before is not None and (limits.by_path or limits.outputs):
            before.append(partial(self._next.check, limits))
        return out


def next_run_of(model: object) -> NextRun:
    """Return who checks the batches of the next run of a model's steps."""
    found: NextRun | None = model.__dict__.get("_gx_limits")
    if found is None:
        found = NextRun()
        object.__setattr__(model, "_gx_limits", found)
    return found
