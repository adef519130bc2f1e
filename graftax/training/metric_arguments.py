"""Sample weights and masks in the form in which the `update` of a metric takes them."""

from __future__ import annotations

from inspect import signature
from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentTypeError
from graftax.metrics.metric import Metric
from graftax.objectives.sample_weights import broadcast_weight


def weights_and_mask_for(metric: Metric, weight: Any, mask: Any) -> dict[str, Any]:
    """Return weights and mask in the form that a metric's `update` accepts: both, only weights, or neither."""
    parameters = signature(metric.update).parameters
    anything = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    given = {"sample_weight": weight} if anything or "sample_weight" in parameters else {}
    if mask is not None and (anything or "mask" in parameters):
        return given | {"mask": mask}
    if mask is not None and given:  # as in Keras, where masks are passed as weights
        mask = ops.cast(mask, "float32")
        weight = mask if weight is None else mask * broadcast_weight(weight, mask)
        return {"sample_weight": weight}
    missing = "mask" if mask is not None else "sample_weight"
    if mask is not None or (weight is not None and not given):
        raise ArgumentTypeError(
            f"{type(metric).__name__}.update{signature(metric.update)} in a model whose batches have a {missing}",
            "it takes none, so it would also count what is hidden",
            f"def update(self, y_true, y_pred, sample_weight=None{', mask=None' if mask is not None else ''})",
        )
    return given
