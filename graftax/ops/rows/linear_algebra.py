"""Rows of products, decompositions and Fourier transforms."""

DECOMPOSITIONS = """
det(x): Determinant of square matrices.
slogdet(x) -> tuple[Array, Array]: Sign and logarithm of the absolute determinant.
lu_factor(x) -> tuple[Array, Array]:
    Factor square matrices by row exchanges: both triangles in one, the ones of the lower left out, and which row
    each was exchanged with, from 0.
svd(x, full_matrices: Flag = True) -> tuple[Array, Array, Array]: u, s and vh with x = u @ diag(s) @ vh.
qr(x) -> tuple[Array, Array]: Orthonormal q and upper triangular r with x = q @ r.
eigh(x) -> tuple[Array, Array]:
    Ascending eigenvalues, and eigenvectors, of Hermitian matrices; where eigenvalues are equal, vectors have no
    gradient.
pinv(x): Pseudo-inverse.
cholesky(x): Lower triangular root of positive definite matrices; raises if a matrix is not.
inv(x): Inverse of square matrices; raises if one is singular.
solve(x, y): The solution of x @ result = y; raises if x is singular.
solve_triangular(x, y, lower: Flag = False):
    Solve x @ result = y, reading the upper or the lower triangle of x alone; raises if a diagonal element is 0.
cholesky_solve(x, y): Solve a system whose matrix has the lower triangular root x: x @ x^H @ result = y.
cholesky_inverse(x): Invert the matrix that has the lower triangular root x.
lstsq(x, y, rcond: NotNegative | None = None):
    Minimise the distance of x @ result to y; singular values below rcond times the largest count as 0.
logdet(x): Compute the logarithm of the absolute determinant of square matrices.
eigvalsh(x): Compute the ascending eigenvalues of Hermitian matrices.
eig(x) -> tuple[Array, Array]: Compute complex eigenvalues and eigenvectors of square matrices; no gradient.
matrix_rank(x, rtol: NotNegative | None = None): Count the singular values above rtol times the largest.
matrix_power(x, n: Int): Multiply square matrices n times with themselves, or with their inverses.
"""

PRODUCTS = """
matmul(x, y): Matrix product over the last two axes, the others broadcast.
dot(x, y): Product over the last axis of x and the second to last of y.
vdot(x, y): Dot product of the flattened arrays, x conjugated.
inner(x, y): Product over the last axes.
outer(x, y): Every product of an element of x and one of y, as a matrix.
kron(x: Numeric, y): Kronecker product.
cross(x, y): Vector product of vectors of 3 along the last axis.
tensordot(x, y, axes: AxisPairs | None = 2): Product over several axes.
trace(x, offset: Int = 0, axis1: Axis = 0, axis2: Axis = 1): Sum of the offset-th diagonals of two axes.
einsum(subscripts: Text, *operands: Arrays): Sum of products as written in the subscripts, such as 'bij,bjk->bik'.
"""

FOURIER = """
fft(x, n: Size | None = None, axis: Axis = -1): Discrete Fourier transform.
ifft(x, n: Size | None = None, axis: Axis = -1): Inverse of fft.
rfft(x, n: Size | None = None, axis: Axis = -1):
    Discrete Fourier transform of real values, the half that is not redundant.
fft2(x, axes: Axes = (-2, -1)): Compute the discrete Fourier transform over two axes.
ifft2(x, axes: Axes = (-2, -1)): Compute the inverse of fft2.
fftshift(x, axes: Axes | None = None): Move the frequency 0 to the middle of axes.
ifftshift(x, axes: Axes | None = None): Compute the inverse of fftshift.
fftfreq(n: Size, d: Real = 1.0): Return the frequencies of the values of fft for samples at a distance of d.
rfftfreq(n: Size, d: Real = 1.0): Return the frequencies of the values of rfft for samples at a distance of d.
hanning(n: Count): Return the window (1 - cos) / 2 of so many values, 0 at both ends.
hamming(n: Count): Return the window 0.54 - 0.46 cos of so many values.
blackman(n: Count): Return the window 0.42 - 0.5 cos + 0.08 cos of the double angle, of so many values.
frame(x, length: Size, step: Size): Cut overlapping parts from the last axis: (..., n) -> (..., parts, length).
extract_sequences(x, sequence_length: Size, sequence_stride: Size):
    Compute frame(x, sequence_length, sequence_stride), by the names that Keras has.
overlap_add(x, step: Size): Add up parts at a distance of step: (..., parts, length) -> (..., n).
stft(x: Ordered, length: Size, step: Size, fft_length: Size | None = None, window: SpectralWindow | None = 'hann',
    center: Flag = True):
    Compute the spectra of overlapping parts of the last axis: (..., n) -> (..., parts, frequencies).
istft(x, length: Size, step: Size, fft_length: Size | None = None, window: SpectralWindow | None = 'hann',
    center: Flag = True, n: Size | None = None):
    Compute the signal of n values whose stft this is.
irfft(x, n: Size | None = None, axis: Axis = -1): Inverse of rfft.
"""
