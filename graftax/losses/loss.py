"""Loss: the base class. A subclass says what one sample costs; weights, masks and the reduction are the base's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from graftax import ops
from graftax.core.checked_calls import checked_call
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError, GraftaxError
from graftax.core.promises import withdraw
from graftax.core.tree import flatten
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.core.undefined import undefined_error
from graftax.core.user_functions import check_signature
from graftax.objectives.batch_axis import check_batch_axis, check_returned, check_targets_axis, is_of_user
from graftax.objectives.hiding import Form, Formula, Ranges, as_condition, as_mask
from graftax.objectives.own_masks import of_whole_values, takes_mask
from graftax.objectives.pairs import prepare, with_rank_of
from graftax.objectives.sample_weights import broadcast_weight, check_weights
from graftax.objectives.tables import in_one_order
from graftax.variables import masks
from graftax.variables.floating import to_floating
from graftax.variables.graph.kept_names import COMPUTED_NAMES, names_kept_by
from graftax.variables.graph.module import Module
from graftax.variables.graph.reserved import OF_LOSSES, Words
from graftax.variables.state import storage

REDUCTIONS = ("sum_over_batch_size", "sum", "mean_with_sample_weight", "none")


class Loss(Module):
    """A function of targets and predictions that training makes small.

    A subclass defines ``call(y_true, y_pred)``, which returns one number for each sample: shape ``(batch,)``, or
    ``(batch, ...)`` where a sample has several, such as one for each time step. With those values ``l``, weights ``w``
    and ``n`` values (with a mask: those that it keeps), the reductions are

    - ``"sum_over_batch_size"``: ``Σ w l / n``; weights scale the loss and are not normalised;
    - ``"mean_with_sample_weight"``: ``Σ w l / Σ w``, and 0 where all weights are 0;
    - ``"sum"``: ``Σ w l``;
    - ``"none"``: ``w l``.

    It is computed in at least float32, whatever the dtype of the predictions.

    What a mask or `keeps` hides is replaced before `call` sees it, targets by 1 and predictions by 0.5 (integers by 0):
    so value and gradient are finite whatever stands there. A sample of weight 0 may hold nan, infinities and invalid
    targets, too.

    A `call` that looks at several samples at once, as a ranking does, or the risk sets of Cox, would take these fillers
    for samples, and give wrong numbers without an error: such a class sets ``compares = True`` and also defines
    ``among(y_true, y_pred, visible)``, which leaves out what is not visible.

    A `call` that gives one number for a sequence, where a mask is of steps, has a third parameter ``mask=None``: it
    gets the mask, and leaves hidden steps out itself. A sample counts if the mask keeps any of it.

    Args:
        reduction: One of the four.
        name: Its name. Defaults to the class name in snake case.

    Example:
        >>> class Quantile(Loss):
        ...     def call(self, y_true, y_pred):
        ...         return ops.maximum(0.9 * (y_true - y_pred), 0.1 * (y_pred - y_true))
        >>> float(Quantile()([1.0, 1.0], [0.0, 2.0]))
        0.5
        >>> Quantile(reduction="none")([1.0, 1.0], [0.0, 2.0], sample_weight=[1, 10]).tolist()
        [0.8999999761581421, 1.0]
    """

    _gx_words: ClassVar[Words] = OF_LOSSES
    calls_python: ClassVar[bool] = False
    """Whether it runs Python by `graftax.py_function`: the steps of a model that is compiled with it wait for that."""
    target_kind: ClassVar[str | None] = None
    """``"binary"``, ``"sparse"`` or ``"categorical"``; which accuracy fits. None where only shapes can tell."""

    form: ClassVar[Form | None] = None
    """How the shape of the values follows from that of the predictions. None where only shapes can tell; then a mask
    that fits several axes of the predictions hides whole samples before `call`, and single values after it."""

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        withdraw(cls, Loss, "form", "call")
        withdraw(cls, Loss, "checks_mask", "check_targets")

    def __init__(self, *, reduction: str = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(name)
        self.reduction = _check_reduction(reduction)

    def call(self, y_true: Any, y_pred: Any) -> Array:
        """Compute one number for each sample; subclasses must define it.

        Args:
            y_true: Targets as arrays, floating ones in the dtype of the predictions; ``(n,)`` beside ``(n, 1)`` comes
                as ``(n, 1)``, and the other way round, so that a difference of both is no ``(n, n)``.
            y_pred: Predictions as arrays, floating ones in at least float32.
        """
        raise undefined_error(self, "call(y_true, y_pred)")

    @property
    def _gx_written(self) -> Callable[..., Any]:
        """Return the function that somebody wrote, which tells whose rules of shapes hold."""
        return type(self).call

    def _gx_may_get(self, name: str) -> bool:
        kept = names_kept_by(type(self), ("call",))
        return name in kept or not kept.isdisjoint(COMPUTED_NAMES)

    compares: ClassVar[bool] = False
    """True if samples are compared with each other: then `among` is called where some are hidden."""

    checks_mask: ClassVar[bool] = False
    """True if `check_targets` takes the mask of the predictions, too."""

    def among(self, y_true: Any, y_pred: Any, visible: Array) -> Array:
        """Compute one number for each sample, comparing those alone that are visible, as booleans say."""
        return self.call(y_true, y_pred)

    def _gx_visible(self, conditions: list[ArrayLike], sample_weight: ArrayLike | None, y_pred: Any) -> Array | None:
        """Tell which samples may be compared; None for all, and for losses that compare none."""
        given = [*conditions, *([] if sample_weight is None else [sample_weight])] if self.compares else []
        visible = None
        for one in given:
            keep = as_condition(broadcast_weight(one, y_pred[:, 0], "mask"))
            visible = keep if visible is None else ops.logical_and(visible, keep)
        return visible

    def _gx_require_among(self) -> None:
        """Raise if a subclass has another `call`, and `among` is still that of the class whose `call` it replaces."""
        kind = type(self)
        owner = next(one for one in kind.__mro__ if "among" in vars(one))
        if owner is not Loss and getattr(owner, "call", None) is not kind.call:
            raise ArgumentError(
                f"{kind.__name__} with a mask or sample_weight",
                f"its call is its own, and among, which compares those that are visible, is that of {owner.__name__}",
                f"def among(self, y_true, y_pred, visible) in {kind.__name__}",
            )

    def keeps(self, y_true: Any, y_pred: Any) -> ArrayLike | None:
        """Return which samples count, as booleans; None for all. It acts like a mask."""
        return None

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return which targets and predictions can be used, beside being finite; what cannot may have a weight of 0."""
        return {}

    @property
    def formula(self) -> Formula:
        """Return which elements of targets and predictions a value is made of."""
        return Formula(self.form, getattr(self, "axis", -1))

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if targets on the host do not fit; for training loops, whose compiled step cannot look at values.

        Args:
            y_true: A NumPy array.
            y_pred_shape: The shape of the predictions.
        """

    @checked_call
    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> Array:
        """Return the reduced loss.

        Args:
            y_true: Targets.
            y_pred: Predictions.
            sample_weight: One number, one for each sample, or one for each value that `call` returns.
            mask: True where a sample or value counts; the reductions that are means are means over those. Unless told,
                the mask that the predictions carry.

        Raises:
            ShapeError: targets, weights or mask do not fit the predictions; nothing is broadcast silently.
            DataError: the batch is empty.
        """
        storage.touch(self)
        try:
            y_pred, y_true, sample_weight, mask = in_one_order(
                y_pred=y_pred, y_true=y_true, sample_weight=sample_weight, mask=mask
            )
            mask = masks.mask_or_carried(mask, y_pred)
            y_true, y_pred = prepare(y_true, y_pred)
            if not self.compares and self.target_kind != "sparse":  # else a target is a label
                y_true = with_rank_of(y_true, y_pred, self._gx_written)
            _require_some(y_true, y_pred)
            conditions: list[ArrayLike] = [] if mask is None else [as_mask(mask)]
            for mask in conditions:
                y_true, y_pred = self.formula.hide(y_true, y_pred, mask)
            own = self.keeps(y_true, y_pred)  # after the mask: what that hides may be no target at all
            if own is not None:
                conditions.append(own)
                y_true, y_pred = self.formula.hide(y_true, y_pred, own)
            if sample_weight is not None:
                sample_weight = ops.asarray(sample_weight)
                check_weights(sample_weight)
                ranges = self.ranges(tuple(y_pred.shape)) if hasattr(y_pred, "shape") else {}
                y_true, y_pred = self.formula.hide_unusable(y_true, y_pred, sample_weight, ranges)
            visible = self._gx_visible(conditions, sample_weight, y_pred)
            own_mask = mask is not None and takes_mask(self._gx_written)
            call: Callable[..., Any] = self.call
            if own_mask:
                call = partial(call, mask=conditions[0])
            if visible is not None:
                self._gx_require_among()
            found = call(y_true, y_pred) if visible is None else self.among(y_true, y_pred, visible)
            if is_user := is_of_user(self._gx_written):
                check_returned("loss", self._gx_written, found)
                if visible is None and not own_mask:
                    check_targets_axis("loss", self._gx_written, call, y_true, y_pred)
            values = to_floating(found, "the loss")
            if values.size == 0:
                raise DataError(
                    f"a batch of values {list(values.shape)}", "the loss of nothing is undefined", _NON_EMPTY
                )
            if own_mask:
                whole = of_whole_values(conditions[0], values)
                conditions = [*([] if whole is None else [whole]), *conditions[1:]]
            if is_user and (conditions or sample_weight is not None):
                given = [("mask", self.formula.of_values(one, values)) for one in conditions]
                given += [("sample_weight", sample_weight)] if sample_weight is not None else []
                check_batch_axis("loss", self._gx_written, call, y_true, y_pred, values, given)
            kept = None
            for condition in conditions:
                here = as_condition(broadcast_weight(self.formula.of_values(condition, values), values, "mask"))
                kept = here if kept is None else ops.logical_and(kept, here)
            return reduce(values, self.reduction, sample_weight, kept)
        except GraftaxError as error:
            error.add_context(f"{self!r}")
            raise

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({shown})"


class FunctionLoss(Loss):
    """A plain function as a loss.

    Args:
        fn: ``fn(y_true, y_pred)``; returns one number for each sample, or one for the whole batch. Targets ``(n,)``
            beside predictions ``(n, 1)`` come as ``(n, 1)``, and the other way round. With a third parameter
            ``mask=None`` it gets the mask, as the `call` of a `Loss`.
        reduction: As for `Loss`; a single number stays what it is, except that weights cannot apply to it.
        name: Its name. Defaults to that of the function.

    Example:
        >>> loss = FunctionLoss(lambda y_true, y_pred: abs(y_true - y_pred), reduction="sum")
        >>> float(loss([1.0, 2.0], [0.0, 4.0]))
        3.0
    """

    _gx_called_only = frozenset({"fn"})

    def __init__(
        self, fn: Callable[[Any, Any], Any], *, reduction: str = "sum_over_batch_size", name: str | None = None
    ) -> None:
        if isinstance(fn, type) or not callable(fn):
            raise ArgumentTypeError(
                f"FunctionLoss got {fn!r}", "a function of (y_true, y_pred) is needed", "an instance, not the class"
            )
        check_signature("loss", fn, ("y_true", "y_pred"))
        given = getattr(fn, "__name__", "")
        super().__init__(reduction=reduction, name=given if name is None and given.isidentifier() else name)
        self.fn: Callable[..., Any] = fn

    @property
    def _gx_written(self) -> Callable[..., Any]:
        return self.fn

    def call(self, y_true: Any, y_pred: Any, mask: Array | None = None) -> Array:
        """Return what the function returns."""
        return self.fn(y_true, y_pred) if mask is None else self.fn(y_true, y_pred, mask=mask)  # type: ignore[no-any-return]


_NON_EMPTY = "leave out empty batches"


def reduce(values: Array, reduction: str, sample_weight: ArrayLike | None, mask: Array | None) -> Array:
    """Weight and reduce per-sample values; the mask has their shape."""
    _check_reduction(reduction)
    weights: Array | None = None
    count: int | Array = values.size
    if mask is not None:
        values = ops.where(mask, values, 0.0)  # not times 0: outside the mask not even nan gets through
        weights = ops.cast(mask, values.dtype.name)
        count = ops.maximum(ops.sum(weights), 1)
    if sample_weight is not None:
        given = ops.cast(broadcast_weight(sample_weight, values), values.dtype.name)
        if mask is not None:
            given = ops.where(mask, given, 0.0)
        lost = ops.logical_and(ops.equal(given, 0), ops.logical_not(ops.isfinite(values)))
        values = ops.where(lost, 0.0, values) * given
        weights = given if weights is None else weights * given
    if reduction == "none":
        return values
    total = ops.sum(values)
    if reduction == "sum":
        return total
    if reduction == "sum_over_batch_size" or weights is None:
        return total / count
    return ops.divide_no_nan(total, ops.sum(weights))


def _require_some(y_true: object, y_pred: object) -> None:
    for name, side in (("y_true", y_true), ("y_pred", y_pred)):
        for leaf in flatten(side):
            if leaf.size == 0:
                raise DataError(f"{name} of shape {list(leaf.shape)}", "the loss of nothing is undefined", _NON_EMPTY)


def _check_reduction(reduction: str) -> str:
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction={reduction!r}", "there is no such reduction", ", ".join(map(repr, REDUCTIONS)))
    return reduction
