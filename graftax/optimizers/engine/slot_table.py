"""SlotTable: what an optimizer knows of each variable, its slots and its settings."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator
from typing import Any

from graftax.optimizers.engine.settings import DEFAULT, Settings
from graftax.optimizers.engine.slot import OF_THE_BASE
from graftax.variables.variable import Variable


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
