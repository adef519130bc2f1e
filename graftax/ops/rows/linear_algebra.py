"""Rows of products, decompositions and Fourier transforms."""

DECOMPOSITIONS = """
det(x): Compute the determinant of square matrices.
slogdet(x) -> tuple[Array, Array]: Compute the sign and the logarithm of the absolute value of the determinant.
lu_factor(x) -> tuple[Array, Array]:
    Compute the LU factors of square matrices in one array, the ones on the diagonal of L left out, and with which row,
    from 0, each row was exchanged.
svd(x, full_matrices: Flag = True) -> tuple[Array, Array, Array]: Compute u, s and vh with x = u @ diag(s) @ vh.
qr(x) -> tuple[Array, Array]: Compute an orthonormal q and an upper triangular r with x = q @ r.
eigh(x) -> tuple[Array, Array]:
    Compute the ascending eigenvalues, and the eigenvectors, of Hermitian matrices; where eigenvalues are equal, the
    vectors have no gradient. Raises for other matrices, of which compiled code reads (x + x^H) / 2.
pinv(x): Compute the pseudo-inverse.
cholesky(x):
    Compute the lower triangular root of positive definite matrices; raises if a matrix is not, or is not Hermitian, of
    which compiled code reads (x + x^H) / 2.
inv(x): Compute the inverse of square matrices; raises if one is singular.
solve(x, y): Compute the solution of x @ result = y; raises if x is singular.
solve_triangular(x, y, lower: Flag = False):
    Compute the solution of x @ result = y from the upper or the lower triangle of x alone; raises if a diagonal element
    is 0.
cholesky_solve(x, y): Compute the solution of x @ x^H @ result = y, where x is a lower triangular root.
cholesky_inverse(x): Invert the matrix that has the lower triangular root x.
lstsq(x, y, rcond: NotNegative | None = None):
    Find the result that brings x @ result nearest to y; singular values below rcond times the largest count as 0.
logdet(x): Compute the logarithm of the absolute determinant of square matrices.
eigvalsh(x): Compute the ascending eigenvalues of Hermitian matrices; other matrices as for eigh.
eig(x) -> tuple[Array, Array]: Compute complex eigenvalues and eigenvectors of square matrices; no gradient.
matrix_rank(x, rtol: NotNegative | None = None): Count the singular values above rtol times the largest.
matrix_power(x, n: Int): Multiply square matrices n times with themselves, or with their inverses.
"""

PRODUCTS = """
matmul(x, y): Compute the matrix product over the last two axes; the other axes are broadcast.
dot(x, y): Compute the product over the last axis of x and the second to last of y.
vdot(x, y): Compute the dot product of the flattened arrays; x is conjugated.
inner(x, y): Compute the product over the last axes.
outer(x, y): Return the product of each element of x and each of y, as a matrix.
kron(x: Numeric, y): Compute the Kronecker product.
cross(x, y): Compute the vector product of vectors of 3 along the last axis.
tensordot(x, y, axes: AxisPairs | None = 2): Compute the product over several axes.
trace(x, offset: Int = 0, axis1: Axis = 0, axis2: Axis = 1): Sum the offset-th diagonals of two axes.
einsum(subscripts: Text, *operands: Arrays): Sum products as written in the subscripts, such as 'bij,bjk->bik'.
"""

FOURIER = """
fft(x, n: Size | None = None, axis: Axis = -1): Compute the discrete Fourier transform.
ifft(x, n: Size | None = None, axis: Axis = -1): Compute the inverse of fft.
rfft(x, n: Size | None = None, axis: Axis = -1):
    Compute the discrete Fourier transform of real values; only the half that is not redundant is returned.
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
irfft(x, n: Size | None = None, axis: Axis = -1): Compute the inverse of rfft.
"""
