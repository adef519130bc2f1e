"""Settings that differ by variable: rules that select variables, and the table that says what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, TypeAlias, TypedDict
from weakref import WeakKeyDictionary

import numpy as np

from graftax import ops
from graftax.core import user_line
from graftax.core.errors import ArgumentError, AssignmentError, MissingAttributeError, SelectorError
from graftax.core.known_names import closest
from graftax.core.selectors import Selector, SelectorLike, compile_selector
from graftax.core.spellings import wholes
from graftax.core.tally import pick
from graftax.core.typedefs import Array, VariableLike
from graftax.optimizers.arguments.functions_of_the_step import refuse_function
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, Kind
from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.unmoved import Unmoved
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import outermost
from graftax.variables.graph.structure import structure
from graftax.variables.graph.trained_model import Identity, TrainedModel, trained
from graftax.variables.variable import Variable


class SettingsLike(TypedDict, total=False):
    """What a rule may set.

    ``weight_decay`` and ``l2`` replace those of the optimizer, ``learning_rate_multiplier`` is a factor on its rate,
    ``adaptive_clip`` replaces that of the optimizer (``inf`` for no limit), ``frozen`` leaves the variable as it is,
    and ``optimizer`` is another one that moves it. A number may be a Variable that holds one: what is assigned to it
    acts in the next step, without a new trace. It belongs to whoever made it, and is not saved with the optimizer.
    """

    weight_decay: Number
    l2: Number
    learning_rate_multiplier: Number
    adaptive_clip: Number
    frozen: bool
    optimizer: Rule


Number: TypeAlias = "float | VariableLike"
RuleLike: TypeAlias = "tuple[SelectorLike, SettingsLike]"


@dataclass(frozen=True)
class Settings:
    """What holds for one variable; None for what the optimizer says. ``by`` names the rules that chose it.

    ``optimizer`` is the place, among those that the rules name, of the one that moves it. ``is_second`` says whether
    that one, if it has two ways to move variables, takes the second. ``inner`` is what holds in that optimizer, with
    what this one says of it.
    """

    weight_decay: Number | None = None
    l2: Number | None = None
    learning_rate_multiplier: Number = 1.0
    adaptive_clip: Number | None = None
    frozen: bool = False
    optimizer: int | None = None
    is_second: bool = False
    inner: Settings | None = None
    by: tuple[str, ...] = ()

    @property
    def can_move(self) -> bool:
        """Tell whether an update may change the variable."""
        factor = self.learning_rate_multiplier
        return not self.frozen and not (isinstance(factor, int | float) and factor == 0)

    def is_same(self, other: Settings) -> bool:
        """Tell whether another one holds the same; Variables in rules are compared by identity."""
        return all(_is_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def decays(self, weight_decay: object, l2: object) -> tuple[Any, Any]:
        """Return both decays, where the optimizer has these."""
        return weight_decay if self.weight_decay is None else self.weight_decay, l2 if self.l2 is None else self.l2

    def limit(self, adaptive_clip: object) -> Any:
        """Return the adaptive limit, where the optimizer has this; None for none."""
        mine = self.adaptive_clip
        return adaptive_clip if mine is None else None if not isinstance(mine, VariableLike) and mine == inf else mine

    def override(self, inner: Settings) -> Settings:
        """Return what holds in the optimizer that a rule names, which has rules of its own: decays from here win."""
        mine = {name: getattr(self, name) for name in ("weight_decay", "l2", "adaptive_clip")}
        return replace(
            inner,
            **{name: value for name, value in mine.items() if value is not None},
            learning_rate_multiplier=_product(self.learning_rate_multiplier, inner.learning_rate_multiplier),
            frozen=self.frozen or inner.frozen,
            by=(*self.by, *inner.by),
        )


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, Settings) and isinstance(other, Settings):
        return one.is_same(other)
    has_variable = isinstance(one, VariableLike) or isinstance(other, VariableLike)
    return one is other if has_variable else one == other


class _Product(VariableLike):
    """Two multipliers, one of which at least is a Variable: what they hold is read in each step."""

    __slots__ = ("_one", "_other")

    def __init__(self, first: Number, second: Number) -> None:
        self._one = first
        self._other = second

    @property
    def value(self) -> Array:
        """Return the product now."""
        return ops.multiply(self._one, self._other)


def _product(first: Number, second: Number) -> Number:
    if isinstance(first, VariableLike) or isinstance(second, VariableLike):
        return _Product(first, second)
    return first * second


DEFAULT = Settings()
_KEYS = ("weight_decay", "l2", "learning_rate_multiplier", "adaptive_clip", "frozen", "optimizer")


_KINDS: dict[str, tuple[Any, str, str]] = {
    "frozen": (bool, "True or False, and plain: what moves is known before a step", "True"),
    "optimizer": (Module, "an optimizer", "graftax.optimizers.SGD(0.1)"),
}
_NUMBER = (int | float | Variable, "a number, or a Variable that holds one", "0.1")
_RANGES = {
    "weight_decay": NOT_NEGATIVE,
    "l2": NOT_NEGATIVE,
    "learning_rate_multiplier": NOT_NEGATIVE,
    "adaptive_clip": Kind("a limit is positive; inf is none", "0.01", lambda x: x > 0),
}


class GivenRules(tuple[Any, ...]):
    """The rules of an optimizer as they were given; whoever would change them as a list is told what to write."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if not hasattr(list, name):
            raise AttributeError(f"'tuple' object has no attribute {name!r}")
        raise MissingAttributeError(*_fixed_error(f"optimizer.rules.{name}"))

    def __setitem__(self, place: object, rule: object) -> None:
        raise AssignmentError(*_fixed_error("optimizer.rules[...] = ..."))

    def __delitem__(self, place: object) -> None:
        raise AssignmentError(*_fixed_error("del optimizer.rules[...]"))

    def __iadd__(self, rules: object) -> Any:  # type: ignore[misc]  # it never returns
        raise AssignmentError(*_fixed_error("optimizer.rules += ..."))


def _fixed_error(attribute: str) -> tuple[str, str, str]:
    return (
        attribute,
        "rules are read when the optimizer is made, and settings and slots follow from them",
        "another optimizer with rules=[*optimizer.rules, (selector, settings)]",
    )


class Rules:
    """Rules in their order; where several select a variable, the later ones win, key by key.

    Args:
        rules: Pairs of a selector of variables (matched with their paths) and a `SettingsLike`.
        sets_nothing: Whether rules only select, with settings that are empty. Defaults to False.

    Raises:
        ArgumentError: a rule is no such pair, or has an unknown key or no number.
    """

    def __init__(self, rules: Sequence[RuleLike], sets_nothing: bool = False) -> None:
        if isinstance(rules, str | Mapping) or not isinstance(rules, Iterable) or hasattr(rules, "shape"):
            raise ArgumentError(
                f"rules={rules!r:.60}", "it is a list of rules", 'rules=[("**/bias", {"weight_decay": 0.0})]'
            )
        self.given = tuple(rules)
        self._rules = [_compile(rule) for rule in self.given]
        self._sets_nothing = sets_nothing
        if idle := [selector.text for selector, setting in self._rules if not setting and not sets_nothing]:
            raise ArgumentError(
                f"rules= sets nothing for {idle[0]}",
                f"a rule may set {', '.join(_KEYS)}",
                '("**/bias", {"weight_decay": 0.0})',
            )
        self.optimizers: tuple[Any, ...] = tuple(
            {
                id(setting["optimizer"]): setting["optimizer"] for _, setting in self._rules if "optimizer" in setting
            }.values()
        )
        for _, setting in self._rules:
            if "optimizer" in setting:  # by its place: copies of settings must not lead to the original
                setting["optimizer"] = next(i for i, o in enumerate(self.optimizers) if o is setting["optimizer"])
        self._is_checked = not self._rules
        self._checked: dict[Identity, int] = {}  # the models of which each rule selected something, and what they were
        self._told: set[tuple[Identity, str]] = set()  # of which one selects nothing any more
        self.unmoved = Unmoved()
        self._suited: WeakKeyDictionary[TrainedModel, bool] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[Any, ...]:  # compiled selectors are functions, which cannot be pickled
        return Rules, (self.given, self._sets_nothing), {"_is_checked": True} if self._is_checked else None

    def naming(self, optimizer: int) -> tuple[str, ...]:
        """Return the selectors of the rules that name one of the optimizers."""
        return tuple(selector.text for selector, setting in self._rules if setting.get("optimizer") == optimizer)

    def settings(self, variable: Variable, paths: Sequence[str]) -> Settings:
        """Return what holds for a variable with these paths."""
        found = DEFAULT
        for selector, setting in self._rules:
            if selector.sees(paths, variable.role, variable):
                found = replace(found, **setting, by=(*found.by, selector.text))
        return found

    def check(self, variables: Iterable[Variable]) -> None:
        """Raise if a rule selects nothing; asked once for each model that is trained, and once where none is given.

        It selects from all of the model; from lists of variables, and what hangs in the same object graphs.

        Args:
            variables: What is trained.

        Raises:
            SelectorError: a rule, or a part of its selector, selects nothing.
        """
        if not self._rules:
            return
        scope, alone = trained.top, list(variables)
        if scope is not None:
            if scope.around is None and self._checked.get(Identity(scope.module)) == structure.version:
                return
            deciding = {id(v): scope.deciding(v) for v in alone}
            for one in {id(one): one for one in deciding.values() if one is not None}.values():
                self._check_model(one)
            alone = [v for v in alone if deciding[id(v)] is None]
        if alone and not self._is_checked:
            self._check(_around(alone))
        self._is_checked = True

    def _check_model(self, model: TrainedModel) -> None:
        """Raise if a rule selects nothing in a model; warn if it did when the model began, such as before `ungraft`."""
        key, title = Identity(model.module), f"{type(model.module).__name__} {model.module.name!r}"
        before, now = self._checked.get(key), structure.version
        if before == now:
            return
        items = [(found.paths, found.variable) for found in model.candidates()]
        if before is None:
            self._check(items, f", by paths from {title}")
        self._checked[key] = now
        for selector, _ in self._rules if before is not None else ():
            if (key, selector.text) in self._told:
                continue
            try:
                pick(selector, items, "the selector")
            except SelectorError as error:
                self._told.add((key, selector.text))
                user_line.warn(
                    f"rules= for {selector.text} selected weights of {title} before, and does not now that the model "
                    f"has changed ({error.received}): what it sets holds for no weight from here on. Instead: another "
                    "optimizer, with rules= for the weights that are there, and model.compile(optimizer, ...)"
                )

    def suits(self, model: TrainedModel) -> bool:
        """Tell whether each rule selects something in a model; looked up once in its scope."""
        if model not in self._suited:
            try:
                self._check([(found.paths, found.variable) for found in model.candidates()])
                self._suited[model] = True
            except SelectorError:
                self._suited[model] = False
        return self._suited[model]

    def _check(self, items: Iterable[tuple[Sequence[str], Variable]], root: str = "") -> None:
        items = list(items)
        for selector, _ in self._rules:
            pick(selector, items, f"rules={root}: the selector")


def _around(variables: Iterable[Variable]) -> Iterator[tuple[Sequence[str], Variable]]:
    """Yield variables, and what hangs in the same object graphs, with their own paths."""
    known: dict[int, Variable] = {}
    for variable in variables:
        if id(variable) not in known:
            root = outermost(variable)
            around = root.variables if isinstance(root, Module) else []
            known.update({id(v): v for v in (variable, *around)})
    yield from ((own_paths(v), v) for v in known.values())


def own_paths(variable: Variable) -> tuple[str, ...]:
    """Return the path of a variable in the object graph that owned it first, and those of weights it is a part of."""
    return (variable.path, *wholes(variable))


def _unknown_key(key: object, selector: Selector) -> ArgumentError:
    rate = str(key).lower().startswith(("learning_rate", "lr"))
    meant = "learning_rate_multiplier" if rate else closest(str(key), _KEYS) or _KEYS[0]
    example = "0.1" if meant == "learning_rate_multiplier" else _KINDS[meant][2] if meant in _KINDS else "0.0"
    return ArgumentError(
        f"rules= sets {key!r} for {selector.text}",
        "the learning rate is one for all; a rule multiplies it" if rate else f"a rule may set {', '.join(_KEYS)}",
        f'"{meant}": {example}',
    )


def _compile(rule: object) -> tuple[Selector, dict[str, Any]]:
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
    setting = dict(rule[1])
    for key, value in setting.items():
        if key not in _KEYS:
            raise _unknown_key(key, selector)
        if isinstance(value, np.generic):
            value = setting[key] = value.item()
        kind, words, instead = _KINDS.get(key, _NUMBER)
        if key not in _KINDS:
            refuse_function(f"rules= for {selector.text}", key, value, f"it is {words}")
        if key in _RANGES and isinstance(value, kind) and getattr(value, "shape", ()) == ():
            value = setting[key] = _RANGES[key].check(f"rules= for {selector.text}", key, value)
        if not isinstance(value, kind) or (isinstance(value, Variable) and value.shape != ()):
            raise ArgumentError(
                f"rules= sets {key}={value!r} for {selector.text}", f"it is {words}", f'"{key}": {instead}'
            )
    return selector, setting
