"""Settings that differ by variable: rules that select variables, and the table that says what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypedDict

from graftax.errors import ArgumentError, SelectorError
from graftax.module import Module, outermost
from graftax.selectors import Selector, SelectorLike, compile_selector, wholes
from graftax.variables.variable import Variable


class Setting(TypedDict, total=False):
    """What a rule may set.

    ``weight_decay`` and ``l2`` replace those of the optimizer, ``learning_rate_multiplier`` is a factor on its rate,
    and ``frozen`` leaves the variable as it is.
    """

    weight_decay: float
    l2: float
    learning_rate_multiplier: float
    frozen: bool


RuleLike: TypeAlias = "tuple[SelectorLike, Setting]"


@dataclass(frozen=True)
class Settings:
    """What holds for one variable; None for what the optimizer says. ``by`` names the rules that chose it."""

    weight_decay: float | None = None
    l2: float | None = None
    learning_rate_multiplier: float = 1.0
    frozen: bool = False
    by: tuple[str, ...] = ()

    def decays(self, weight_decay: float, l2: float) -> tuple[float, float]:
        """Both decays, where the optimizer has these."""
        return weight_decay if self.weight_decay is None else self.weight_decay, l2 if self.l2 is None else self.l2


DEFAULT = Settings()
_KEYS = ("weight_decay", "l2", "learning_rate_multiplier", "frozen")


class Rules:
    """Rules in their order; where several select a variable, the later ones win, key by key.

    Args:
        rules: Pairs of a selector of variables (matched with their paths) and a `Setting`.

    Raises:
        ArgumentError: a rule is no such pair, or has an unknown key or no number.
    """

    def __init__(self, rules: Sequence[RuleLike]) -> None:
        self.given = tuple(rules)
        self._rules = [_compile(rule) for rule in self.given]
        self._unchecked = [selector for selector, _ in self._rules]

    def __reduce__(self) -> tuple[Any, ...]:  # compiled selectors are functions, which cannot be pickled
        return Rules, (self.given,), None if self._unchecked else {"_unchecked": []}

    def settings(self, variable: Variable) -> Settings:
        """What holds for a variable at the path that it has now."""
        found = DEFAULT
        for selector, setting in self._rules:
            if selector.matches(variable):
                found = replace(found, **setting, by=(*found.by, selector.text))
        return found

    def check(self, variables: Iterable[Variable]) -> None:
        """Raise if a rule selects none of these, nor of what hangs in the same object graphs; asked once.

        Raises:
            SelectorError: a rule, or a part of its selector, selects nothing.
        """
        if not self._unchecked:
            return
        known: dict[int, Variable] = {}
        for variable in variables:
            if id(variable) not in known:
                root = outermost(variable)
                around = root.variables if isinstance(root, Module) else []
                known.update({id(v): v for v in (variable, *around)})
        items = [((v.path, *wholes(v)), v) for v in known.values()]
        for selector in self._unchecked:
            selector.pick(items, "rules=: the selector")
        self._unchecked = []


def _compile(rule: Any) -> tuple[Selector, dict[str, Any]]:
    if not isinstance(rule, tuple | list) or len(rule) != 2 or not isinstance(rule[1], Mapping):
        raise ArgumentError(
            f"rules= holds {rule!r}",
            "a rule is a pair of a selector and a dict of settings",
            'rules=[("**/bias", {"weight_decay": 0.0})]',
        )
    try:
        selector = compile_selector(rule[0])
    except SelectorError as error:
        error.add_context("rules=")
        raise
    for key, value in rule[1].items():
        if key not in _KEYS:
            raise ArgumentError(
                f"rules= sets {key!r} for {selector.text}", f"a rule may set {', '.join(_KEYS)}", f'"{_KEYS[0]}": 0.0'
            )
        if not isinstance(value, bool if key == "frozen" else int | float):
            kind = "True or False" if key == "frozen" else "a number"
            raise ArgumentError(f"rules= sets {key}={value!r} for {selector.text}", f"it is {kind}")
    return selector, dict(rule[1])
