"""Operations on each element by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftax.export.to_onnx.messages import KINDS
from graftax.export.to_onnx.step import Rule, Step, rule
from graftax.export.to_onnx.unwritable import Unwritable
from graftax.export.to_onnx.values import Computed, Known, Operand

_PLAIN = {
    "add": "Add", "add_any": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs",
    "sign": "Sign", "exp": "Exp", "log": "Log", "tanh": "Tanh", "logistic": "Sigmoid", "erf": "Erf", "sqrt": "Sqrt",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
    "floor": "Floor", "ceil": "Ceil", "max": "Max", "min": "Min", "pow": "Pow",
    "eq": "Equal", "lt": "Less", "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
_LOGICAL = {"and": "And", "or": "Or", "xor": "Xor", "max": "Or", "min": "And", "mul": "And", "add": "Or", "ne": "Xor"}
_BITS = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor", "not": "BitwiseNot"}
_FLOATS = {"float32", "float16", "float64"}
_NARROW = {"int8", "int16", "uint8", "uint16", "uint32", "uint64"}
"""Integers that runtimes do not compute with."""


def _register(operation: str, operator: str) -> Rule:
    @rule(operation)
    def write(step: Step) -> Operand:
        return write_elementwise(step, operator)

    return write


def write_elementwise(step: Step, operator: str, **settings: int) -> Computed:
    """Write a node of the same meaning, in a dtype that runtimes compute with."""
    kind = step.dtype()
    if kind == "bool" and operator not in ("Equal", "Where"):
        if step.operation not in _LOGICAL:  # a comparison
            return in_dtype(step, operator, "int32", **settings)
        return step.elementwise(_LOGICAL[step.operation])
    if kind in _NARROW:
        return in_dtype(step, operator, "int64", **settings)
    return step.elementwise(operator, **settings)


def in_dtype(step: Step, operator: str, dtype: str, **settings: int) -> Computed:
    """Write a node in another dtype, and the result in its own."""
    wide = [cast(step, one, dtype) for one in step.operands]
    found = step.elementwise(operator, *wide, **settings)
    return (
        found if step.operation in _COMPARISONS else Computed(step.graph.cast(found.name, step.out_dtype), found.shape)
    )


def cast(step: Step, operand: Operand, dtype: str) -> Operand:
    """Return an operand in another dtype."""
    if isinstance(operand, Known):
        return Known(operand.array.astype(dtype))
    return Computed(step.graph.cast(operand.name, dtype), operand.shape)


for _operation, _operator in _PLAIN.items():
    _register(_operation, _operator)


def _add_alike(step: Step, operator: str, *others: str) -> Computed:
    return step.like_first(step.graph.add(operator, step.name(), *others))


@rule("ne")
def not_equal(step: Step) -> Operand:
    """Write ``x != y``."""
    found = step.elementwise("Equal") if step.dtype() not in _NARROW else in_dtype(step, "Equal", "int64")
    return Computed(step.graph.add("Not", found.name), found.shape)


@rule("rem")
def remainder(step: Step) -> Operand:
    """Write the remainder with the sign of the first."""
    return write_elementwise(step, "Mod", fmod=1)


@rule("and", "or", "xor", "not")
def bits(step: Step) -> Operand:
    """Write logic, of truth values or of bits."""
    if step.dtype() == "bool":
        return step.elementwise("Not" if step.operation == "not" else _LOGICAL[step.operation])
    if step.graph.file.opset < 18:
        raise Unwritable(f"ONNX has '{step.operation}' for the bits of integers from opset 18 on", "opset=18")
    return step.elementwise(_BITS[step.operation])


@rule("shift_left", "shift_right_logical")
def shift(step: Step) -> Operand:
    """Write a shift of bits, which runtimes have for numbers without a sign."""
    kind = step.dtype()
    free = kind if kind.startswith("uint") else f"u{kind}"
    free = "uint32" if free == "uint16" else free
    settings = {"direction": "LEFT" if step.operation == "shift_left" else "RIGHT"}
    found = step.elementwise("BitShift", *(cast(step, one, free) for one in step.operands), **settings)
    return Computed(step.graph.cast(found.name, kind), found.shape)


@rule("shift_right_arithmetic")
def halve(step: Step) -> Operand:
    """Write a division by a power of two, rounded down."""
    graph, kind = step.graph, step.dtype()
    x, by = (cast(step, one, "int64") for one in step.operands)
    one = Known(np.array(1, "uint64"))
    power = step.elementwise("BitShift", one, cast(step, by, "uint64"), direction="LEFT")
    divisor = Computed(graph.cast(power.name, "int64"), power.shape)
    rest = step.elementwise("Mod", x, divisor)  # with the sign of the divisor
    whole = step.elementwise("Sub", x, rest)
    return Computed(graph.cast(step.elementwise("Div", whole, divisor).name, kind), whole.shape)


@rule("le")
def at_most(step: Step) -> Operand:
    """Write ``x <= y``; noted where it is of 0."""
    found = write_elementwise(step, "LessOrEqual")
    x, limit = step.operands
    if isinstance(x, Computed) and isinstance(limit, Known) and step.dtype() in _FLOATS and not np.any(limit.array):
        step.graph.file.at_most_zero[found.name] = x.name
    return found


@rule("select_n")
def select(step: Step) -> Operand:
    """Write a choice among values by a truth value or a number."""
    which, *cases = step.operands
    if isinstance(which, Computed) and len(cases) == 2 and _is_relu(step, which, cases[0], cases[1]):
        return step.elementwise("Relu", cases[0])
    if step.dtype() == "bool" and len(cases) == 2:
        return step.elementwise("Where", which, cases[1], cases[0])
    chosen = cases[-1]
    for number in reversed(range(len(cases) - 1)):
        is_it = step.elementwise("Equal", cast(step, which, "int32"), Known(np.array(number, "int32")))
        chosen = step.elementwise("Where", is_it, cases[number], chosen)
    return chosen


def _is_relu(step: Step, which: Computed, positive: Operand, otherwise: Operand) -> bool:
    zero = isinstance(otherwise, Known) and not np.any(otherwise.array)
    asked = step.graph.file.at_most_zero.get(which.name)
    return zero and isinstance(positive, Computed) and asked == positive.name


@rule("clamp")
def clamp(step: Step) -> Operand:
    """Write a value moved between two limits."""
    low, x, high = step.operands
    if step.dtype(1) in _NARROW:
        low, x, high = (cast(step, one, "int64") for one in (low, x, high))
    found = step.elementwise("Min", step.elementwise("Max", x, low), high)
    return found if step.dtype(1) not in _NARROW else Computed(step.graph.cast(found.name, step.out_dtype), found.shape)


@rule("convert_element_type")
def convert(step: Step) -> Operand:
    """Write a cast."""
    if step.out_dtype == "bfloat16" or step.dtype() == "bfloat16":
        raise Unwritable(*BFLOAT16)
    if step.out_dtype not in KINDS:
        raise Unwritable(f"ONNX Runtime does not compute with {step.out_dtype}", 'ops.cast(x, "float32")')
    if step.dtype() == step.out_dtype:
        return step.operands[0]
    if step.dtype() in _FLOATS and step.out_dtype in _NARROW:  # from beyond the range runtimes differ: cut as here
        limits = np.iinfo(step.out_dtype)
        return Computed(step.graph.cast(_cut(step, limits.min, limits.max), step.out_dtype), step.operands[0].shape)
    return step.like_first(step.graph.cast(step.name(), step.out_dtype))


BFLOAT16 = (
    "ONNX Runtime has almost no operators for bfloat16",
    'gx.set_dtype_policy(model, "float16"), or "float32"; gx.export.save keeps bfloat16',
)
"""Why there is no bfloat16, and what to do."""


def _cut(step: Step, least: int, most: int) -> str:
    kind = step.dtype()
    return step.graph.add("Clip", step.name(), step.graph.number(least, kind), step.graph.number(most, kind))


@rule("integer_pow")
def integer_power(step: Step) -> Operand:
    """Write ``x ** n``."""
    power = int(step.parameters["y"])
    x = step.name()
    if power == 2:
        return _add_alike(step, "Mul", x)
    if power == -1 and step.dtype() in _FLOATS:
        return _add_alike(step, "Reciprocal")
    return _add_alike(step, "Pow", step.graph.number(power, step.dtype()))


@rule("square")
def square(step: Step) -> Operand:
    """Write ``x * x``."""
    return _add_alike(step, "Mul", step.name())


@rule("rsqrt")
def reciprocal_root(step: Step) -> Operand:
    """Write ``1 / sqrt(x)``."""
    return step.like_first(step.graph.add("Reciprocal", step.graph.add("Sqrt", step.name())))


@rule("exp2")
def power_of_two(step: Step) -> Operand:
    """Write ``2 ** x``."""
    return step.like_first(step.graph.add("Pow", step.graph.number(2, step.dtype()), step.name()))


@rule("cbrt")
def cube_root(step: Step) -> Operand:
    """Write the real cube root."""
    graph, x = step.graph, step.name()
    root = graph.add("Pow", graph.add("Abs", x), graph.number(1 / 3, step.dtype()))
    return step.like_first(graph.add("Mul", graph.add("Sign", x), root))


@rule("erfc")
def complement_of_erf(step: Step) -> Operand:
    """Write ``1 - erf(x)``."""
    return step.like_first(
        step.graph.add("Sub", step.graph.number(1, step.dtype()), step.graph.add("Erf", step.name()))
    )


@rule("erf_inv")
def inverse_of_erf(step: Step) -> Operand:
    """Write the inverse of ``erf`` by two polynomials (Giles 2012, "Approximating the erfinv function")."""
    graph, kind, x = step.graph, step.dtype(), step.name()
    one = graph.number(1, kind)
    inside = graph.add("Mul", graph.add("Sub", one, x), graph.add("Add", one, x))
    w = graph.add("Neg", graph.add("Log", inside))
    small = _polynomial(step, graph.add("Sub", w, graph.number(2.5, kind)), _NEAR)
    large = _polynomial(step, graph.add("Sub", graph.add("Sqrt", w), graph.number(3, kind)), _FAR)
    chosen = graph.add("Where", graph.add("Less", w, graph.number(5, kind)), small, large)
    ends = graph.add("Equal", graph.add("Abs", x), one)
    limit = graph.add("Mul", x, graph.number(np.inf, kind))
    return step.like_first(graph.add("Where", ends, limit, graph.add("Mul", chosen, x)))


_NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_FAR = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)


def _polynomial(step: Step, x: str, factors: Sequence[float]) -> str:
    graph, kind = step.graph, step.dtype()
    found = graph.number(factors[0], kind)
    for factor in factors[1:]:
        found = graph.add("Add", graph.add("Mul", found, x), graph.number(factor, kind))
    return found


@rule("log1p")
def log_of_one_more(step: Step) -> Operand:
    """Write ``log(1 + x)``, exact for small ``x`` also (Kahan's correction of the rounded sum)."""
    graph, x, kind = step.graph, step.name(), step.dtype()
    one, zero = graph.number(1, kind), graph.number(0, kind)
    total = graph.add("Add", x, one)
    moved = graph.add("Sub", total, one)
    safe = graph.add("Where", graph.add("Equal", moved, zero), one, moved)
    ratio = graph.add("Where", graph.add("IsInf", x), one, graph.add("Div", x, safe))
    exact = graph.add("Mul", graph.add("Log", total), ratio)
    return step.like_first(graph.add("Where", graph.add("Equal", total, one), x, exact))


@rule("expm1")
def one_less_than_exp(step: Step) -> Operand:
    """Write ``exp(x) - 1``, exact for small ``x`` also (the same correction)."""
    graph, x, kind = step.graph, step.name(), step.dtype()
    one, zero = graph.number(1, kind), graph.number(0, kind)
    power = graph.add("Exp", x)
    less = graph.add("Sub", power, one)
    log = graph.add("Log", power)
    safe = graph.add("Where", graph.add("Equal", log, zero), one, log)
    exact = graph.add("Mul", less, graph.add("Div", x, safe))
    near = graph.add("Where", graph.add("Equal", power, one), x, exact)
    small = graph.add("Less", graph.add("Abs", x), graph.number(0.5, kind))
    return step.like_first(graph.add("Where", small, near, less))


@rule("is_finite")
def is_finite(step: Step) -> Operand:
    """Write whether it is a number."""
    graph, x = step.graph, step.name()
    return step.like_first(graph.add("Not", graph.add("Or", graph.add("IsInf", x), graph.add("IsNaN", x))))


@rule("round")
def write_round(step: Step) -> Operand:
    """Write the nearest integer: the even one of two, or the one further from zero."""
    graph, x = step.graph, step.name()
    if "EVEN" in str(step.parameters["rounding_method"]):
        return step.like_first(graph.add("Round", x))
    up = graph.add("Floor", graph.add("Add", graph.add("Abs", x), graph.number(0.5, step.dtype())))
    return step.like_first(graph.add("Mul", graph.add("Sign", x), up))


@rule("atan2")
def angle(step: Step) -> Operand:
    """Write the angle of a point from its two coordinates."""
    kind = step.dtype()
    y, x = step.operands
    zero, pi = Known(np.array(0, kind)), Known(np.array(np.pi, kind))
    upright = step.elementwise("Equal", x, zero)
    slope = step.elementwise("Div", y, step.elementwise("Where", upright, Known(np.array(1, kind)), x))
    near = step.elementwise("Atan", slope)
    turn = step.elementwise("Where", step.elementwise("Less", y, zero), Known(np.array(-np.pi, kind)), pi)
    behind = step.elementwise("Where", step.elementwise("Less", x, zero), step.elementwise("Add", near, turn), near)
    straight = step.elementwise("Mul", step.elementwise("Sign", y), Known(np.array(np.pi / 2, kind)))
    return step.elementwise("Where", upright, straight, behind)


@rule("stop_gradient", "copy", "copy_p")
def write_identity(step: Step) -> Operand:
    """Write nothing: the values are those that came."""
    return step.operands[0]


@rule("optimization_barrier")
def all_the_same(step: Step) -> list[Operand]:
    """Write nothing, for several values."""
    return list(step.operands)
