"""Rows of products, decompositions and Fourier transforms."""

DECOMPOSITIONS = """
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

PRODUCTS = """
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

FOURIER = """
fft(x, n: Size | None = None, axis: Axis = -1): Discrete Fourier transform.
ifft(x, n: Size | None = None, axis: Axis = -1): Inverse of fft.
rfft(x, n: Size | None = None, axis: Axis = -1):
    Discrete Fourier transform of real values, the half that is not redundant.
irfft(x, n: Size | None = None, axis: Axis = -1): Inverse of rfft.
"""
