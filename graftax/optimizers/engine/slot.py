"""What an optimizer keeps for a variable: `Slot` declares it, `SlotTable` holds it, `SlotValues` shows it to rules."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from graftax.core.errors import MissingAttributeError
from graftax.core.typedefs import Array, Initializer, Shape
from graftax.optimizers.engine.rules import DEFAULT, Settings
from graftax.variables import creation, initializers
from graftax.variables.graph.module import Module
from graftax.variables.spec import VariableSpec
from graftax.variables.variable import Variable

OF_THE_BASE = ("accumulated_gradient", "moving_average")
"""Names of slots that no rule sees: the base class keeps them for every rule."""


@dataclass(frozen=True)
class Slot:
    """The declaration of a slot, as ``create_slots`` returns it.

    Args:
        shape: Its shape; that of the variable unless told.
        dtype: Its dtype by name. Unless told: the optimizer's ``slot_dtype``, else that of the variable, but float32
            for a variable of 16 bits or less. Rules see all slots in one dtype, whatever they are stored in.
        initializer: What it starts as: a name, a number, or a function of ``(key, shape, dtype)``.

    Example:
        >>> Slot(shape=(3,), initializer=0.1)
        Slot(shape=(3,), dtype=None, initializer=0.1)
    """

    shape: Shape | None = None
    dtype: str | None = None
    initializer: str | float | Initializer = "zeros"


class SlotValues:
    """The values of the slots of one variable, as attributes."""

    def __init__(self, values: Mapping[str, Array]) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Array:
        declared = ", ".join(self.__dict__) or "none"
        raise MissingAttributeError(
            f"there is no slot {name!r}",
            f"create_slots declares {declared}",
            f'def create_slots(self, variable): return {{"{name}": graftax.Slot()}}',
        )


class Row:
    """What is known of one variable; ``fresh`` until its settings are found."""

    __slots__ = ("fresh", "settings", "slots", "variable")

    def __init__(self, variable: weakref.ref[Variable], slots: dict[str, Variable], settings: Settings | None) -> None:
        self.variable = variable
        self.slots = slots
        self.fresh = settings is None
        self.settings = settings or DEFAULT

    def of_the_rule(self) -> dict[str, Variable]:
        """The slots that `Optimizer.update` sees."""
        return {name: slot for name, slot in self.slots.items() if name not in OF_THE_BASE}


class SlotTable:
    """Slots by the identity of their variable, which is not kept alive: when it goes, its slots go."""

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self._memo: dict[int, Any] | None = None  # of the deep copy that made this table, until its first use

    def _known(self) -> dict[int, Row]:
        if self._memo is not None:
            # Only now is it known which variables were copied along: those move here, the others keep their place.
            memo, rows, self._memo = self._memo, self._rows, None
            self._rows = {}
            for row in rows.values():
                variable = row.variable()
                if variable is not None:
                    self._insert(memo.get(id(variable), variable), row.slots, row.settings)
        return self._rows

    def _insert(self, variable: Variable, slots: dict[str, Variable], settings: Settings | None) -> Row:
        key, rows = id(variable), self._rows
        row = rows[key] = Row(weakref.ref(variable, lambda _: rows.pop(key, None)), slots, settings)
        return row

    def row(self, variable: Variable) -> Row:
        """The row of a variable; an empty one is made at need."""
        row = self._known().get(id(variable))
        return row if row is not None else self._insert(variable, {}, None)

    def items(self) -> Iterator[tuple[Variable, Row]]:
        """Variables that are still there, in the order in which they were first seen, and their rows."""
        for row in list(self._known().values()):
            variable = row.variable()
            if variable is not None:
                yield variable, row

    def __deepcopy__(self, memo: dict[int, Any]) -> SlotTable:
        new = SlotTable()
        for variable, row in self.items():
            new._insert(variable, copy.deepcopy(row.slots, memo), row.settings)
        new._memo = memo
        return new

    def __getstate__(self) -> list[Any]:
        return [(variable, row.slots, row.settings) for variable, row in self.items()]

    def __setstate__(self, state: list[Any]) -> None:
        SlotTable.__init__(self)
        for variable, slots, settings in state:
            self._insert(variable, slots, settings)


def compute_dtype(dtype: str) -> str:
    """The dtype in which a variable is updated: its own, but float32 at least."""
    return dtype if dtype in ("float32", "float64") else "float32"


def make_slot(owner: Module, variable: Variable, name: str, slot: Slot, default_dtype: str | None) -> Variable:
    """The slot that a declaration describes, through the creators."""
    path = f"{variable.path}/{name}"
    spec = VariableSpec(
        shape=variable.shape if slot.shape is None else tuple(slot.shape),
        dtype=slot.dtype or default_dtype or compute_dtype(variable.dtype),
        initializer=initializers.get(slot.initializer),
        trainable=False,
        role="slot",
        name=name,
        path=path,
        owner=variable._gx_owner,
    )
    with creation.remembered(owner._gx_captured):
        return cast(Variable, creation.create(spec, _named_by_path))


def _named_by_path(spec: VariableSpec) -> Variable:
    """The plain Variable. Nothing owns a slot, so its name has to say where it belongs."""
    return Variable.from_spec(replace(spec, name=spec.path))


def parts_of(name: str, slot: Variable | Module) -> list[tuple[str, Variable]]:
    """The slot itself, or, where a creator put an expression in its place, the Variables below it."""
    if isinstance(slot, Module):
        return [(f"{name}/{path}", part) for path, part in slot.named_variables().items()]
    return [(name, slot)]
