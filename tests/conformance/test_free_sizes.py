"""Every layer is exported with sizes that are free, and gives the same bits at two values of each."""

import re
from pathlib import Path
from typing import Any

import pytest

import graftax as gx
from graftax.core.errors import ExportError, GraftaxError
from graftax.export import Signature, Spec
from graftax.export.tracing import trace
from tests.conformance.lanes import in_lanes
from tests.conformance.layer_rows import ROWS, SIBLINGS, Row
from tests.conformance.test_layers import built

NAMES = "btuvw"
FIXED = {
    "batch_normalization_axis": "t",
    "group_normalization_axis": "t",
    "layer_normalization_axes": "t",
    "rms_normalization": "t",
    "einsum_dense_front": "u",
    "dense_1d": "b",
    "adaptive_average_pooling1d": "t",
    "adaptive_average_pooling2d": "tu",
    "adaptive_average_pooling3d": "tuv",
    "adaptive_max_pooling1d": "t",
    "adaptive_max_pooling2d": "tu",
    "adaptive_max_pooling3d": "uv",
    "resizing": "tu",
    "dot": "t",
    "mixture_of_experts_capacity": "bt",
}
"""Axes with as many weights, or windows, as they have places, and so of a number."""
CONSTRAINTS = {
    "conv1d": ["t >= 3"],
    "conv2d_groups": ["t >= 3", "u >= 2"],
    "conv3d": ["t >= 2", "u >= 2", "v >= 2"],
    "max_pooling2d": ["t >= 2", "u >= 2"],
    "max_pooling3d": ["t >= 2", "v >= 2"],
    "average_pooling1d": ["t >= 3"],
    "average_pooling3d": ["t >= 2", "u >= 2", "v >= 2"],
    "conv1d_pairs": ["t >= 3"],
    "max_pooling2d_pairs": ["t >= 2", "u >= 1"],
    "separable_conv1d": ["t >= 5"],
    "separable_conv2d": ["t >= 3", "u >= 2"],
    "cropping1d": ["t >= 4"],
    "cropping2d": ["t >= 2", "u >= 3"],
    "cropping3d": ["t >= 3", "v >= 3"],
    "position_embedding": ["t <= 9"],
    "center_crop": ["t >= 4", "u >= 8"],
    "random_crop": ["t >= 4", "u >= 5"],
}
"""What holds between the sizes of inputs that a layer takes at all."""
FOREVER = {"mixture_of_experts_capacity": "how many rows an expert takes is a number"}
"""What no size of the batch can be free for, and what is told."""


def inputs(name: str, row: Row, free: str) -> Any:
    fixed = FIXED.get(name, "")
    shapes = row.inputs if isinstance(row.inputs, list) else [row.inputs]
    axes = 0 if row.below is not None else 1  # the last one is that of features
    specs = []
    for number, shape in enumerate(shapes):
        names = [
            letter if i < len(shape) - axes and letter in free and letter not in fixed and size > 1 else size
            for i, (letter, size) in enumerate(zip(NAMES, shape, strict=False))
        ]
        if number and names[1:2] == ["t"] and shape[1] != shapes[0][1]:
            names[1] = "s"  # another sequence
        dtype, bounds = ("float32", None) if row.below is None else ("int32", (0, row.below - 1))
        specs.append(Spec(names, dtype, bounds))
    return specs if isinstance(row.inputs, list) else specs[0]


def signature(name: str, free: str) -> Signature:
    row = ROWS[name]
    given = inputs(name, row, free)
    found = {size for spec in (given if isinstance(given, list) else [given]) for size in spec.names}
    constraints = [one for one in CONSTRAINTS.get(name, []) if set(re.findall("[a-w]", one)) <= found]
    return Signature(built(row)[0], given, constraints=constraints)


BATCHED = [name for name in ROWS if name not in {*FOREVER, "dense_1d"}]


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize("name", in_lanes(BATCHED, SIBLINGS & {*BATCHED}))
def test_the_batch_of_every_layer_is_free(name: str) -> None:
    traced = trace(signature(name, "b"))
    assert traced.signature.free in (["b"], [])
    assert traced.written == []


@pytest.mark.broad
@pytest.mark.parametrize("name", list(FOREVER))
def test_what_cannot_be_free_is_told(name: str) -> None:
    row = ROWS[name]
    layer, _ = built(row)
    with pytest.raises(ExportError, match=FOREVER[name]):
        trace(Signature(layer, Spec(["b", *row.inputs[1:]])))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ROWS))
def test_all_sizes_of_every_layer_are_free_and_the_bits_are_equal(name: str, tmp_path: Path) -> None:
    report = gx.export.save(tmp_path / "layer", signature(name, NAMES), platforms=("cpu",))
    checked = report.signatures["predict"].checked
    assert checked is not None
    assert checked.error == 0.0
    assert len(checked.sizes) == (2 if checked.sizes[0] else 1)


@pytest.mark.parametrize("name", sorted(CONSTRAINTS))
def test_without_its_constraint_a_layer_tells_what_has_to_hold(name: str) -> None:
    made = signature(name, NAMES)
    made.constraints = ()
    with pytest.raises(GraftaxError, match="the function decides by a free size") as caught:
        trace(made)
    assert re.search(r"constraints=\['.*'\] or \['.*'\]", str(caught.value))
