"""Both backends agree on every op beyond its sample inputs: what they give, and what they refuse with which error."""

import math

import pytest

from graftax.backend.testing.families.every import FAMILIES
from graftax.ops.signatures import settings
from graftax.ops.table import OPS
from tests.conformance import op_variants
from tests.conformance.op_variants import EMPTY, ODD, PLAUSIBLE, difference, in_dtype, special, without_elements

ROWS = {
    "biuhc": (
        "abs positive exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan arcsin arccos "
        "arctan sinh cosh tanh arcsinh arccosh arctanh isfinite isinf isnan logical_not conj real imag angle "
        "nan_to_num add multiply divide equal not_equal less less_equal greater greater_equal "
        "logical_and logical_or logical_xor isclose allclose array_equal where sum mean max min prod any all "
        "count_nonzero transpose swapaxes moveaxis expand_dims squeeze broadcast_to ravel tile flip roll "
        "rot90 tril triu diag diagonal concatenate stack meshgrid broadcast_arrays zeros ones eye identity "
        "tri asarray array full zeros_like ones_like arange linspace to_numpy shape ndim size take "
        "take_along_axis nonzero unique bincount repeat reshape gather_nd one_hot segment_sum slice "
        "slice_update split unstack pad sort argsort stop_gradient matmul dot vdot inner outer tensordot "
        "trace einsum det slogdet svd qr eigh pinv fft ifft irfft rsqrt divide_no_nan xlogy var std cumsum "
        "cumprod norm moments standardize conv conv_transpose sum_pool"
    ),
    "iuhc": ("negative sign round subtract full_like scatter_add kron cross cholesky inv solve squared_difference"),
    "biuh": (
        "maximum minimum cbrt floor ceil trunc floor_divide remainder arctan2 hypot logaddexp copysign clip argmax "
        "argmin log_sigmoid cast top_k rfft erf sigmoid softplus median quantile softmax log_softmax logsumexp "
        "max_pool dot_product_attention"
    ),
    "biu": ("bitwise_not bitwise_and bitwise_or bitwise_xor left_shift right_shift"),
    "buhc": ("power"),
    "": ("searchsorted isin"),
}
"""Every op by the kinds of numbers that it takes in the place of its first sample input: bool, int8, uint8, half
precision, complex."""

KINDS = {"b": "bool", "i": "int8", "u": "uint8", "h": "float16", "c": "complex64"}
TABLES = [ROWS, *(family.KINDS for family in FAMILIES)]
ACCEPTS = {name: kinds for rows in TABLES for kinds, names in rows.items() for name in names.split()}
SETTINGS = [name for name, op in OPS.items() if settings(op)]
NOT_UNIQUE = {"svd", "eigh", "qr"}
UNDEFINED = {("det", math.inf), ("lu_factor", math.inf)}


def test_every_op_has_a_row() -> None:
    assert sorted(ACCEPTS) == sorted(OPS)


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize("name", SETTINGS)
def test_odd_settings_are_refused_alike(name: str) -> None:
    for setting, given, call in op_variants.with_settings(name, ODD):
        found = difference(call)
        assert found is None, f"{setting}={given!r}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_plausible_settings_are_taken_or_refused_alike(name: str) -> None:
    for setting, given, call in op_variants.with_settings(name, PLAUSIBLE):
        found = difference(call)
        assert found is None, f"{setting}={given!r}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_dtypes_are_taken_or_refused_alike(name: str) -> None:
    for kind, dtype in KINDS.items():
        call = in_dtype(name, dtype)
        for backend in ("jax", "numpy"):
            with op_variants.use(backend):
                gave = op_variants.outcome(call)[0] == "gave"
            assert gave == (kind in ACCEPTS[name]), f"{backend}, {dtype}"
        if name not in NOT_UNIQUE:
            assert difference(call) is None, dtype


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_arrays_without_elements_are_taken_or_refused_alike(name: str) -> None:
    for how in EMPTY:
        found = difference(without_elements(name, how))
        assert found is None, f"{how}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_nan_and_infinity_are_taken_alike(name: str, number: float) -> None:
    if (name, number) not in UNDEFINED:
        found = difference(special(name, number))
        assert found is None, found
