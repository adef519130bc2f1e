"""Optimizer: the base of every rule. A rule says what it keeps and how variables move; the rest is here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, VariableLike
from graftax.core.wrapping import wraps
from graftax.optimizers.arguments import OPTIONS, Kinds
from graftax.optimizers.describe import call_of
from graftax.optimizers.engine import averaging
from graftax.optimizers.engine import gradients as grads
from graftax.optimizers.engine import learning_rate as rate
from graftax.optimizers.engine.accumulation import SLOT as ACCUMULATED
from graftax.optimizers.engine.accumulation import accumulate
from graftax.optimizers.engine.apply import Steps, apply
from graftax.optimizers.engine.averaging import Averaging
from graftax.optimizers.engine.clipping import Limits, clip
from graftax.optimizers.engine.explain import Explanation, explain
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.loss_scale import LossScaleLike, as_loss_scale
from graftax.optimizers.engine.pure_updates import PureUpdates
from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.rules import RuleLike, Rules
from graftax.optimizers.engine.slot import OF_THE_BASE, Row, Slot, compute_dtype
from graftax.optimizers.engine.sparse_rows import IndexedRows, Touched, check_lazy
from graftax.optimizers.minimizer import Variables, check_loss_fn, loss_of
from graftax.transforms.gradients.grad import value_and_grad
from graftax.variables.graph.module import Module
from graftax.variables.graph.reserved import OF_OPTIMIZERS, Own, Words
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class Optimizer(Rule, Averaging, PureUpdates):
    """The base of every optimizer: subclass it, say what to keep for a variable, and how to move it.

    An update clips the gradients by value, by norm, by global norm, and relative to the weights; then, for each
    variable, it takes ``value -= learning_rate * weight_decay * value``, the rule, and the variable's own constraint;
    at last ``iterations`` counts one more. Variables that are not trainable at that moment stay as they are, bit for
    bit. Variables of 16 bits are updated in float32 and rounded once at the end.

    Args:
        learning_rate: A number, kept in a Variable so that a change needs no new trace; a schedule, or any function of
            the number of updates so far, or of nothing; or a Variable. Any other number, here or in a rule, may be a
            Variable, too; a plain one that is changed later makes one new trace.
        weight_decay: Decoupled decay, per unit of the rate.
        l2: Coupled decay: ``l2 * value`` is added to the (clipped) gradient, as torch's SGD and Adam do.
        clipvalue: Limit on the magnitude of each element of a gradient.
        clipnorm: Limit on the norm of each variable's gradient.
        global_clipnorm: Limit on the norm of all gradients together.
        adaptive_clip: Limit on the norm of a unit's gradient, relative to the norm of its weights (Brock et al.,
            arXiv:2102.06171): 0.01, for example. A unit is an index of the last axis; a vector is one unit.
        accumulation_steps: How many calls of `apply` make one update, along the mean of their gradients.
        ema_momentum: How much the average of each variable keeps of itself at an update; see `averaged`.
        loss_scale: A number, ``"dynamic"`` or a `LossScale`: `apply` then expects gradients of ``scale_loss(loss)``
            and leaves out what is not finite. `minimize` and `fit` see to it by themselves.
        lazy: Whether `IndexedRows` move their rows only, and leave the others and their slots as they are; also with
            decay and momentum. Needs an elementwise rule, and no accumulation.
        rules: Pairs ``(selector, {"weight_decay": 0.0, "learning_rate_multiplier": 0.1, ...})`` for variables selected
            by path; ``"l2"``, ``"adaptive_clip"``, ``"frozen": True`` and ``"optimizer"``, another one that moves them,
            too. Later rules win, key by key. Each must select something. A variable is matched when it is first seen.
            A Variable in a rule belongs to whoever made it: it is not saved with the optimizer.
        slot_dtype: Dtype in which slots are stored that name none; see `Slot`.
        name: Its name.

    Raises:
        ArgumentError: a limit is not positive, or a rule cannot be read.

    Example:
        >>> import graftax as gx
        >>> class SignMomentum(gx.Optimizer):
        ...     elementwise = True
        ...
        ...     def __init__(self, learning_rate=1e-3, beta=0.9, **options):
        ...         super().__init__(learning_rate, **options)
        ...         self.beta = beta
        ...
        ...     def create_slots(self, variable):
        ...         return {"momentum": gx.Slot()}
        ...
        ...     def update(self, gradient, value, slots, step):
        ...         momentum = self.beta * slots.momentum + (1 - self.beta) * gradient
        ...         return value - step.learning_rate * gx.ops.sign(momentum), {"momentum": momentum}
        >>> w = gx.Variable([1.0, -2.0])
        >>> optimizer = SignMomentum(0.25)
        >>> loss = optimizer.minimize(lambda: gx.ops.sum(w * w), [w])
        >>> float(loss), w.numpy().tolist(), int(optimizer.iterations)
        (5.0, [0.75, -1.75], 1)
    """

    _gx_words: ClassVar[Words] = OF_OPTIMIZERS
    iterations: Variable
    gathered: Variable
    untracked: ClassVar[frozenset[str]] = Averaging.untracked | {"_gx_rules"}
    arguments: ClassVar[Kinds] = OPTIONS

    def __init__(
        self,
        learning_rate: LearningRate,
        *,
        weight_decay: float = 0.0,
        l2: float = 0.0,
        clipvalue: float | None = None,
        clipnorm: float | None = None,
        global_clipnorm: float | None = None,
        adaptive_clip: float | None = None,
        accumulation_steps: int = 1,
        ema_momentum: float | None = None,
        loss_scale: LossScaleLike = None,
        lazy: bool = False,
        rules: Sequence[RuleLike] = (),
        slot_dtype: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(slot_dtype, name)
        self.iterations = cast(Any, Own(rate.scalar(self, "iterations", "counter", "int32", 0)))
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.l2 = l2
        self.clipvalue = clipvalue
        self.clipnorm = clipnorm
        self.global_clipnorm = global_clipnorm
        self.adaptive_clip = adaptive_clip
        self.accumulation_steps = accumulation_steps
        self.ema_momentum = ema_momentum
        self.loss_scale: Any = loss_scale
        self.lazy = lazy
        self._gx_rules = Rules(rules)
        self.others = cast(Any, Own(self._gx_rules.optimizers))
        for other in self.others:
            _check_other(other)

    # --- the learning rate --------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The rate now: its Variable, or the number that the schedule gives. Assigning a number sets the Variable."""
        kept = self.__dict__["learning_rate"]
        return kept if isinstance(kept, VariableLike) else rate.current(kept, self.iterations.value)

    @learning_rate.setter
    def learning_rate(self, kept: LearningRate) -> None:
        self.__dict__["learning_rate"] = kept

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "learning_rate":
            value = rate.keep(self, self.__dict__.get(name), value)
        elif name == "loss_scale":
            value = as_loss_scale(value)
        super().__setattr__(name, value)
        if name == "ema_momentum" and value is not None and "averaged_updates" not in self.__dict__:
            self.averaged_updates = cast(Any, Own(rate.scalar(self, "averaged_updates", "counter", "int32", 0)))
        elif name == "accumulation_steps" and cast(int, value) > 1 and "gathered" not in self.__dict__:
            self.gathered = cast(Any, Own(rate.scalar(self, "gathered", "counter", "int32", 0)))

    # --- applying -----------------------------------------------------------------------------------------------------

    @door
    def apply(self, gradients: Any, variables: Variables) -> None:
        """Move each variable along its gradient; slots that are missing are made.

        Inside of a gradient around it, the step is differentiated like everything else (meta-gradients).

        Args:
            gradients: In the structure and order of the variables; None for a variable that has none in this step.
            variables: Variables in any nested structure, or a Module for its trainable ones by path.

        Raises:
            ArgumentError: the structures differ, a variable comes twice, or there is none.
            GradientError: every gradient is None.
            ShapeError: a gradient has another shape than its variable.
            DTypeError: a variable is not floating.
            SelectorError: a rule selects nothing.
        """
        storage.touch(self)
        self._gx_refuse_swapped()
        pairs = grads.pair_up(gradients, variables)
        rows = {id(variable): row for variable, row in self._gx_moving([variable for variable, _ in pairs])}
        touched: dict[int, Touched] = {}

        def sparse(variable: Variable, given: IndexedRows) -> Array:
            mover, row = self._gx_mover(variable)
            if not mover.lazy:
                return given.dense()
            check_lazy(mover, variable, row, "gathered" in self.__dict__)
            touched[id(variable)], sums = given.summed()
            return sums

        ready = grads.prepare([pair for pair in pairs if id(pair[0]) in rows], sparse)

        def collect(pairs: list[grads.Pair]) -> None:
            if "gathered" not in self.__dict__:
                self._gx_move(pairs, rows, touched)
            else:
                here = {id(variable) for variable, _ in pairs}
                known = {v: r for v, r in self._gx_slots.items() if ACCUMULATED in r.slots and id(v) not in here}
                absent = {
                    v: self._gx_parts_beside(v) for v, r in known.items() if v.trainable and not r.settings.frozen
                }
                still = [row.slots[ACCUMULATED] for v, row in known.items() if v not in absent]
                all_rows = {**rows, **{id(v): known[v] for v in absent}}
                move = lambda mean: self._gx_move(mean, all_rows, {})  # noqa: E731
                accumulate(pairs, all_rows, still, absent, self.gathered, self.accumulation_steps, move)

        if self.loss_scale is None:
            collect(ready)
        else:
            self.loss_scale.guarded(ready, collect)

    def _gx_move(self, pairs: list[grads.Pair], rows: Mapping[int, Row], touched: Mapping[int, Touched]) -> None:
        """One update."""
        storage.touch(self)
        pairs = clip(pairs, self._gx_limits(rows))
        iterations = self.iterations.value
        steps = Steps(self.__dict__["learning_rate"], iterations)
        work = [(pair, rows[id(pair[0])]) for pair in pairs]
        apply(self, steps, [one for one in work if one[1].settings.optimizer is None], touched)
        for place, other in enumerate(self.others):
            theirs = [pair for pair, row in work if row.settings.optimizer == place]
            other._gx_move(theirs, {id(v): other._gx_slots.row(v) for v, _ in theirs}, touched)
        if self.ema_momentum is not None:
            self._gx_follow([variable for variable, _ in pairs], rows)
        self.iterations.assign_add(1)

    def _gx_parts_beside(self, variable: Variable) -> list[Variable]:
        """All slots of a variable, except the sum of its gradients."""
        records = [record for keeper in (self, *self.others) for record in keeper._gx_records()]
        return [one.slot for one in records if one.variable is variable and one.name != ACCUMULATED]

    def _gx_limits(self, rows: Mapping[int, Row]) -> Limits:
        adaptive = None
        if self.adaptive_clip is not None or any(row.settings.adaptive_clip is not None for row in rows.values()):
            adaptive = lambda variable: rows[id(variable)].settings.limit(self.adaptive_clip)  # noqa: E731
        return Limits(self.clipvalue, self.clipnorm, self.global_clipnorm, adaptive)

    def _gx_mover(self, variable: Variable) -> tuple[Optimizer, Row]:
        """The optimizer whose rule moves a variable, and its row there."""
        row = self._gx_slots.row(variable)
        if row.fresh:
            self._gx_settle(variable, row)
        return (
            (self, row) if row.settings.optimizer is None else self.others[row.settings.optimizer]._gx_mover(variable)
        )

    @door
    def apply_gradients(self, pairs: Iterable[tuple[Any, Variable]]) -> None:
        """`apply` for pairs of a gradient and its variable."""
        found = list(pairs)
        if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in found):
            raise ArgumentTypeError(
                f"apply_gradients got {', '.join(type(pair).__name__ for pair in found):.100}",
                "it takes pairs of a gradient and its variable",
                "optimizer.apply_gradients(zip(gradients, variables)), or optimizer.apply(gradients, variables)",
            )
        self.apply([gradient for gradient, _ in found], [variable for _, variable in found])

    @door
    def minimize(self, loss_fn: Callable[[], Any], variables: Variables, has_aux: bool = False) -> Any:
        """One step down the gradient of ``loss_fn()``, for the trainable ones of the variables; see `Minimizer`."""
        check_loss_fn(loss_fn)
        moving = [variable for variable in grads.flat_variables(variables) if variable.trainable]
        (_, found), gradients = self.value_and_scaled_grad(loss_fn, moving, has_aux)
        self.apply(gradients, moving)
        return found

    def value_and_scaled_grad(self, loss_fn: Callable[[], Any], wrt: list[Variable], has_aux: bool) -> Any:
        """``((scaled loss, what loss_fn returned), the gradients that apply expects)``."""

        @wraps(loss_fn)  # whose name errors give
        def both() -> tuple[Array, Any]:
            found = loss_fn()
            return self.scale_loss(loss_of(found, has_aux)), found

        return value_and_grad(both, wrt=wrt, has_aux=True)()

    def scale_loss(self, loss: Any) -> Array:
        """The loss whose gradients `apply` expects: the loss itself, unless there is a ``loss_scale``."""
        return cast(Array, loss if self.loss_scale is None else self.loss_scale.scaled(loss))

    # --- slots and settings -------------------------------------------------------------------------------------------

    def _gx_all_slots(self, variable: Variable) -> Mapping[str, Slot]:
        row = self._gx_slots.row(variable)
        if row.fresh:
            self._gx_settle(variable, row)
        slots = dict(self.create_slots(variable)) if row.settings.optimizer is None else {}
        if taken := [name for name in slots if name in OF_THE_BASE]:
            raise ArgumentError(
                f"{type(self).__name__}.create_slots declares {taken[0]!r}", "the base class has one", "another name"
            )
        if "gathered" in self.__dict__:
            slots[ACCUMULATED] = Slot(dtype=compute_dtype(variable.dtype))
        if self.ema_momentum is not None:
            slots[averaging.SLOT] = averaging.slot_beside(self._gx_mover(variable)[0], variable)
        return slots

    def _gx_make_slots(self, variable: Variable, row: Row, only: str | None = None) -> None:
        super()._gx_make_slots(variable, row, only)
        if only is None and row.settings.optimizer is not None:
            other = self.others[row.settings.optimizer]
            other._gx_make_slots(variable, other._gx_slots.row(variable))

    def slot(self, variable: Variable, name: str) -> Variable:
        """The slot of that name for a variable, also one that another optimizer keeps; made if it is missing.

        Raises:
            ArgumentError: there is no such slot.
        """
        mover = self if name in OF_THE_BASE else self._gx_mover(variable)[0]
        return super().slot(variable, name) if mover is self else mover.slot(variable, name)

    def named_variables(self) -> dict[str, Variable]:
        """Its own and those of optimizers in its rules; a slot is at ``slots/<path of its variable>/<its name>``."""
        found = super().named_variables()
        for place, other in enumerate(self.others):
            found |= {f"others/{place}/{path}": v for path, v in other.named_variables().items()}
        return found

    def build(self, variables: Variables) -> None:
        """Make the slots of those that are trainable, and check the rules, now rather than in the first `apply`."""
        self._gx_moving(grads.flat_variables(variables))

    def _gx_moving(self, variables: list[Variable]) -> list[tuple[Variable, Row]]:
        """The variables that are to move, with their rows; slots are made, rules and dtypes checked."""
        rows = self._gx_settled(variables)
        moving = [(v, row) for v, row in rows if v.trainable and not row.settings.frozen]
        grads.require_floating(variable for variable, _ in moving)
        for variable, row in moving:
            self._gx_make_slots(variable, row)
        for keeper in (self, *self.others):
            keeper._gx_leave_scopes()
        return moving

    def _gx_settled(self, variables: list[Variable]) -> list[tuple[Variable, Row]]:
        """The variables with their rows, in which the settings are."""
        self._gx_rules.check(variables)
        for other in self.others:
            other._gx_rules.check(variables)
        rows = [(variable, self._gx_slots.row(variable)) for variable in variables]
        for variable, row in rows:
            if row.fresh:
                self._gx_settle(variable, row)
        return rows

    def _gx_settle(self, variable: Variable, row: Row) -> None:
        """Find the settings of a variable, in the optimizer that a rule names, too."""
        settings = self._gx_rules.settings(variable)
        if settings.optimizer is not None:
            ((_, theirs),) = self.others[settings.optimizer]._gx_settled([variable])
            theirs.settings = settings.over(theirs.settings)
            settings = replace(settings, frozen=theirs.settings.frozen)
        row.settings, row.fresh = settings, False

    def explain(self, variables: Variables) -> Explanation:
        """What this optimizer does with each variable, as a table that can be printed.

        Args:
            variables: Variables, or a Module for all its weights, trainable or not.

        Raises:
            SelectorError: a rule selects nothing.
        """
        if isinstance(variables, Module):
            variables = [v for v in variables.variables if v.role == "weight"]
        rows = self._gx_settled(grads.flat_variables(variables))
        return explain(self, [(variable, *self._gx_mover(variable)) for variable, _ in rows])

    def __repr__(self) -> str:
        kept = self.__dict__["learning_rate"]
        if isinstance(kept, VariableLike) and (arrays := registry.current().arrays).is_concrete(kept.value):
            kept = float(str(arrays.to_numpy(kept.value)))  # 0.1 as written, not its float32
        return call_of(self, learning_rate=kept)

    @property
    def rules(self) -> tuple[RuleLike, ...]:
        """The rules as they were given."""
        return self._gx_rules.given


def _check_other(other: Any) -> None:
    """Raise unless an optimizer may be named in the rules of another one."""
    if not isinstance(other, Optimizer):
        raise ArgumentTypeError(
            f"a rule names {other!r} as optimizer",
            "it moves variables with its `update`, and has to be an Optimizer",
            '("head/**", {"optimizer": graftax.optimizers.SGD(0.1)})',
        )
    if "gathered" in other.__dict__ or other.ema_momentum is not None or other.loss_scale is not None:
        raise ArgumentError(
            f"a rule names {other!r} as optimizer",
            "gradients are gathered, averages kept and losses scaled once, by the optimizer around it",
            "accumulation_steps=, ema_momentum= and loss_scale= for the one that has the rule",
        )
