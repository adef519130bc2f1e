"""Metric: the base class of what is measured over many batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np

from graftax.backend.registry import current
from graftax.core import tree, user_line
from graftax.core.descriptors import is_same_setting
from graftax.core.errors import ArgumentTypeError, AssignmentError, StateError
from graftax.core.ours import is_ours
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Initializer, Shape
from graftax.core.undefined import undefined_error
from graftax.metrics.settings import settings_of
from graftax.metrics.start_values import new_array
from graftax.variables import initializers
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import Edge, Node, own_nodes
from graftax.variables.graph.reserved import OF_METRICS, Own, Words
from graftax.variables.spec import VariableSpec
from graftax.variables.state import storage
from graftax.variables.state.storage import next_number
from graftax.variables.variable import Variable, make


class Metric(Module):
    """Something measured over many batches: `update` with each, `result` at any time, `reset` to start over.

    Keras's spellings `update_state`, `reset_state` and `add_weight` are the same methods: a subclass may define
    whichever it likes, and callers call whichever they like.

    Its Variables come from `add_variable`, have the role ``"metric"`` and are never trainable. They live on the device,
    so that only reading a result waits for it, and are saved and compiled like all others. A ``gx.Variable`` that its
    methods make starts over with `reset`, too; one that was made before the metric is left alone. What built-in metrics
    keep carries no gradient; in one of your own, assign ``ops.stop_gradient(value)`` if `update` may be called where
    something is differentiated.

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
    calls_python: ClassVar[bool] = False
    """Whether it runs Python by `graftax.py_function`: the steps of a model that is compiled with it wait for that."""
    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_starts", "_gx_made_after"})
    _gx_starts: tuple[tuple[Variable, np.ndarray[Any, Any]], ...] = ()
    _gx_made_after: int = -1  # Variables with larger numbers were made since: they are its own
    _gx_of_constructor: ClassVar[frozenset[str]] = frozenset()
    """Arguments that only the constructor reads, or that say how its Variables are made."""

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        for pair in (("update", "update_state"), ("reset", "reset_state")):
            _say_twice(cls, *pair)

    def __init__(self, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name)
        object.__setattr__(self, "_gx_made_after", next_number())
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
        if isinstance(value, Variable | list | tuple | dict):
            for variable in tree.flatten(value):
                if self._gx_is_unknown(variable):
                    self._gx_remember_start(variable)
        return super()._gx_given(name, value)

    def _gx_is_unknown(self, node: object) -> bool:
        """Tell whether this is a Variable that was made since the metric was, other than by `add_variable`."""
        made_since = isinstance(node, Variable) and node._storage.number > self._gx_made_after
        return made_since and all(known is not node for known, _ in self._gx_starts)

    def _gx_readopt(self) -> None:
        super()._gx_readopt()
        object.__setattr__(self, "_gx_made_after", next_number())  # what a copy has from the start is known

    def _gx_remember_start(self, variable: Variable) -> None:
        with storage.concretely():
            start = np.array(variable.numpy())  # a copy on the host: the buffer may be donated
        object.__setattr__(self, "_gx_starts", (*self._gx_starts, (variable, start)))

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
        self._gx_remember_start(variable)
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
        return {"expression": False, "settings": found} if (found := settings_of(self)) else {}

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
        if is_eager and not any(self._gx_has_more(edges, node) for edges, node in own_nodes(self)):
            return
        for below in self.submodules:
            if isinstance(below, Metric):
                below.reset()

    reset_state = reset

    def _gx_has_more(self, edges: Sequence[Edge], node: Node) -> bool:
        """Tell whether a Node may hold Variables of its own.

        Raises:
            StateError: it is a Variable that came into a list or dict of this metric, and nobody knows how it began.
        """
        if self._gx_is_unknown(node):
            raise StateError(
                f"{self!r}.reset(): {'/'.join(map(str, edges))!r}, a gx.Variable put into its list or dict",
                "what its first value was is not known, and it would keep its count",
                "self.counts.append(self.add_variable(())): these start over",
            )
        return isinstance(node, Module)

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
