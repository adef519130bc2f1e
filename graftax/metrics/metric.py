"""Metric: the base class of what is measured over many batches."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np

from graftax.backend.registry import current
from graftax.core import user_line
from graftax.core.descriptors import is_same_setting
from graftax.core.errors import ArgumentTypeError, AssignmentError
from graftax.core.ours import is_ours
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Initializer, Shape
from graftax.core.undefined import undefined_error
from graftax.metrics.settings import settings_of
from graftax.metrics.start_values import new_array
from graftax.variables import initializers
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import own_nodes
from graftax.variables.graph.reserved import OF_METRICS, Own, Words
from graftax.variables.spec import VariableSpec
from graftax.variables.state import storage
from graftax.variables.variable import Variable, make


class Metric(Module):
    """Something measured over many batches: `update` with each, `result` at any time, `reset` to start over.

    Keras's spellings `update_state`, `reset_state` and `add_weight` are the same methods: a subclass may define
    whichever it likes, and callers call whichever they like.

    Its Variables have the role ``"metric"`` and are never trainable. They live on the device, so that only reading a
    result waits for it, and are saved and compiled like all others. What built-in metrics keep carries no gradient; in
    one of your own, assign ``ops.stop_gradient(value)`` if `update` may be called where something is differentiated.

    Args:
        name: Its name. Defaults to the class name in snake case.
        dtype: The dtype of its Variables.

    Raises:
        ArgumentTypeError: when a subclass is defined: it has two different methods of one meaning.

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

    _gx_words: ClassVar[Words] = OF_METRICS
    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_starts"})
    _gx_starts: tuple[tuple[Variable, np.ndarray[Any, Any]], ...] = ()
    _gx_of_constructor: ClassVar[frozenset[str]] = frozenset()
    """Arguments that only the constructor reads, or that say how its Variables are made."""

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        for pair in (("update", "update_state"), ("reset", "reset_state")):
            _say_twice(cls, *pair)

    def __init__(self, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name)
        if dtype == "float64" and (kept := current().arrays.canonical_dtype(dtype)) != dtype:
            user_line.warn(
                f'{type(self).__name__}(dtype="float64") counts in {kept}, since 64 bits are switched off in '
                f'{current().wording.title}. Instead: dtype="{kept}", or switch them on before'
            )
        self.dtype: str = cast(Any, Own(dtype))

    def _gx_given(self, name: str, value: object) -> Any:
        if name in self._gx_of_constructor and name in self.__dict__:
            before = self.__dict__[name]
            if is_ours(type(self)) and not is_same_setting(before, value):
                raise AssignmentError(
                    f"{type(self).__name__}.{name} = {value!r:.60}, where it is {before!r:.60}",
                    "its counts were made for that, and a later change would be used for nothing",
                    f"graftax.metrics.{type(self).__name__}(..., {name}={value!r:.60}), a new metric",
                )
        return super()._gx_given(name, value)

    def add_variable(
        self,
        shape: Shape,
        initializer: str | Initializer | ArrayLike = "zeros",
        name: str | None = None,
        dtype: str | None = None,
    ) -> Variable:
        """Return a Variable of this metric, to be assigned to an attribute; `reset` gives it its first value again.

        Args:
            shape: Its shape.
            initializer: A name, a function of ``(key, shape, dtype)``, a number or an array.
            name: Its name. Defaults to that of its attribute.
            dtype: Its dtype. Defaults to the metric's.
        """
        if isinstance(shape, str) or not all(isinstance(n, Integral) for n in np.ravel(shape)):
            raise ArgumentTypeError(
                f"add_variable(shape={shape!r}) of {self!r}",
                "the shape comes first: a tuple of integers",
                f'self.add_variable((), name="{shape if isinstance(shape, str) else "total"}")',
            )
        label = name or f"variable_{len(self._gx_starts)}"
        variable = make(
            VariableSpec(
                shape=tuple(int(n) for n in np.ravel(shape)),
                dtype=dtype or self.dtype,
                initializer=initializers.get(initializer),
                trainable=False,
                role="metric",
                name=name,
                path=f"{self._gx_path}/{label}" if self._gx_path else label,
                owner=self,
            )
        )
        with storage.concretely():
            start = np.array(variable.numpy())  # a copy on the host: the buffer may be donated
        self._gx_starts = (*self._gx_starts, (variable, start))
        return variable

    def _gx_shapes_by_data(self) -> Mapping[str, tuple[int | None, ...]]:
        """Return the shapes, with None for what the first batch says, of its Variables of zeros that wait for that."""
        return {}

    def _gx_ensure_state(self) -> None:
        """Make the Variables for which saved values wait: these say their shapes, too, and count from now on."""
        for name, shape in self._gx_shapes_of_saved().items():
            setattr(self, name, self.add_variable(shape, name=name))

    def _gx_lacks_state(self) -> bool:
        return bool(self._gx_shapes_of_saved())

    def _gx_start_of(self, variable: Variable) -> Array | None:
        start = next((start for one, start in self._gx_starts if one is variable), None)
        return None if start is None else new_array(start, variable._storage.backend)

    def _gx_shapes_of_saved(self) -> dict[str, Shape]:
        """Return the shapes of the Variables that are still to be made and have values waiting."""
        pending, found = self._gx_pending, dict[str, Shape]()
        if pending is None:
            return found
        for name, shape in self._gx_shapes_by_data().items():
            saved = pending.shape_of(name) if getattr(self, name) is None else None
            if saved is not None and len(saved) == len(shape):
                found[name] = tuple(there if n is None else n for n, there in zip(shape, saved, strict=True))
        return found

    @door
    def add_weight(
        self,
        shape: Shape = (),
        initializer: str | Initializer | ArrayLike | None = None,
        dtype: str | None = None,
        name: str | None = None,
    ) -> Variable:
        """Add a Variable, with the arguments of Keras; a number is kept by default.

        Args:
            shape: Its shape. Defaults to that of a number.
            initializer: As for `add_variable`. Defaults to None: zeros.
            dtype: Its dtype. Defaults to the metric's.
            name: Its name. Defaults to that of its attribute.
        """
        return self.add_variable(shape, "zeros" if initializer is None else initializer, name, dtype)

    def _gx_facts(self) -> dict[str, Any]:
        """Return the settings: what has been measured so far was measured with these."""
        return {"settings": found} if (found := settings_of(self)) else {}

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Take a batch into account; subclasses must define it, with any arguments they like."""
        raise undefined_error(self, "update(...)")

    update_state = update

    def result(self) -> Array:
        """Return the value so far; subclasses must define it."""
        raise undefined_error(self, "result()")

    def reset(self) -> None:
        """Start over, with the metrics that this one holds."""
        if self._gx_pending is not None:
            self._gx_ensure_state()
            if not self._gx_starts:  # saved values are what is forgotten
                object.__setattr__(self, "_gx_pending", None)
        is_eager = not storage.frames.read()
        for variable, start in self._gx_starts:
            if is_eager:
                kept = variable._storage
                kept.write(new_array(start, kept.backend))  # it fits, as it did when it was made
            else:
                variable.assign(start)
        # most hold no other; where nothing is traced, a look at the attributes does in place of a walk
        if is_eager and not any(isinstance(node, Module) for _, node in own_nodes(self)):
            return
        for below in self.submodules:
            if isinstance(below, Metric):
                below.reset()

    reset_state = reset

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        """Update, and return the result: the value so far, not that of this batch."""
        self.update(*args, **kwargs)
        return self.result()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


def _say_twice(cls: type[Metric], name: str, keras: str) -> None:
    """Give the method that a class, or the nearest of its bases, defines under one name the other name, too."""
    for base in cls.__mro__:
        own = {spelling: vars(base)[spelling] for spelling in (name, keras) if spelling in vars(base)}
        if not own:
            continue
        if len(own) == 2 and base is cls and own[name] is not own[keras]:
            raise ArgumentTypeError(
                f"{cls.__name__} defines both {name} and {keras}",
                "they are two names of one method, and fit would call only one of them",
                f"{name} alone, or {keras} = {name}",
            )
        if len(own) == 1:
            (method,) = own.values()
            for spelling in (name, keras):
                setattr(cls, spelling, method)
        return
