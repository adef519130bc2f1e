"""Checks of derivatives: every differentiable op against central differences in float64, kinks, rules, recording."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend.testing.check import Check, Kit, raises, rows
from graftax.backend.testing.families.every import FAMILIES
from graftax.backend.testing.op_cases import INPUTS
from graftax.backend.testing.op_checks import as_list, reference

DIFFERENTIABLE = (
    "abs negative exp exp2 expm1 log log2 log10 log1p sqrt cbrt square reciprocal sin cos tan arcsin arccos "
    "arctan sinh cosh tanh arcsinh arccosh arctanh add subtract multiply divide power maximum minimum arctan2 "
    "hypot logaddexp where clip sum mean var std max min prod cumsum cumprod median quantile transpose swapaxes "
    "moveaxis expand_dims squeeze broadcast_to ravel tile repeat flip roll rot90 tril triu diag diagonal "
    "concatenate stack reshape take take_along_axis gather_nd scatter_add segment_sum slice slice_update split "
    "unstack pad sort top_k matmul dot inner outer kron cross tensordot trace einsum inv det solve cholesky eigh "
    "pinv erf sigmoid rsqrt softplus log_sigmoid divide_no_nan xlogy squared_difference softmax log_softmax "
    "logsumexp norm moments standardize dot_product_attention conv conv_transpose max_pool sum_pool"
).split() + [name for family in FAMILIES for name in family.DIFFERENTIABLE.split()]
FIRST = {"where": 1, "einsum": 1, "ctc_loss": 1}
"""Which argument is differentiated, where it is not the first."""
CHOSEN = {"divide": 0, "power": 0, "max_pool": 1, "softmax": 0, "sort": 1}
"""Which case, where it is not the first."""
SMOOTH: dict[str, Any] = {"xlogy": ((np.array([0.5, 1.0, 2.0]), np.array([0.5, 0.7, 3.0])), {})}
_SYMMETRIC = ("cholesky", "eigh")

KINKS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "abs": (lambda x: ops.sum(ops.abs(x)), [0.0, -2.0], [1.0, -1.0]),
    "maximum": (lambda x: ops.sum(ops.maximum(x, 0.0)), [0.0, 1.0], [0.5, 1.0]),
    "minimum": (lambda x: ops.sum(ops.minimum(x, 0.0)), [0.0, 1.0], [0.5, 0.0]),
    "clip": (lambda x: ops.sum(ops.clip(x, 0.0, 1.0)), [0.0, 0.5, 1.0, 2.0], [0.5, 1.0, 0.5, 0.0]),
    "max with ties": (lambda x: ops.max(x), [2.0, 1.0, 2.0], [0.5, 0.0, 0.5]),
    "min with ties": (lambda x: ops.min(x), [1.0, 1.0, 2.0, 1.0], [1 / 3, 1 / 3, 0.0, 1 / 3]),
    "max pool with ties": (
        lambda x: ops.sum(ops.max_pool(ops.reshape(x, (1, 2, 2, 1)), 2)), [3.0, 3.0, 3.0, 3.0], [0.25] * 4
    ),
    "prod with a zero": (lambda x: ops.prod(x), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "sign": (lambda x: ops.sum(ops.sign(x)), [0.0, 2.0], [0.0, 0.0]),
    "round": (lambda x: ops.sum(ops.round(x)), [0.5, 2.2], [0.0, 0.0]),
    "norm at 0": (lambda x: ops.norm(x), [0.0, 0.0], [0.0, 0.0]),
    "angle at 0": (
        lambda x: ops.sum(ops.arctan2(x, x) + ops.angle(ops.view_as_complex(ops.stack([x, x], -1)))), [0.0, 1.0], [0, 0]
    ),
    "0 to the power of 0": (lambda x: ops.sum(ops.power(x, [0.0, 1.0])), [0.0, 0.0], [0.0, 1.0]),
    "logaddexp of nothing": (lambda x: ops.sum(ops.logaddexp(x, x)), [-math.inf, 0.0], [0.0, 1.0]),
    "sqrt at 0": (lambda x: ops.sum(ops.sqrt(x)), [0.0, 4.0], [math.inf, 0.25]),
    "stop_gradient": (lambda x: ops.sum(x * ops.stop_gradient(x)), [3.0], [3.0]),
    "real part of a square": (lambda z: ops.real(z * z), 1 + 2j, 2 + 4j),
}  # fmt: skip
"""What is wanted where a derivative is a matter of choice: a function, where, and its gradient."""


def _widen(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype("float64") if value.dtype.kind == "f" else value
    return [_widen(one) for one in value] if isinstance(value, list) else value


def _of_op(name: str, kit: Kit) -> None:
    args, options = SMOOTH.get(name) or INPUTS[name][CHOSEN.get(name, 0)]
    start = FIRST.get(name, 0)
    several = isinstance(args[start], (list, tuple))
    point = [np.asarray(one, "float64") for one in (args[start] if several else [args[start]])]
    generator = np.random.default_rng(0)
    directions = [generator.normal(size=one.shape) for one in point]  # off the grid of ties
    if name in _SYMMETRIC:
        directions = [one + one.T for one in directions]

    def weights(size: int) -> Any:
        return np.cos(1 + np.arange(size))

    def parts(function: Callable[..., Any], values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        given = [*others]
        given[start] = list(values) if several else values[0]
        found = as_list(function(*given, **options))
        return found[:1] if name == "eigh" else found  # the sign of an eigenvector is free

    def plain(step: float) -> float:
        moved = [one + step * way for one, way in zip(point, directions, strict=True)]
        found = [np.asarray(one) for one in parts(reference(name), moved, [_widen(one) for one in args])]
        return float(sum((one.ravel() * weights(one.size)).sum() for one in found if one.dtype.kind == "f"))

    def scalar(values: Any) -> tuple[Any, None]:
        found = [one for one in parts(getattr(ops, name), values, args) if one.dtype.kind == "f"]
        total = sum(ops.sum(ops.ravel(one) * kit.array(weights(one.size), "float32")) for one in found)
        return total, None

    step = 1e-5
    expected = (plain(step) - plain(-step)) / (2 * step)
    (_, _), gradients = kit.backend.gradients.value_and_grad(scalar)([kit.array(one, "float32") for one in point])
    hosts = [kit.host(one).astype("float64") for one in gradients]
    found = sum((one * way).sum() for one, way in zip(hosts, directions, strict=True))
    size = sum(np.abs(one * way).sum() for one, way in zip(hosts, directions, strict=True))
    bound = 50 * kit.tolerances["float32"] * (1 + size)
    assert abs(found - expected) <= bound, f"ops.{name}: the slope is {found}, not {expected}"


def _at_kink(name: str, kit: Kit) -> None:
    function, where, wanted = KINKS[name]
    _, gradient = kit.backend.gradients.value_and_grad(lambda x: (function(x), None))(kit.array(where))
    kit.close(gradient, np.asarray(wanted).astype(kit.host(kit.array(where)).dtype), f"the gradient of {name}")


def _check_value_and_grad(kit: Kit) -> None:
    gradients, numpy, x = kit.backend.gradients, kit.backend.arrays.numpy, kit.array([1.0, 2.0])
    calls: list[Any] = []
    outside = gradients.level()

    def function(tree: Any, other: Any) -> Any:
        calls.append(
            (gradients.is_tracer(tree["x"]), gradients.level() is outside, gradients.leaks(tree["x"], outside))
        )
        return numpy.sum(tree["x"] ** 2 * other), {"aux": tree["x"] + 1}

    (value, aux), found = gradients.value_and_grad(function)({"x": x}, kit.array([3.0, 4.0]))
    kit.close(value, np.array(19.0, "float32"), "the value")
    kit.close(aux["aux"], np.array([2, 3], "float32"), "aux")
    kit.close(found["x"], np.array([6, 16], "float32"), "the gradient")
    assert calls == [(True, False, True)], f"the function runs once, in a level of its own: {calls}"
    assert gradients.level() is outside, "the level afterwards is not the one before"
    second = gradients.value_and_grad(
        lambda x: (numpy.sum(gradients.value_and_grad(lambda y: (numpy.sum(y**3), None))(x)[1]), None)
    )(x)[1]
    kit.close(second, np.array([6, 12], "float32"), "a gradient of a gradient")


def _check_value_and_reached_grad(kit: Kit) -> None:
    gradients, arrays = kit.backend.gradients, kit.backend.arrays
    calls: list[int] = []

    def function(values: list[Any]) -> Any:
        calls.append(1)
        reached, cut, _ = values
        return arrays.numpy.sum(reached**2 * arrays.stop_gradient(cut)), {"aux": reached + 1}

    given = [kit.array([1.0, 2.0]), kit.array([3.0, 4.0]), kit.array([5.0, 6.0])]
    (value, aux), found = gradients.value_and_reached_grad(function)(given)
    kit.close(value, np.array(19.0, "float32"), "the value")
    kit.close(aux["aux"], np.array([2, 3], "float32"), "aux")
    kit.close(found[0], np.array([6, 16], "float32"), "the gradient of what is reached")
    assert found[1:] == [None, None], f"gradients of what is not reached: {found[1:]}"
    assert calls == [1], f"the function runs once, not {len(calls)} times"


def _check_reached_vjp(kit: Kit) -> None:
    gradients, arrays = kit.backend.gradients, kit.backend.arrays

    def function(values: list[Any]) -> list[Any]:
        first, second, cut, _ = values
        return [first**2 * arrays.stop_gradient(cut), second]

    given = [kit.array([1.0, 2.0]), kit.array([3.0, 4.0]), kit.array([5.0, 6.0]), kit.array([7.0, 8.0])]
    results, pull = gradients.reached_vjp(function, given)
    kit.close(results[0], np.array([5, 24], "float32"), "the results of reached_vjp")
    found = pull([kit.array([1.0, 10.0]), kit.array([1.0, 2.0])])
    kit.close(found[0], np.array([10, 240], "float32"), "the cotangent of the first array")
    kit.close(found[1], np.array([1, 2], "float32"), "the cotangent of the second array")
    assert found[2:] == [None, None], f"cotangents of what is not reached: {found[2:]}"


def _check_vjp_and_jvp(kit: Kit) -> None:
    gradients, x = kit.backend.gradients, kit.array([1.0, 2.0])
    y, pull = gradients.vjp(lambda a, b: [a * b, a], x, kit.array([5.0, 7.0]))
    kit.close(y[0], np.array([5, 14], "float32"), "the results of vjp")
    first, second = pull([kit.array([1.0, 10.0]), kit.array([1.0, 1.0])])
    kit.close(first, np.array([6, 71], "float32"), "the cotangent of the first argument")
    kit.close(second, np.array([1, 20], "float32"), "the cotangent of the second argument")
    _, pull, aux = gradients.vjp_with_aux(lambda a: (a * a, {"kept": a}), x)
    kit.close(aux["kept"], np.array([1, 2], "float32"), "aux")
    kit.close(pull(kit.array([1.0, 1.0]))[0], np.array([2, 4], "float32"), "the cotangent beside aux")
    value, tangent = gradients.jvp(lambda a: a * a, (x,), (kit.array([1.0, 3.0]),))
    kit.close(value, np.array([1, 4], "float32"), "the value of jvp")
    kit.close(tangent, np.array([2, 12], "float32"), "the tangent")


def _check_own_rule(kit: Kit) -> None:
    gradients, numpy = kit.backend.gradients, kit.backend.arrays.numpy

    def forward(leaves: list[Any]) -> tuple[list[Any], list[Any], Any]:
        return [leaves[0] * leaves[1]], [leaves[1]], "kept"

    def backward(residuals: list[Any], thing: object, cotangents: list[Any]) -> list[Any]:
        assert thing == "kept"
        return [cotangents[0] * residuals[0] * 100, None]

    def function(x: object) -> Any:
        (out,) = gradients.custom_vjp(lambda given: [given[0] * given[1]], forward, backward, [x, y], [None, None])
        return numpy.sum(out), None

    x, y = kit.array([1.0, 2.0]), kit.array([3.0, 4.0])
    (value, _), found = gradients.value_and_grad(function)(x)
    kit.close(value, np.array(11.0, "float32"), "the value of a function with a rule")
    kit.close(found, np.array([300, 400], "float32"), "the gradient is the one that the rule tells")
    refused = [lambda: ValueError("not this one")]
    with raises(ValueError):
        gradients.value_and_grad(
            lambda x: (
                numpy.sum(gradients.custom_vjp(list, lambda g: (list(g), [], 0), lambda *_: [None], [x], refused)[0]),
                None,
            )
        )(x)


def _check_own_forward_rule(kit: Kit) -> None:
    gradients, arrays, x = kit.backend.gradients, kit.backend.arrays, kit.array([1.0, 2.0])

    def cubed(x: Any) -> Any:
        return arrays.with_jvp(lambda one: one**3, lambda given, way: (cubed(given[0]), 30 * given[0] * way[0]), x)

    kit.close(cubed(x), np.array([1, 8], "float32"), "the value of a function with a rule")
    value, tangent = gradients.jvp(cubed, (x,), (kit.array([1.0, 3.0]),))
    kit.close(value, np.array([1, 8], "float32"), "the value beside the tangent")
    kit.close(tangent, np.array([30, 180], "float32"), "the tangent is the one that the rule tells")

    def gradient(x: Any) -> Any:
        return gradients.value_and_grad(lambda one: (arrays.numpy.sum(cubed(one)), None))(x)[1]

    kit.close(gradient(x), np.array([30, 60], "float32"), "the gradient is the one that the rule tells")
    second = gradients.value_and_grad(lambda one: (arrays.numpy.sum(gradient(one)), None))(x)[1]
    kit.close(second, np.array([30, 30], "float32"), "a rule is differentiated, too")


def _check_tap(kit: Kit) -> None:
    gradients, numpy = kit.backend.gradients, kit.backend.arrays.numpy
    heard: list[Any] = []

    def function(token: Any) -> Any:
        value = gradients.tap(kit.array([1.0, 2.0]), token, lambda one: heard.append(kit.host(one)), gradients.level())
        return numpy.sum(value * value * 3), None

    gradients.value_and_grad(function)(kit.array(0.0))
    kit.close(heard[0], np.array([6, 12], "float32"), "the cotangent that was heard")


class _Recorder:
    """Tracks some arrays, and what is computed from them."""

    def __init__(self, *values: Any) -> None:
        self.tracked = {id(value): value for value in values}
        self.steps: list[tuple[Any, Any, Any]] = []

    def tracks(self, values: Sequence[Any]) -> bool:
        return any(id(value) in self.tracked for value in values)

    def record(self, call: object, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.steps.append((call, list(inputs), list(outputs)))
        self.tracked |= {id(value): value for value in outputs}


def _check_recording(kit: Kit) -> None:
    gradients, numpy, x = kit.backend.gradients, kit.backend.arrays.numpy, kit.array([1.0, 2.0])
    recorder = _Recorder(x)
    level, _ = gradients.start_recording(recorder)
    try:
        y = numpy.sum(numpy.exp(x * 2))
        numpy.exp(kit.array([5.0]))  # of nothing that is tracked
        copy = gradients.copy_unrecorded(x, level)
    finally:
        gradients.stop_recording(recorder, level)
    numpy.exp(x)
    assert recorder.steps, "nothing was recorded"
    assert recorder.tracks([y]), "the result was not recorded"
    assert not recorder.tracks([copy]), "copy_unrecorded was recorded"
    values = {id(x): kit.array([3.0, 4.0])}
    for call, inputs, outputs in recorder.steps:
        again = call(*(values.get(id(one), one) for one in inputs))
        values |= {id(before): after for before, after in zip(outputs, again, strict=True)}
    kit.close(values[id(y)], np.exp(np.array([6.0, 8.0])).sum().astype("float32"), "what was recorded, run again")


CHECKS = [
    *(Check(f"gradients/ops/{name}", "gradients", partial(_of_op, name)) for name in DIFFERENTIABLE),
    *(Check(f"gradients/kinks/{name}", "gradients", partial(_at_kink, name)) for name in KINKS),
    *rows(
        "gradients",
        value_and_grad=_check_value_and_grad,
        value_and_reached_grad=_check_value_and_reached_grad,
        reached_vjp=_check_reached_vjp,
        vjp_and_jvp=_check_vjp_and_jvp,
        own_rule=_check_own_rule,
        own_forward_rule=_check_own_forward_rule,
        tap=_check_tap,
        recording=_check_recording,
    ),
]
