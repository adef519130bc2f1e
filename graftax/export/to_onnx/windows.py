"""Convolutions and poolings: ONNX has channels before places, programs have them as they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.export.to_onnx.messages import Attribute
from graftax.export.to_onnx.shapes import spread_out
from graftax.export.to_onnx.sizes import shape_of
from graftax.export.to_onnx.step import Step, rule, transpose
from graftax.export.to_onnx.unwritable import Unwritable
from graftax.export.to_onnx.values import Operand, are_fixed, is_fixed


@rule("conv_general_dilated")
def convolution(step: Step) -> Operand:
    """Write a convolution; one of a dilated input, as in a transposed one, has zeros put in first."""
    graph, said = step.graph, step.parameters
    axes = said["dimension_numbers"]
    if said["batch_group_count"] != 1:
        raise Unwritable(
            "it is a convolution with groups of samples, as in the gradient of a convolution",
            "a function without the gradient: the forward pass alone",
        )
    x = transpose(graph, step.full_operand(), axes.lhs_spec)
    pads = [tuple(pair) for pair in said["padding"]]
    for i, dilation in enumerate(said["lhs_dilation"]):
        if dilation != 1:
            size = step.inputs[0].shape[axes.lhs_spec[2 + i]]
            x = spread_out(graph, x, graph.number(0, step.dtype()), 2 + i, int(dilation) - 1, size)
    if not all(is_fixed(size) and size >= 0 for pair in pads for size in pair):
        lows, highs = [low for low, _ in pads], [high for _, high in pads]
        x = graph.add("Pad", x, shape_of(graph, (0, 0, *lows, 0, 0, *highs)))
        pads = [(0, 0)] * len(pads)
    settings: dict[str, Attribute] = {
        "strides": [int(size) for size in said["window_strides"]],
        "dilations": [int(size) for size in said["rhs_dilation"]],
        "group": int(said["feature_group_count"]),
        "pads": [int(low) for low, _ in pads] + [int(high) for _, high in pads],
        "kernel_shape": [int(step.inputs[1].shape[axis]) for axis in axes.rhs_spec[2:]],
    }
    y = _product(step, x, axes.rhs_spec, settings)
    return step.result(transpose(graph, y, [int(i) for i in np.argsort(axes.out_spec)]))


def _product(step: Step, x: str, order: Sequence[int], settings: dict[str, Attribute]) -> str:
    kernel = step.known_operand(1)
    if kernel is None:
        return step.graph.add("Conv", x, transpose(step.graph, step.full_operand(1), order), **settings)
    array = step.graph.file.call_like(np.ascontiguousarray(np.transpose(kernel, order)), kernel)
    return step.translator.integers.convolution(step.graph, x, array, settings)


def _pool(step: Step, operator: str, **settings: Attribute) -> str:
    said = step.parameters
    window, strides, pads = said["window_dimensions"], said["window_strides"], list(said["padding"])
    if any(size != 1 for size in said["base_dilation"]):
        raise Unwritable(
            "its windows go over an array with gaps (base_dilation), and ONNX has none", "windows without base_dilation"
        )
    rank = len(window)
    # a window over up to three axes: these last, and what is before them as batch and channels
    over = [i for i in range(rank) if window[i] != 1 or strides[i] != 1 or pads[i] != (0, 0)] or [rank - 1]
    if len(over) > 3:
        raise Unwritable(
            "windows in ONNX go over three axes at most", "a function with windows over at most three axes"
        )
    if len(over) > rank - 2:
        raise Unwritable(
            "windows in ONNX go over spatial axes, not over samples or channels", "ops.max or ops.mean over those axes"
        )
    rest = [i for i in range(rank) if i not in over]
    while len(rest) > 2:  # axes that no window goes over may stand among the places, too
        over = sorted([*over, rest.pop()])
    graph = step.graph
    order = [*rest, *over]
    x = transpose(graph, step.full_operand(), order)
    if not are_fixed([size for i in over for size in pads[i]]):
        raise Unwritable(
            'the width of its padding depends on a free size, as padding="same" with strides does',
            'padding="valid", or a number for that size: gx.export.Spec("batch 32 32 3")',
        )
    places: dict[str, Any] = {
        "kernel_shape": [int(window[i]) for i in over],
        "strides": [int(strides[i]) for i in over],
        "pads": [int(pads[i][0]) for i in over] + [int(pads[i][1]) for i in over],
    }
    dilation = [int(said["window_dilation"][i]) for i in over]
    if any(size != 1 for size in dilation):
        if operator != "MaxPool":
            raise Unwritable(
                "ONNX has averages over windows with gaps (dilation) from opset 19 on only", "windows without dilation"
            )
        places["dilations"] = dilation
    y = graph.add(operator, x, **places, **settings)
    return transpose(graph, y, [int(i) for i in np.argsort(order)])


@rule("reduce_window_max")
def largest(step: Step) -> Operand:
    """Write the largest number of each window."""
    return step.result(_pool(step, "MaxPool"))


@rule("reduce_window_sum")
def total(step: Step) -> Operand:
    """Write the sum of each window, as that many times its mean."""
    mean = _pool(step, "AveragePool", count_include_pad=1)
    size = math.prod(step.parameters["window_dimensions"])
    return step.result(step.graph.add("Mul", mean, step.graph.number(size, step.dtype())))
