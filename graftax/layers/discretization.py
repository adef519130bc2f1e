"""Discretization: numbers as the bins that they lie in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.backend.host import check_plain
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.layers.arguments import array_shape, check_positive, require_real, widen
from graftax.layers.category_encoding import check_modes, encode
from graftax.layers.data_to_adapt import DataToAdapt
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.layers.rounded_data import warn_of_other_bins
from graftax.ops.checks import subscript


class Discretization(Layer):
    """Numbers as the bins that they lie in: bin ``i`` has the numbers from boundary ``i - 1`` to below boundary ``i``.

    The boundaries are given, or `adapt` takes those that share out a data set evenly. They are part of checkpoints.
    Integers are compared with them as they are, other numbers in float32 at least.

    A nan lies in no bin, where NumPy and Keras say the last one: eager code, ``fit`` and functions compiled with
    ``checked=True`` refuse it; other compiled code gives the least integer, or a vector without a bin. Infinities lie
    in the first and the last one.

    Args:
        bin_boundaries: The boundaries, in order. Defaults to None, for `adapt`.
        num_bins: How many bins `adapt` makes, of as many values each; the last ones stay empty where equal values make
            boundaries coincide. Defaults to None, for ``bin_boundaries``.
        output_mode: ``"int"`` for the number of the bin, or one of those of `CategoryEncoding`. Defaults to ``"int"``.
        name: As for `Layer`.
        dtype: As for `Layer`, for vectors and counts; numbers of bins are int32.

    Shape:
        ``(...) -> (...)``; for other modes as for `CategoryEncoding`

    Raises:
        ArgumentError: both or neither are given, the boundaries are not in order, or there is a nan among the numbers.
        StateError: it is called before `adapt`.

    Example:
        >>> import numpy as np
        >>> Discretization([0.0, 10.0])(np.float32([-5, 0, 3, 20])).tolist()
        [0, 1, 1, 2]
    """

    _gx_takes_wide = True

    def __init__(
        self,
        bin_boundaries: Sequence[float] | None = None,
        num_bins: int | None = None,
        output_mode: str = "int",
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        if (bin_boundaries is None) == (num_bins is None):
            raise ArgumentError(
                f"bin_boundaries={bin_boundaries!r:.60}, num_bins={num_bins!r}",
                "boundaries are given, or adapt() makes so many bins",
                "num_bins=10, or bin_boundaries=[0.0, 1.0]",
            )
        self.output_mode = check_modes(output_mode)
        self.num_bins = None if num_bins is None else check_positive("num_bins", num_bins, 10)
        self.bin_boundaries = None if bin_boundaries is None else _in_order(bin_boundaries)

    def call(self, x: Array) -> Array:
        array_shape(x)
        if self.bin_boundaries is None:
            raise StateError(f"{self._gx_title()} has no boundaries", "adapt() was not called", "layer.adapt(x_train)")
        whole = str(x.dtype).startswith(("int", "uint"))  # compared as they are: float32 rounds those above 2**24
        given = x if whole else widen(require_real(x))
        _check_numbers(x)
        boundaries = _as_integers(self.bin_boundaries, str(x.dtype)) if whole else self.bin_boundaries
        bins = ops.cast(ops.searchsorted(ops.asarray(boundaries, str(given.dtype)), given, side="right"), "int32")
        if is_floating(str(given.dtype)):
            bins = ops.where(ops.isnan(given), np.iinfo("int32").min, bins)
        if self.output_mode == "int":
            return bins
        size = self.num_bins or len(self.bin_boundaries) + 1  # data of few values fill fewer bins
        return encode(bins, size, self.output_mode, self.compute_dtype)

    @door
    def adapt(self, data: ArrayLike | Iterable[ArrayLike]) -> None:
        """Take boundaries that share out a data set evenly: its quantiles; what was taken before is forgotten.

        Args:
            data: An array, or an iterable of batches; all values are held at once.

        Raises:
            StateError: the boundaries were given to the constructor.
            ArgumentError: there are no values, or one is nan or infinite; the message names its row and column.
            ArgumentTypeError: a batch is no array of numbers, or a masked one; the data are a tuple, such as (x, y).
        """
        if self.num_bins is None:
            raise StateError(f"adapt of {self._gx_title()}", "its boundaries were given", "Discretization(num_bins=10)")
        parts, whole = [np.zeros(0)], True
        for batch in DataToAdapt(data):
            parts.append(batch.astype("float64").ravel())  # a copy: a loader may write the next one into the same array
            whole &= batch.dtype.kind in "iu"
        values = np.concatenate(parts)
        if not values.size:
            raise ArgumentError("adapt got no values", "bins share out numbers", "layer.adapt(x_train)")
        shares = np.arange(1, self.num_bins) / self.num_bins
        boundaries = np.quantile(values, shares)
        if not whole:  # which are compared in float32
            warn_of_other_bins(self._gx_title(), "float32", values, boundaries)
            boundaries = boundaries.astype("float32")
        self.bin_boundaries = tuple(np.unique(boundaries).tolist())

    def get_state(self) -> dict[str, list[float] | None]:
        """Return the boundaries, for checkpoints."""
        return {"bin_boundaries": None if self.bin_boundaries is None else list(self.bin_boundaries)}

    def set_state(self, state: dict[str, list[float] | None]) -> None:
        """Take back what `get_state` gave."""
        found = state["bin_boundaries"]
        self.bin_boundaries = None if found is None else tuple(found)


def _as_integers(boundaries: Sequence[float], dtype: str) -> list[int]:
    """Return the least integers at or above boundaries; none for those above all integers of a dtype."""
    limits = np.iinfo(dtype)
    least = [max(math.ceil(boundary), int(limits.min)) for boundary in boundaries]
    return [boundary for boundary in least if boundary <= limits.max]


def _check_numbers(x: Array) -> None:
    """Raise if there is a nan, now or, of a value that is not there yet, where somebody looks."""
    arrays = registry.current().arrays
    given: Any = unwrap(x)
    if not is_floating(str(given.dtype)):
        return
    if not arrays.is_array(given) or arrays.is_concrete(given):
        if (error := _nan_error(arrays.to_numpy(arrays.asarray(given)))) is not None:
            raise error
        return
    traced_checks.tell(_nan_error, np.isnan, given)
    if traced_checks.is_checking():
        traced_checks.emit(_nan_error, ops.any(ops.isnan(given)), given)


def _nan_error(numbers: np.ndarray[Any, Any]) -> ArgumentError | None:
    missing = np.isnan(numbers)
    if not missing.any():
        return None
    place = tuple(np.argwhere(missing)[0])
    return ArgumentError(
        f"{subscript('x', place)} is nan",
        "nan belongs to no bin",
        "np.nan_to_num(x, nan=0.0), or another number for what is missing; np.isnan(x) beside it as a feature",
    )


def _in_order(boundaries: Sequence[float]) -> tuple[float, ...]:
    check_plain(boundaries, "bin_boundaries")
    try:
        values: Any = np.asarray(boundaries, "float64")
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ArgumentError(
            f"bin_boundaries={boundaries!r:.60}", "they are finite numbers, each above the last", "[0.0, 1.0]"
        )
    return tuple(values.tolist())
