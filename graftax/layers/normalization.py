"""Normalization: features shifted and scaled by the statistics of a data set."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.backend.host import check_plain
from graftax.core.errors import ArgumentError, AssignmentError, ShapeError, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape, VariableLike, unwrap
from graftax.layers import building
from graftax.layers.arguments import array_shape, axes_from_front, axis_numbers, check_flag, single_shape, widen
from graftax.layers.data_to_adapt import DataToAdapt
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.layers.rounded_data import rounding_errors, warn_of_lost_spread
from graftax.layers.table_columns import Columns
from graftax.transforms.lifting.frames import Abstract
from graftax.variables.state import storage
from graftax.variables.variable import Variable

_Host: TypeAlias = np.ndarray[Any, Any]


class Normalization(Layer):
    r"""Shifts and scales features to mean 0 and variance 1, by the statistics of a data set that `adapt` takes.

    .. math:: y = \frac{x - \mu}{\max(\sigma, 10^{-7})}

    Mean, variance and the number of values are Variables: checkpoints have them.

    Args:
        axis: The axis, or axes, whose elements have statistics of their own; None for one mean and one variance of all
            values. Defaults to the last one.
        mean: The mean, in place of `adapt`: a number, or one for each element of the axes. Defaults to None.
        variance: The variance, together with ``mean``. Defaults to None.
        invert: Whether to undo what the same layer does without: ``x * sigma + mean``. Defaults to False.
        name: As for `Layer`.
        dtype: As for `Layer`; statistics and arithmetic are in float32 at least, and inputs are not rounded before.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: a mean without a variance, or a variance below 0.
        StateError: it is called before `adapt`, and was given no statistics. A compiled function raises before it runs;
            where the statistics are arguments, as in `graftax.functional_call`, only one with ``checked=True`` does.
        ShapeError: an input without those axes, or with other sizes along them than the first one.

    Example:
        >>> import numpy as np
        >>> layer = Normalization()
        >>> layer.adapt(np.float32([[1, 10], [3, 30]]))
        >>> layer(np.float32([[1, 30]])).tolist()
        [[-1.0, 1.0]]
    """

    _gx_takes_wide = True
    _gx_requires_columns = True
    supports_masking = True

    def __init__(
        self,
        axis: int | Sequence[int] | None = -1,
        mean: ArrayLike | None = None,
        variance: ArrayLike | None = None,
        invert: bool = False,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.axis = () if axis is None else axis_numbers("axis", axis)
        self.invert = check_flag("invert", invert)
        if (mean is None) != (variance is None):
            raise ArgumentError(
                f"mean={mean!r:.40}, variance={variance!r:.40}",
                "one without the other says nothing of how to scale",
                "mean=0.5, variance=0.25, or neither and then layer.adapt(data)",
            )
        self.given = None if mean is None else (_numbers("mean", mean), _numbers("variance", variance))
        if self.given is not None and (self.given[1] < 0).any():
            raise ArgumentError(f"variance={variance!r:.60}", "a variance is not below 0", "the square of a deviation")

    def _gx_given(self, name: str, value: object) -> Any:
        if name in ("mean", "variance") and not isinstance(value, VariableLike):
            raise AssignmentError(
                f"{self._gx_title()}.{name} = {value!r:.60}",
                "it is a Variable, which the layer makes at the first call",
                "assign(value) on this Variable, when it is built; or Normalization(mean=..., variance=...)",
            )
        return super()._gx_given(name, value)

    def build(self, input_shape: Shape) -> None:
        sizes = single_shape(input_shape, least=1)
        kept = axes_from_front("Normalization", self.axis, len(sizes))
        shape = tuple(sizes[i] for i in kept)
        # Where nobody can look, what was never adapted gives nan, not numbers that look like others.
        first = (np.full(shape, np.nan),) * 2 if self.given is None else self._given_statistics(shape)
        dtype = self._gx_dtypes.wide_dtype
        mean, variance = (np.asarray(part, dtype) for part in first)
        self.mean = self.add_weight(shape, mean, name="mean", dtype=dtype, trainable=False, role="state")
        self.variance = self.add_weight(shape, variance, name="variance", dtype=dtype, trainable=False, role="state")
        known = 0 if self.given is None else 1
        self.count = self.add_weight((), known, name="count", dtype="int32", trainable=False, role="counter")

    def call(self, x: Array) -> Array:
        shape = array_shape(x)
        kept = axes_from_front("Normalization", self.axis, len(shape))
        if tuple(shape[i] for i in kept) != self.mean.shape:
            raise ShapeError(
                f"an input of shape {shape}",
                f"the statistics are of the sizes {self.mean.shape}, those of the first input",
                "an input of those sizes, or a new layer for the others",
            )
        if isinstance(storage.frames.top, Abstract):
            # nothing is computed, and nan of a layer without statistics would be an error in the layers that follow
            return ops.cast(x, self._gx_dtypes.compute_dtype)
        self._check_adapted()
        x = widen(x)
        sizes = tuple(n if i in kept else 1 for i, n in enumerate(shape))
        mean, deviation = (
            ops.reshape(ops.cast(part, x.dtype), sizes) for part in (self.mean, ops.sqrt(widen(self.variance.value)))
        )
        deviation = ops.maximum(deviation, 1e-7)
        out = x * deviation + mean if self.invert else (x - mean) / deviation
        return ops.cast(out, self._gx_dtypes.compute_dtype)

    @door
    def adapt(self, data: ArrayLike | Iterable[ArrayLike]) -> None:
        """Take the mean and the variance of a data set; what was taken before is forgotten.

        A warning says if the dtype of the layer rounds the data by a visible part of their standard deviation, as
        float32 does with the seconds of timestamps.

        Args:
            data: An array, a table, or an iterable of these, such as a generator, which is read once. A model that
                begins with this layer puts later tables into the column order of the first one, by name.

        Raises:
            StateError: mean and variance were given to the constructor.
            ArgumentError: there are no values, one is nan or infinite (the message names its row and column), or they
                are too large for a variance.
            ArgumentTypeError: a batch is no array of numbers, or a masked one; the data are a tuple, such as (x, y).
            ShapeError: batches do not agree, or have one axis, where it is open whether that is of rows or features.
        """
        if self.given is not None:
            raise StateError(
                f"adapt of {self._gx_title()}",
                "its mean and variance were given",
                f"{type(self).__name__}() without mean and variance",
            )
        total, mean, square = 0, np.float64(0), np.float64(0)  # the sum of squares around the mean
        rounded: _Host = np.zeros(())
        batches = DataToAdapt(data, self._gx_columns.x)
        for batch in batches:
            if batch.ndim < 2 and self.axis:
                raise self._one_axis_error(batch, data)
            if not building.is_built(self):
                self.build(batch.shape)
            kept = axes_from_front("Normalization", self.axis, batch.ndim)
            over = tuple(i for i in range(batch.ndim) if i not in kept)
            count = int(np.prod([batch.shape[i] for i in over]))
            if tuple(batch.shape[i] for i in kept) != self.mean.shape:
                raise ShapeError(
                    f"a batch of shape {batch.shape}",
                    f"the statistics are of the sizes {self.mean.shape}, those of the first batch",
                    "batches that agree in all axes but the first",
                )
            if not count:
                continue
            values = batch.astype("float64")
            with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused below
                own = values.mean(over)
                away = own - mean
                square = square + values.var(over) * count + away**2 * (total * count / (total + count))
                mean, total = mean + away * (count / (total + count)), total + count
                rounded = np.maximum(rounded, rounding_errors(batch, self._gx_dtypes.wide_dtype, over))
        if not total:
            raise ArgumentError("adapt got no values", "there is no mean of nothing", "layer.adapt(x_train)")
        with np.errstate(over="ignore"):
            found = np.asarray(mean, self.mean.dtype), np.asarray(square / total, self.variance.dtype)
        if not all(np.isfinite(part).all() for part in found):
            raise ArgumentError(
                f"adapt got data of mean {np.asarray(mean).tolist()!r:.60}, variance {(square / total).tolist()!r:.60}",
                f"that is no number of {self.variance.dtype}, and so would be what the layer gives",
                "layer.adapt(x / scale), so that squares of deviations fit",
            )
        spread = np.sqrt(square / total)
        warn_of_lost_spread(self._gx_title(), self._gx_dtypes.wide_dtype, rounded, np.asarray(mean), np.asarray(spread))
        self.mean.assign(found[0])
        self.variance.assign(found[1])
        self.count.assign(min(total, 2**31 - 1))
        self._gx_columns = Columns(batches.columns if self._gx_tells_columns_apart else None)

    def _one_axis_error(self, batch: _Host, data: object) -> ShapeError:
        column = "data.to_frame()" if hasattr(data, "to_frame") else "np.reshape(data, (-1, 1))"
        if isinstance(data, Iterable) and not isinstance(data, list | tuple) and not hasattr(data, "shape"):
            column = "np.reshape(batch, (-1, 1)) for batch in data"
        return ShapeError(
            f"adapt got data of shape {batch.shape}",
            "its one axis may be that of rows, of one feature, or that of features, each with a mean of its own",
            f"layer.adapt({column}) for one feature; {type(self).__name__}(axis=None) for one mean of all numbers",
        )

    @property
    def _gx_tells_columns_apart(self) -> bool:
        return bool(self.axis)  # else there is one mean of all values

    def _given_statistics(self, shape: Shape) -> tuple[Any, ...]:
        mean, variance = self.given or (np.zeros(()), np.ones(()))
        try:
            return np.broadcast_to(mean, shape), np.broadcast_to(variance, shape)
        except ValueError:
            raise ShapeError(
                f"mean of shape {mean.shape}, variance of shape {variance.shape}",
                f"the axes {self.axis} of the input have the sizes {shape}",
                "one number for all, or one for each element of the axes",
            ) from None

    def _check_adapted(self) -> None:
        arrays, known = registry.current().arrays, [unwrap(part) for part in (self.count, self.mean, self.variance)]
        if all(map(arrays.is_concrete, known)):
            if (error := self._no_statistics_error(*map(arrays.to_numpy, known))) is not None:
                raise error
        elif traced_checks.is_checking():
            missing = ops.any(ops.isnan(self.mean)) | ops.any(ops.isnan(self.variance))
            traced_checks.emit(self._no_statistics_error, ops.equal(self.count, 0) & missing, *known)
        elif (before := traced_checks.before_runs.top) is not None and traced_checks.perhaps.top is None:
            look = _LookBeforeRun(self)
            if look not in before and look.sees_what_is_read():
                before.append(look)

    def _no_statistics_error(self, count: _Host, mean: _Host, variance: _Host) -> StateError | None:
        if int(count) or not (np.isnan(mean).any() or np.isnan(variance).any()):  # else somebody has assigned them
            return None
        return StateError(
            f"{self._gx_title()} has no statistics",
            "adapt() was not called",
            "layer.adapt(x_train), before the model runs",
        )


class _LookBeforeRun:
    """Looks, before each run of a compiled function, whether a layer in it has its statistics.

    Args:
        layer: The layer, which is not kept alive.
    """

    def __init__(self, layer: Normalization) -> None:
        self._layer = weakref.ref(layer)
        self._good: object = None  # the count of the layer when it had statistics: one look is enough for each

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LookBeforeRun) and self._layer() is other._layer()

    __hash__ = object.__hash__

    def sees_what_is_read(self) -> bool:
        """Tell whether the function reads the Variables as they are, and neither others nor what it has assigned."""
        layer, frame = self._layer(), storage.frames.top
        if layer is None or frame is None:
            return False
        parts = [one for one in (layer.count, layer.mean, layer.variance) if isinstance(one, Variable)]
        return not any(frame.has_changed(one._storage) for one in parts)

    def __call__(self) -> None:
        """Raise if the layer has no statistics now.

        Raises:
            StateError: it has none.
        """
        layer, arrays = self._layer(), registry.current().arrays
        if layer is None:
            return
        count = unwrap(layer.count)
        if count is self._good or not arrays.is_concrete(count):
            return
        mean, variance = unwrap(layer.mean), unwrap(layer.variance)
        if arrays.is_concrete(mean) and arrays.is_concrete(variance):
            if (error := layer._no_statistics_error(*map(arrays.to_numpy, (count, mean, variance)))) is not None:
                raise error
            self._good = count


def _numbers(name: str, value: object) -> np.ndarray[Any, Any]:
    check_plain(value, name)
    try:
        array = np.array(unwrap(value), "float64")  # a copy
    except (TypeError, ValueError):
        array = np.full((), np.nan)
    if not (np.abs(array) <= np.finfo("float32").max).all():
        raise ArgumentError(f"{name}={value!r:.60}", "it is a finite number, or an array of such", f"{name}=0.5")
    return array
