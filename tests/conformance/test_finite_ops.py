"""Every op at points where formulas lose what mathematics has: its results and gradients stay finite where they are.

`hostile` says what counts as a mistake. An op that makes one and is not in `EXCEPTIONS` fails, as does an exception
that no point needs any more.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from graftax import ops
from graftax.backend.testing.op_cases import INPUTS
from graftax.ops.rows import elementwise
from graftax.ops.table import OPS
from tests.conformance.hostile import HALVES, POINTS, at, excused, lost, with_gradients

pytestmark = pytest.mark.optimized
HUGE = r"times 1e(4|30)|-?1e(4|30)"
ZERO = r"-?0|times 0"
_SINGULAR = "a matrix of equal numbers is singular"
EXCEPTIONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), (rf"(all|1) ({ZERO}): .*", "a division by 0")),
    "divide": (rf"all ({ZERO}): value", "0 / 0"),
    "xlogy": (r"0 .*1e-3.: value", "the logarithm of 0"),
    "cross": (rf"all ({HUGE}): value", "products overflow before they cancel"),
    **dict.fromkeys(("det", "slogdet", "logdet", "lu_factor", "inv"), (rf"all ({HUGE}): .*", _SINGULAR)),
    "solve": (r"(all .*|0 -?1e30): .*", _SINGULAR),
    "solve_triangular": (rf"all ({ZERO}): value", _SINGULAR),
    "lstsq": (r"all .*1e-3.: gradient", "the square of an inverse of tiny numbers overflows, as in torch"),
    "lgamma": (r"all (-1e4|times 1e4): value", "a pole"),
    "digamma": (r"all (-1e4|-1e30|times 1e4|times 1e30): gradient", "a pole"),
    **dict.fromkeys(("nanvar", "cov"), (r"all -?1e30: value", "the rounding of a mean, squared")),
    "average": (r".*", "weights that add up to 0, and products that overflow before they are divided"),
    "corrcoef": (r"all .*: .*", "what does not vary has no correlation"),
    "dot_product_attention": (rf"all ({HUGE}): .*", "scores are products, and overflow"),
    **dict.fromkeys(("rms_normalization", "batch_normalization"), (rf"all ({HUGE}): gradient", "a square overflows")),
    "image.scale_and_translate": (rf"(all|1) ({ZERO}|.*1e-3.|.*1e-30): gradient", "a scale of 0"),
    "image.affine_transform": (r"(all|1) -1: .*", "a projection to infinity"),
    "image.hsv_to_rgb": (rf"all ({HUGE}): gradient", "products of channels overflow"),
    "image.psnr": (r".*1e-?30: .*", "squares overflow; images that are equal have an infinite ratio"),
    "image.ssim": (r".*1e30: .*", "squares overflow"),
}
"""What is not finite for a reason: an expression that mistakes match as a whole, and the reason."""
AS_COMPILED = {
    **dict.fromkeys(("var", "moments"), (r"all -?1e30: value", "the rounding of a mean, squared, if fused")),
    "svd": (r"all (times 1e-30|-?1|equal|-?1e4|-?1e30): gradient", "rounding tells singular values of 0 apart, or not"),
    "eigh": (r"all (-?1|equal|-?1e4|-?1e30): gradient", "rounding tells eigenvalues of 0 apart, or not"),
    "qr": (r"all (-?1|equal|-?1e4|-?1e30): gradient", "rounding tells a diagonal of R from 0, or not"),
}
"""The same for what depends on how XLA compiles it, and on the LAPACK of the processor."""
LEFT_OUT = {
    "to_numpy": "has no gradient, and cannot be traced",
    "searchsorted": "has no gradient",
    "eig": "refuses to be differentiated",
}
CHOSEN = {"svd": 1}
"""Which of the sample inputs, where it is not the first with floating arrays."""
TWICE = [op for op in OPS if f"\n{op}(" in elementwise.UNARY + elementwise.COMPOSED + elementwise.ACTIVATIONS]
"""Ops that are cheap enough for second derivatives, and for the quick lane."""
OVERFLOWS_TWICE = {"power": "x**(y - 2) overflows before it is multiplied by tiny numbers"}


def is_float(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


@cache
def places(name: str) -> list[tuple[int, int | None]]:
    """Where floating arrays stand among the arguments of the first case that has some, and in lists there."""
    found: list[tuple[int, int | None]] = []
    for i, value in enumerate(case(name)[0]):
        listed = value if isinstance(value, (list, tuple)) else [value]
        found += [(i, None if listed[0] is value else j) for j, one in enumerate(listed) if is_float(one)]
    return found


@cache
def case(name: str) -> Any:
    def some(args: Any) -> bool:
        return any(is_float(one) or (isinstance(one, (list, tuple)) and any(map(is_float, one))) for one in args)

    args, options = (
        INPUTS[name][CHOSEN[name]] if name in CHOSEN else next(filter(lambda one: some(one[0]), INPUTS[name]), ((), {}))
    )
    return args, options


def function(name: str) -> Callable[..., Any]:
    """The op of its floating arguments."""
    args, options = case(name)
    op: Any = ops
    for part in name.split("."):
        op = getattr(op, part)

    def run(*values: Any) -> Any:
        given = [list(one) if isinstance(one, (list, tuple)) else one for one in args]
        for (i, j), value in zip(places(name), values, strict=True):
            if j is None:
                given[i] = value
            else:
                given[i][j] = value
        return op(
            *(type(old)(new) if isinstance(old, tuple) else new for old, new in zip(args, given, strict=True)),
            **options,
        )

    return run


def mistakes(name: str, dtype: str, orders: int = 1) -> list[str]:
    """What goes wrong, such as ``"0 1e-30: gradient"``: which argument is at which point, and what is not finite."""
    run = function(name)
    short, exact = with_gradients(run, orders), with_gradients(run, orders)
    samples = [case(name)[0][i] if j is None else case(name)[0][i][j] for i, j in places(name)]
    found = []
    for which in ["all", *range(len(samples))] if len(samples) > 1 else ["all"]:
        for point in POINTS:
            given = [
                at(point, one, dtype) if which in ("all", i) else one.astype(dtype) for i, one in enumerate(samples)
            ]
            kinds = ("value", "gradient", "second gradient")
            found += [f"{which} {point}: {kinds[i]}" for i in lost(short(*given), exact, given, dtype)]
    return found


ROWS = [name for name in OPS if places(name) and name not in LEFT_OUT]


def check(name: str, dtype: str, orders: int = 1) -> list[str]:
    """Raise if something goes wrong for which there is no reason; return what there are reasons for."""
    exception = {**AS_COMPILED, **EXCEPTIONS}.get(name)
    return excused(f"ops.{name} in {dtype}", mistakes(name, dtype, orders), exception)


def test_what_is_left_out_is_there():
    assert all(places(name) for name in LEFT_OUT)
    assert set(EXCEPTIONS) <= set(ROWS)


@pytest.mark.in_turn(8, broad=3)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in TWICE else pytest.mark.broad) for name in ROWS]
)
def test_results_and_gradients_are_finite(name):
    found = check(name, "float32")
    assert bool(found) == (name in EXCEPTIONS) or name in AS_COMPILED, "the exception is not needed"


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ROWS)
def test_they_are_in_half_precision(name, dtype):
    check(name, dtype)


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", [name for name in ROWS if name in TWICE and name not in OVERFLOWS_TWICE])
def test_second_gradients_are_finite(name):
    check(name, "float32", orders=2)
