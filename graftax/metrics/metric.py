"""Metric: the base class of what is measured over many batches."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from graftax.module import Module
from graftax.typedefs import Array, ArrayLike, Initializer, Shape
from graftax.variables import initializers, storage
from graftax.variables.spec import VariableSpec
from graftax.variables.variable import Variable, make


class Metric(Module):
    """Something measured over many batches: `update` with each, `result` at any time, `reset` to start over.

    Its Variables have the role ``"metric"`` and are never trainable. They live on the device, so that only reading a
    result waits for it, and are saved and compiled like all others.

    Args:
        name: The class name in snake case unless told.
        dtype: The dtype of its Variables.

    Example:
        >>> from graftax import ops
        >>> class Largest(Metric):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.largest = self.add_variable((), initializer=-np.inf)
        ...
        ...     def update(self, values):
        ...         self.largest.assign(ops.maximum(self.largest, ops.max(values)))
        ...
        ...     def result(self):
        ...         return self.largest.value
        >>> largest = Largest()
        >>> float(largest([3.0, 5.0])), float(largest([4.0]))
        (5.0, 5.0)
        >>> largest.reset()
        >>> float(largest.result())
        -inf
    """

    untracked: ClassVar[frozenset[str]] = frozenset({"_starts"})
    _starts: tuple[tuple[Variable, np.ndarray[Any, Any]], ...] = ()

    def __init__(self, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name)
        self.dtype = dtype

    def add_variable(
        self,
        shape: Shape,
        initializer: str | Initializer | ArrayLike = "zeros",
        name: str | None = None,
        dtype: str | None = None,
    ) -> Variable:
        """A Variable of this metric, to be assigned to an attribute; `reset` gives it its first value again.

        Args:
            shape: Its shape.
            initializer: A name, a function of ``(key, shape, dtype)``, a number or an array.
            name: Its name; called after its attribute unless told.
            dtype: Its dtype; the metric's unless told.
        """
        label = name or f"variable_{len(self._starts)}"
        variable = make(
            VariableSpec(
                shape=tuple(shape),
                dtype=dtype or self.dtype,
                initializer=initializers.get(initializer),
                trainable=False,
                role="metric",
                name=name,
                path=f"{self.path}/{label}" if self.path else label,
                owner=self,
            )
        )
        with storage.concretely():
            start = np.array(variable.numpy())  # a copy on the host: the buffer may be donated
        self._starts = (*self._starts, (variable, start))
        return variable

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Take a batch into account; subclasses must define it, with any arguments they like."""
        raise AttributeError(f"{type(self).__name__} must define update(...)")

    def result(self) -> Array:
        """The value so far; subclasses must define it."""
        raise AttributeError(f"{type(self).__name__} must define result()")

    def reset(self) -> None:
        """Start over, with the metrics that this one holds."""
        for variable, start in self._starts:
            variable.assign(start)
        for below in self.submodules:
            if isinstance(below, Metric):
                below.reset()

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        """`update`, then `result`: the value so far, not that of this batch."""
        self.update(*args, **kwargs)
        return self.result()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"
