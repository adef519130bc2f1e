"""Weights of samples by the class of their target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError
from graftax.training.given_arguments import GivenArgument
from graftax.training.narrowing import narrow_dtype


class ClassWeights:
    """A weight for each class. Classes that are not given have weight 1.

    Args:
        given: A dict of class numbers and their weights.

    Raises:
        ArgumentTypeError: it is not a dict of numbers.
        ArgumentError: a class or a weight is negative, or a weight is not finite.

    Example:
        >>> ClassWeights({1: 2.0}).times(np.array([0, 1, 1]), None).tolist()
        [1.0, 2.0, 2.0]
    """

    def __init__(self, weights: Mapping[int, float]) -> None:
        if not isinstance(weights, Mapping):
            raise ArgumentTypeError(
                f"class_weight={weights!r}", "it says a weight for each class number", "class_weight={0: 1.0, 1: 5.0}"
            )
        self._weights: dict[int, float] = {}
        for label, weight in weights.items():
            if isinstance(weight, Mapping):
                raise ArgumentError(
                    f"class_weight={{{label!r:.40}: {dict(weight)!r:.80}}}",
                    "it is a weight for each class, of a model with one output; for one of several outputs the weights "
                    "of its rows say it",
                    f"sample_weight={{{label!r:.40}: np.array([1.0, 5.0])[labels]}}, a weight for each row of it",
                )
            if isinstance(label, bool) or not hasattr(label, "__index__") or label.__index__() < 0:
                raise ArgumentError(
                    f"class_weight={{{label!r:.40}: {weight!r:.40}}}",
                    "classes are counted from 0",
                    "class_weight={0: 1.0, 1: 5.0}",
                )
            if isinstance(weight, bool | str) or not hasattr(weight, "__float__") or not 0 <= float(weight) < math.inf:
                raise ArgumentError(
                    f"class_weight={{{label!r:.40}: {weight!r:.40}}}",
                    "a weight is a finite number, not below 0",
                    f"class_weight={{{label!r:.40}: 1.0}}",
                )
            self._weights[label.__index__()] = float(weight)
        if not self._weights:
            raise ArgumentError("class_weight={}", "it names no class", "leave class_weight out")
        self._classes = np.array(sorted(self._weights))
        self._factors = np.array([self._weights[label] for label in self._classes.tolist()])
        instead = "fit(..., epochs=n) up to there, and fit(..., initial_epoch=n, class_weight={{...: {value!r:.60}}})"
        self.given = GivenArgument("fit", "class_weight", weights, instead)

    def times(self, y: object, sample_weight: Any) -> np.ndarray[Any, Any]:
        """Return the weight of each row, multiplied by the sample weights if there are any.

        Raises:
            DataError: the targets are neither class numbers nor one-hot rows, or there is not one weight for each row.
        """
        labels = self._labels(y)
        places = np.searchsorted(self._classes, labels).clip(max=len(self._classes) - 1)
        dtype = narrow_dtype(np.dtype("float64"))
        weights = np.where(self._classes[places] == labels, self._factors[places], 1.0).astype(dtype)
        if sample_weight is None:
            return weights
        if not isinstance(sample_weight, np.ndarray) or sample_weight.shape[:1] != labels.shape:
            raise DataError(
                f"class_weight, and sample_weight of shape {np.shape(sample_weight)} for {len(labels)} rows",
                "the two are multiplied row by row",
                f"sample_weight of shape ({len(labels)},)",
            )
        return np.asarray(weights.reshape(-1, *[1] * (sample_weight.ndim - 1)) * sample_weight, dtype)

    def require_all(self, y: object) -> None:
        """Raise if a class with a weight does not occur in the targets of the whole data set.

        Raises:
            DataError: there is such a class; the message names it.
        """
        there = np.unique(self._labels(y))
        for label in self._weights:
            if label not in there:
                shown = ", ".join(map(str, there[:10])) + (", ..." if len(there) > 10 else "")
                raise DataError(
                    f"class_weight for the class {label}",
                    f"no target is of that class; there are {shown}, counted from 0",
                    f"class_weight={{{there[0]}: 1.0}}, with classes that there are",
                )

    def _labels(self, y: object) -> np.ndarray[Any, Any]:
        if not isinstance(y, np.ndarray):
            raise DataError(
                f"class_weight for {'no targets' if y is None else 'targets of several outputs'}",
                "it weighs rows by the class of their target",
                "sample_weight=, a number for each row" + ("" if y is None else " (and output, in a dict)"),
            )
        if y.ndim == 2 and y.shape[1] > 1:
            if not ((y >= 0).all() and np.allclose(y.sum(axis=1), 1, atol=1e-3)):
                raise _several_labels(y, self._weights, " that are no one-hot rows")
            if max(self._weights) >= y.shape[1]:
                raise DataError(
                    f"class_weight for the class {max(self._weights)}",
                    f"the targets have {y.shape[1]} classes, counted from 0",
                    "class_weight={0: 1.0, 1: 5.0}",
                )
            return np.asarray(y.argmax(axis=1))
        if y.ndim == 0 or y.size != len(y):
            raise _several_labels(y, self._weights)
        labels = y.reshape(-1)
        if labels.dtype.kind == "f" and not (labels == np.floor(labels)).all():
            raise DataError(
                f"class_weight for targets of dtype {y.dtype} that are no integers",
                "they are no classes",
                "sample_weight=, a number for each row",
            )
        return labels.astype("int32")


def _several_labels(y: np.ndarray[Any, Any], class_weights: Mapping[int, float], output: str = "") -> DataError:
    """Return the error for targets with several labels in each row; it suggests sample weights of their shape."""
    weights: Any = (
        [class_weights.get(label, 1.0) for label in range(max(class_weights) + 1)]
        if max(class_weights) < _FEW
        else "weights"
    )
    instead = "sample_weight=, a number for each row"
    if y.ndim and y.dtype.kind in "iu":
        labels, shape = ("y[..., 0]", y.shape[:-1]) if y.shape[-1] == 1 else ("y", y.shape)
        beyond = np.unique(y[(y < 0) | (y >= len(weights))]) if isinstance(weights, list) else np.array([])
        if isinstance(weights, list) and beyond.size and beyond[0] >= 0 and beyond[-1] < _FEW:
            weights += [1.0] * (int(beyond[-1]) + 1 - len(weights))
        elif beyond.size:  # no class, such as 255 and -1 where nothing is labelled; it is no place in a list of weights
            loss = f"SparseCategoricalCrossentropy(class_weight={weights}, ignore_class={beyond[-1]})"
            return _not_one_a_row(y, output, f"{loss}, where {beyond[-1]} is no class")
        instead = (
            f"for a label at each position sample_weight=np.take({weights}, {labels}), of shape {shape}, or "
            f"SparseCategoricalCrossentropy(class_weight={weights})"
        )
    elif y.ndim > 2:
        instead += f"; for one-hot rows at each position CategoricalCrossentropy(class_weight={weights})"
    return _not_one_a_row(y, output, instead)


_FEW = 10  # classes, whose weights are shown in a message


def _not_one_a_row(y: np.ndarray[Any, Any], output: str, instead: str) -> DataError:
    return DataError(
        f"class_weight for targets of shape {y.shape}{output}",
        "it weighs rows by their class, and these are not one class a row",
        instead,
    )
