"""Reparam: a weight that is computed from Variables of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_floating, is_inexact
from graftax.core.errors import AssignmentError, CreatorError, DTypeError, ShapeError
from graftax.core.ours import is_ours
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape, VariableLike, unwrap
from graftax.core.undefined import undefined_error
from graftax.reparam.has_settings import HasSettings, compute
from graftax.variables import regularizers
from graftax.variables.arithmetic import Arithmetic
from graftax.variables.calls import is_training
from graftax.variables.fitting import fit, fit_term
from graftax.variables.given_back import apply_constraint
from graftax.variables.graph.following import Follower, leaves_of
from graftax.variables.graph.module import Module, structure
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.spec import Regularizer, VariableSpec
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class Reparam(HasSettings, Follower, Arithmetic):
    """The base of every weight that is an expression: subclass it, make the parts, say how they combine.

    ``__init__(self, next_creator, spec, ...)`` calls ``super().__init__(spec)`` and makes the parts with
    ``next_creator(spec.replace(name=..., shape=...))``; `forward` computes the value; `inverse`, where there is one,
    finds parts for a given value. Everything that takes a Variable takes a Reparam; only its parts are ever trained or
    saved. `forward` reads them as they are stored, in a layer of mixed precision too, which gets its result rounded.
    Within a compiled function the expression is computed once, however often it is read, until a Variable that it reads
    changes. One whose `forward` draws or assigns a Variable is computed at each read, as in eager code.

    Args:
        spec: The spec of the weight that it stands for.

    Raises:
        CreatorError: the weight has no floating dtype.

    Example:
        >>> import graftax as gx
        >>> class Doubled(Reparam):
        ...     def __init__(self, next_creator, spec):
        ...         super().__init__(spec)
        ...         self.half = next_creator(spec.replace(name="half"))
        ...
        ...     def forward(self):
        ...         return 2 * self.half
        >>> with gx.variable_creator_scope(Doubled):
        ...     w = gx.Variable([1.0, 2.0])
        >>> w.numpy().tolist(), [v.path for v in w.trainable_variables]
        ([2.0, 4.0], ['half'])
    """

    base_name: ClassVar[str] = "base"
    """The attribute, and name, of the part that a weight becomes which was there before, if there is one."""

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_stands_for"})
    autocast: bool = True
    """Whether layers of mixed precision read the value in their compute dtype."""
    _gx_on_weight = frozenset({"_regularizer", "constraint"})
    _gx_stands_for: str = ""  # where it will be, for messages until it is there
    _regularizer: Regularizer | None = None

    def __init__(self, spec: VariableSpec) -> None:
        super().__init__(spec.name)
        object.__setattr__(self, "_gx_stands_for", spec.path)
        if not spec.trainable and not is_inexact(spec.dtype):
            raise CreatorError(
                f"{type(self).__name__} for {spec.path!r} of dtype {spec.dtype}",
                "an expression computes with real numbers, and frozen integers are codes or counts",
                "enter the scope of Int8 or Int4 outside of the other creator's, or choose weights with where=",
            )
        self._shape = spec.shape
        self._dtype = spec.dtype
        self.role = spec.role
        self.autocast = spec.autocast
        self.constraint = spec.constraint
        self._regularizer = regularizers.get(spec.regularizer)

    def forward(self) -> Array:
        """Compute the value, computed from the parts."""
        raise undefined_error(self, "forward()")

    def inverse(self, value: Array) -> None:
        """Assign the parts so that `forward` gives ``value``, as nearly as it can."""
        kind = type(self).__name__
        define = "" if is_ours(type(self)) else f"def inverse(self, value) in {kind}, with {self._assignments()}; or "
        raise AssignmentError(
            f"assignment to {self._gx_place!r}, which {kind} computes",
            f"{kind} defines no inverse, which finds parts for a value",
            f"{define}assign to its parts: {', '.join(v.path for v in self.variables)}",
        )

    def penalty(self) -> Array | None:
        """Return a term for the loss while any part is trained, collected in ``layer.losses``; None for none."""
        return None

    @property
    def regularizer(self) -> Regularizer | None:
        """Return the penalty on the value of the whole weight; None for none."""
        storage.touch(self)
        return self._regularizer

    @regularizer.setter
    def regularizer(self, value: RegularizerLike) -> None:
        self._regularizer = regularizers.get(value)

    def _gx_facts(self) -> dict[str, Any]:
        """Return the settings, and that its parts are no weights without it."""
        return {"expression": True, **super()._gx_facts()}

    def _gx_hanging(self) -> Sequence[tuple[str, object]]:
        """Return its regularizer and its constraint."""
        return [("regularizer", self._regularizer), ("constraint", self.__dict__.get("constraint"))]

    def _gx_state_about_base(self) -> list[Variable]:
        base = getattr(self, self.base_name, None)
        of_base = {id(leaf) for leaf in leaves_of(base)} if isinstance(base, VariableLike) else set()
        return [leaf for leaf in self.variables if not leaf.trainability.made and id(leaf) not in of_base]

    @property
    def training(self) -> bool:
        """Tell whether a layer reads the weight in a training call; for a `forward` that draws or moves only then."""
        return is_training()

    @property
    def shape(self) -> Shape:
        """Return the shape of the weight that it stands for."""
        if "_shape" not in vars(self):
            raise CreatorError(
                f"{type(self).__name__} whose __init__ has not called that of Reparam",
                "that one takes from the spec what weight it stands for",
                "super().__init__(spec) first in __init__(self, next_creator, spec)",
            )
        return self._shape

    @property
    def _gx_place(self) -> str:
        """Return its path, or where it will be, for messages."""
        return self._gx_path or self._gx_stands_for

    @property
    def dtype(self) -> str:
        """Return the dtype of the weight that it stands for."""
        return self._dtype

    @property
    def value(self) -> Array:
        """Return the value now; a constraint of the weight is part of the expression."""
        wanted = self._dtype_of_read()
        if (ask := storage.stand_ins.top) is not None and (stand_in := ask(self)) is not None:
            return _cast_read(stand_in.read(), wanted)
        if wanted is None:
            return self._gx_stored
        memo = storage.memo()
        if memo is None:
            return _cast_read(self._gx_stored, wanted)
        return memo.value((self, wanted, structure.version), lambda: _cast_read(self._gx_stored, wanted))

    def _dtype_of_read(self) -> str | None:
        """Return the dtype in which the layer that computes now reads it; None for the one that it has."""
        return storage.autocast.top if self.autocast and self.role == "weight" else None

    @property
    def _gx_stored(self) -> Array:
        """Return the value as it is outside of any layer, computed in the dtypes in which the parts are kept."""
        memo = storage.memo()
        return self._compute() if memo is None else memo.value((self, None, structure.version), self._compute)

    @property
    def _gx_unrounded(self) -> Array:
        with storage.autocast.entered(None):
            return self.value

    def _compute(self) -> Array:
        if storage.autocast.top is None:
            return self._combine()
        with storage.autocast.entered(None):  # a part that is rounded first would give another weight
            return self._combine()

    def _combine(self) -> Array:
        storage.touch(self)
        value: Any = unwrap(compute(self.forward, self))
        if isinstance(value, int | float | complex):
            value = registry.current().arrays.asarray(value, self._dtype)
        if not hasattr(value, "dtype") or tuple(value.shape) != self._shape:
            raise ShapeError(
                f"{type(self).__name__}.forward of {self._gx_place!r} gave {_describe(value)}",
                f"whoever asked for this weight computes with shape {self._shape}",
                "combine the parts to that shape; spec.shape is what was asked for",
            )
        if not is_inexact(str(value.dtype)) and is_inexact(self._dtype):
            raise DTypeError(
                f"{type(self).__name__}.forward of {self._gx_place!r} gave dtype {value.dtype}",
                f"it stands for a weight of dtype {self._dtype}, and no gradient goes through integers",
                "ops.cast(value, self.dtype)",
            )
        return apply_constraint(self, value)

    @door
    def assign(self, value: ArrayLike) -> Self:
        """Move the parts so that the value becomes this one, where the subclass defines an inverse.

        Raises:
            AssignmentError: it defines none, or the shape or dtype differs.
        """
        with storage.autocast.entered(None):  # as in `forward`
            returned = self.inverse(self._fit(value, "assign"))
        if any(one is not None and not isinstance(one, VariableLike) for one in tree.flatten(returned)):
            of = f" of {place!r}" if (place := self._gx_place) else ""
            raise AssignmentError(
                f"{type(self).__name__}.inverse{of} returned {_describe(returned)}",
                "it assigns the parts itself, and what it returns is used for nothing",
                f"{self._assignments()}, and no return",
            )
        return self

    def _assignments(self) -> str:
        """Return the lines that an inverse has, for messages."""
        parts = [name for name, value in vars(self).items() if isinstance(value, VariableLike)] or ["part"]
        return ", ".join(f"self.{name}.assign(...)" for name in parts)

    @door
    def assign_add(self, value: ArrayLike) -> Self:
        """Add to the value, and return it; a number, or a smaller array, broadcasts."""
        return self.assign(self._gx_stored + self._term(value, "assign_add"))

    @door
    def assign_sub(self, value: ArrayLike) -> Self:
        """Subtract from the value, and return it; a number, or a smaller array, broadcasts."""
        return self.assign(self._gx_stored - self._term(value, "assign_sub"))

    def _in_place(self, operation: Callable[[Any, Any], Array], other: ArrayLike) -> Self:
        return self.assign(operation(self._gx_stored, unwrap(other)))

    def _term(self, value: ArrayLike, verb: str) -> Array:
        backend, label = registry.current(), f"{self._gx_place!r}.{verb}()"
        return fit_term(backend, unwrap(value), self._shape, self._dtype, label, self._dtype_of_read())

    def _fit(self, value: ArrayLike, verb: str) -> Array:
        backend, label = registry.current(), f"{self._gx_place!r}.{verb}()"
        return fit(backend, unwrap(value), self._shape, self._dtype, label, self._dtype_of_read())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._gx_place!r}, shape={self.shape}, dtype={self.dtype})"

    def __eq__(self, other: object) -> Any:
        return Arithmetic.__eq__(self, other)

    __hash__ = Module.__hash__


def _cast_read(value: Array, dtype: str | None) -> Array:
    """Return a value in the dtype of a layer that computes in another one than it stores; None for the stored one."""
    return value if dtype is None or not is_floating(value.dtype) else value.astype(dtype)


def _describe(value: Any) -> str:
    return f"shape {tuple(value.shape)}" if hasattr(value, "shape") else f"a {type(value).__name__}"


def is_trainable(node: object) -> bool:
    """Tell whether any part of a weight is trained."""
    return any(leaf.trainable for leaf in leaves_of(node))
