"""Optimizer: the base of every rule. A rule says what it keeps and how variables move; the rest is here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, cast

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.promises import replaces, withdraw
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, VariableLike
from graftax.core.wrapping import wraps
from graftax.optimizers.arguments.describe import call_of
from graftax.optimizers.arguments.functions_of_the_step import refuse_function
from graftax.optimizers.arguments.kinds import OPTIONS, Kinds, kinds_of
from graftax.optimizers.engine import learning_rate as rate
from graftax.optimizers.engine.accumulation import accumulate
from graftax.optimizers.engine.apply_rule import apply_rule
from graftax.optimizers.engine.clipping import clip, has_limits
from graftax.optimizers.engine.gradients import Variables, require_trainable
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.loss_scale import LossScaleLike, as_loss_scale, scaled_twice, scaling
from graftax.optimizers.engine.planning import Planning
from graftax.optimizers.engine.pure_updates import PureUpdates
from graftax.optimizers.engine.reached import differentiate_reached
from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.settings import RuleLike
from graftax.optimizers.engine.step import steps_from
from graftax.optimizers.engine.update import Update
from graftax.optimizers.minimizer import check_loss_fn, loss_of, watch_loss_fn
from graftax.variables.graph.reserved import OF_OPTIMIZERS, Own, Words
from graftax.variables.graph.trained_model import seen_from
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class Optimizer(Planning, PureUpdates):
    """The base of every optimizer: subclass it, say what to keep for a variable, and how to move it.

    An update clips the gradients by value, by norm, by global norm, and relative to the weights; then, for each
    variable, it takes ``value -= learning_rate * weight_decay * value``, the rule, and the variable's own constraint;
    at last ``iterations`` counts one more. Variables that are not trainable at that moment stay as they are, bit for
    bit. Variables of 16 bits are updated in float32 and rounded once at the end.

    Args:
        learning_rate: A number, kept in a Variable so that a change needs no new trace; a schedule, or any function of
            the number of updates so far, or of nothing; or a Variable. Any other number, here or in a rule, may be a
            Variable, too; a plain one that is changed later makes one new trace.
        weight_decay: Decoupled decay, per unit of the rate. Defaults to 0.0.
        l2: Coupled decay: ``l2 * value`` is added to the (clipped) gradient, as torch's SGD and Adam do. Defaults to
            0.0.
        clipvalue: Limit on the magnitude of each element of a gradient. Defaults to None, no limit.
        clipnorm: Limit on the norm of each variable's gradient. Defaults to None, no limit.
        global_clipnorm: Limit on the norm of all gradients together. Defaults to None, no limit.
        adaptive_clip: Limit on the norm of a unit's gradient, relative to the norm of its weights (Brock et al.,
            arXiv:2102.06171): 0.01, for example. A unit is an index of the last axis; a vector is one unit. Defaults to
            None, no limit.
        accumulation_steps: How many calls of `apply` make one update, along the mean of their gradients; those that
            ``loss_scale`` leaves out do not count. Defaults to 1.
        ema_momentum: How much the average of each variable keeps of itself at an update, also at one that leaves the
            variable alone; see `averaged`. Defaults to None, no averages.
        loss_scale: A number, ``"dynamic"`` or a `LossScale`: `apply` then expects gradients of ``scale_loss(loss)`` and
            leaves out what is not finite. `minimize` and `fit` see to it by themselves. Defaults to None, no scaling.
        lazy: Whether `IndexedRows` move their rows only, and leave the others and their slots as they are; also with
            decay, momentum and constraints. Needs an elementwise rule, no accumulation, and `IndexedRows`: the whole
            gradients of `minimize` and ``fit`` alone are refused. Defaults to False.
        rules: Pairs ``(selector, {"weight_decay": 0.0, "learning_rate_multiplier": 0.1, ...})`` for variables selected
            by path; ``"l2"``, ``"adaptive_clip"``, ``"frozen": True`` and ``"optimizer"``, another one that moves them,
            too. Later rules win, key by key. Paths begin at the model that is trained, and each rule must select
            something there; in a list of variables, they are ``v.path``, unless a model was trained or built before.
            A variable is matched when it is first seen. A Variable in a rule belongs to whoever made it: it is not
            saved with the optimizer. Defaults to none.
        slot_dtype: Dtype in which slots are stored that name none; see `Slot`. Defaults to None, that of the variable.
        name: Its name. Defaults to None, the class name in snake case.

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
    arguments: ClassVar[Kinds] = OPTIONS

    iterations: Variable
    gathered: Variable
    others: tuple[Optimizer, ...]  # pyright: ignore[reportIncompatibleVariableOverride]  # nobody assigns it

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
        self.loss_scale = as_loss_scale(loss_scale)
        self.lazy = lazy
        self._gx_keep_rules(rules)

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        withdraw(cls, Rule, "elementwise", "update")
        cls._gx_decay_in_doubt = cls.decays_inside and replaces(cls, Rule, "decays_inside", "update", "update_all")

    # --- the learning rate --------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """Return the rate now: its Variable, or what the schedule gives; a number assigned sets the Variable."""
        kept = self.__dict__["learning_rate"]
        return kept if isinstance(kept, VariableLike) else rate.current(kept, self.iterations.value)

    @learning_rate.setter
    def learning_rate(self, rate: LearningRate) -> None:
        self.__dict__["learning_rate"] = rate

    def _gx_given(self, name: str, value: Any) -> Any:
        if name == "learning_rate":
            value = rate.keep(self, self.__dict__.get(name), value)
        elif name == "loss_scale":
            value = as_loss_scale(value)
        kind = kinds_of(type(self)).get(name)
        if kind is not None and kind.number and not kind.whole:
            refuse_function(type(self).__name__, name, value, kind.words)
        value = super()._gx_given(name, value)
        if name == "ema_momentum" and value is not None:
            self._gx_count("averaged_updates")
        elif name == "accumulation_steps" and cast(int, value) > 1:
            self._gx_count("gathered")
        return value

    def _gx_count(self, name: str) -> None:
        """Make the counter of that name, unless it is there."""
        if name not in self.__dict__:
            setattr(self, name, Own(rate.scalar(self, name, "counter", "int32", 0)))

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
        with seen_from(variables):
            updates = self._gx_plan(gradients, variables)  # pairs checked, settings found, slots made
            then = self._gx_accumulate if self._gx_accumulates else self._gx_update  # either may run in a branch
            if self.loss_scale is None:
                then(updates)
            else:
                self.loss_scale.unscale(updates, then)

    def _gx_accumulate(self, updates: list[Update]) -> None:
        """Keep the sum of the gradients; make an update along the mean once enough batches are there."""
        absent, frozen = self._gx_absent(updates)
        accumulate(updates, absent, frozen, self.gathered, self.accumulation_steps, then=self._gx_update)

    def _gx_update(self, updates: list[Update], left: dict[int, list[Update]] | None = None) -> None:
        """Make one update: the stages that follow once the gradients of a whole batch are there, in their order.

        Args:
            updates: What is to be updated.
            left: What rules leave to others, by the id of the optimizer that takes it over. Whoever began hands it on:
                each optimizer makes one update, whoever names it, after all that do. Defaults to None: this one begins.
        """
        storage.touch(self)
        limits = self.clipvalue, self.clipnorm, self.global_clipnorm, self.adaptive_clip
        if has_limits(updates, *limits):
            updates = clip(updates, *limits)
        step_for = steps_from(self.__dict__["learning_rate"], self.iterations.value)
        apply_rule(self, [update for update in updates if update.rule is self], step_for)  # decays, constraints, too
        if self.others:
            begins, left = left is None, {} if left is None else left
            self._gx_leave(updates, left)
            for other in cast("list[Optimizer]", self._gx_family())[1:] if begins else ():
                other._gx_update(left.get(id(other), []), left)
        if self.ema_momentum is not None:
            self._gx_average()
        self.iterations.assign_add(1)

    def _gx_leave(self, updates: list[Update], left: dict[int, list[Update]]) -> None:
        """Add what its rules leave to other optimizers, as these see it."""
        for update in updates:
            settings = update.settings
            if settings.optimizer is not None:
                other = self.others[settings.optimizer]
                theirs = other._gx_update_for(update.variable, update.gradient, update.rows, settings.inner)
                left.setdefault(id(other), []).append(theirs)

    @door
    def apply_gradients(self, pairs: Iterable[tuple[Any, Variable]]) -> None:
        """Apply gradients that come in pairs with their variables; see `apply`."""
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
        """Do one step down the gradient of ``loss_fn()``, for the trainable ones of the variables; see `Minimizer`.

        Raises:
            ArgumentError: a rule names an optimizer with a ``minimize`` of its own, such as `Sophia`.
            GradientError: the loss depends on none of the variables; if on some of them, it warns of the others.
        """
        check_loss_fn(loss_fn)
        for other in cast("list[Optimizer]", self._gx_family())[1:]:
            if type(other).minimize is not Optimizer.minimize:
                raise _needs_the_loss(self, other)
        trainable, loss_fn = require_trainable(variables), watch_loss_fn(loss_fn, variables)
        (_, found), gradients = self.value_and_scaled_grad(loss_fn, trainable, has_aux)
        with seen_from(variables):
            self.apply(gradients, trainable)
        return found

    @door
    def value_and_scaled_grad(self, loss_fn: Callable[[], Any], wrt: list[Variable], has_aux: bool) -> Any:
        """Return ``((scaled loss, what loss_fn returned), the gradients that apply expects)``.

        Raises:
            GradientError: when it is clear that the loss depends on none of the variables.
        """

        @wraps(loss_fn)  # whose name errors give
        def scaled_loss_and_output() -> tuple[Array, Any]:
            with scaling.entered(self):
                found = loss_fn()
            return self.scale_loss(loss_of(found, has_aux)), found

        differentiate = differentiate_reached(scaled_loss_and_output, wrt, self._gx_slots)
        return differentiate() if self.loss_scale is None else self.loss_scale.differentiate_scaled(differentiate)

    @door
    def scale_loss(self, loss: object) -> Array:
        """Return the loss whose gradients `apply` expects: the loss itself, unless there is a ``loss_scale``.

        Raises:
            StateError: it is called in the function that `minimize` differentiates, which scales what it returns.
        """
        if self.loss_scale is None:
            return cast(Array, loss)
        if scaling.top is self:
            raise scaled_twice(self)
        return self.loss_scale.scale_loss(loss)

    def __repr__(self) -> str:
        kept = self.__dict__["learning_rate"]
        if isinstance(kept, VariableLike) and (arrays := registry.current().arrays).is_concrete(kept.value):
            kept = float(str(arrays.to_numpy(kept.value)))  # 0.1 as written, not its float32
        return call_of(self, learning_rate=kept)


def _needs_the_loss(outer: Optimizer, inner: Optimizer) -> ArgumentError:
    one, other = type(outer).__name__, type(inner).__name__
    return ArgumentError(
        f"minimize of {one}, whose rules name {other}",
        f"{other} looks at the loss by itself, in its own minimize, and {one} would give it gradients alone",
        f'{other}(rules=[("**/bias", {{"optimizer": {one}(...)}})]), with {other} around the others',
    )
