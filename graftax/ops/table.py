"""The table of all ops: one row each, from which `graftax.ops` and its stub are made.

A row reads ``name(parameters): What it computes.`` or ``name(parameters) -> result: What it computes.``; a line that
is indented continues a row. Each parameter is written with its kind, as in ``axis: Axes | None = None``; the kinds are
explained in `graftax.ops.parameter_kinds`, and a parameter that is written without one is an ``Operand``. Names of
parameters mean nothing. A row stands in the section that says where its function comes from (`SECTIONS`).
"""

from __future__ import annotations

import re

from graftax.ops.signatures import Op

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
round(x: Numeric, decimals: Int = 0): Nearest number with so many decimals; halves go to the even neighbour.
isfinite(x): True where neither infinite nor nan.
isinf(x): True where infinite.
isnan(x): True where not a number.
logical_not(x): True where x is zero or False.
bitwise_not(x): Every bit flipped.
conj(x): Complex conjugate.
real(x): Real part.
imag(x): Imaginary part.
angle(x): Angle of a complex number, in radians.
nan_to_num(x, nan: Real = 0.0, posinf: Real | None = None, neginf: Real | None = None):
    Replaces nan and infinities by finite numbers.
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
arctan2(x: Ordered, y): Angle of the point (y, x), in radians.
hypot(x: Ordered, y): sqrt(x**2 + y**2).
logaddexp(x: Ordered, y): log(exp(x) + exp(y)) without overflow.
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
isclose(x, y, rtol: NotNegative = 1e-05, atol: NotNegative = 1e-08, equal_nan: Flag = False):
    True where abs(x - y) <= atol + rtol * abs(y).
allclose(x, y, rtol: NotNegative = 1e-05, atol: NotNegative = 1e-08, equal_nan: Flag = False):
    True if abs(x - y) <= atol + rtol * abs(y) everywhere.
array_equal(x, y): True if shapes and values are equal.
clip(x: Ordered, min: Operand | None = None, max: Operand | None = None): x limited to [min, max].
where(condition: Array, x, y): x where the condition holds, else y; both branches are computed and differentiated.
"""

_REDUCTION = """
sum(x, axis: Axes | None = None, keepdims: Flag = False): Sum over axes.
mean(x, axis: Axes | None = None, keepdims: Flag = False): Mean over axes.
max(x, axis: Axes | None = None, keepdims: Flag = False): Largest value over axes.
min(x, axis: Axes | None = None, keepdims: Flag = False): Smallest value over axes.
prod(x, axis: Axes | None = None, keepdims: Flag = False): Product over axes.
any(x, axis: Axes | None = None, keepdims: Flag = False): True if one value is, over axes.
all(x, axis: Axes | None = None, keepdims: Flag = False): True if all values are, over axes.
argmax(x: Ordered, axis: Axis | None = None, keepdims: Flag = False): Index of the largest value, the first of equals.
argmin(x: Ordered, axis: Axis | None = None, keepdims: Flag = False): Index of the smallest value, the first of equals.
count_nonzero(x, axis: Axes | None = None, keepdims: Flag = False): How many values are not zero.
"""

_SHAPE = """
transpose(x, axes: Axes | None = None): Axes in another order; all reversed unless told.
swapaxes(x, axis1: Axis, axis2: Axis): Two axes exchanged.
moveaxis(x, source: Axes, destination: Axes): Axes moved, the others kept in order.
expand_dims(x, axis: NewAxes): Axes of size 1 inserted.
squeeze(x, axis: Axes | None = None): Axes of size 1 removed.
broadcast_to(x, shape: Shape): Repeated along axes of size 1 up to a shape.
ravel(x): One axis, in row-major order.
tile(x, reps: Counts): The whole array repeated along axes.
flip(x, axis: Axes | None = None): The order along axes reversed.
roll(x, shift: Ints, axis: Axes | None = None): Elements moved along axes; what leaves at the end enters at the start.
rot90(x, k: Int = 1): The first two axes rotated by k times 90 degrees.
tril(x, k: Int = 0): Zero above the k-th diagonal.
triu(x, k: Int = 0): Zero below the k-th diagonal.
diag(x, k: Int = 0): The k-th diagonal of a matrix, or a matrix with that diagonal.
diagonal(x, offset: Int = 0, axis1: Axis = 0, axis2: Axis = 1): The offset-th diagonals of two axes.
"""

_SEQUENCE = """
concatenate(arrays: Arrays, axis: Axis | None = 0): Joined along an axis.
stack(arrays: Arrays, axis: NewAxis = 0): Joined along a new axis.
meshgrid(*operands: MixedArrays, indexing: Indexing = 'xy') -> list[Array]: Coordinate matrices of coordinate vectors.
broadcast_arrays(*operands: MixedArrays) -> list[Array]: All brought to their common shape.
"""

_FILLED = """
zeros(shape: Shape, dtype: DType | None = 'float32'): Filled with 0.
ones(shape: Shape, dtype: DType | None = 'float32'): Filled with 1.
eye(rows: Count, columns: Count | None = None, k: Int = 0, dtype: DType | None = 'float32'):
    Ones on the k-th diagonal, else zeros.
identity(rows: Count, dtype: DType | None = 'float32'): The identity matrix.
tri(rows: Count, columns: Count | None = None, k: Int = 0, dtype: DType | None = 'float32'):
    Ones at and below the k-th diagonal, else zeros.
"""

_CONVERSION = """
asarray(object: Data, dtype: DType | None = None):
    An array; memory of the caller is copied, 64-bit types become 32-bit ones.
array(object: Data, dtype: DType | None = None): The same as asarray.
cast(x: Castable, dtype: DType | None): The values in another dtype.
full(shape: Shape, fill_value: Array, dtype: DType | None = None): Filled with a value.
zeros_like(x, dtype: DType | None = None): Zeros of the shape and dtype of x.
ones_like(x, dtype: DType | None = None): Ones of the shape and dtype of x.
full_like(x, fill_value: Array, dtype: DType | None = None): A value in the shape and dtype of x.
arange(start: Number, stop: Number | None = None, step: Number | None = None, dtype: DType | None = None):
    Evenly spaced values in [start, stop); one argument is the stop.
linspace(start: Number, stop: Number | None, num: Count = 50, endpoint: Flag = True, dtype: DType | None = 'float32'):
    So many evenly spaced values from start to stop.
to_numpy(x) -> np.ndarray[Any, Any]: The values as a NumPy array on the host; it may be read-only.
shape(x) -> tuple[int, ...]: The sizes of the axes.
ndim(x) -> int: How many axes.
size(x) -> int: How many elements.
take(x, indices: Array, axis: Axis | None = None):
    Elements or slices by index; compiled, one outside gives nan unless checked.
take_along_axis(x, indices: Array, axis: Axis):
    Elements by index along one axis; compiled, others give nan unless checked.
"""

_VALUES = """
nonzero(x) -> tuple[Array, ...]: Indices of the values that are not zero, one array for each axis; eager only.
unique(x): The sorted distinct values; eager only.
bincount(x, length: Count | None = None):
    How often each integer from 0 occurs; compiled it needs length, and others are dropped.
"""

_INDEXING = """
repeat(x, repeats: Counts, axis: Axis | None = None):
    Every element repeated, as often as one number says, or each as its own.
reshape(x, shape: NewShape): The same elements in another shape; one size may be -1.
gather_nd(x, indices: Array):
    Elements or slices by index tuples; compiled, one outside takes the nearest unless checked.
one_hot(indices: Array, num_classes: Count, axis: NewAxis = -1, dtype: DType | None = 'float32'):
    1 at the index, else 0; others are dropped if unchecked.
scatter_add(x: Numeric, indices: Array, updates: Filling):
    x with updates[i] added to row indices[i]; others are dropped, if compiled unchecked.
segment_sum(x, segment_ids: Array, num_segments: Count):
    Sums of rows by segment id; others are dropped, if compiled unchecked.
slice(x, begin: Array, shape: Shape):
    The block of a shape at begin; compiled, one that leaves x is moved inside unless checked.
slice_update(x, begin: Array, updates: Filling):
    x with the block at begin replaced; compiled, it is moved inside unless checked.
split(x, sections: Ints, axis: Axis = 0) -> list[Array]: Equal parts, or parts cut at indices.
unstack(x, axis: Axis = 0) -> tuple[Array, ...]: The slices along an axis, which disappears.
pad(x, pad_width: Borders, mode: Text = 'constant', constant_values: Constant = 0.0):
    Borders added: constant, edge, reflect, symmetric or wrap.
sort(x, axis: Axis = -1, descending: Flag = False): Sorted along an axis.
argsort(x, axis: Axis = -1, descending: Flag = False): Indices that would sort; equal values keep their order.
top_k(x: Ordered, k: Int) -> tuple[Array, Array]: The k largest values of the last axis, in order, and their indices.
searchsorted(x, values: SameDType, side: Side = 'left'): Where values would be inserted into the sorted vector x.
isin(x, values: SameDType): True where an element of x is among the values.
stop_gradient(x): The same values, constant to differentiation.
"""

_LINALG = """
det(x): Determinant of square matrices.
slogdet(x) -> tuple[Array, Array]: Sign and logarithm of the absolute determinant.
svd(x, full_matrices: Flag = True) -> tuple[Array, Array, Array]: u, s and vh with x = u @ diag(s) @ vh.
qr(x) -> tuple[Array, Array]: Orthonormal q and upper triangular r with x = q @ r.
eigh(x) -> tuple[Array, Array]: Ascending eigenvalues, and eigenvectors, of Hermitian matrices.
pinv(x): Pseudo-inverse.
cholesky(x): Lower triangular root of positive definite matrices; raises if a matrix is not.
inv(x): Inverse of square matrices; raises if one is singular.
solve(x, y): The solution of x @ result = y; raises if x is singular.
"""

_WINDOW = """
conv(x, kernel: SameDType, strides: Sizes = 1, padding: Padding = 'valid', dilation: Sizes = 1, groups: Size = 1):
    Convolution, channels last.
conv_transpose(x, kernel: SameDType, strides: Sizes = 1, padding: Padding = 'valid', dilation: Sizes = 1):
    The transpose of conv, channels last.
max_pool(x, window: Sizes, strides: Sizes | None = None, padding: Padding = 'valid'): Maximum over windows.
dot_product_attention(query, key: SameDType, value: SameDType, mask: Array | None = None,
    bias: Array | None = None, scale: Real | None = None, is_causal: Flag = False):
    Attention over values.
sum_pool(x, window: Sizes, strides: Sizes | None = None, padding: Padding = 'valid'): Sum over windows.
"""

_LINEAR_ALGEBRA = """
matmul(x, y): Matrix product over the last two axes, the others broadcast.
dot(x, y): Product over the last axis of x and the second to last of y.
vdot(x, y): Dot product of the flattened arrays, x conjugated.
inner(x, y): Product over the last axes.
outer(x, y): Every product of an element of x and one of y, as a matrix.
kron(x: Numeric, y): Kronecker product.
cross(x, y): Vector product of vectors of 3 along the last axis.
tensordot(x, y, axes: AxisPairs | None = 2): Product over several axes.
trace(x, offset: Int = 0): Sum of the offset-th diagonal of the first two axes.
einsum(subscripts: Text, *operands: Arrays): Sum of products as written in the subscripts, such as 'bij,bjk->bik'.
"""

_FFT = """
fft(x, n: Size | None = None, axis: Axis = -1): Discrete Fourier transform.
ifft(x, n: Size | None = None, axis: Axis = -1): Inverse of fft.
rfft(x, n: Size | None = None, axis: Axis = -1):
    Discrete Fourier transform of real values, the half that is not redundant.
irfft(x, n: Size | None = None, axis: Axis = -1): Inverse of rfft.
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
var(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False):
    Variance over axes; the sum of squares is divided by n - ddof.
std(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False): Standard deviation over axes.
cumsum(x, axis: Axis | None = None): Running sum along an axis, or of the flattened array.
cumprod(x, axis: Axis | None = None): Running product along an axis, or of the flattened array.
median(x, axis: Axes | None = None, keepdims: Flag = False): Median over axes.
quantile(x, q: Reals, axis: Axes | None = None, keepdims: Flag = False): Quantiles over axes, interpolated linearly.
softmax(x, axis: Axes | None = -1): exp(x) normalised to sum 1 over axes; 0 where everything is -inf.
log_softmax(x, axis: Axes | None = -1): log(softmax(x)) without overflow.
logsumexp(x, axis: Axes | None = None, keepdims: Flag = False): log(sum(exp(x))) without overflow.
norm(x, ord: Real = 2, axis: Axes | None = None, keepdims: Flag = False):
    Vector norm over axes, of order p > 0 or inf; its gradient at 0 is 0.
moments(x, axes: Axes | None = None, keepdims: Flag = False) -> tuple[Array, Array]:
    Mean and variance, half precision taken in float32.
standardize(x, axis: Axes | None = -1, epsilon: NotNegative = 0.001):
    (x - mean) / sqrt(variance + epsilon) over axes, computed in float32 at least.
"""

SECTIONS = (
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
"""The rows, where their functions come from (`Op.source`), and whether Python numbers adapt to arrays (`Op.weak`)."""

_ROW = re.compile(r"(\w+)\((.*)\)(?: -> (.*?))?: (.*)")
_CONTINUED = re.compile(r"\n +")


def read_rows(text: str, source: str, weak: bool) -> dict[str, Op]:
    """Return the ops of a section by name.

    Args:
        text: Rows.
        source: Where their functions come from, as `Op` has it.
        weak: Whether Python numbers take the dtype of the arrays that they meet.

    Raises:
        SyntaxError: If a line is no row.
    """
    rows = {}
    for line in _CONTINUED.sub(" ", text.strip()).splitlines():
        found = _ROW.fullmatch(line)
        if not found:
            raise SyntaxError(f"not a row of the table of ops: {line}")
        name, signature, result, doc = found.groups()
        rows[name] = Op(name, signature, result or "Array", doc, source, weak)
    return rows


OPS = {name: op for section in SECTIONS for name, op in read_rows(*section).items()}
"""Every op by name, in the order of the table."""
