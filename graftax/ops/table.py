"""The table of all ops: one row each, from which `graftax.ops` and its stub are made.

A row reads ``name(signature): What it computes.`` and stands in the section that says where its function comes from:
the backend's NumPy namespace or our compositions. A parameter's name says what
it is: those in `ARRAYS` are arrays, those in `SEQUENCES` sequences of arrays, and `TYPES` gives the types of all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ARRAYS = frozenset(
    "x y z condition indices values updates kernel segment_ids min max begin fill_value "
    "query key value mask bias".split()
)
OPTIONAL = frozenset({"min", "max", "mask", "bias"})
"""Arrays that may be None."""
SEQUENCES = frozenset({"arrays", "operands"})

TYPES = {
    **dict.fromkeys(ARRAYS, "ArrayLike"),
    **dict.fromkeys(OPTIONAL, "ArrayLike | None"),
    "arrays": "Sequence[ArrayLike]",
    "operands": "ArrayLike",
    "object": "ArrayLike | Sequence[ArrayLike]",
    "axis": "int | Sequence[int] | None",
    "axes": "int | Sequence[int] | Sequence[Sequence[int]] | None",
    "axis1": "int",
    "axis2": "int",
    "source": "int | Sequence[int]",
    "destination": "int | Sequence[int]",
    "dtype": "DTypeLike | None",
    "shape": "int | Sequence[int]",
    "keepdims": "bool",
    "endpoint": "bool",
    "descending": "bool",
    "is_causal": "bool",
    "epsilon": "float",
    "scale": "float | None",
    "full_matrices": "bool",
    "equal_nan": "bool",
    "ddof": "int",
    "decimals": "int",
    "k": "int",
    "n": "int | None",
    "num": "int",
    "num_classes": "int",
    "num_segments": "int",
    "start": "float",
    "stop": "float | None",
    "nan": "float",
    "posinf": "float | None",
    "neginf": "float | None",
    "offset": "int",
    "step": "float | None",
    "rows": "int",
    "columns": "int | None",
    "repeats": "int | Sequence[int]",
    "reps": "int | Sequence[int]",
    "sections": "int | Sequence[int]",
    "shift": "int | Sequence[int]",
    "pad_width": "int | Sequence[int] | Sequence[Sequence[int]]",
    "mode": "str",
    "constant_values": "float",
    "indexing": "str",
    "side": "str",
    "subscripts": "str",
    "q": "float | Sequence[float]",
    "ord": "float",
    "length": "int | None",
    "rtol": "float",
    "atol": "float",
    "strides": "int | Sequence[int]",
    "window": "int | Sequence[int]",
    "padding": "str | Sequence[Sequence[int]]",
    "dilation": "int | Sequence[int]",
    "groups": "int",
}


@dataclass(frozen=True, slots=True)
class Op:
    """One row.

    Args:
        name: As in ``ops.name``.
        signature: Python parameters without types.
        result: The type of the result.
        doc: One sentence.
        source: ``"numpy"`` (the namespace of the backend), ``"composition"`` (of ours), and
            ``"fused numpy"``, ``"fused"``: the same, in a form that backends may compile, since all but the arrays is
            static and no value is looked at.
        weak: Python numbers among the arrays take the dtype of the others.
    """

    name: str
    signature: str
    result: str
    doc: str
    source: str
    weak: bool


_ROW = re.compile(r"(\w+)\((.*)\)(?: -> (.*?))?: (.*)")

_UNARY = """
abs(x): Absolute value.
negative(x): Numerical negative.
positive(x): The same values.
sign(x): -1, 0 or 1 by the sign.
exp(x): e to the power of x.
exp2(x): 2 to the power of x.
expm1(x): exp(x) - 1, exact near 0.
log(x): Natural logarithm; nan for negative values.
log2(x): Logarithm to base 2.
log10(x): Logarithm to base 10.
log1p(x): log(1 + x), exact near 0.
sqrt(x): Square root; nan for negative values.
cbrt(x): Cube root.
square(x): x * x.
reciprocal(x): 1 / x.
sin(x): Sine of an angle in radians.
cos(x): Cosine of an angle in radians.
tan(x): Tangent of an angle in radians.
arcsin(x): Inverse sine, in radians.
arccos(x): Inverse cosine, in radians.
arctan(x): Inverse tangent, in radians.
sinh(x): Hyperbolic sine.
cosh(x): Hyperbolic cosine.
tanh(x): Hyperbolic tangent.
arcsinh(x): Inverse hyperbolic sine.
arccosh(x): Inverse hyperbolic cosine.
arctanh(x): Inverse hyperbolic tangent.
floor(x): Largest integer that is not above x.
ceil(x): Smallest integer that is not below x.
trunc(x): The integer next to x on the side of 0.
round(x, decimals=0): Nearest number with so many decimals; halves go to the even neighbour.
isfinite(x): True where neither infinite nor nan.
isinf(x): True where infinite.
isnan(x): True where not a number.
logical_not(x): True where x is zero or False.
bitwise_not(x): Every bit flipped.
conj(x): Complex conjugate.
real(x): Real part.
imag(x): Imaginary part.
angle(x): Angle of a complex number, in radians.
nan_to_num(x, nan=0.0, posinf=None, neginf=None): Replaces nan and infinities by finite numbers.
"""

_BINARY = """
add(x, y): Sum.
subtract(x, y): Difference.
multiply(x, y): Product.
divide(x, y): Quotient; integers give floats, and a division by 0 gives inf or nan.
floor_divide(x, y): Quotient rounded down; an integer divided by 0 raises.
remainder(x, y): What floor_divide leaves, with the sign of y; an integer divided by 0 raises.
power(x, y): x to the power of y.
maximum(x, y): The larger of the two; nan wins, and ties share the gradient.
minimum(x, y): The smaller of the two; nan wins, and ties share the gradient.
arctan2(x, y): Angle of the point (y, x), in radians.
hypot(x, y): sqrt(x**2 + y**2).
logaddexp(x, y): log(exp(x) + exp(y)) without overflow.
copysign(x, y): The magnitude of x with the sign of y.
equal(x, y): x == y.
not_equal(x, y): x != y.
less(x, y): x < y.
less_equal(x, y): x <= y.
greater(x, y): x > y.
greater_equal(x, y): x >= y.
logical_and(x, y): True where both are.
logical_or(x, y): True where one is.
logical_xor(x, y): True where exactly one is.
bitwise_and(x, y): Bits set in both.
bitwise_or(x, y): Bits set in one.
bitwise_xor(x, y): Bits set in exactly one.
left_shift(x, y): Bits moved y places up.
right_shift(x, y): Bits moved y places down, the sign kept.
isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False): True where abs(x - y) <= atol + rtol * abs(y).
allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False): True if abs(x - y) <= atol + rtol * abs(y) everywhere.
array_equal(x, y): True if shapes and values are equal.
clip(x, min=None, max=None): x limited to [min, max].
where(condition, x, y): x where the condition holds, else y; both branches are computed and differentiated.
"""

_REDUCTION = """
sum(x, axis=None, keepdims=False): Sum over axes.
mean(x, axis=None, keepdims=False): Mean over axes.
max(x, axis=None, keepdims=False): Largest value over axes.
min(x, axis=None, keepdims=False): Smallest value over axes.
prod(x, axis=None, keepdims=False): Product over axes.
any(x, axis=None, keepdims=False): True if one value is, over axes.
all(x, axis=None, keepdims=False): True if all values are, over axes.
argmax(x, axis: int | None = None, keepdims=False): Index of the largest value, the first of equals.
argmin(x, axis: int | None = None, keepdims=False): Index of the smallest value, the first of equals.
count_nonzero(x, axis=None, keepdims=False): How many values are not zero.
"""

_SHAPE = """
transpose(x, axes=None): Axes in another order; all reversed unless told.
swapaxes(x, axis1, axis2): Two axes exchanged.
moveaxis(x, source, destination): Axes moved, the others kept in order.
expand_dims(x, axis: int | Sequence[int]): Axes of size 1 inserted.
squeeze(x, axis=None): Axes of size 1 removed.
broadcast_to(x, shape): Repeated along axes of size 1 up to a shape.
ravel(x): One axis, in row-major order.
tile(x, reps): The whole array repeated along axes.
flip(x, axis=None): The order along axes reversed.
roll(x, shift, axis=None): Elements moved along axes; what leaves at the end enters at the start.
rot90(x, k=1): The first two axes rotated by k times 90 degrees.
tril(x, k=0): Zero above the k-th diagonal.
triu(x, k=0): Zero below the k-th diagonal.
diag(x, k=0): The k-th diagonal of a matrix, or a matrix with that diagonal.
diagonal(x, offset=0, axis1=0, axis2=1): The offset-th diagonals of two axes.
"""

_SEQUENCE = """
concatenate(arrays, axis: int | None = 0): Joined along an axis.
stack(arrays, axis: int = 0): Joined along a new axis.
meshgrid(*operands, indexing='xy') -> list[Array]: Coordinate matrices of coordinate vectors.
broadcast_arrays(*operands) -> list[Array]: All brought to their common shape.
"""

_FILLED = """
zeros(shape, dtype='float32'): Filled with 0.
ones(shape, dtype='float32'): Filled with 1.
eye(rows, columns=None, k=0, dtype='float32'): Ones on the k-th diagonal, else zeros.
identity(rows, dtype='float32'): The identity matrix.
tri(rows, columns=None, k=0, dtype='float32'): Ones at and below the k-th diagonal, else zeros.
"""

_CONVERSION = """
asarray(object, dtype=None): An array; memory of the caller is copied, 64-bit types become 32-bit ones.
array(object, dtype=None): The same as asarray.
cast(x, dtype): The values in another dtype.
full(shape, fill_value, dtype=None): Filled with a value.
zeros_like(x, dtype=None): Zeros of the shape and dtype of x.
ones_like(x, dtype=None): Ones of the shape and dtype of x.
full_like(x, fill_value, dtype=None): A value in the shape and dtype of x.
arange(start, stop=None, step=None, dtype=None): Evenly spaced values in [start, stop); one argument is the stop.
linspace(start, stop, num=50, endpoint=True, dtype='float32'): So many evenly spaced values from start to stop.
to_numpy(x) -> np.ndarray[Any, Any]: The values as a NumPy array on the host; it may be read-only.
shape(x) -> tuple[int, ...]: The sizes of the axes.
ndim(x) -> int: How many axes.
size(x) -> int: How many elements.
take(x, indices, axis: int | None = None): Elements or slices by index; compiled, one outside gives nan unless checked.
take_along_axis(x, indices, axis: int): Elements by index along one axis; compiled, others give nan unless checked.
"""

_VALUES = """
nonzero(x) -> tuple[Array, ...]: Indices of the values that are not zero, one array for each axis; eager only.
unique(x): The sorted distinct values; eager only.
bincount(x, length=None): How often each integer from 0 occurs; compiled it needs length, and others are dropped.
"""

_INDEXING = """
repeat(x, repeats, axis: int | None = None): Every element repeated, as often as one number says, or each as its own.
reshape(x, shape): The same elements in another shape; one size may be -1.
gather_nd(x, indices): Elements or slices by index tuples; compiled, one outside takes the nearest unless checked.
one_hot(indices, num_classes, axis: int = -1, dtype='float32'): 1 at the index, else 0; others are dropped if unchecked.
scatter_add(x, indices, updates): x with updates[i] added to row indices[i]; others are dropped, if compiled unchecked.
segment_sum(x, segment_ids, num_segments): Sums of rows by segment id; others are dropped, if compiled unchecked.
slice(x, begin, shape): The block of a shape at begin; compiled, one that leaves x is moved inside unless checked.
slice_update(x, begin, updates): x with the block at begin replaced; compiled, it is moved inside unless checked.
split(x, sections, axis: int = 0) -> list[Array]: Equal parts, or parts cut at indices.
unstack(x, axis: int = 0) -> tuple[Array, ...]: The slices along an axis, which disappears.
pad(x, pad_width, mode='constant', constant_values=0.0): Borders added: constant, edge, reflect, symmetric or wrap.
sort(x, axis: int = -1, descending=False): Sorted along an axis.
argsort(x, axis: int = -1, descending=False): Indices that would sort; equal values keep their order.
top_k(x, k) -> tuple[Array, Array]: The k largest values of the last axis, in order, and their indices.
searchsorted(x, values, side='left'): Where values would be inserted into the sorted vector x.
isin(x, values): True where an element of x is among the values.
stop_gradient(x): The same values, constant to differentiation.
"""

_LINALG = """
det(x): Determinant of square matrices.
slogdet(x) -> tuple[Array, Array]: Sign and logarithm of the absolute determinant.
svd(x, full_matrices=True) -> tuple[Array, Array, Array]: u, s and vh with x = u @ diag(s) @ vh.
qr(x) -> tuple[Array, Array]: Orthonormal q and upper triangular r with x = q @ r.
eigh(x) -> tuple[Array, Array]: Ascending eigenvalues, and eigenvectors, of Hermitian matrices.
pinv(x): Pseudo-inverse.
cholesky(x): Lower triangular root of positive definite matrices; raises if a matrix is not.
inv(x): Inverse of square matrices; raises if one is singular.
solve(x, y): The solution of x @ result = y; raises if x is singular.
"""

_WINDOW = """
conv(x, kernel, strides=1, padding='valid', dilation=1, groups=1): Convolution, channels last.
conv_transpose(x, kernel, strides=1, padding='valid', dilation=1): The transpose of conv, channels last.
max_pool(x, window, strides: int | Sequence[int] | None = None, padding='valid'): Maximum over windows.
dot_product_attention(query, key, value, mask=None, bias=None, scale=None, is_causal=False): Attention over values.
sum_pool(x, window, strides: int | Sequence[int] | None = None, padding='valid'): Sum over windows.
"""

_LINEAR_ALGEBRA = """
matmul(x, y): Matrix product over the last two axes, the others broadcast.
dot(x, y): Product over the last axis of x and the second to last of y.
vdot(x, y): Dot product of the flattened arrays, x conjugated.
inner(x, y): Product over the last axes.
outer(x, y): Every product of an element of x and one of y, as a matrix.
kron(x, y): Kronecker product.
cross(x, y): Vector product of vectors of 3 along the last axis.
tensordot(x, y, axes=2): Product over several axes.
trace(x, offset=0): Sum of the offset-th diagonal of the first two axes.
einsum(subscripts, *operands): Sum of products as written in the subscripts, such as 'bij,bjk->bik'.
"""

_FFT = """
fft(x, n=None, axis: int = -1): Discrete Fourier transform.
ifft(x, n=None, axis: int = -1): Inverse of fft.
rfft(x, n=None, axis: int = -1): Discrete Fourier transform of real values, the half that is not redundant.
irfft(x, n=None, axis: int = -1): Inverse of rfft.
"""

_FUSED = """
erf(x): The Gauss error function.
sigmoid(x): 1 / (1 + exp(-x)) without overflow.
rsqrt(x): 1 / sqrt(x).
softplus(x): log(1 + exp(x)) without overflow.
log_sigmoid(x): log(sigmoid(x)) without overflow.
divide_no_nan(x, y): x / y, and 0 where y is 0, in the gradient too.
xlogy(x, y): x * log(y), and 0 where x is 0.
squared_difference(x, y): (x - y)**2.
"""

_FUSED_REDUCTION = """
var(x, axis=None, ddof=0, keepdims=False): Variance over axes; the sum of squares is divided by n - ddof.
std(x, axis=None, ddof=0, keepdims=False): Standard deviation over axes.
cumsum(x, axis: int | None = None): Running sum along an axis, or of the flattened array.
cumprod(x, axis: int | None = None): Running product along an axis, or of the flattened array.
median(x, axis=None, keepdims=False): Median over axes.
quantile(x, q, axis=None, keepdims=False): Quantiles over axes, interpolated linearly.
softmax(x, axis=-1): exp(x) normalised to sum 1 over axes; 0 where everything is -inf.
log_softmax(x, axis=-1): log(softmax(x)) without overflow.
logsumexp(x, axis=None, keepdims=False): log(sum(exp(x))) without overflow.
norm(x, ord=2, axis=None, keepdims=False): Vector norm over axes, of order p > 0 or inf; its gradient at 0 is 0.
moments(x, axes=None, keepdims=False) -> tuple[Array, Array]: Mean and variance, half precision taken in float32.
standardize(x, axis=-1, epsilon=1e-3): (x - mean) / sqrt(variance + epsilon) over axes, computed in float32 at least.
"""


_SECTIONS = (
    (_UNARY, "numpy", False),
    (_BINARY, "numpy", True),
    (_REDUCTION, "numpy", False),
    (_SHAPE, "fused numpy", False),
    (_SEQUENCE, "fused numpy", False),
    (_FILLED, "fused", False),
    (_CONVERSION, "composition", False),
    (_VALUES, "composition", False),
    (_INDEXING, "fused", True),
    (_LINEAR_ALGEBRA, "numpy", False),
    (_LINALG, "composition", False),
    (_FFT, "fused", False),
    (_FUSED, "fused", True),
    (_FUSED_REDUCTION, "fused", False),
    (_WINDOW, "fused", False),
)


def _rows() -> dict[str, Op]:
    rows = {}
    for text, source, weak in _SECTIONS:
        for line in text.strip().splitlines():
            found = _ROW.fullmatch(line)
            if not found:
                raise SyntaxError(f"not a row of the table of ops: {line}")
            name, signature, result, doc = found.groups()
            rows[name] = Op(name, signature, result or "Array", doc, source, weak)
    return rows


OPS = _rows()
"""Every op by name, in the order of the table."""
