# Generated from graftax/ops/rows by tools/make_ops_stub.py; change the rows, not this file.
"""The array functions: checked, on any backend, and every one accepts Variables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core.typedefs import Array, ArrayLike, DTypeLike
from graftax.ops import image as image

def abs(x: ArrayLike) -> Array:
    """Absolute value."""

def negative(x: ArrayLike) -> Array:
    """Numerical negative."""

def positive(x: ArrayLike) -> Array:
    """The same values."""

def sign(x: ArrayLike) -> Array:
    """-1, 0 or 1 by the sign."""

def exp(x: ArrayLike) -> Array:
    """e to the power of x."""

def exp2(x: ArrayLike) -> Array:
    """2 to the power of x."""

def expm1(x: ArrayLike) -> Array:
    """exp(x) - 1, exact near 0."""

def log(x: ArrayLike) -> Array:
    """Natural logarithm; nan for negative values."""

def log2(x: ArrayLike) -> Array:
    """Logarithm to base 2."""

def log10(x: ArrayLike) -> Array:
    """Logarithm to base 10."""

def log1p(x: ArrayLike) -> Array:
    """log(1 + x), exact near 0."""

def sqrt(x: ArrayLike) -> Array:
    """Square root; nan for negative values."""

def cbrt(x: ArrayLike) -> Array:
    """Cube root."""

def square(x: ArrayLike) -> Array:
    """x * x."""

def reciprocal(x: ArrayLike) -> Array:
    """1 / x."""

def sin(x: ArrayLike) -> Array:
    """Sine of an angle in radians."""

def cos(x: ArrayLike) -> Array:
    """Cosine of an angle in radians."""

def tan(x: ArrayLike) -> Array:
    """Tangent of an angle in radians."""

def arcsin(x: ArrayLike) -> Array:
    """Inverse sine, in radians."""

def arccos(x: ArrayLike) -> Array:
    """Inverse cosine, in radians."""

def arctan(x: ArrayLike) -> Array:
    """Inverse tangent, in radians."""

def sinh(x: ArrayLike) -> Array:
    """Hyperbolic sine."""

def cosh(x: ArrayLike) -> Array:
    """Hyperbolic cosine."""

def tanh(x: ArrayLike) -> Array:
    """Hyperbolic tangent."""

def arcsinh(x: ArrayLike) -> Array:
    """Inverse hyperbolic sine."""

def arccosh(x: ArrayLike) -> Array:
    """Inverse hyperbolic cosine."""

def arctanh(x: ArrayLike) -> Array:
    """Inverse hyperbolic tangent."""

def floor(x: ArrayLike) -> Array:
    """Largest integer that is not above x."""

def ceil(x: ArrayLike) -> Array:
    """Smallest integer that is not below x."""

def trunc(x: ArrayLike) -> Array:
    """The integer next to x on the side of 0."""

def round(x: ArrayLike, decimals: int = 0) -> Array:
    """Nearest number with so many decimals; halves go to the even neighbour."""

def isfinite(x: ArrayLike) -> Array:
    """True where neither infinite nor nan."""

def isinf(x: ArrayLike) -> Array:
    """True where infinite."""

def isnan(x: ArrayLike) -> Array:
    """True where not a number."""

def logical_not(x: ArrayLike) -> Array:
    """True where x is zero or False."""

def bitwise_not(x: ArrayLike) -> Array:
    """Every bit flipped."""

def conj(x: ArrayLike) -> Array:
    """Complex conjugate."""

def real(x: ArrayLike) -> Array:
    """Real part."""

def imag(x: ArrayLike) -> Array:
    """Imaginary part."""

def angle(x: ArrayLike) -> Array:
    """Angle of a complex number, in radians."""

def nan_to_num(x: ArrayLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Array:
    """Replaces nan and infinities by finite numbers."""

def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Sum."""

def subtract(x: ArrayLike, y: ArrayLike) -> Array:
    """Difference."""

def multiply(x: ArrayLike, y: ArrayLike) -> Array:
    """Product."""

def divide(x: ArrayLike, y: ArrayLike) -> Array:
    """Quotient; integers give floats, and a division by 0 gives inf or nan."""

def floor_divide(x: ArrayLike, y: ArrayLike) -> Array:
    """Quotient rounded down; an integer divided by 0 raises."""

def remainder(x: ArrayLike, y: ArrayLike) -> Array:
    """What floor_divide leaves, with the sign of y; an integer divided by 0 raises."""

def power(x: ArrayLike, y: ArrayLike) -> Array:
    """x to the power of y."""

def maximum(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of the two; nan wins, and ties share the gradient."""

def minimum(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of the two; nan wins, and ties share the gradient."""

def arctan2(x: ArrayLike, y: ArrayLike) -> Array:
    """Angle of the point (y, x), in radians."""

def hypot(x: ArrayLike, y: ArrayLike) -> Array:
    """sqrt(x**2 + y**2)."""

def logaddexp(x: ArrayLike, y: ArrayLike) -> Array:
    """log(exp(x) + exp(y)) without overflow."""

def copysign(x: ArrayLike, y: ArrayLike) -> Array:
    """The magnitude of x with the sign of y."""

def equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x == y."""

def not_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x != y."""

def less(x: ArrayLike, y: ArrayLike) -> Array:
    """x < y."""

def less_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x <= y."""

def greater(x: ArrayLike, y: ArrayLike) -> Array:
    """x > y."""

def greater_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x >= y."""

def logical_and(x: ArrayLike, y: ArrayLike) -> Array:
    """True where both are."""

def logical_or(x: ArrayLike, y: ArrayLike) -> Array:
    """True where one is."""

def logical_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """True where exactly one is."""

def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits set in both."""

def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits set in one."""

def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits set in exactly one."""

def left_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits moved y places up."""

def right_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits moved y places down, the sign kept."""

def isclose(x: ArrayLike, y: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """True where abs(x - y) <= atol + rtol * abs(y)."""

def allclose(x: ArrayLike, y: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """True if abs(x - y) <= atol + rtol * abs(y) everywhere."""

def array_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """True if shapes and values are equal."""

def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """x limited to [min, max]."""

def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """x where the condition holds, else y; both branches are computed and differentiated."""

def sum(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Sum over axes."""

def mean(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Mean over axes."""

def max(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Largest value over axes."""

def min(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Smallest value over axes."""

def prod(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Product over axes."""

def any(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """True if one value is, over axes."""

def all(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """True if all values are, over axes."""

def argmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the largest value, the first of equals."""

def argmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the smallest value, the first of equals."""

def count_nonzero(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """How many values are not zero."""

def transpose(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Axes in another order, by default reversed."""

def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Array:
    """Two axes exchanged."""

def moveaxis(x: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Axes moved, the others kept in order."""

def expand_dims(x: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Axes of size 1 inserted."""

def squeeze(x: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Axes of size 1 removed."""

def broadcast_to(x: ArrayLike, shape: int | Sequence[int]) -> Array:
    """Repeated along axes of size 1 up to a shape."""

def ravel(x: ArrayLike) -> Array:
    """One axis, in row-major order."""

def tile(x: ArrayLike, reps: int | Sequence[int]) -> Array:
    """The whole array repeated along axes."""

def flip(x: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """The order along axes reversed."""

def roll(x: ArrayLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Elements moved along axes; what leaves at the end enters at the start."""

def rot90(x: ArrayLike, k: int = 1) -> Array:
    """The first two axes rotated by k times 90 degrees."""

def tril(x: ArrayLike, k: int = 0) -> Array:
    """Zero above the k-th diagonal."""

def triu(x: ArrayLike, k: int = 0) -> Array:
    """Zero below the k-th diagonal."""

def diag(x: ArrayLike, k: int = 0) -> Array:
    """The k-th diagonal of a matrix, or a matrix with that diagonal."""

def diagonal(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The offset-th diagonals of two axes."""

def concatenate(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Array:
    """Joined along an axis."""

def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Joined along a new axis."""

def vstack(arrays: Sequence[ArrayLike]) -> Array:
    """Join along the first axis; vectors become rows."""

def hstack(arrays: Sequence[ArrayLike]) -> Array:
    """Join along the second axis, or the only one."""

def dstack(arrays: Sequence[ArrayLike]) -> Array:
    """Join along the third axis, which is made where there is none."""

def meshgrid(*operands: ArrayLike, indexing: str = "xy") -> list[Array]:
    """Coordinate matrices of coordinate vectors."""

def broadcast_arrays(*operands: ArrayLike) -> list[Array]:
    """All brought to their common shape."""

def zeros(shape: int | Sequence[int], dtype: DTypeLike | None = "float32") -> Array:
    """Filled with 0."""

def ones(shape: int | Sequence[int], dtype: DTypeLike | None = "float32") -> Array:
    """Filled with 1."""

def eye(rows: int, columns: int | None = None, k: int = 0, dtype: DTypeLike | None = "float32") -> Array:
    """Ones on the k-th diagonal, else zeros."""

def identity(rows: int, dtype: DTypeLike | None = "float32") -> Array:
    """The identity matrix."""

def tri(rows: int, columns: int | None = None, k: int = 0, dtype: DTypeLike | None = "float32") -> Array:
    """Ones at and below the k-th diagonal, else zeros."""

def asarray(object: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """An array; memory of the caller is copied, 64-bit types become 32-bit ones."""

def array(object: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """The same as asarray."""

def cast(x: ArrayLike, dtype: DTypeLike | None) -> Array:
    """The values in another dtype."""

def full(shape: int | Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Filled with a value."""

def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Zeros of the shape and dtype of x."""

def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Ones of the shape and dtype of x."""

def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """A value in the shape and dtype of x."""

def arange(start: float, stop: float | None = None, step: float | None = None, dtype: DTypeLike | None = None) -> Array:
    """Evenly spaced values in [start, stop); one argument is the stop."""

def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike | None = "float32",
) -> Array:
    """Return so many values from base**start to base**stop, each the same times the last."""

def geomspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = "float32"
) -> Array:
    """Return so many values from start to stop, each the same times the last."""

def saturate_cast(x: ArrayLike, dtype: DTypeLike | None) -> Array:
    """Return the values in another dtype, limited to what that holds."""

def linspace(
    start: float, stop: float | None, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = "float32"
) -> Array:
    """So many evenly spaced values from start to stop."""

def to_numpy(x: ArrayLike) -> np.ndarray[Any, Any]:
    """The values as a NumPy array on the host; it may be read-only."""

def view_as_complex(x: ArrayLike) -> Array:
    """Make complex numbers of real and imaginary parts: (..., 2) -> (...)."""

def view_as_real(x: ArrayLike) -> Array:
    """Lay real and imaginary parts along a new last axis: (...) -> (..., 2)."""

def shape(x: ArrayLike) -> tuple[int, ...]:
    """The sizes of the axes."""

def ndim(x: ArrayLike) -> int:
    """How many axes."""

def size(x: ArrayLike) -> int:
    """How many elements."""

def take(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Array:
    """Elements or slices by index; compiled, one outside gives nan unless checked."""

def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """Elements by index along one axis; compiled, others give nan unless checked."""

def nonzero(x: ArrayLike) -> tuple[Array, ...]:
    """Indices of the values that are not zero, one array for each axis; eager only."""

def unique(x: ArrayLike) -> Array:
    """The sorted distinct values; eager only."""

def bincount(x: ArrayLike, length: int | None = None) -> Array:
    """How often each integer from 0 occurs; compiled it needs length, and others are dropped."""

def repeat(x: ArrayLike, repeats: int | Sequence[int], axis: int | None = None) -> Array:
    """Every element repeated, as often as one number says, or each as its own."""

def reshape(x: ArrayLike, shape: int | Sequence[int]) -> Array:
    """The same elements in another shape; one size may be -1."""

def gather_nd(x: ArrayLike, indices: ArrayLike) -> Array:
    """Elements or slices by index tuples; compiled, one outside gives nan unless checked."""

def one_hot(indices: ArrayLike, num_classes: int, axis: int = -1, dtype: DTypeLike | None = "float32") -> Array:
    """1 at the index, else 0; others are dropped if unchecked."""

def scatter_add(x: ArrayLike, indices: ArrayLike, updates: ArrayLike) -> Array:
    """x with updates[i] added to row indices[i]; others are dropped, if compiled unchecked."""

def scatter(indices: ArrayLike, values: ArrayLike, shape: int | Sequence[int]) -> Array:
    """Put values at index tuples into zeros; those at one place add up, others are dropped, if compiled unchecked."""

def scatter_update(x: ArrayLike, indices: ArrayLike, updates: ArrayLike) -> Array:
    """Return x with the elements or slices at index tuples replaced; others are dropped, if compiled unchecked."""

def segment_sum(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Sums of rows by segment id; others are dropped, if compiled unchecked."""

def segment_mean(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Take the means of rows by segment id, 0 where there are none; others are dropped, if compiled unchecked."""

def segment_max(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Take the largest of rows by segment id, -inf or the least integer where there are none."""

def segment_min(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Take the smallest of rows by segment id, inf or the largest integer where there are none."""

def segment_softmax(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Compute exp(x) normalised to sum 1 over the rows of each segment; its shape is that of x."""

def multi_hot(indices: ArrayLike, num_classes: int, axis: int = -1, dtype: DTypeLike | None = "float32") -> Array:
    """Return 1 at each index along the last axis of indices, else 0: (..., n) -> (..., num_classes)."""

def in_top_k(targets: ArrayLike, predictions: ArrayLike, k: int) -> Array:
    """Return True where the class of a target is among the k with the largest predictions."""

def append(x: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join values to x along an axis, or both flattened."""

def unravel_index(indices: ArrayLike, shape: int | Sequence[int]) -> tuple[Array, ...]:
    """Turn places in a flattened array into indices for each axis of a shape; compiled, others give the sizes."""

def select(conditions: Sequence[ArrayLike], choices: Sequence[ArrayLike], default: float = 0.0) -> Array:
    """Return the elements of the first choice whose condition holds, else the default."""

def rearrange(x: ArrayLike, pattern: str, **sizes: int) -> Array:
    """Split, order and merge axes by a pattern: rearrange(x, 'b (h p) c -> b h (p c)', p=2)."""

def slice(x: ArrayLike, begin: ArrayLike, shape: int | Sequence[int]) -> Array:
    """The block of a shape at begin; compiled, one that leaves x is moved inside unless checked."""

def slice_update(x: ArrayLike, begin: ArrayLike, updates: ArrayLike) -> Array:
    """x with the block at begin replaced; compiled, it is moved inside unless checked."""

def split(x: ArrayLike, sections: int | Sequence[int], axis: int = 0) -> list[Array]:
    """Equal parts, or parts cut at indices."""

def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The slices along an axis, which disappears."""

def pad(
    x: ArrayLike,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    constant_values: float = 0.0,
) -> Array:
    """Borders added: constant, edge, reflect, symmetric or wrap."""

def sort(x: ArrayLike, axis: int = -1, descending: bool = False) -> Array:
    """Sorted along an axis."""

def argsort(x: ArrayLike, axis: int = -1, descending: bool = False) -> Array:
    """Indices that would sort; equal values keep their order."""

def top_k(x: ArrayLike, k: int) -> tuple[Array, Array]:
    """The k largest values of the last axis, in order, and their indices."""

def searchsorted(x: ArrayLike, values: ArrayLike, side: str = "left") -> Array:
    """Where values would be inserted into the sorted vector x."""

def isin(x: ArrayLike, values: ArrayLike) -> Array:
    """True where an element of x is among the values."""

def stop_gradient(x: ArrayLike) -> Array:
    """The same values, constant to differentiation."""

def matmul(x: ArrayLike, y: ArrayLike) -> Array:
    """Matrix product over the last two axes, the others broadcast."""

def dot(x: ArrayLike, y: ArrayLike) -> Array:
    """Product over the last axis of x and the second to last of y."""

def vdot(x: ArrayLike, y: ArrayLike) -> Array:
    """Dot product of the flattened arrays, x conjugated."""

def inner(x: ArrayLike, y: ArrayLike) -> Array:
    """Product over the last axes."""

def outer(x: ArrayLike, y: ArrayLike) -> Array:
    """Every product of an element of x and one of y, as a matrix."""

def kron(x: ArrayLike, y: ArrayLike) -> Array:
    """Kronecker product."""

def cross(x: ArrayLike, y: ArrayLike) -> Array:
    """Vector product of vectors of 3 along the last axis."""

def tensordot(x: ArrayLike, y: ArrayLike, axes: int | Sequence[int] | Sequence[Sequence[int]] | None = 2) -> Array:
    """Product over several axes."""

def trace(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Sum of the offset-th diagonals of two axes."""

def einsum(subscripts: str, *operands: ArrayLike) -> Array:
    """Sum of products as written in the subscripts, such as 'bij,bjk->bik'."""

def det(x: ArrayLike) -> Array:
    """Determinant of square matrices."""

def slogdet(x: ArrayLike) -> tuple[Array, Array]:
    """Sign and logarithm of the absolute determinant."""

def lu_factor(x: ArrayLike) -> tuple[Array, Array]:
    """Factor square matrices by row exchanges: both triangles in one, the ones of the lower left out, and which row each was exchanged with, from 0."""

def svd(x: ArrayLike, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """u, s and vh with x = u @ diag(s) @ vh."""

def qr(x: ArrayLike) -> tuple[Array, Array]:
    """Orthonormal q and upper triangular r with x = q @ r."""

def eigh(x: ArrayLike) -> tuple[Array, Array]:
    """Ascending eigenvalues, and eigenvectors, of Hermitian matrices; where eigenvalues are equal, vectors have no gradient."""

def pinv(x: ArrayLike) -> Array:
    """Pseudo-inverse."""

def cholesky(x: ArrayLike) -> Array:
    """Lower triangular root of positive definite matrices; raises if a matrix is not."""

def inv(x: ArrayLike) -> Array:
    """Inverse of square matrices; raises if one is singular."""

def solve(x: ArrayLike, y: ArrayLike) -> Array:
    """The solution of x @ result = y; raises if x is singular."""

def solve_triangular(x: ArrayLike, y: ArrayLike, lower: bool = False) -> Array:
    """Solve x @ result = y, reading the upper or the lower triangle of x alone; raises if a diagonal element is 0."""

def cholesky_solve(x: ArrayLike, y: ArrayLike) -> Array:
    """Solve a system whose matrix has the lower triangular root x: x @ x^H @ result = y."""

def cholesky_inverse(x: ArrayLike) -> Array:
    """Invert the matrix that has the lower triangular root x."""

def lstsq(x: ArrayLike, y: ArrayLike, rcond: float | None = None) -> Array:
    """Minimise the distance of x @ result to y; singular values below rcond times the largest count as 0."""

def logdet(x: ArrayLike) -> Array:
    """Compute the logarithm of the absolute determinant of square matrices."""

def eigvalsh(x: ArrayLike) -> Array:
    """Compute the ascending eigenvalues of Hermitian matrices."""

def eig(x: ArrayLike) -> tuple[Array, Array]:
    """Compute complex eigenvalues and eigenvectors of square matrices; no gradient."""

def matrix_rank(x: ArrayLike, rtol: float | None = None) -> Array:
    """Count the singular values above rtol times the largest."""

def matrix_power(x: ArrayLike, n: int) -> Array:
    """Multiply square matrices n times with themselves, or with their inverses."""

def fft(x: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Discrete Fourier transform."""

def ifft(x: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Inverse of fft."""

def rfft(x: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Discrete Fourier transform of real values, the half that is not redundant."""

def fft2(x: ArrayLike, axes: int | Sequence[int] = (-2, -1)) -> Array:
    """Compute the discrete Fourier transform over two axes."""

def ifft2(x: ArrayLike, axes: int | Sequence[int] = (-2, -1)) -> Array:
    """Compute the inverse of fft2."""

def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Move the frequency 0 to the middle of axes."""

def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Compute the inverse of fftshift."""

def fftfreq(n: int, d: float = 1.0) -> Array:
    """Return the frequencies of the values of fft for samples at a distance of d."""

def rfftfreq(n: int, d: float = 1.0) -> Array:
    """Return the frequencies of the values of rfft for samples at a distance of d."""

def hanning(n: int) -> Array:
    """Return the window (1 - cos) / 2 of so many values, 0 at both ends."""

def hamming(n: int) -> Array:
    """Return the window 0.54 - 0.46 cos of so many values."""

def blackman(n: int) -> Array:
    """Return the window 0.42 - 0.5 cos + 0.08 cos of the double angle, of so many values."""

def frame(x: ArrayLike, length: int, step: int) -> Array:
    """Cut overlapping parts from the last axis: (..., n) -> (..., parts, length)."""

def extract_sequences(x: ArrayLike, sequence_length: int, sequence_stride: int) -> Array:
    """Compute frame(x, sequence_length, sequence_stride), by the names that Keras has."""

def overlap_add(x: ArrayLike, step: int) -> Array:
    """Add up parts at a distance of step: (..., parts, length) -> (..., n)."""

def stft(
    x: ArrayLike,
    length: int,
    step: int,
    fft_length: int | None = None,
    window: str | None = "hann",
    center: bool = True,
) -> Array:
    """Compute the spectra of overlapping parts of the last axis: (..., n) -> (..., parts, frequencies)."""

def istft(
    x: ArrayLike,
    length: int,
    step: int,
    fft_length: int | None = None,
    window: str | None = "hann",
    center: bool = True,
    n: int | None = None,
) -> Array:
    """Compute the signal of n values whose stft this is."""

def irfft(x: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Inverse of rfft."""

def erf(x: ArrayLike) -> Array:
    """The Gauss error function."""

def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)) without overflow."""

def rsqrt(x: ArrayLike) -> Array:
    """1 / sqrt(x)."""

def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x)) without overflow."""

def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)) without overflow."""

def divide_no_nan(x: ArrayLike, y: ArrayLike) -> Array:
    """x / y, and 0 where y is 0, in the gradient too."""

def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x * log(y), and 0 where x is 0."""

def squared_difference(x: ArrayLike, y: ArrayLike) -> Array:
    """(x - y)**2."""

def erfc(x: ArrayLike) -> Array:
    """Compute 1 - erf(x), exact where erf(x) is near 1."""

def erfinv(x: ArrayLike) -> Array:
    """Compute the inverse of erf; infinite at -1 and 1."""

def lgamma(x: ArrayLike) -> Array:
    """Compute the logarithm of the absolute value of the gamma function."""

def digamma(x: ArrayLike) -> Array:
    """Compute the slope of lgamma."""

def logit(x: ArrayLike) -> Array:
    """Compute log(x / (1 - x)), the inverse of sigmoid."""

def signbit(x: ArrayLike) -> Array:
    """Return True where the sign is negative, that of -0.0 included."""

def fmod(x: ArrayLike, y: ArrayLike) -> Array:
    """Return what a division rounded towards 0 leaves, with the sign of x; integers by 0 raise."""

def gcd(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the greatest common divisor of integers."""

def lcm(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the least common multiple of integers."""

def heaviside(x: ArrayLike, y: ArrayLike) -> Array:
    """Return 0 where x is negative, 1 where it is positive, and y where it is 0."""

def logaddexp2(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute log2(2**x + 2**y) without overflow."""

def sinc(x: ArrayLike) -> Array:
    """Compute sin(pi x) / (pi x), and 1 where x is 0."""

def deg2rad(x: ArrayLike) -> Array:
    """Convert degrees to radians."""

def rad2deg(x: ArrayLike) -> Array:
    """Convert radians to degrees."""

def isposinf(x: ArrayLike) -> Array:
    """Return True where the value is positive infinity."""

def isneginf(x: ArrayLike) -> Array:
    """Return True where the value is negative infinity."""

def relu(x: ArrayLike) -> Array:
    """Compute max(x, 0); its slope at 0 is 0."""

def relu6(x: ArrayLike) -> Array:
    """Compute min(max(x, 0), 6); its slope at 0 and at 6 is 0."""

def leaky_relu(x: ArrayLike, negative_slope: float = 0.2) -> Array:
    """Compute x where positive, else negative_slope * x; slope 1 at 0."""

def elu(x: ArrayLike, alpha: float = 1.0) -> Array:
    """Compute x where positive, else alpha * (exp(x) - 1)."""

def celu(x: ArrayLike, alpha: float = 1.0) -> Array:
    """Compute max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0), smooth for every alpha."""

def selu(x: ArrayLike) -> Array:
    """Compute elu scaled so that layers keep mean 0 and variance 1."""

def gelu(x: ArrayLike, approximate: bool = False) -> Array:
    """Compute x times the normal distribution function at x, or with approximate its form with tanh."""

def silu(x: ArrayLike) -> Array:
    """Compute x * sigmoid(x), also called swish."""

def mish(x: ArrayLike) -> Array:
    """Compute x * tanh(softplus(x))."""

def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Compute the first half of an axis times the sigmoid of the second half."""

def softsign(x: ArrayLike) -> Array:
    """Compute x / (1 + abs(x))."""

def hard_sigmoid(x: ArrayLike) -> Array:
    """Compute x / 6 + 1/2 limited to [0, 1]."""

def hard_silu(x: ArrayLike) -> Array:
    """Compute x * hard_sigmoid(x), also called hard_swish."""

def hard_tanh(x: ArrayLike) -> Array:
    """Limit x to [-1, 1]; its slope at both ends is 1."""

def hard_shrink(x: ArrayLike, threshold: float = 0.5) -> Array:
    """Set to 0 what is within [-threshold, threshold]."""

def soft_shrink(x: ArrayLike, threshold: float = 0.5) -> Array:
    """Move x towards 0 by the threshold, at most to 0."""

def tanh_shrink(x: ArrayLike) -> Array:
    """Compute x - tanh(x)."""

def threshold(x: ArrayLike, threshold: float, default_value: float) -> Array:
    """Return x where it is above the threshold, else the default."""

def squareplus(x: ArrayLike, b: float = 4.0) -> Array:
    """Compute (x + sqrt(x**2 + b)) / 2, a smooth relu."""

def sparse_plus(x: ArrayLike) -> Array:
    """Compute 0 below -1, x above 1, and (x + 1)**2 / 4 between them."""

def sparse_sigmoid(x: ArrayLike) -> Array:
    """Compute 0 below -1, 1 above 1, and (x + 1) / 2 between them."""

def sparsemax(x: ArrayLike, axis: int = -1) -> Array:
    """Project onto the probability simplex along an axis: like softmax, but with zeros."""

def var(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """Variance over axes; the sum of squares is divided by n - ddof."""

def std(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """Standard deviation over axes."""

def cumsum(x: ArrayLike, axis: int | None = None) -> Array:
    """Running sum along an axis, or of the flattened array."""

def cumprod(x: ArrayLike, axis: int | None = None) -> Array:
    """Running product along an axis, or of the flattened array."""

def median(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Median over axes."""

def quantile(
    x: ArrayLike, q: float | Sequence[float], axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Quantiles over axes, interpolated linearly."""

def softmax(x: ArrayLike, axis: int | Sequence[int] | None = -1) -> Array:
    """exp(x) normalised to sum 1 over axes; 0 where everything is -inf."""

def log_softmax(x: ArrayLike, axis: int | Sequence[int] | None = -1) -> Array:
    """log(softmax(x)) without overflow."""

def logsumexp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """log(sum(exp(x))) without overflow."""

def norm(x: ArrayLike, ord: float = 2, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Vector norm over axes, of order p > 0 or inf; its gradient at 0 is 0."""

def moments(x: ArrayLike, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> tuple[Array, Array]:
    """Mean and variance, half precision taken in float32."""

def standardize(x: ArrayLike, axis: int | Sequence[int] | None = -1, epsilon: float = 0.001) -> Array:
    """(x - mean) / sqrt(variance + epsilon) over axes, computed in float32 at least."""

def nansum(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Sum over axes; nan counts as 0."""

def nanprod(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Multiply over axes; nan counts as 1."""

def nanmean(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Take the mean over axes of what is not nan."""

def nanvar(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """Take the variance over axes of what is not nan; the sum of squares is divided by their number less ddof."""

def nanstd(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """Take the standard deviation over axes of what is not nan."""

def nanmax(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return the largest value over axes that is not nan; nan where all are."""

def nanmin(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return the smallest value over axes that is not nan; nan where all are."""

def nanargmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the largest value that is not nan; -1, which no op takes for an index, where all are."""

def nanargmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the smallest value that is not nan; -1, which no op takes for an index, where all are."""

def nanmedian(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Take the median over axes of what is not nan."""

def nanquantile(
    x: ArrayLike, q: float | Sequence[float], axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Take quantiles over axes of what is not nan, interpolated linearly."""

def nanpercentile(
    x: ArrayLike, q: float | Sequence[float], axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Take percentiles, from 0 to 100, over axes of what is not nan."""

def nancumsum(x: ArrayLike, axis: int | None = None) -> Array:
    """Sum up along an axis, or the flattened array; nan counts as 0."""

def nancumprod(x: ArrayLike, axis: int | None = None) -> Array:
    """Multiply along an axis, or the flattened array; nan counts as 1."""

def average(
    x: ArrayLike, axis: int | Sequence[int] | None = None, weights: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Take the mean over axes, weighted by an array of the shape of x or with one number for each place on the axis."""

def percentile(
    x: ArrayLike, q: float | Sequence[float], axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Take percentiles, from 0 to 100, over axes, interpolated linearly."""

def ptp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Subtract the smallest value over axes from the largest."""

def cov(x: ArrayLike, ddof: int = 1) -> Array:
    """Compute the covariance of the rows of a matrix, each of which is one variable."""

def corrcoef(x: ArrayLike) -> Array:
    """Compute the correlation of the rows of a matrix, each of which is one variable."""

def diff(x: ArrayLike, n: int = 1, axis: int = -1) -> Array:
    """Subtract each value from the next along an axis, n times."""

def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1) -> Array:
    """Integrate along an axis by the trapezoidal rule, at the places x, or at a distance of dx."""

def histogram(x: ArrayLike, bins: int = 10, range: float | Sequence[float] | None = None) -> tuple[Array, Array]:
    """Count values in bins of one width between two numbers, or the smallest and the largest value; counts and edges."""

def digitize(x: ArrayLike, bins: ArrayLike) -> Array:
    """Return for each value how many of the ascending edges are not above it: the index of its bin."""

def conv(
    x: ArrayLike,
    kernel: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "valid",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Array:
    """Convolution, channels last."""

def conv_transpose(
    x: ArrayLike,
    kernel: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "valid",
    dilation: int | Sequence[int] = 1,
) -> Array:
    """The transpose of conv, channels last."""

def max_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "valid",
) -> Array:
    """Maximum over windows."""

def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    implementation: str | None = None,
) -> Array:
    """Attention over values; implementation chooses the kernel of the library, such as 'cudnn' on a GPU."""

def average_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "valid",
) -> Array:
    """Take the mean over windows, of what is no padding."""

def adaptive_average_pool(x: ArrayLike, size: int | Sequence[int]) -> Array:
    """Take the mean over windows of such sizes and strides that a size comes out."""

def adaptive_max_pool(x: ArrayLike, size: int | Sequence[int]) -> Array:
    """Take the maximum over windows of such sizes and strides that a size comes out."""

def depthwise_conv(
    x: ArrayLike,
    kernel: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "valid",
    dilation: int | Sequence[int] = 1,
) -> Array:
    """Convolve each channel with its own filters, (*window, channels, filters) in all; channels last."""

def separable_conv(
    x: ArrayLike,
    depthwise_kernel: ArrayLike,
    pointwise_kernel: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "valid",
    dilation: int | Sequence[int] = 1,
) -> Array:
    """Convolve each channel with its own filters, and mix the channels of each place; channels last."""

def space_to_depth(x: ArrayLike, block: int) -> Array:
    """Move blocks of space into the channels: (n, h, w, c) -> (n, h / b, w / b, b b c)."""

def depth_to_space(x: ArrayLike, block: int) -> Array:
    """Move channels into blocks of space: (n, h, w, b b c) -> (n, h b, w b, c)."""

def unfold(
    x: ArrayLike,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Array:
    """Lay each window of images, channels first, in a column: (n, c, h, w) -> (n, c times size of the window, windows)."""

def fold(
    x: ArrayLike,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Array:
    """Add columns up where unfold took them from: (n, c times size of the window, windows) -> (n, c, height, width)."""

def sum_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "valid",
) -> Array:
    """Sum over windows."""

def normalize(x: ArrayLike, axis: int | Sequence[int] | None = -1, ord: float = 2, epsilon: float = 1e-12) -> Array:
    """Divide by the norm over axes, or by epsilon where that is smaller."""

def layer_normalization(
    x: ArrayLike,
    gamma: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    axis: int | Sequence[int] | None = -1,
    epsilon: float = 0.001,
) -> Array:
    """Compute gamma * (x - mean) / sqrt(variance + epsilon) + beta over axes."""

def rms_normalization(
    x: ArrayLike, scale: ArrayLike | None = None, axis: int | Sequence[int] | None = -1, epsilon: float = 1e-06
) -> Array:
    """Compute scale * x / sqrt(mean(x**2) + epsilon) over axes."""

def batch_normalization(
    x: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    axis: int = -1,
    offset: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    epsilon: float = 0.001,
) -> Array:
    """Compute scale * (x - mean) / sqrt(variance + epsilon) + offset, with one number of each for a place on the axis."""

def ctc_loss(
    labels: ArrayLike,
    logits: ArrayLike,
    label_lengths: ArrayLike | None = None,
    logit_lengths: ArrayLike | None = None,
    blank: int = 0,
) -> Array:
    """Compute minus the logarithm of the probability of labels, over all ways to align them with steps; inf if none is."""

def ctc_decode(
    logits: ArrayLike,
    logit_lengths: ArrayLike | None = None,
    blank: int = 0,
    beam_width: int | None = None,
    top_paths: int = 1,
) -> Array:
    """Find the likeliest labels of sequences: those of the best alignment, or by beam search; -1 behind their end."""

absolute = abs
amax = max
amin = min
bitwise_invert = bitwise_not
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
conjugate = conj
convert_to_numpy = to_numpy
convert_to_tensor = asarray
mod = remainder
hard_swish = hard_silu
swish = silu
true_divide = divide
