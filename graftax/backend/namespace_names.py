"""The functions that `Arrays.numpy` must have: all that are called through it."""

NAMES: tuple[str, ...] = tuple(
    """
    abs add all allclose angle any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort
    array array_equal asarray bincount bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_arrays broadcast_to
    cbrt ceil clip concatenate conj copy copysign cos cosh count_nonzero cross cumprod cumsum diag diagonal divide
    dot dstack einsum equal exp exp2 expand_dims expm1 eye flip floor floor_divide fmod full full_like gcd greater
    greater_equal hstack hypot imag inner isclose isfinite isin isinf isnan kron lcm left_shift less less_equal
    linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul max maximum mean
    median meshgrid min minimum moveaxis multiply nan_to_num nanmedian nanquantile negative nonzero not_equal ones
    ones_like outer pad positive power prod quantile ravel real reciprocal remainder repeat reshape right_shift roll
    rot90 round searchsorted sign signbit sin sinh sort split sqrt square squeeze stack std subtract sum swapaxes
    take take_along_axis tan tanh tensordot tile trace transpose tri tril triu trunc unique var vdot vstack where
    zeros zeros_like
    linalg.cholesky linalg.det linalg.eig linalg.eigh linalg.inv linalg.pinv linalg.qr linalg.slogdet
    linalg.solve linalg.svd
    fft.fft fft.ifft fft.irfft fft.rfft
    """.split()
)
"""Their names, with the signatures and the meaning of NumPy; ``linalg`` and ``fft`` are namespaces within."""
