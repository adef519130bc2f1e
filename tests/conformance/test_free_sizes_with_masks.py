"""Layers, losses and metrics with a mask are exported with a free batch and free steps, as they are without one."""

from typing import Any

import numpy as np
import pytest

from graftax import layers
from graftax.core.typedefs import Array
from graftax.export import Signature, Spec
from graftax.export.tracing import Traced, trace
from graftax.layers.layer import Layer
from graftax.losses import Loss
from graftax.metrics import Metric
from tests.conformance import loss_rows, metric_rows
from tests.conformance.lanes import in_lanes
from tests.conformance.layer_mask_rows import SIBLINGS, USES, Row
from tests.conformance.test_hidden_metrics import stepwise

CONSTRAINTS = {"position_embedding": ["t <= 5"]}
"""What holds between the sizes of inputs that a layer takes at all."""


class Masked(Layer):
    """A layer behind a Masking, which reads what has one, and the plain arrays beside it."""

    def __init__(self, inner: Layer, inputs: int) -> None:
        super().__init__()
        self.masking = layers.Masking()
        self.inner = inner
        self.inputs = inputs

    def call(self, x: Array, *others: Array) -> Any:
        masked = self.masking(x)
        return self.inner([masked, *others] if self.inputs > 1 else masked)


def masked_call(row: Row, constraints: list[str]) -> Traced:
    features = (4,) if row.axes == 3 else (1, 4)
    layer = Masked(row.make(), row.inputs)
    layer(*[np.ones((2, 5, *features), "float32")] * row.inputs)
    return trace(Signature(layer, *[Spec(["b", "t", *features])] * row.inputs, constraints=constraints))


@pytest.mark.in_turn(6, broad=3)
@pytest.mark.parametrize("name", in_lanes(USES, SIBLINGS - {"multiply"}))
def test_layers_of_masked_inputs_have_free_batches_and_steps(name: str) -> None:
    assert masked_call(USES[name], CONSTRAINTS.get(name, [])).signature.free == ["b", "t"]


@pytest.mark.parametrize("shape", [(1, 1, 4), (4,), ("b", 1, 4), (1, "t", 4)])
def test_masks_of_merged_inputs_are_broadcast_to_free_sizes(shape: tuple[Any, ...]) -> None:
    layer = Masked(layers.Add(), 2)
    fixed = [{"b": 2, "t": 5}.get(size, size) for size in shape]
    layer(np.ones((2, 5, 4), "float32"), np.ones(fixed, "float32"))
    traced = trace(Signature(layer, Spec(["b", "t", 4]), Spec(list(shape))))
    assert traced.signature.free == ["b", "t"]


def spec(x: np.ndarray[Any, Any]) -> Spec:
    """Samples and steps are free; labels have bounds."""
    bounds = (0, max(int(x.max()), 1)) if x.dtype.kind in "iu" else None
    return Spec(["b", "t", *x.shape[2:]][: x.ndim], x.dtype.name, bounds)


def narrowed(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.astype("float32" if x.dtype.kind == "f" else "int32")


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", loss_rows.ROWS)
def test_losses_with_a_mask_have_free_batches_and_steps(name: str) -> None:
    row = loss_rows.ROWS[name]
    y, p = map(narrowed, loss_rows.data(row, (4, 3, 3)))
    loss: Loss = row.make()

    def masked(y: Array, p: Array, keep: Array) -> Any:
        return loss(y, p, mask=keep > 0)

    keep = np.ones(p.shape[:2], "float32")
    assert trace(Signature(masked, spec(y), spec(p), spec(keep))).signature.free == ["b", "t"]


@pytest.mark.in_turn(12, broad=6)
@pytest.mark.parametrize("name", metric_rows.ROWS)
def test_metrics_with_a_mask_have_free_batches_and_steps(name: str) -> None:
    row = metric_rows.ROWS[name]
    y, p = map(narrowed, stepwise(row))
    metric: Metric = row.make()

    def masked(y: Array, p: Array, keep: Array) -> Any:
        metric.update(y, p, mask=keep > 0)
        return metric.result()

    keep = np.ones(p.shape[:2], "float32")
    masked(y, p, keep)
    assert trace(Signature(masked, spec(y), spec(p), spec(keep), assigns=True)).signature.free == ["b", "t"]
