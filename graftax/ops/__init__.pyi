# Generated from graftax/ops/rows by tools/make_ops_stub.py; change the rows, not this file.
"""The array functions: checked, on any backend, and every one accepts Variables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core.typedefs import Array, ArrayLike, DTypeLike
from graftax.ops import image as image

def abs(x: ArrayLike) -> Array:
    """Compute the absolute value."""

def negative(x: ArrayLike) -> Array:
    """Change the sign."""

def positive(x: ArrayLike) -> Array:
    """Return the same values."""

def sign(x: ArrayLike) -> Array:
    """Return the sign as -1, 0 or 1."""

def exp(x: ArrayLike) -> Array:
    """Compute e to the power of x."""

def exp2(x: ArrayLike) -> Array:
    """Compute 2 to the power of x."""

def expm1(x: ArrayLike) -> Array:
    """Compute exp(x) - 1, exact near 0."""

def log(x: ArrayLike) -> Array:
    """Compute the natural logarithm; nan for negative values."""

def log2(x: ArrayLike) -> Array:
    """Compute the logarithm to base 2."""

def log10(x: ArrayLike) -> Array:
    """Compute the logarithm to base 10."""

def log1p(x: ArrayLike) -> Array:
    """Compute log(1 + x), exact near 0."""

def sqrt(x: ArrayLike) -> Array:
    """Compute the square root; nan for negative values."""

def cbrt(x: ArrayLike) -> Array:
    """Compute the cube root."""

def square(x: ArrayLike) -> Array:
    """Compute x * x."""

def reciprocal(x: ArrayLike) -> Array:
    """Compute 1 / x."""

def sin(x: ArrayLike) -> Array:
    """Compute the sine of an angle in radians."""

def cos(x: ArrayLike) -> Array:
    """Compute the cosine of an angle in radians."""

def tan(x: ArrayLike) -> Array:
    """Compute the tangent of an angle in radians."""

def arcsin(x: ArrayLike) -> Array:
    """Compute the inverse sine, in radians."""

def arccos(x: ArrayLike) -> Array:
    """Compute the inverse cosine, in radians."""

def arctan(x: ArrayLike) -> Array:
    """Compute the inverse tangent, in radians."""

def sinh(x: ArrayLike) -> Array:
    """Compute the hyperbolic sine."""

def cosh(x: ArrayLike) -> Array:
    """Compute the hyperbolic cosine."""

def tanh(x: ArrayLike) -> Array:
    """Compute the hyperbolic tangent."""

def arcsinh(x: ArrayLike) -> Array:
    """Compute the inverse hyperbolic sine."""

def arccosh(x: ArrayLike) -> Array:
    """Compute the inverse hyperbolic cosine."""

def arctanh(x: ArrayLike) -> Array:
    """Compute the inverse hyperbolic tangent."""

def floor(x: ArrayLike) -> Array:
    """Round down to an integer."""

def ceil(x: ArrayLike) -> Array:
    """Round up to an integer."""

def trunc(x: ArrayLike) -> Array:
    """Round towards 0 to an integer."""

def round(x: ArrayLike, decimals: int = 0) -> Array:
    """Round to so many decimals; halves go to the even neighbour."""

def isfinite(x: ArrayLike) -> Array:
    """Return True where the value is neither infinite nor nan."""

def isinf(x: ArrayLike) -> Array:
    """Return True where the value is infinite."""

def isnan(x: ArrayLike) -> Array:
    """Return True where the value is nan."""

def logical_not(x: ArrayLike) -> Array:
    """Return True where x is zero or False."""

def bitwise_not(x: ArrayLike) -> Array:
    """Flip every bit."""

def conj(x: ArrayLike) -> Array:
    """Compute the complex conjugate."""

def real(x: ArrayLike) -> Array:
    """Return the real part."""

def imag(x: ArrayLike) -> Array:
    """Return the imaginary part."""

def nan_to_num(x: ArrayLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Array:
    """Replace nan and infinities by finite numbers."""

def floor_divide(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x / y rounded down; an integer divided by 0 raises."""

def remainder(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute what floor_divide leaves, with the sign of y; an integer divided by 0 raises."""

def copysign(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the magnitude of x with the sign of y."""

def equal(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where x == y."""

def not_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where x != y."""

def less(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where x < y."""

def less_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where x <= y."""

def greater(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where x > y."""

def greater_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where x >= y."""

def logical_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where both are true."""

def logical_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where at least one is true."""

def logical_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True where exactly one is true."""

def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bits that are set in both."""

def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bits that are set in at least one."""

def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bits that are set in exactly one."""

def left_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """Move the bits of x to the left by y places."""

def right_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """Move the bits of x to the right by y places; the sign is kept."""

def isclose(x: ArrayLike, y: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Return True where abs(x - y) <= atol + rtol * abs(y)."""

def allclose(x: ArrayLike, y: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Return True if abs(x - y) <= atol + rtol * abs(y) everywhere."""

def array_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """Return True if shapes and values are equal."""

def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limit x to [min, max]."""

def sum(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute the sum over axes."""

def mean(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute the mean over axes."""

def max(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return the largest value over axes."""

def min(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return the smallest value over axes."""

def prod(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute the product over axes."""

def any(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return True if at least one value over axes is true."""

def all(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return True if all values over axes are true."""

def argmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the largest value, the first one if several are equal."""

def argmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the smallest value, the first one if several are equal."""

def count_nonzero(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Count the values that are not zero."""

def transpose(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Change the order of the axes, by default to the reverse."""

def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Array:
    """Exchange two axes."""

def moveaxis(x: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Move axes; the others keep their order."""

def expand_dims(x: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Insert axes of size 1."""

def squeeze(x: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Remove axes of size 1."""

def ravel(x: ArrayLike) -> Array:
    """Flatten to one axis, in row-major order."""

def flip(x: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order along axes."""

def roll(x: ArrayLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Move elements along axes; those moved beyond the end come back at the start."""

def rot90(x: ArrayLike, k: int = 1, axes: int | Sequence[int] = (0, 1)) -> Array:
    """Rotate by k times 90 degrees, from the first of two axes to the second."""

def tril(x: ArrayLike, k: int = 0) -> Array:
    """Set elements above the k-th diagonal to zero."""

def triu(x: ArrayLike, k: int = 0) -> Array:
    """Set elements below the k-th diagonal to zero."""

def diag(x: ArrayLike, k: int = 0) -> Array:
    """Return the k-th diagonal of a matrix, or a matrix with that diagonal."""

def diagonal(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return the offset-th diagonals of two axes."""

def concatenate(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Array:
    """Join arrays along an axis."""

def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Join arrays along a new axis."""

def vstack(arrays: Sequence[ArrayLike]) -> Array:
    """Join arrays along the first axis; vectors become rows."""

def hstack(arrays: Sequence[ArrayLike]) -> Array:
    """Join arrays along the second axis, or the only one."""

def dstack(arrays: Sequence[ArrayLike]) -> Array:
    """Join arrays along the third axis, which is added where it is missing."""

def meshgrid(*operands: ArrayLike, indexing: str = "xy") -> list[Array]:
    """Return coordinate matrices of coordinate vectors."""

def broadcast_arrays(*operands: ArrayLike) -> list[Array]:
    """Broadcast all arrays to their common shape."""

def zeros(shape: int | Sequence[int], dtype: DTypeLike | None = "float32") -> Array:
    """Return an array filled with 0."""

def ones(shape: int | Sequence[int], dtype: DTypeLike | None = "float32") -> Array:
    """Return an array filled with 1."""

def eye(rows: int, columns: int | None = None, k: int = 0, dtype: DTypeLike | None = "float32") -> Array:
    """Return ones on the k-th diagonal, and zeros elsewhere."""

def identity(rows: int, dtype: DTypeLike | None = "float32") -> Array:
    """Return the identity matrix."""

def tri(rows: int, columns: int | None = None, k: int = 0, dtype: DTypeLike | None = "float32") -> Array:
    """Return ones at and below the k-th diagonal, and zeros elsewhere."""

def asarray(object: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Make an array; memory of the caller is copied, and 64-bit types become 32-bit ones."""

def array(object: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Make an array, as asarray does."""

def cast(x: ArrayLike, dtype: DTypeLike | None) -> Array:
    """Convert the values to another dtype; those of a Variable as it stores them."""

def full(shape: int | Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return an array filled with a value."""

def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return zeros of the shape and dtype of x."""

def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return ones of the shape and dtype of x."""

def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return an array filled with a value, of the shape and dtype of x."""

def arange(start: float, stop: float | None = None, step: float | None = None, dtype: DTypeLike | None = None) -> Array:
    """Return evenly spaced values in [start, stop); a single argument is the stop."""

def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike | None = "float32",
) -> Array:
    """Return so many values from base**start to base**stop, each the same multiple of the one before."""

def geomspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = "float32"
) -> Array:
    """Return so many values from start to stop, each the same multiple of the one before."""

def saturate_cast(x: ArrayLike, dtype: DTypeLike | None) -> Array:
    """Convert the values to another dtype, limited to the range of that dtype."""

def linspace(
    start: float, stop: float | None, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = "float32"
) -> Array:
    """Return so many evenly spaced values from start to stop."""

def view_as_complex(x: ArrayLike) -> Array:
    """Make complex numbers of real and imaginary parts: (..., 2) -> (...)."""

def view_as_real(x: ArrayLike) -> Array:
    """Lay real and imaginary parts along a new last axis: (...) -> (..., 2)."""

def take(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Array:
    """Take elements or slices by index; in compiled code without checks, an index out of range gives nan."""

def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """Take elements by index along one axis; in compiled code without checks, an index out of range gives nan."""

def to_numpy(x: ArrayLike) -> np.ndarray[Any, Any]:
    """Return the values as a NumPy array on the host; it may be read-only."""

def shape(x: ArrayLike) -> tuple[int, ...]:
    """Return the sizes of the axes."""

def ndim(x: ArrayLike) -> int:
    """Return the number of axes."""

def size(x: ArrayLike) -> int:
    """Return the number of elements."""

def nonzero(x: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the values that are not zero, one array for each axis; eager only."""

def unique(x: ArrayLike) -> Array:
    """Return the sorted distinct values; eager only."""

def bincount(x: ArrayLike, length: int | None = None) -> Array:
    """Count how often each integer from 0 occurs; compiled code needs length and ignores integers out of range."""

def gather_nd(x: ArrayLike, indices: ArrayLike) -> Array:
    """Take elements or slices by index tuples; in compiled code without checks, an index out of range gives nan."""

def one_hot(indices: ArrayLike, num_classes: int, axis: int = -1, dtype: DTypeLike | None = "float32") -> Array:
    """Return 1 at the index and 0 elsewhere; in compiled code without checks, an index out of range gives only 0."""

def slice(x: ArrayLike, begin: ArrayLike, shape: int | Sequence[int]) -> Array:
    """Return the block of a shape that starts at begin; in compiled code without checks, a block that leaves x is moved inside."""

def slice_update(x: ArrayLike, begin: ArrayLike, updates: ArrayLike) -> Array:
    """Replace the block of x that starts at begin; in compiled code without checks, a block that leaves x is moved inside."""

def broadcast_to(x: ArrayLike, shape: int | Sequence[int]) -> Array:
    """Repeat along axes of size 1 up to a shape."""

def tile(x: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Repeat the whole array along axes."""

def repeat(x: ArrayLike, repeats: int | Sequence[int], axis: int | None = None) -> Array:
    """Repeat every element: all as often as one number says, or each as often as its own."""

def reshape(x: ArrayLike, shape: int | Sequence[int]) -> Array:
    """Return the same elements in another shape; one size may be -1."""

def append(x: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join values to x along an axis, or both flattened."""

def select(conditions: Sequence[ArrayLike], choices: Sequence[ArrayLike], default: float = 0.0) -> Array:
    """Return the elements of the first choice whose condition holds, else the default."""

def split(x: ArrayLike, sections: int | Sequence[int], axis: int = 0) -> list[Array]:
    """Split into equal parts, or at indices."""

def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices along an axis, without that axis."""

def pad(
    x: ArrayLike,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    constant_values: float = 0.0,
) -> Array:
    """Add borders: constant, edge, reflect, symmetric or wrap."""

def sort(x: ArrayLike, axis: int = -1, descending: bool = False) -> Array:
    """Sort along an axis."""

def argsort(x: ArrayLike, axis: int = -1, descending: bool = False) -> Array:
    """Return the indices that would sort; equal values keep their order."""

def top_k(x: ArrayLike, k: int) -> tuple[Array, Array]:
    """Return the k largest values of the last axis, in order, and their indices."""

def searchsorted(x: ArrayLike, values: ArrayLike, side: str = "left") -> Array:
    """Find where values would be inserted into the sorted vector x."""

def isin(x: ArrayLike, values: ArrayLike) -> Array:
    """Return True where an element of x is among the values."""

def stop_gradient(x: ArrayLike) -> Array:
    """Return the same values, which gradients take for constants."""

def scatter_add(x: ArrayLike, indices: ArrayLike, updates: ArrayLike) -> Array:
    """Add updates[i] to row indices[i] of x; compiled code without checks ignores an index out of range."""

def scatter(indices: ArrayLike, values: ArrayLike, shape: int | Sequence[int]) -> Array:
    """Put values at index tuples into zeros, and add those at the same place; compiled code without checks ignores an index out of range."""

def scatter_update(x: ArrayLike, indices: ArrayLike, updates: ArrayLike) -> Array:
    """Replace elements or slices of x at index tuples; compiled code without checks ignores an index out of range."""

def multi_hot(indices: ArrayLike, num_classes: int, axis: int = -1, dtype: DTypeLike | None = "float32") -> Array:
    """Return 1 at each index along the last axis of indices, else 0: (..., n) -> (..., num_classes)."""

def in_top_k(targets: ArrayLike, predictions: ArrayLike, k: int) -> Array:
    """Return True where the class of a target is among the k with the largest predictions."""

def unravel_index(indices: ArrayLike, shape: int | Sequence[int]) -> tuple[Array, ...]:
    """Convert indices into the flattened array to indices for each axis of a shape; in compiled code without checks, an index out of range gives the sizes."""

def segment_sum(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Sum rows by segment id; compiled code without checks ignores an id out of range."""

def segment_mean(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Compute the means of rows by segment id, 0 where there are none; compiled code without checks ignores an id out of range."""

def segment_max(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Return the largest of the rows with each segment id; -inf, or the least integer, where there are none."""

def segment_min(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Return the smallest of the rows with each segment id; inf, or the largest integer, where there are none."""

def segment_softmax(x: ArrayLike, segment_ids: ArrayLike, num_segments: int) -> Array:
    """Compute exp(x) normalised to sum 1 over the rows of each segment; its shape is that of x."""

def rearrange(x: ArrayLike, pattern: str, **sizes: int) -> Array:
    """Split, order and merge axes by a pattern: rearrange(x, 'b (h p) c -> b h (p c)', p=2)."""

def matmul(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the matrix product over the last two axes; the other axes are broadcast."""

def dot(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the product over the last axis of x and the second to last of y."""

def vdot(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the dot product of the flattened arrays; x is conjugated."""

def inner(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the product over the last axes."""

def outer(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the product of each element of x and each of y, as a matrix."""

def kron(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the Kronecker product."""

def cross(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the vector product of vectors of 3 along the last axis."""

def tensordot(x: ArrayLike, y: ArrayLike, axes: int | Sequence[int] | Sequence[Sequence[int]] | None = 2) -> Array:
    """Compute the product over several axes."""

def trace(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Sum the offset-th diagonals of two axes."""

def einsum(subscripts: str, *operands: ArrayLike) -> Array:
    """Sum products as written in the subscripts, such as 'bij,bjk->bik'."""

def det(x: ArrayLike) -> Array:
    """Compute the determinant of square matrices."""

def slogdet(x: ArrayLike) -> tuple[Array, Array]:
    """Compute the sign and the logarithm of the absolute value of the determinant."""

def lu_factor(x: ArrayLike) -> tuple[Array, Array]:
    """Compute the LU factors of square matrices in one array, the ones on the diagonal of L left out, and with which row, from 0, each row was exchanged."""

def svd(x: ArrayLike, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Compute u, s and vh with x = u @ diag(s) @ vh."""

def qr(x: ArrayLike) -> tuple[Array, Array]:
    """Compute an orthonormal q and an upper triangular r with x = q @ r."""

def eigh(x: ArrayLike) -> tuple[Array, Array]:
    """Compute the ascending eigenvalues, and the eigenvectors, of Hermitian matrices; where eigenvalues are equal, the vectors have no gradient. Raises for other matrices, of which compiled code reads (x + x^H) / 2."""

def pinv(x: ArrayLike) -> Array:
    """Compute the pseudo-inverse."""

def cholesky(x: ArrayLike) -> Array:
    """Compute the lower triangular root of positive definite matrices; raises if a matrix is not, or is not Hermitian, of which compiled code reads (x + x^H) / 2."""

def inv(x: ArrayLike) -> Array:
    """Compute the inverse of square matrices; raises if one is singular."""

def solve(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the solution of x @ result = y; raises if x is singular."""

def solve_triangular(x: ArrayLike, y: ArrayLike, lower: bool = False) -> Array:
    """Compute the solution of x @ result = y from the upper or the lower triangle of x alone; raises if a diagonal element is 0."""

def cholesky_solve(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the solution of x @ x^H @ result = y, where x is a lower triangular root."""

def cholesky_inverse(x: ArrayLike) -> Array:
    """Invert the matrix that has the lower triangular root x."""

def lstsq(x: ArrayLike, y: ArrayLike, rcond: float | None = None) -> Array:
    """Find the result that brings x @ result nearest to y; singular values below rcond times the largest count as 0."""

def logdet(x: ArrayLike) -> Array:
    """Compute the logarithm of the absolute determinant of square matrices."""

def eigvalsh(x: ArrayLike) -> Array:
    """Compute the ascending eigenvalues of Hermitian matrices; other matrices as for eigh."""

def eig(x: ArrayLike) -> tuple[Array, Array]:
    """Compute complex eigenvalues and eigenvectors of square matrices; no gradient."""

def matrix_rank(x: ArrayLike, rtol: float | None = None) -> Array:
    """Count the singular values above rtol times the largest."""

def matrix_power(x: ArrayLike, n: int) -> Array:
    """Multiply square matrices n times with themselves, or with their inverses."""

def fft(x: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Compute the discrete Fourier transform."""

def ifft(x: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Compute the inverse of fft."""

def rfft(x: ArrayLike, n: int | None = None, axis: int = -1) -> Array:
    """Compute the discrete Fourier transform of real values; only the half that is not redundant is returned."""

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
    """Compute the inverse of rfft."""

def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x + y."""

def subtract(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x - y."""

def multiply(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x * y."""

def maximum(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the larger of the two; nan if one is nan; equal values share the gradient."""

def minimum(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the smaller of the two; nan if one is nan; equal values share the gradient."""

def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Return x where the condition holds, else y; both branches are computed and differentiated."""

def power(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x to the power of y; the slope of x**0 is 0 at 0, too."""

def divide(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x / y; integers give floats, and a division by 0 gives inf or nan."""

def hypot(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute sqrt(x**2 + y**2) without overflow; its gradient at the origin is 0.5 for each."""

def arctan2(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute the angle of the point (y, x), in radians; its gradient at the origin is 0."""

def logaddexp(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute log(exp(x) + exp(y)) without overflow; its gradient is 0 where both are -inf."""

def divide_no_nan(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x / y, and 0 where y is 0; the gradient is 0 there, too."""

def erf(x: ArrayLike) -> Array:
    """Compute the Gauss error function."""

def sigmoid(x: ArrayLike) -> Array:
    """Compute 1 / (1 + exp(-x)) without overflow."""

def rsqrt(x: ArrayLike) -> Array:
    """Compute 1 / sqrt(x)."""

def softplus(x: ArrayLike) -> Array:
    """Compute log(1 + exp(x)) without overflow."""

def log_sigmoid(x: ArrayLike) -> Array:
    """Compute log(sigmoid(x)) without overflow."""

def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute x * log(y), and 0 where x is 0."""

def squared_difference(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute (x - y)**2."""

def angle(x: ArrayLike) -> Array:
    """Compute the angle of a complex number, in radians; its gradient at 0 is 0."""

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
    """Compute x times the normal distribution function at x, or with approximate=True its form with tanh."""

def silu(x: ArrayLike) -> Array:
    """Compute x * sigmoid(x), also called swish."""

def mish(x: ArrayLike) -> Array:
    """Compute x * tanh(softplus(x))."""

def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Multiply the first half of an axis by the sigmoid of the second half."""

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
    """Compute the variance over axes; the sum of squares is divided by n - ddof."""

def std(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """Compute the standard deviation over axes; the sum of squares is divided by n - ddof."""

def cumsum(x: ArrayLike, axis: int | None = None) -> Array:
    """Compute the running sum along an axis, or of the flattened array."""

def cumprod(x: ArrayLike, axis: int | None = None) -> Array:
    """Compute the running product along an axis, or of the flattened array."""

def median(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute the median over axes."""

def quantile(
    x: ArrayLike, q: float | Sequence[float], axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Compute quantiles over axes, interpolated linearly."""

def softmax(x: ArrayLike, axis: int | Sequence[int] | None = -1) -> Array:
    """Compute exp(x) normalised to sum 1 over axes; 0 where everything is -inf."""

def log_softmax(x: ArrayLike, axis: int | Sequence[int] | None = -1) -> Array:
    """Compute log(softmax(x)) without overflow."""

def logsumexp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute log(sum(exp(x))) without overflow."""

def norm(x: ArrayLike, ord: float = 2, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute the vector norm over axes, of order p > 0 or inf; its gradient at 0 is 0."""

def moments(x: ArrayLike, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> tuple[Array, Array]:
    """Compute mean and variance over axes; half precision is computed in float32."""

def standardize(x: ArrayLike, axis: int | Sequence[int] | None = -1, epsilon: float = 0.001) -> Array:
    """Compute (x - mean) / sqrt(variance + epsilon) over axes, in float32 at least."""

def nansum(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute the sum over axes; nan counts as 0."""

def nanprod(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Compute the product over axes; nan counts as 1."""

def nanmean(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Take the mean over axes of what is not nan."""

def nanvar(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """Compute the variance over axes of what is not nan; the sum of squares is divided by their number minus ddof."""

def nanstd(x: ArrayLike, axis: int | Sequence[int] | None = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """Take the standard deviation over axes of what is not nan."""

def nanmax(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return the largest value over axes that is not nan; nan where all are nan."""

def nanmin(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Return the smallest value over axes that is not nan; nan where all are nan."""

def nanargmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the largest value that is not nan; -1, which no op accepts as an index, where all are nan."""

def nanargmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the smallest value that is not nan; -1, which no op accepts as an index, where all are nan."""

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
    """Compute the running sum along an axis, or of the flattened array; nan counts as 0."""

def nancumprod(x: ArrayLike, axis: int | None = None) -> Array:
    """Compute the running product along an axis, or of the flattened array; nan counts as 1."""

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
    """Count values in bins of equal width, between two numbers or the smallest and the largest value; return counts and edges."""

def digitize(x: ArrayLike, bins: ArrayLike) -> Array:
    """Return the index of the bin of each value: how many of the ascending edges are not above it."""

def conv(
    x: ArrayLike,
    kernel: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "valid",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Array:
    """Compute a convolution, channels last."""

def conv_transpose(
    x: ArrayLike,
    kernel: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "valid",
    dilation: int | Sequence[int] = 1,
) -> Array:
    """Compute the transpose of conv, channels last."""

def max_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "valid",
) -> Array:
    """Return the maximum over windows."""

def average_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "valid",
) -> Array:
    """Compute the mean over windows; padding is not counted."""

def adaptive_average_pool(x: ArrayLike, size: int | Sequence[int]) -> Array:
    """Compute the mean over windows; their sizes and strides are chosen so that the result has the given size."""

def adaptive_max_pool(x: ArrayLike, size: int | Sequence[int]) -> Array:
    """Return the maximum over windows; their sizes and strides are chosen so that the result has the given size."""

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

def sum_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "valid",
) -> Array:
    """Sum over windows."""

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
    """Compute attention over values; implementation chooses the kernel of the library, such as 'cudnn' on a GPU."""

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
    """Compute minus the logarithm of the probability of the labels, over all ways to align them with steps; inf if there is none. Without lengths or a mask, labels end where only the blank, or -1, follows."""

def ctc_decode(
    logits: ArrayLike,
    logit_lengths: ArrayLike | None = None,
    blank: int = 0,
    beam_width: int | None = None,
    top_paths: int = 1,
) -> Array:
    """Find the most likely labels of sequences: those of the best alignment, or by beam search; -1 after their end."""

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
