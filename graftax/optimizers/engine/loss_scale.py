"""LossScale: a factor on the loss that keeps small gradients of 16-bit numbers from becoming 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from graftax import ops
from graftax.backend import registry
from graftax.core import tree, user_line
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, StateError
from graftax.core.scopes import ScopeStack
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import COUNT, POSITIVE, Checked, Kinds
from graftax.optimizers.engine import learning_rate as rate
from graftax.optimizers.engine.numbers import cast_to
from graftax.optimizers.engine.sparse_rows import IndexedRows
from graftax.optimizers.engine.update import Update
from graftax.transforms.flow.branches import cond
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable

scaling: ScopeStack[object] = ScopeStack("optimizer that scales a loss")
"""Optimizers that are about to scale what a function of the user returns."""

LossScaleLike: TypeAlias = "LossScale | float | str | None"


class LossScale(Checked):
    """A factor on the loss, taken out of the gradients again; a step whose gradients are not finite is left out.

    Args:
        initial: The factor at the start. Defaults to ``2.0**15``.
        growth_interval: After so many good steps in a row the factor doubles; None for a factor that never changes.
            Defaults to 2000.

    Raises:
        ArgumentError: the factor is not positive, or the interval no positive integer.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0])
        >>> optimizer = gx.optimizers.SGD(0.5, loss_scale=LossScale(1024.0))
        >>> loss = optimizer.minimize(lambda: gx.ops.sum(w * w), w)
        >>> float(loss), w.numpy().tolist(), float(optimizer.loss_scale.scale)
        (1.0, [0.0], 1024.0)

    Source: Micikevicius et al., arXiv:1710.03740.
    """

    arguments: ClassVar[Kinds] = {"growth_interval": COUNT.or_none()}
    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_is_asked"})
    _gx_is_asked: bool = False  # whether any loss was scaled; and after a warning

    def __init__(self, initial: float = 2.0**15, growth_interval: int | None = 2000) -> None:
        super().__init__()
        initial = POSITIVE.check("LossScale", "initial", initial)
        self.growth_interval = growth_interval
        self.scale = rate.scalar(self, "scale", "state", "float32", float(initial))
        self.good_steps = rate.scalar(self, "good_steps", "counter", "int32", 0)
        if initial == 1 and growth_interval is None:  # a factor that only leaves out what is not finite
            self._gx_note_asked()

    def unscale(self, updates: list[Update], then: Callable[[list[Update]], None]) -> None:
        """Take the factor out of the gradients; go on, if all are finite; adjust the factor."""
        if not updates:  # nothing changes: an update all the same, but none that says anything of the factor
            then(updates)
            return
        if not self._gx_is_asked:
            self._gx_note_asked()
            user_line.warn(
                f"{self!r}: apply divides the gradients by its factor, and no loss was multiplied by it. "
                "Instead: optimizer.scale_loss(loss), of which the gradients are taken; or optimizer.minimize(loss_fn, "
                "variables), which does both; or an optimizer without loss_scale="
            )
        dtypes = dict.fromkeys(str(update.gradient.dtype) for update in updates)
        factors = {dtype: 1 / cast_to(self.scale.value, dtype) for dtype in dtypes}
        updates = [u.with_gradient(u.gradient * factors[str(u.gradient.dtype)]) for u in updates]
        finite = is_all_finite([update.gradient for update in updates])

        def apply_updates() -> None:
            then(updates)
            if self.growth_interval is not None:
                count = self.good_steps.value + 1
                full = count >= self.growth_interval
                doubled = self.scale.value * 2
                self.scale.assign(ops.where(ops.logical_and(full, ops.isfinite(doubled)), doubled, self.scale.value))
                self.good_steps.assign(ops.where(full, ops.zeros_like(count), count))

        def shrink_scale() -> None:
            if self.growth_interval is not None:
                smaller = ops.maximum(self.scale.value / 2, 1.0)
                self.scale.assign(ops.minimum(self.scale.value, smaller))  # one that began below 1 stays
                self.good_steps.assign(ops.zeros_like(self.good_steps))

        cond(finite, apply_updates, shrink_scale)

    def differentiate_scaled(self, differentiate: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """Return values and gradients, and let take effect what the loss assigned on its way.

        Where the gradients say that the step is left out, a moving statistic that became nan or infinite stays as it
        was: it would be so for good. Random streams and metrics go on.

        Args:
            differentiate: Computes the loss; returns anything, and the gradients.
        """
        frame = Substitution(frames.top, (), registry.current().tracing.level())
        with frames.entered(frame):
            found, gradients = differentiate()
        finite = is_all_finite(tree.flatten(gradients))
        for storage, value in frame.written.items():
            user = storage.user
            if isinstance(user, Variable) and user.role in ("weight", "state") and is_floating(value.dtype):
                keep = ops.logical_or(finite, ops.all(ops.isfinite(value)))
                value = ops.where(keep, value, storage.read())
            storage.write(value)
        return found, gradients

    def scale_loss(self, loss: Any) -> Array:
        """Return the loss times the factor, in float32 at least."""
        self._gx_note_asked()
        loss = ops.asarray(loss)
        loss = cast_to(loss, "float64" if str(loss.dtype) == "float64" else "float32")
        scaled: Array = loss * cast_to(self.scale.value, str(loss.dtype))
        return scaled

    def _gx_note_asked(self) -> None:
        if not self._gx_is_asked:
            object.__setattr__(self, "_gx_is_asked", True)

    def __repr__(self) -> str:
        return f"LossScale(growth_interval={self.growth_interval})"


def scaled_twice(optimizer: object) -> StateError:
    """Return the error for a loss that is scaled before the optimizer scales it."""
    return StateError(
        f"{type(optimizer).__name__}.scale_loss in the function that its minimize differentiates",
        "minimize scales what the function returns, and the factor would count twice",
        "optimizer.minimize(lambda: loss, variables); scale_loss is for gradients that are given to apply",
    )


def is_all_finite(gradients: Sequence[Any]) -> Array:
    """Return whether there is no nan and no infinity in gradients; in the rows of those that are rows alone."""
    arrays = [one.values if isinstance(one, IndexedRows) else one for one in gradients if one is not None]
    return ops.all(ops.stack([ops.all(ops.isfinite(one)) for one in arrays])) if arrays else ops.asarray(True)


def as_loss_scale(loss_scale: LossScaleLike) -> LossScale | None:
    """Return what an optimizer keeps of ``loss_scale=``.

    Raises:
        ArgumentError: it is neither a number, ``"dynamic"``, a `LossScale` nor None.
    """
    if loss_scale is None or isinstance(loss_scale, LossScale):
        return loss_scale
    if loss_scale == "dynamic":
        return LossScale()
    if isinstance(loss_scale, int | float) and not isinstance(loss_scale, bool):
        return LossScale(float(loss_scale), None)
    raise ArgumentError(f"loss_scale={loss_scale!r}", "it is a number, or adapts itself", 'loss_scale="dynamic"')
