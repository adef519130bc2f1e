"""L-BFGS: Newton's steps with a Hessian learnt from the last few steps, each as long as a line search says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.core.wrapping import wraps
from graftax.optimizers.arguments.describe import call_of
from graftax.optimizers.arguments.kinds import COUNT, INSIDE, NOT_NEGATIVE, Kinds
from graftax.optimizers.engine import gradients as grads
from graftax.optimizers.engine import learning_rate as rate
from graftax.optimizers.engine.gradients import Variables
from graftax.optimizers.engine.keeper import SlotKeeper
from graftax.optimizers.engine.numbers import cast_to, is_plain
from graftax.optimizers.engine.reached import differentiate_reached
from graftax.optimizers.engine.slot import Slot
from graftax.optimizers.lbfgs.line_search import Point, strong_wolfe
from graftax.optimizers.lbfgs.quasi_newton import History
from graftax.optimizers.minimizer import check_loss_fn, loss_of, watch_loss_fn
from graftax.transforms.flow.while_loop import while_loop
from graftax.transforms.gradients.grad import value_and_grad
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class LBFGS(SlotKeeper):
    """Steps along ``-H g``, where ``H`` is the inverse Hessian as the last ``history_size`` steps show it.

    `minimize` is given the loss as a function, since the line search looks at several points: it has to give the same
    at the same weights, so all data or one large batch, and no dropout. It makes up to ``max_iterations`` steps, each
    with ``loss(w + a * d) <= loss(w) + c1 * a * g.d`` and ``|slope there| <= c2 * |g.d|`` (strong Wolfe conditions).
    The first is tried as long as ``min(1, 1 / sum|g|)``, later ones at their full length. A pair of a step and the
    change of the gradient over it is kept if it shows positive curvature. Where a search does not find its step, the
    best point that it saw is taken, and the history dropped; a loss that is not finite is a point not to go to. So the
    loss never rises: weights that nothing improves stay as they are, also where the loss is nan from the start.

    The history lies in slots, ``(history_size, *shape)`` each, for the next call and for checkpoints. A variable that
    is frozen, or not passed, stays, and what the others do meanwhile is remembered without it. Eagerly all of it is
    plain Python with concrete values; compiled it is one program, loops included. Numbers here are plain: a change
    makes a compiled step anew. In `fit` each batch gets one call: make it all the data.

    Args:
        history_size: How many pairs are kept. Defaults to 10.
        max_iterations: Steps in one call, unless it ends before; 1 to look at each. Defaults to 20.
        max_evaluations: Points that one line search looks at; torch counts those of a call. Defaults to 25.
        tolerance_gradient: It ends where no element of the gradient is larger. Defaults to 1e-7.
        tolerance_change: It ends after a step in which no weight changes by more, or the loss by no larger part of
            itself; torch takes the difference of the loss. Defaults to 1e-9.
        c1: What part of the fall that the slope promises a step has to bring. Defaults to 1e-4.
        c2: How flat it has to be there, compared with the start, in (c1, 1). Defaults to 0.9.
        name: Its name. Defaults to None.

    Raises:
        ArgumentError: a number is out of range.

    Example:
        >>> import graftax as gx
        >>> w, scale = gx.Variable([1.0, 1.0]), gx.ops.asarray([1.0, 100.0])
        >>> lbfgs = LBFGS()
        >>> loss = lbfgs.minimize(lambda: gx.ops.sum(scale * (w - 3.0) ** 2), [w])
        >>> w.numpy().round(3).tolist()
        [3.0, 3.0]

    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 7.4 and 7.5.
    """

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"history_size"})

    arguments: ClassVar[Kinds] = {
        "history_size": COUNT,
        "max_iterations": COUNT,
        "max_evaluations": COUNT,
        "tolerance_gradient": NOT_NEGATIVE,
        "tolerance_change": NOT_NEGATIVE,
        "c1": INSIDE,
        "c2": INSIDE,
    }

    def __init__(
        self,
        history_size: int = 10,
        max_iterations: int = 20,
        max_evaluations: int = 25,
        tolerance_gradient: float = 1e-7,
        tolerance_change: float = 1e-9,
        c1: float = 1e-4,
        c2: float = 0.9,
        name: str | None = None,
    ) -> None:
        super().__init__(None, name)
        self.history_size = history_size
        self.max_iterations = max_iterations
        self.max_evaluations = max_evaluations
        self.tolerance_gradient = tolerance_gradient
        self.tolerance_change = tolerance_change
        self.c1 = c1
        self.c2 = c2
        self._gx_check_together()
        self.iterations = rate.scalar(self, "iterations", "counter", "int32", 0)
        self.evaluations = rate.scalar(self, "evaluations", "counter", "int32", 0)
        self.pairs = rate.scalar(self, "pairs", "counter", "int32", 0)

    def _gx_check_together(self) -> None:
        """Raise unless ``c1 < c2``."""
        if is_plain(self.c1, self.c2) and not self.c1 < self.c2:
            raise ArgumentError(
                f"c1={self.c1!r}, c2={self.c2!r}", "a step for both exists if 0 < c1 < c2 < 1", "c1=1e-4, c2=0.9"
            )

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the last steps, and the changes of the gradient over them: a ring, whose oldest is overwritten."""
        shape = (self.history_size, *variable.shape)
        return {"steps": Slot(shape), "changes": Slot(shape)}

    @door
    def minimize(self, loss_fn: Callable[[], Any], variables: Variables, has_aux: bool = False) -> Any:
        """Take up to ``max_iterations`` steps with the trainable ones; return the loss where they are then.

        Args:
            loss_fn: Computes the loss; called once at the start and at each point that a line search looks at.
            variables: Variables in any nested structure, or a Module for its trainable ones.
            has_aux: Whether ``loss_fn`` returns something besides the loss; what it did at the start is returned, too.
                Defaults to False.

        Raises:
            ArgumentError: a variable comes twice, there is none, or one has a constraint.
            DTypeError: a variable is not floating.
            GradientError: none of them is trainable, or the loss depends on none.
        """
        storage.touch(self)
        self._gx_check_together()
        check_loss_fn(loss_fn)
        moving = [v for v in grads.require_trainable(variables) if v.size]
        grads.require_floating(moving)
        _require_unconstrained(moving)
        for variable in moving:
            self._gx_make_slots(variable)
        self._gx_leave_scopes()
        before = [variable._gx_stored for variable in moving]
        try:
            return _Descent(self, watch_loss_fn(loss_fn, variables), moving, has_aux).run()
        except BaseException:
            for variable, value in zip(moving, before, strict=True):
                variable.assign(value)
            raise

    def __repr__(self) -> str:
        return call_of(self)


def _require_unconstrained(variables: Sequence[Variable]) -> None:
    """Raise for a variable with a constraint: a projected step is none of those that the line search looked at."""
    for variable in variables:
        if variable.constraint is not None:
            raise ArgumentError(
                f"LBFGS got the variable {variable.path!r} with {variable.constraint!r}",
                "its line search promises a fall along a straight line, which a constraint would leave",
                "a loss of graftax.ops.softplus(variable) or the like, which any value may have, or graftax.optimizers."
                "Adam, which keeps constraints",
            )


class _State(NamedTuple):
    """Between two steps; ``more`` while it makes sense to go on."""

    loss: Array
    gradient: Array
    history: History
    more: Array
    iterations: Array
    evaluations: Array


class _Descent:
    """One call of `LBFGS.minimize`; all variables are one vector in it."""

    def __init__(
        self, settings: LBFGS, loss_fn: Callable[[], Any], moving: list[Variable], has_aux: bool = False
    ) -> None:
        @wraps(loss_fn)  # whose name errors give
        def loss_and_aux() -> tuple[Array, Any]:
            found = loss_fn()
            return loss_of(found, has_aux), found[1] if has_aux else None

        self.settings = settings
        self.moving = moving
        self.dtype = "float64" if any(v.dtype == "float64" for v in moving) else "float32"
        self.has_aux = has_aux
        self.loss_and_aux = loss_and_aux
        self.differentiated = value_and_grad(loss_and_aux, wrt=moving, has_aux=True)

    def run(self) -> Any:
        settings = self.settings
        loss, gradient, aux = self.evaluate(self.look_what_is_reached)
        history = History(
            self.rows("steps"),
            self.rows("changes"),
            settings.pairs.value,
            ops.zeros((settings.history_size,), "bool"),
        )
        more = ops.logical_and(ops.isfinite(loss), self.has_gradient(gradient))
        start = _State(loss, gradient, history, more, ops.zeros((), "int32"), ops.ones((), "int32"))
        end: _State = while_loop(self.is_unfinished, self.step, start)
        self.keep(end.history)
        settings.iterations.assign_add(end.iterations)
        settings.evaluations.assign_add(end.evaluations)
        return (end.loss, aux) if self.has_aux else end.loss

    def is_unfinished(self, state: _State) -> Array:
        """Tell whether another step is due."""
        return ops.logical_and(state.more, state.iterations < self.settings.max_iterations)

    def step(self, state: _State) -> _State:
        """Take one step: find the direction, search along it, and learn from what was found."""
        settings, origin, gradient = self.settings, self.join([v._gx_stored for v in self.moving]), state.gradient
        direction = state.history.direction(gradient)
        slope = ops.sum(direction * gradient)
        usable = ops.logical_and(state.history.pairs > 0, ops.logical_and(ops.isfinite(slope), slope < 0))
        direction = ops.where(usable, direction, -gradient)
        start = Point(ops.zeros((), self.dtype), state.loss, ops.sum(direction * gradient))

        def look(step: Array) -> tuple[Point, Array]:
            self.place(origin, direction, step)
            loss, found, _ = self.evaluate()
            return Point(step, loss, ops.sum(found * direction)), found

        search = strong_wolfe(
            look,
            start,
            gradient,
            ops.where(usable, 1.0, ops.minimum(1 / ops.sum(ops.abs(gradient)), 1.0)),
            settings.c1,
            settings.c2,
            settings.max_evaluations,
            settings.tolerance_change / ops.max(ops.abs(direction)),
        )
        self.place(origin, direction, search.low.step)
        moved = self.join([v._gx_stored for v in self.moving]) - origin  # as it was rounded
        changed = ops.logical_and(
            ops.max(ops.abs(moved)) > settings.tolerance_change,
            state.loss - search.low.value > settings.tolerance_change * ops.abs(state.loss),
        )
        lost = ops.logical_and(usable, ~search.found)  # then the gradient itself is still worth a try
        return _State(
            search.low.value,
            search.gradient,
            state.history.add_pair(moved, search.gradient - gradient, search.found),
            ops.logical_and(self.has_gradient(search.gradient), ops.logical_or(changed, lost)),
            state.iterations + 1,
            state.evaluations + search.evaluations,
        )

    def look_what_is_reached(self) -> tuple[Any, list[Array]]:
        """Return loss and gradients at the start; warn of variables that the loss does not reach: these stay."""
        found, gradients = differentiate_reached(self.loss_and_aux, self.moving, self.settings._gx_slots)()
        if missing := [v for v, gradient in zip(self.moving, gradients, strict=True) if gradient is None]:
            grads.check_some(missing, all_of_them=False)
        pairs = zip(self.moving, gradients, strict=True)
        return found, [ops.zeros(v.shape, v.dtype) if gradient is None else gradient for v, gradient in pairs]

    def evaluate(self, differentiate: Callable[[], tuple[Any, list[Array]]] | None = None) -> tuple[Array, Array, Any]:
        """Return the loss where the variables are, its gradient, and what the loss function returned besides."""
        (loss, aux), gradients = (differentiate or self.differentiated)()
        return cast_to(loss, self.dtype), self.join(gradients), aux

    def has_gradient(self, gradient: Array) -> Array:
        """Tell whether the gradient says that there is something to gain."""
        largest = ops.max(ops.abs(gradient))
        return ops.logical_and(ops.isfinite(largest), largest > self.settings.tolerance_gradient)

    def place(self, origin: Array, direction: Array, step: Array) -> None:
        """Put the variables there."""
        there = ops.where(step > 0, origin + step * direction, origin)
        for variable, value in zip(self.moving, self.split(there, ()), strict=True):
            variable.assign(cast_to(value, variable.dtype))

    def join(self, values: Sequence[Array]) -> Array:
        """Join all values in one vector."""
        return ops.concatenate([cast_to(ops.ravel(value), self.dtype) for value in values])

    def split(self, vector: Array, before: tuple[int, ...]) -> list[Array]:
        """Return what belongs to each variable; ``before`` are axes that come before those of the variable."""
        found, end = [], 0
        for variable in self.moving:
            end += variable.size
            found.append(ops.reshape(vector[..., end - variable.size : end], (*before, *variable.shape)))
        return found

    def rows(self, name: str) -> Array:
        """Return a slot of all variables."""
        size, slots = self.settings.history_size, [self.settings.slot(variable, name) for variable in self.moving]
        return ops.concatenate([cast_to(ops.reshape(slot.value, (size, -1)), self.dtype) for slot in slots], axis=1)

    def keep(self, history: History) -> None:
        """Put the history into the slots; of variables that took no part there is none in the rows of this call."""
        size = self.settings.history_size
        for name, rows in (("steps", history.steps), ("changes", history.changes)):
            for variable, part in zip(self.moving, self.split(rows, (size,)), strict=True):
                slot = self.settings.slot(variable, name)
                slot.assign(cast_to(part, slot.dtype))
        took_part = {id(variable) for variable in self.moving}
        for record in self.settings._gx_records():
            if id(record.variable) not in took_part:
                mask = ops.reshape(history.written, (size, *[1] * record.variable.ndim))
                record.slot.assign(ops.where(mask, 0.0, record.slot.value))
        self.settings.pairs.assign(history.pairs)
