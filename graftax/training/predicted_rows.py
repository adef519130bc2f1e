"""What `predict` collects: the output of each batch, whose rows become one array in the order of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graftax.core import tree, user_line
from graftax.core.errors import DataError, GraftaxError
from graftax.training.misread_structures import explain_structure
from graftax.training.trainable_model import TrainableModel


def rows_of(outputs: object) -> int:
    """Return the number of rows of a batch, from the model's output."""
    shape = getattr(tree.flatten(outputs)[0], "shape", ())
    return shape[0] if shape else 1


def predict_batch(model: TrainableModel, step: Callable[[Any], Any], x: object, is_first: bool) -> Any:
    """Return the output of a step; tell what a `predict_step` of the user's gets where that may be misunderstood."""
    try:
        found = step(x)
    except GraftaxError as error:
        if model._gx_has_own("predict_step"):
            error.add_context(f"{type(model).__name__}.predict_step: {_GETS}")
        explain_structure(error, x, None, learns=False)
        raise
    given = rows_of(x)
    if is_first and model._gx_has_own("predict_step"):
        shapes = [np.shape(leaf) for leaf in tree.flatten(found)]
        other = next((shape[0] for shape in shapes if shape and shape[0] != given), None)
        if other is not None:
            user_line.warn(
                f"predict: {type(model).__name__}.predict_step made {other} rows of the {given} of a batch. {_GETS}. "
                "Instead: an output with a row for each row of x"
            )
    return found


_GETS = "In predict_step(self, x), x is the input itself, no tuple as in train_step; x[0] is its first row"


def in_order(rows: np.ndarray[Any, Any], order: Sequence[int] | None) -> np.ndarray[Any, Any]:
    """Return rows in the order of the data, from the order of the batches.

    Raises:
        DataError: the numbers of rows differ.
    """
    if order is None:
        return rows
    if len(rows) != len(order):
        raise DataError(
            f"predict got {len(order)} rows of data in batches by length, and made {len(rows)} of them",
            "so the rows cannot be put back into the order of the data",
            "predict(batches) without steps=; outputs with a row for each; or a loop of your own over the batches",
        )
    return rows[np.argsort(np.asarray(order))]


def require_alike(model: TrainableModel, first: object, part: object, number: int) -> None:
    """Raise if the rows of a batch cannot be concatenated with those of the first one.

    Raises:
        DataError: they have other shapes, or there is no axis of rows.
    """
    if number and getattr(first, "shape", ()) == getattr(part, "shape", None):
        return  # the common case: one array, with the same shape
    for (path, one), (_, other) in zip(tree.flatten_with_paths(first), tree.flatten_with_paths(part), strict=False):
        shapes = tuple(np.shape(one)), tuple(np.shape(other))
        if shapes[0] and shapes[0][1:] == shapes[1][1:]:
            continue
        own = model._gx_has_own("predict_step")
        rows = "the rows of all batches become one array, and "
        raise DataError(
            f"predict: the output{f' {path!r}' if path else ''} has shape {shapes[0]} in batch 0"
            + (f", {shapes[1]} in batch {number}" if number else ""),
            rows + ("all sizes but the first must agree" if shapes[0] else "one number has no rows"),
            _ALIKE if shapes[0] else _ROWS_OF_STEP if own else "an output with a row for each row of the input",
        )


_ALIKE = (
    "outputs of one length: sequences padded to one length before (gx.data.bucket(..., sizes=[longest])); or a list in "
    "the order of the data: [model.predict(one[None], verbose=0)[0] for one in x]"
)
_ROWS_OF_STEP = f"an output with a row for each row of x. {_GETS}"
