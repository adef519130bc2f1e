"""The table that says what an optimizer does with each variable, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from graftax.backend import registry
from graftax.core.typedefs import unwrap
from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.settings import Settings
from graftax.variables.variable import Variable


@dataclass(frozen=True)
class Explained:
    """One line of an `Explanation`: a variable and what the optimizer does with it.

    ``learning_rate`` is the rate now, multiplier included; ``frozen`` says why it does not move, or is empty.
    """

    path: str
    shape: tuple[int, ...]
    optimizer: str
    learning_rate: float
    weight_decay: float
    l2: float
    slots: tuple[str, ...]
    frozen: str
    by: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        """Return the line as text; what a frozen variable does not have is left out."""
        by = ", ".join(self.by)
        if self.frozen:
            return (self.path, str(self.shape), self.optimizer, "frozen", "", "", self.frozen, by)
        numbers = (f"{n:.6g}" for n in (self.learning_rate, self.weight_decay, self.l2))
        return (self.path, str(self.shape), self.optimizer, *numbers, ", ".join(self.slots) or "none", by)


_HEAD = ("variable", "shape", "optimizer", "learning rate", "weight decay", "l2", "slots", "rules")


@dataclass(frozen=True)
class Explanation:
    """What an optimizer does with each variable, printable as a table; ``rows`` holds the same as data."""

    title: str
    rows: tuple[Explained, ...]

    def __str__(self) -> str:
        lines = [_HEAD, *(row.cells() for row in self.rows)]
        several = len({row.optimizer for row in self.rows}) > 1
        shown = {"l2": any(row.l2 for row in self.rows), "optimizer": several}
        kept = [i for i, name in enumerate(_HEAD) if shown.get(name, True)]
        widths = {i: max(len(line[i]) for line in lines) for i in kept}
        text = ["  ".join(line[i].ljust(widths[i]) for i in kept).rstrip() for line in lines]
        return "\n".join([self.title, *text])


def explain(optimizer: Rule, variables: Iterable[tuple[str, Variable, Rule, Settings]]) -> Explanation:
    """Return one row for each variable, with its path, the optimizer that updates it and the settings there."""
    return Explanation(repr(optimizer), tuple(_row(*one) for one in variables))


def _row(path: str, variable: Variable, optimizer: Rule, settings: Settings) -> Explained:
    weight_decay, l2 = (_float(one) for one in settings.decays(optimizer.weight_decay, optimizer.l2))
    return Explained(
        path=path,
        shape=variable.shape,
        optimizer=type(optimizer).__name__,
        learning_rate=_float(optimizer.learning_rate) * _float(settings.learning_rate_multiplier),
        weight_decay=weight_decay,
        l2=l2,
        slots=tuple(optimizer.create_slots(variable)),
        frozen="by a rule" if settings.frozen else "" if variable.trainable else "not trainable",
        by=settings.by,
    )


def _float(number: object) -> float:
    return (
        number
        if isinstance(number, int | float)
        else float(registry.current().arrays.to_numpy(registry.current().arrays.asarray(unwrap(number))))
    )
