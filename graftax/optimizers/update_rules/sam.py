"""SAM: an optimizer that is given the gradient from where the loss nearby is worst."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.optimizers.arguments.describe import call_of
from graftax.optimizers.arguments.kinds import POSITIVE, Checked, Kinds
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.engine.arithmetic import root
from graftax.optimizers.engine.gradients import Variables, require_trainable
from graftax.optimizers.engine.numbers import cast_to
from graftax.optimizers.engine.total import total
from graftax.optimizers.minimizer import check_loss_fn, watch_loss_fn
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.graph.trained_model import seen_from
from graftax.variables.state import storage


class SAM(AroundOptimizer, Checked):
    """Steps of another optimizer, with gradients taken at ``w + radius * g / |g|``, to end in a flat valley.

    The loss is computed twice in each step, so there is `minimize` and no ``apply``; what it assigns on its way (moving
    averages, random streams) is assigned twice. The norm is that of all gradients together; a gradient of zero moves
    nothing. The radius is a plain number: a change makes a compiled step anew.

    Args:
        optimizer: The one that takes the steps; its rules and clips hold for the second gradient.
        radius: How far away the worst is looked for, in the norm of all weights; positive. Defaults to 0.05.
        name: Its name. Defaults to None.

    Raises:
        ArgumentError: the radius is not positive; the optimizer looks at the loss by itself.
        ArgumentTypeError: the optimizer is none.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([3.0, -4.0])
        >>> sam = SAM(gx.optimizers.SGD(0.25), radius=5.0)
        >>> float(sam.minimize(lambda: gx.ops.sum(w * w), [w]))
        25.0
        >>> w.numpy().tolist()  # by the gradient at (6, -8)
        [0.0, 0.0]

    Source: Foret et al., arXiv:2010.01412.
    """

    arguments: ClassVar[Kinds] = {"radius": POSITIVE}

    def __init__(self, optimizer: Optimizer, radius: float = 0.05, name: str | None = None) -> None:
        super().__init__(name)
        self.optimizer = self._gx_taken(optimizer)
        if type(optimizer).minimize is not Optimizer.minimize:
            raise ArgumentError(
                f"SAM got {type(optimizer).__name__}",
                "that one looks at the loss by itself, and SAM gives it gradients only",
                f"{type(optimizer).__name__} alone, or SAM around another one",
            )
        self.radius = radius

    @door
    def minimize(self, loss_fn: Callable[[], Any], variables: Variables, has_aux: bool = False) -> Any:
        """Take one step, with the trainable ones of the variables; see `Minimizer`."""
        check_loss_fn(loss_fn)
        storage.touch(self)
        with seen_from(variables):
            trainable = self.optimizer._gx_build(require_trainable(variables))
        loss_fn = watch_loss_fn(loss_fn, variables)
        (_, found), gradients = self.optimizer.value_and_scaled_grad(loss_fn, trainable, has_aux)
        wide = "float64" if any(v.dtype == "float64" for v in trainable) else "float32"
        squares = [ops.sum(cast_to(g, wide) ** 2) for g in gradients if g is not None]
        norm = root(total(squares))
        factor = ops.where(norm > 0, self.radius / ops.where(norm > 0, norm, ops.ones_like(norm)), norm)
        before = [variable._gx_stored for variable in trainable]
        try:
            for variable, gradient in zip(trainable, gradients, strict=True):
                if gradient is not None:
                    variable.assign_add(cast_to(factor * cast_to(gradient, wide), variable.dtype))
            _, gradients = self.optimizer.value_and_scaled_grad(loss_fn, trainable, has_aux)
        finally:
            for variable, value in zip(trainable, before, strict=True):
                variable.assign(value)
        with seen_from(variables):
            self.optimizer.apply(gradients, trainable)
        return found

    def __repr__(self) -> str:
        return call_of(self)
