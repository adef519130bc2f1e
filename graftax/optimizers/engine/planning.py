"""Planning: which variables an update changes, by whose rule, with which settings and slots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, VariableLike
from graftax.optimizers.engine import averaging
from graftax.optimizers.engine.accumulation import SLOT as ACCUMULATED
from graftax.optimizers.engine.averaging import Averaging
from graftax.optimizers.engine.explain import Explanation, explain
from graftax.optimizers.engine.gradients import (
    Variables,
    check_fits,
    check_some,
    flat_variables,
    keys_of,
    require_floating,
    structure_of,
    warn_of_copy,
    warn_of_frozen,
)
from graftax.optimizers.engine.lazy import check_lazy, require_rows
from graftax.optimizers.engine.loss_scale import LossScale
from graftax.optimizers.engine.numbers import cast_to, compute_dtype, dtype_name
from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.settings import DEFAULT, GivenRules, RuleLike, Rules, Settings, own_paths
from graftax.optimizers.engine.slot import OF_THE_BASE, Slot
from graftax.optimizers.engine.slot_table import SETTINGS
from graftax.optimizers.engine.sparse_rows import IndexedRows, TouchedRows
from graftax.optimizers.engine.update import Update
from graftax.variables.graph.module import Module
from graftax.variables.graph.reserved import Own
from graftax.variables.graph.trained_model import TrainedModel, seen_from, trained
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class Planning(Rule, Averaging):
    """The part of an optimizer that finds settings by path, and the optimizer that each variable is updated by."""

    untracked: ClassVar[frozenset[str]] = Averaging.untracked | {"_gx_rules", "_gx_selectors"}

    _gx_rules: Rules
    _gx_selectors: tuple[str, ...] = ()  # of the rules that name it, in the optimizer around
    others: tuple[Planning, ...]
    loss_scale: LossScale | None

    def _gx_keep_rules(self, rules: Sequence[RuleLike]) -> None:
        self._gx_rules = Rules(rules)
        self.others = cast(Any, Own(self._gx_rules.optimizers))
        for place, other in enumerate(self.others):
            _check_other(other)
            other._gx_selectors = self._gx_rules.naming(place)

    def _gx_facts(self) -> dict[str, Any]:
        """Return by which rules it is found again, if those are in another order in the program that restores it."""
        return {**super()._gx_facts(), **({"rules": list(self._gx_selectors)} if self._gx_selectors else {})}

    @property
    def rules(self) -> tuple[RuleLike, ...]:
        """Return the rules as they were given."""
        return GivenRules(self._gx_rules.given)

    @property
    def _gx_accumulates(self) -> bool:
        """Tell whether gradients are added up: from the first time on that ``accumulation_steps`` is more than one."""
        return "gathered" in self.__dict__

    # --- settings -----------------------------------------------------------------------------------------------------

    def _gx_settings(self, variable: Variable) -> Settings:
        """Return the settings of a variable; found once for each model that is trained."""
        kept = self._gx_kept_settings(variable)
        if kept is not None:
            return kept
        found = self._gx_find_settings(variable)
        if trained.top is None or trained.top.purpose != "question":
            deciding = self._gx_deciding(variable)
            self._gx_slots.keep(variable, found, None if deciding is None else deciding.module)
        return found

    def _gx_kept_settings(self, variable: Variable) -> Settings | None:
        """Return the settings that are kept, if they were found by the paths that hold now.

        Where no model is given, those hold by which it was trained last.
        """
        state = self._gx_slots.state(variable)
        if not self._gx_has_rules():
            return state.settings
        scope = trained.top
        known = None if state.model is None else state.model()
        if scope is not None and known is scope.outermost:  # as in each step but the first: no walk through the model
            return state.settings
        deciding = self._gx_deciding(variable)
        if deciding is None:
            storage.changing(self, SETTINGS)
            return state.settings
        if deciding.purpose == "restore":  # only likely to be the model that is trained
            return None if known is None else state.settings
        return state.settings if known is deciding.module else None

    def _gx_deciding(self, variable: Variable) -> TrainedModel | None:
        """Return the scope of the model from which rules see a variable; None for its own paths, or without rules."""
        scope = trained.top
        if scope is None or not self._gx_has_rules():
            return None
        found = scope.deciding(variable, self._gx_suits)
        return scope.deciding(variable) if found is None and scope.purpose == "restore" else found

    def _gx_suits(self, model: TrainedModel) -> bool:
        """Tell whether each rule selects something in a model, as in one that is trained."""
        return self._gx_rules.suits(model)

    def _gx_find_settings(self, variable: Variable, over: Settings | None = None) -> Settings:
        """Return what its rules say of a variable, here and, inside of it, in the optimizer that they name.

        Args:
            variable: The variable.
            over: What the optimizer says whose rule names this one. Defaults to None.
        """
        settings = DEFAULT
        if self._gx_has_rules():
            deciding = self._gx_deciding(variable)
            paths = own_paths(variable) if deciding is None else deciding.paths_of(variable)
            settings = self._gx_settings_at(variable, paths)
        settings = settings if over is None else over.override(settings)
        if settings.optimizer is None:
            return settings
        inner = self.others[settings.optimizer]._gx_find_settings(variable, settings)
        return replace(settings, frozen=inner.frozen, inner=inner)

    def _gx_settings_at(self, variable: Variable, paths: Sequence[str]) -> Settings:
        """Return what the rules of this optimizer say of a variable with these paths."""
        return self._gx_rules.settings(variable, paths)

    def _gx_has_rules(self) -> bool:
        """Tell whether paths of variables make a difference."""
        return bool(self._gx_rules.given)

    def _gx_check_rules(self, variables: Iterable[Variable]) -> None:
        """Raise unless each rule, also of optimizers that rules name, selects some of these or of what is beside."""
        self._gx_rules.check(variables)
        for other in self.others:
            other._gx_check_rules(variables)

    def _gx_rule_of(self, variable: Variable) -> Planning:
        """Return the optimizer whose rule a variable is updated by."""
        return self._gx_follow(self._gx_settings(variable))[0]

    def _gx_follow(self, settings: Settings) -> tuple[Planning, Settings]:
        """Return the optimizer by whose rule a variable with these settings is updated, and the settings there."""
        if settings.optimizer is None or settings.inner is None:
            return self, settings
        return self.others[settings.optimizer]._gx_follow(settings.inner)

    def _gx_family(self) -> list[Planning]:
        """Return this optimizer and those that rules name, at any depth: each once, after all that name it."""
        return list(self._gx_from_inside().values())[::-1]

    def _gx_from_inside(self) -> dict[int, Planning]:
        found: dict[int, Planning] = {}
        for other in reversed(self.others):
            found |= {key: one for key, one in other._gx_from_inside().items() if key not in found}
        return {**found, id(self): self}

    @door
    def explain(self, variables: Variables) -> Explanation:
        """Return what this optimizer does with each variable, as a table that can be printed.

        Args:
            variables: Variables, or a Module for all its weights, trainable or not.

        Raises:
            SelectorError: a rule selects nothing.
        """
        if isinstance(variables, Module):
            named = [(path, v) for path, v in variables.named_variables().items() if v.role == "weight"]
        else:
            named = [(v.path, v) for v in flat_variables(variables)]
        with seen_from(variables, "question"):
            self._gx_check_rules(flat_variables([variable for _, variable in named]))
            return explain(self, [(path, variable, *self._gx_moved_by(variable)) for path, variable in named])

    def _gx_moved_by(self, variable: Variable) -> tuple[Planning, Settings]:
        """Return the optimizer whose rule a variable is updated by, and what is set there; nothing of it is kept."""
        return self._gx_follow(self._gx_kept_settings(variable) or self._gx_find_settings(variable))

    # --- slots --------------------------------------------------------------------------------------------------------

    def _gx_declared_slots(self, variable: Variable) -> Mapping[str, Slot]:
        own = self._gx_settings(variable).optimizer is None
        slots = dict(self.create_slots(variable)) if own else {}
        if taken := [name for name in slots if name in OF_THE_BASE]:
            raise ArgumentError(
                f"{type(self).__name__}.create_slots declares {taken[0]!r}", "the base class has one", "another name"
            )
        if self._gx_accumulates:
            slots[ACCUMULATED] = Slot(dtype=compute_dtype(variable.dtype))
        if self.ema_momentum is not None:
            slots[averaging.SLOT] = averaging.slot_beside(self._gx_rule_of(variable), variable)
        return slots

    def _gx_make_slots(self, variable: Variable, only: str | None = None) -> None:
        super()._gx_make_slots(variable, only)
        place = self._gx_settings(variable).optimizer
        if only is None and place is not None:
            self.others[place]._gx_make_slots(variable)

    @door
    def slot(self, variable: Variable, name: str) -> Variable:
        """Return the slot of that name for a variable, also one that another optimizer keeps; made if it is missing.

        Raises:
            ArgumentError: there is no such slot.
        """
        rule = self if name in OF_THE_BASE else self._gx_rule_of(variable)
        return super().slot(variable, name) if rule is self else rule.slot(variable, name)

    @door
    def named_variables(self) -> dict[str, Variable]:
        """Return its own and those of optimizers in its rules; a slot is at ``slots/<path of variable>/<name>``."""
        found = super().named_variables()
        for place, other in enumerate(self.others):
            found |= {f"others/{place}/{path}": v for path, v in other.named_variables().items()}
        return found

    def build(self, variables: Variables) -> None:
        """Make the slots of those that are trainable, and check the rules, now rather than in the first `apply`."""
        self._gx_slots.note_model(variables)
        with seen_from(variables):
            self._gx_build(flat_variables(variables))

    def _gx_build(self, variables: list[Variable]) -> list[Variable]:
        """Make slots, check rules and dtypes; return the variables that are neither frozen nor resting."""
        self._gx_check_rules(variables)
        trainable = [v for v in variables if not self._gx_settings(v).frozen and v.trainable]
        require_floating(trainable)
        if self._gx_has_rules():
            self._gx_rules.unmoved.look(self, variables, lambda one: self._gx_follow(self._gx_settings(one))[1])
        keepers = self._gx_family()
        if left := list(dict.fromkeys(path for one in keepers for path in one._gx_slots.paths_left_behind(trainable))):
            warn_of_copy(self, left)
        for keeper in keepers:
            keeper._gx_slots.settle()
        for variable in trainable:
            self._gx_make_slots(variable)
        for other in keepers[1:]:
            _check_other(other)  # again, as these may have been set since
        for keeper in keepers:
            keeper._gx_leave_scopes()
            keeper._gx_check_together()
        return trainable

    # --- updates ------------------------------------------------------------------------------------------------------

    def _gx_plan(self, gradients: Any, variables: Variables) -> list[Update]:
        """Return an update for each variable that is to change, along its gradient in the dtype of the update.

        Those without a gradient are left out, with a warning; frozen ones, too, with one if there are no others.

        Raises:
            ArgumentError: the two structures differ.
            GradientError: all gradients are None.
            ShapeError: a gradient has another shape than its variable.
            DTypeError: a gradient is complex.
            ArgumentError: a rule is lazy, and there are no rows for it.
        """
        structure = structure_of(variables)
        trainable = set(self._gx_build(flat_variables(structure)))
        arrays = registry.current().arrays
        updates: list[Update] = []
        missing: list[Variable] = []
        # pairs are made here and not in a function of their own, so that a gradient takes the short way; the last one
        # is taken first, and each level put there in reverse: depth first, the order of `flat_variables`
        waiting = [(gradients, structure)]
        while waiting:
            given, wanted = waiting.pop()
            if not isinstance(wanted, Variable):
                # gradients may come from any iterable, such as a generator, and are taken from it once
                if not isinstance(given, Mapping | list | tuple) and isinstance(given, Iterable):
                    given = list(given)
                waiting += [(given[key], wanted[key]) for key in reversed(list(keys_of(given, wanted)))]
            elif wanted in trainable:
                if given is None:
                    missing.append(wanted)
                    continue
                update = self._gx_update_for(wanted)
                if isinstance(given, IndexedRows):
                    check_fits(given, wanted)
                    update.gradient, update.rows = self._gx_along_rows(update, given)
                else:
                    gradient = arrays.asarray(given.value if isinstance(given, VariableLike) else given)
                    check_fits(gradient, wanted)
                    update.gradient = gradient
                dtype = compute_dtype(wanted.dtype)
                if dtype_name(update.gradient.dtype) != dtype:
                    update.gradient = cast_to(update.gradient, dtype)
                updates.append(update)
        if missing:
            check_some(missing, all_of_them=not updates)
        elif not trainable:
            warn_of_frozen(flat_variables(structure))
        require_rows(updates)
        return updates

    def _gx_update_for(
        self,
        variable: Variable,
        gradient: object = None,
        rows: TouchedRows | None = None,
        settings: Settings | None = None,
    ) -> Update:
        """Return the update of a variable in the stages of this optimizer.

        Args:
            variable: The variable.
            gradient: Its gradient. Defaults to None, for one that comes later.
            rows: Which rows it touches. Defaults to None, all of them.
            settings: What holds here, where another optimizer leaves the update to this one. Defaults to None, what its
                rules say.
        """
        if settings is None:
            settings = self._gx_settings(variable)
        return Update(
            variable, gradient, self._gx_slots.state(variable).slots, settings, self._gx_follow(settings)[0], rows
        )

    def _gx_along_rows(self, update: Update, gradient: IndexedRows) -> tuple[Array, TouchedRows | None]:
        """Return the gradient of an update as an array: of its rows only, where the rule is lazy, and which these are.

        Raises:
            ArgumentError: the rule is lazy, and cannot be.
        """
        rule = cast(Planning, update.rule)
        if not rule.lazy:
            return gradient.dense(), None
        check_lazy(rule, update.variable, rule._gx_update_for(update.variable).rule_slots(), self._gx_accumulates)
        rows, sums = gradient.summed()
        return sums, rows

    def _gx_absent(self, updates: list[Update]) -> tuple[list[tuple[Update, list[Variable]]], list[Variable]]:
        """Return what has a sum of gradients and none in this batch: updates with all slots; the sums of frozen ones.

        Args:
            updates: Those of this batch.
        """
        present = {update.variable for update in updates}
        records = [record for keeper in self._gx_family() for record in keeper._gx_records()]
        absent, frozen = [], []
        for variable, state in self._gx_slots.items():
            if variable in present or ACCUMULATED not in state.slots:
                continue
            if variable.trainable and not self._gx_settings(variable).frozen:
                beside = [one.slot for one in records if one.variable is variable and one.name != ACCUMULATED]
                absent.append((self._gx_update_for(variable), beside))
            else:
                frozen.append(state.slots[ACCUMULATED])
        return absent, frozen


def _check_other(other: object) -> None:
    """Raise unless an optimizer may be named in the rules of another one."""
    if not isinstance(other, Planning):
        raise ArgumentTypeError(
            f"a rule names {other!r} as optimizer",
            "it moves variables with its `update`, and has to be an Optimizer",
            '("head/**", {"optimizer": graftax.optimizers.SGD(0.1)})',
        )
    if other._gx_accumulates or other.ema_momentum is not None or other.loss_scale is not None:
        raise ArgumentError(
            f"a rule names {other!r} as optimizer",
            "gradients are gathered, averages kept and losses scaled once, by the optimizer around it",
            "accumulation_steps=, ema_momentum= and loss_scale= for the one that has the rule",
        )
