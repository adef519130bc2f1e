"""Slots: `Slot` declares what is kept for a variable, `make_slot` makes it, `SlotValues` shows it to rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from graftax.core.errors import ArgumentTypeError, AssignmentError, MissingAttributeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, Initializer, Shape
from graftax.optimizers.engine.numbers import compute_dtype
from graftax.variables import creation, initializers
from graftax.variables.graph.module import Module
from graftax.variables.spec import VariableSpec
from graftax.variables.state.unallocated import allocate_nothing, is_allocated
from graftax.variables.variable import Variable

OF_THE_BASE = ("accumulated_gradient", "moving_average")
"""Names of slots that no rule sees: the base class keeps them for every rule."""


@dataclass(frozen=True)
class Slot:
    """The declaration of a slot, as ``create_slots`` returns it.

    Args:
        shape: Its shape. Defaults to None, that of the variable.
        dtype: Its dtype by name. Defaults to None: the optimizer's ``slot_dtype``, else that of the variable, but
            float32 for a variable of 16 bits or less. Rules see all slots in one dtype, whatever they are stored in.
        initializer: What it starts as: a name, a number, or a function of ``(key, shape, dtype)``. Defaults to
            ``"zeros"``.

    Example:
        >>> Slot(shape=(3,), initializer=0.1)
        Slot(shape=(3,), dtype=None, initializer=0.1)
    """

    shape: Shape | None = None
    dtype: str | None = None
    initializer: str | float | Initializer = "zeros"


Slot.__init__ = door(Slot.__init__)  # type: ignore[method-assign]


class SlotValues:
    """The values of the slots of one variable, as attributes."""

    def __init__(self, values: Mapping[str, Array]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AssignmentError(
            f"slots.{name} = ... in an update",
            "slots are arrays here, and the optimizer assigns what the update returns",
            f'return value, {{"{name}": ...}}',
        )

    def __getattr__(self, name: str) -> Array:
        declared = ", ".join(self.__dict__) or "none"
        raise MissingAttributeError(
            f"there is no slot {name!r}",
            f"create_slots declares {declared}",
            f'def create_slots(self, variable): return {{"{name}": graftax.Slot()}}',
        )


def make_slot(owner: Module, variable: Variable, name: str, slot: Slot, default_dtype: str | None) -> Variable:
    """Return the slot that a declaration describes, through the creators."""
    path = f"{variable.path}/{name}"
    if not isinstance(slot, Slot):
        raise ArgumentTypeError(
            f"{type(owner).__name__}.create_slots gave {type(slot).__name__} as the slot {name!r}",
            "it says what each slot is to be; the optimizer makes a Variable of it, and keeps it",
            f'return {{"{name}": graftax.Slot()}}, of zeros like the variable; graftax.Slot(initializer=0.1)',
        )
    spec = VariableSpec(
        shape=variable.shape if slot.shape is None else tuple(slot.shape),
        dtype=slot.dtype or default_dtype or compute_dtype(variable.dtype),
        initializer=initializers.get(slot.initializer),
        trainable=False,
        role="slot",
        name=name,
        path=path,
        owner=variable._gx_owner,
        placement=None if (home := variable._storage.home) is None else home.for_slot(variable.shape),
    )
    there = is_allocated(variable._storage)
    with creation.reenter_scopes(owner._gx_captured), allocate_nothing(not there):
        return cast(Variable, creation.create(spec, _name_by_path))


def _name_by_path(spec: VariableSpec) -> Variable:
    """Return the plain Variable. Nothing owns a slot, so its name has to say where it belongs."""
    return Variable.from_spec(replace(spec, name=spec.path))


def parts_of(name: str, slot: Variable | Module) -> list[tuple[str, Variable]]:
    """Return the slot itself, or, where a creator put an expression in its place, the Variables below it."""
    if isinstance(slot, Module):
        return [(f"{name}/{path}", part) for path, part in slot.named_variables().items()]
    return [(name, slot)]
