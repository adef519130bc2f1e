"""Variable: a named, mutable array. The class is also the one door through which every Variable is made."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from graftax.backend import registry
from graftax.core.argument_kinds import checked_flag
from graftax.core.checked_calls import checked_call
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, AssignmentError, ExportError, StateError
from graftax.core.free_sizes import any_free
from graftax.core.roles import ROLES
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, DTypeLike, Initializer, Shape, VariableLike, unwrap
from graftax.ops.checks import check_subscript
from graftax.variables import constraints, creation, initializers, regularizers
from graftax.variables.arithmetic import Arithmetic
from graftax.variables.array_names import refuse_setting
from graftax.variables.constraints import ConstraintLike
from graftax.variables.contradictions import check_name
from graftax.variables.fitting import fit, fit_term
from graftax.variables.graph.node import BOOKKEEPING, UNCHANGING, Leaf, holds_node
from graftax.variables.graph.structure import structure
from graftax.variables.initial_value import infer_spec, make_buffer
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.spec import Constraint, Regularizer, VariableSpec, sizes
from graftax.variables.state.storage import Storage, autocast, changing, touch, tracer_of
from graftax.variables.state.unallocated import UnallocatedStorage, is_allocated, is_allocating
from graftax.variables.trainability import Trainability

if TYPE_CHECKING:
    from graftax.variables.graph.module import Module


class Variable(Leaf, Arithmetic):
    """A named, mutable array that changes during training, is saved, and is seen by every transform.

    ``Variable(...)`` goes through the creators that are in scope (see `variable_creator_scope`), so what comes back
    may be any `VariableLike`. A subclass bypasses them.

    Args:
        initial_value: A number, nested list or array, or a function without arguments that returns one. Defaults to
            None: ``shape`` and ``initializer`` say what it starts as.
        shape: In place of an initial value, together with ``initializer``. Defaults to None, that of the initial value.
        dtype: A dtype by name. Defaults to None, the one of the initial value (float32 for Python floats).
        initializer: Name or function of ``(key, shape, dtype)``. Defaults to None, ``"glorot_uniform"``.
        trainable: Whether optimizers may move it. Defaults to True.
        role: ``"weight"``, ``"state"``, ``"slot"``, ``"metric"``, ``"seed"``, ``"counter"`` or ``"hyper"``. Defaults to
            ``"weight"``.
        name: Its name. Defaults to None, the attribute it is assigned to.
        regularizer: A penalty on its value, which layers that hold it collect in ``losses`` while it is trained.
            Defaults to None, no penalty.
        constraint: A projection that optimizers apply after each update. Defaults to None, no constraint.
        autocast: Whether layers of mixed precision read it in their compute dtype, if it is a weight; False: as it is
            stored. Defaults to True.

    Raises:
        ArgumentError: neither a value nor a shape, or an unknown role.

    Example:
        >>> w = Variable([1.0, 2.0], name="w")
        >>> w.assign_add([0.5, 0.5])
        Variable('w', shape=(2,), dtype=float32, value=[1.5 2.5])
        >>> (w * 2).tolist(), w.trainable
        ([3.0, 5.0], True)
    """

    _gx_name: str | None
    _shape: Shape
    _dtype: str
    _storage: Storage

    @door
    def __new__(
        cls,
        initial_value: ArrayLike | Callable[[], ArrayLike] | None = None,
        *,
        shape: Shape | None = None,
        dtype: DTypeLike | None = None,
        initializer: str | Initializer | ArrayLike | None = None,
        trainable: bool = True,
        role: str = "weight",
        name: str | None = None,
        regularizer: RegularizerLike = None,
        constraint: ConstraintLike = None,
        autocast: bool = True,
    ) -> Variable:
        """Make what the creators around make of the spec: a Variable, or an expression in its place."""
        shape, kind, initializer = infer_spec(initial_value, shape, dtype, initializer)
        spec = VariableSpec(
            shape=shape,
            dtype=kind,
            initializer=initializers.get(initializer),
            trainable=trainable,
            role=role,
            name=name,
            path=name or "variable",
            regularizer=regularizers.get(regularizer),
            constraint=constraints.get(constraint),
            autocast=autocast,
        )
        if cls is not Variable:
            return cls.from_spec(spec)
        return make(spec)

    @classmethod
    def from_spec(cls, spec: VariableSpec) -> Variable:
        """Return the plain Variable that a spec describes, without any creator."""
        if spec.role not in ROLES:
            raise ArgumentError(
                f"role={spec.role!r} for the variable {spec.path!r}", "there is no such role", ", ".join(ROLES)
            )
        checked_flag("trainable", spec.trainable)
        check_name(spec.name, spec.role)
        backend = registry.current()
        if isinstance(spec.shape, tuple | list) and any_free(spec.shape):  # a creator may have given anything
            raise ExportError(
                f"the variable {spec.path!r} of shape {list(map(str, spec.shape))}",
                "a size that is free is known only when the exported program runs, and weights are made before",
                'a number in place of that name: graftax.export.Spec("batch 8")',
            )
        if sizes(spec.shape) != spec.shape or not isinstance(spec.dtype, str):
            spec = replace(spec, shape=sizes(spec.shape), dtype=backend.arrays.canonical_dtype(spec.dtype))
        initializer = initializers.get(spec.initializer)
        self = object.__new__(cls)
        self._gx_name = spec.name
        self.trainability = Trainability(spec.trainable, resting=spec.resting if spec.trainable else 0)
        self.role = spec.role
        self.__dict__["autocast"] = checked_flag("autocast", spec.autocast)
        self.__dict__["regularizer"] = regularizers.get(spec.regularizer)
        self.__dict__["constraint"] = constraints.get(spec.constraint)
        self._shape = spec.shape
        self._dtype = backend.arrays.canonical_dtype(spec.dtype)
        home = None if spec.placement is None else spec.placement.home(spec)
        if is_allocating():
            self._storage = Storage(make_buffer(spec, initializer, backend, home), backend, self)
        else:
            self._storage = UnallocatedStorage(self._shape, self._dtype, backend, self)
        self._storage.home = home
        structure.made += 1
        return self

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """Return its shape, which never changes."""
        return self._shape

    @property
    def dtype(self) -> str:
        """Return its dtype by name, which never changes."""
        return self._dtype

    @property
    def name(self) -> str:
        """Return the given name, else the last edge of its path."""
        if self._gx_name is not None:
            return self._gx_name
        edges = self._gx_way()
        return str(edges[-1]) if edges else "variable"

    @property
    def owner(self) -> Module | None:
        """Return the Module that holds this Variable, the first one that did; None if there is none (any more)."""
        return cast("Module | None", self._gx_owner)

    @property
    def _gx_path(self) -> str:
        return Leaf._gx_path.__get__(self) or self.name

    @property
    def trainable(self) -> bool:
        """Return whether optimizers may move it: not while it is frozen, nor while an expression has it rest."""
        touch(self)
        return self.trainability.trained

    @trainable.setter
    def trainable(self, value: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        value = checked_flag("trainable", value)
        asked = Trainability(True) if value else replace(self.trainability, made=False)
        if asked != self.trainability:
            changing(self, "trainable")
            self.trainability = asked
            structure.bump()  # after the change: another thread looks again as soon as it counts

    @property
    def regularizer(self) -> Regularizer | None:
        """Return the penalty on its value, which counts in ``losses`` of the layers above it; None for none."""
        touch(self)
        return self.__dict__.get("regularizer")

    @regularizer.setter
    def regularizer(self, value: RegularizerLike) -> None:
        self._set("regularizer", regularizers.get(value))

    @property
    def constraint(self) -> Constraint | None:
        """Return the projection that optimizers apply after each update."""
        touch(self)
        return self.__dict__.get("constraint")

    @constraint.setter
    def constraint(self, value: ConstraintLike) -> None:
        self._set("constraint", constraints.get(value))

    @property
    def autocast(self) -> bool:
        """Return whether layers of mixed precision read it in their compute dtype, if it is a weight."""
        touch(self)
        return bool(self.__dict__.get("autocast", True))  # pickles from before have none

    @autocast.setter
    def autocast(self, value: bool) -> None:
        self._set("autocast", checked_flag("autocast", value))

    def _set(self, name: str, value: object) -> None:
        if self.__dict__.get(name) is not value:
            changing(self, name)
            self.__dict__[name] = value
            structure.bump()
            if (owner := self._gx_owner) is not None:
                owner._gx_note_hanging(self)

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(type(self).__name__, self.__dict__.get("_gx_name") or "variable", name, value)
        object.__setattr__(self, name, value)
        if holds_node(value) and (owner := self._gx_owner) is not None:
            owner._gx_note_hanging(self)

    # --- its value --------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Array:
        """Return the array as it is now; inside a layer of mixed precision, a weight in the layer's compute dtype."""
        storage = self._storage
        value = storage.read()
        if autocast.top is not None and (wanted := self._dtype_of_read()) is not None:
            value = value.astype(wanted)
        home = storage.home
        return value if home is None or home.computed is None else storage.gather(value)

    def _dtype_of_read(self) -> str | None:
        """Return the dtype in which the layer that computes now reads it, if that is another than its own."""
        wanted = autocast.top
        is_cast = wanted != self._dtype and self.role == "weight" and is_floating(self._dtype) and self.autocast
        return wanted if is_cast else None

    @property
    def _gx_unrounded(self) -> Array:
        with autocast.entered(None):
            return self.value

    @property
    def _gx_stored(self) -> Array:
        """Return the array as it is kept: for what moves a Variable as a whole, such as an optimizer."""
        return self._storage.read()

    @checked_call
    def assign(self, value: ArrayLike) -> Self:
        """Give it a new value of the same shape and dtype, and return it; ``variable[...] = 1.0`` fills it.

        Raises:
            AssignmentError: the shape or dtype differs.
        """
        if isinstance(value, VariableLike):
            value = value.value
        storage = self._storage
        storage.write(
            storage.backend.arrays.asarray(value) if self._is_buffer_like(value) else self._fit(value, "assign")
        )
        return self

    @checked_call
    def assign_add(self, value: ArrayLike) -> Self:
        """Add to it, and return it: a value of its shape and dtype, or a smaller one that broadcasts, as ``+=`` does.

        Threads that add in eager code at the same time lose nothing of what the others add.

        Raises:
            AssignmentError: the shape would change, or the dtype differs.
        """
        term = self._term(unwrap(value), "assign_add")
        self._storage.revise(lambda now: now + term)
        return self

    @checked_call
    def assign_sub(self, value: ArrayLike) -> Self:
        """Subtract from it, and return it: a value of its shape and dtype, or a smaller one that broadcasts.

        Raises:
            AssignmentError: the shape would change, or the dtype differs.
        """
        term = self._term(unwrap(value), "assign_sub")
        self._storage.revise(lambda now: now - term)
        return self

    def __setitem__(self, key: object, value: ArrayLike) -> None:
        arrays = self._storage.backend.arrays
        key = check_subscript(arrays, self._shape, key)
        shape = self._storage.read()[key].shape
        new = fit(
            self._storage.backend, unwrap(value), None, self._dtype, f"{self.path!r}[...] =", self._dtype_of_read()
        )
        try:
            new = arrays.numpy.broadcast_to(new, shape)
        except ValueError as error:
            raise AssignmentError(
                f"{self.path!r}[...] = got shape {tuple(new.shape)}",
                f"the place that is indexed has shape {shape}",
                f"a value of shape {tuple(shape)}, or one that broadcasts to it",
            ) from error
        self._storage.revise(lambda now: arrays.set_at(now, key, new))

    def _in_place(self, operation: Callable[[Any, Any], Array], other: ArrayLike) -> Self:
        other = unwrap(other)  # before, and not while this waits for other threads
        self._storage.revise(lambda now: self._fit(operation(now, other), "assign"))
        return self

    def _term(self, value: object, verb: str) -> Array:
        """Return what is added to the value: an array that broadcasts to its shape."""
        if getattr(value, "shape", None) == self._shape:
            return self._fit(value, verb)
        if tracer_of(self._storage.backend, value):
            self._storage.check(value)
        label = f"{self.path!r}.{verb}()"
        return fit_term(self._storage.backend, value, self._shape, self._dtype, label, self._dtype_of_read())

    def _is_buffer_like(self, value: Any) -> bool:
        """Tell whether a value can be the buffer as it is."""
        storage = self._storage
        arrays = storage.backend.arrays
        return (
            arrays.is_array(value)
            and value.dtype == storage.buffer.dtype
            and value.shape == self._shape
            and not arrays.is_weak(value)
        )

    def _fit(self, value: object, verb: str) -> Array:
        storage = self._storage
        if tracer_of(storage.backend, value):
            storage.check(value)  # before anything is computed from it
        if self._is_buffer_like(value):
            return storage.backend.arrays.asarray(value)
        return fit(storage.backend, value, self._shape, self._dtype, f"{self.path!r}.{verb}()", self._dtype_of_read())

    # --- copies, looks ----------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        new = object.__new__(type(self))
        memo[id(self)] = new
        for key, value in list(self.__dict__.items()):
            if key not in _OWN:
                new.__dict__[key] = value if type(value) in UNCHANGING else copy.deepcopy(value, memo)
        storage = Storage(self._storage.value_now(), self._storage.backend, new)
        storage.home = self._storage.home
        new.__dict__["_storage"] = storage
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        state = {k: v for k, v in list(self.__dict__.items()) if k not in _OWN}
        backend = self._storage.backend
        return _unpickle, (type(self), state, backend.arrays.to_numpy(self._gx_stored), backend.name)

    def __repr__(self) -> str:
        head = f"Variable({self.path!r}, shape={self.shape}, dtype={self.dtype}"
        if not is_allocated(self._storage):
            return head + ", no value)"
        value = self.value
        if self.size > 8 or not self._storage.backend.arrays.is_concrete(value):
            return head + ")"
        try:
            return f"{head}, value={self._storage.backend.arrays.to_numpy(value)})"
        except StateError:  # other processes have a part of it
            return head + ")"


_OWN = BOOKKEEPING | {"_storage"}  # attributes that a copy has for itself


def make(spec: VariableSpec) -> Variable:
    """Return the Variable of a spec, or what the creators put in its place."""
    return cast(Variable, creation.create(spec, Variable.from_spec))


def _unpickle(cls: type[Variable], state: dict[str, Any], value: np.ndarray[Any, Any], backend: str) -> Variable:
    self = object.__new__(cls)
    self.__dict__.update(state)
    source = registry.load(backend)
    self._storage = Storage(source.arrays.asarray(value, self._dtype), source, self)
    return self
