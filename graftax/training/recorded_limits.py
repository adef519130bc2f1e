"""The limits of indices and labels in a batch, which a step reports while it is traced.

A compiled step sees no values, so it cannot raise for an index out of range. Its batches come from the host, where
they can be checked before the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import traced_checks
from graftax.core import tree
from graftax.core.wrapping import carry_names
from graftax.layers.call_context import part_of_program
from graftax.training.batch import NAMES


class _Limit(NamedTuple):
    wrong: Callable[[Any], Any]
    explain: traced_checks.Explain
    layer: str


class RecordedLimits:
    """The limits of the arrays of a batch, by their paths. Limits of values computed from these are not known."""

    def __init__(self) -> None:
        self.by_path: dict[str, list[_Limit]] = {}
        """The limits by path; empty if no array of a batch has limits."""

    def __reduce__(self) -> tuple[type[RecordedLimits], tuple[()]]:
        return RecordedLimits, ()  # a copy of the model traces its own steps

    @contextmanager
    def recording(self, batch: object) -> Iterator[None]:
        """Record the limits of the arrays of a batch that are reported within the block."""
        self.by_path = {}
        paths = {id(leaf): path for path, leaf in tree.flatten_with_paths(batch)}

        def record(explain: traced_checks.Explain, wrong: Callable[[Any], Any], value: object) -> None:
            if (path := paths.get(id(value))) is not None:
                self.by_path.setdefault(path, []).append(_Limit(wrong, explain, part_of_program()))

        with traced_checks.listeners.entered(record):
            yield

    def check(self, batch: object) -> None:
        """Raise if an array on the host has a value outside of its limits.

        Raises:
            IndexRangeError: the same error as that of an eager step.
        """
        if not self.by_path:
            return
        for path, leaf in tree.flatten_with_paths(batch):
            for limit in self.by_path.get(path, ()):
                if isinstance(leaf, np.ndarray) and np.any(limit.wrong(leaf)):
                    error = limit.explain(leaf)
                    if error is None:
                        continue
                    part, _, below = path.partition("/")
                    error.add_context(f"{NAMES[int(part)]}{f'/{below}' if below else ''} of a batch")
                    if limit.layer:
                        error.add_context(f"layer {limit.layer!r}")
                    raise error


class LimitRecordingStep:
    """A step that records the limits reported by its traces.

    Args:
        limits: The recorded limits.
        step: A step of a model, a function of a batch.
    """

    def __init__(self, limits: RecordedLimits, step: Callable[[Any], Any]) -> None:
        self._limits = limits
        self._step = step
        carry_names(self, step)

    def __call__(self, batch: object) -> Any:
        """Run the step."""
        with self._limits.recording(batch):
            return self._step(batch)


def limits_of(model: object) -> RecordedLimits:
    """Return the limits recorded for the steps of a model."""
    found: RecordedLimits | None = model.__dict__.get("_gx_limits")
    if found is None:
        found = RecordedLimits()
        object.__setattr__(model, "_gx_limits", found)
    return found
