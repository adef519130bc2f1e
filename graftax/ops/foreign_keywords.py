"""What arguments of functions are called elsewhere, and what to write where no argument does what one of elsewhere did.

A line computes the same as the argument did: without it, another number would come out, and nothing would show that.
"""

from __future__ import annotations

from difflib import get_close_matches

_UNIT = "ops.tril(x, -1) + ops.eye(n) as x, for an x that is lower; else ops.triu(x, 1) + ops.eye(n)"
_KEPT = "ops.where(mask, x, {}) as x"
_TRIANGLE = "ops.triu(x) + ops.conj(ops.triu(x, 1).mT) as x for the upper triangle; it takes whole matrices"

_LINES: dict[tuple[str, str], str] = {
    # by op and keyword
    ("solve_triangular", "trans"): "ops.solve_triangular(x.mT, y, lower=...), lower=False for an x that is lower; "
    'ops.conj(x.mT) for trans=2 or "C"',
    ("solve_triangular", "transpose_a"): "ops.solve_triangular(x.mT, y, lower=...), lower=False for an x that is lower",
    ("solve_triangular", "unit_diagonal"): _UNIT,
    ("solve_triangular", "unitriangular"): _UNIT,
    ("solve_triangular", "upper"): "lower=, which says the contrary: lower=False, its default, for upper=True",
    ("solve_triangular", "left"): "ops.solve_triangular(x.mT, y.mT, lower=...).mT for left=False, lower=False for an x "
    "that is lower",
    ("cholesky", "upper"): "ops.conj(ops.cholesky(x).mT) for upper=True",
    ("cholesky", "lower"): "ops.conj(ops.cholesky(x).mT) for lower=False; ops.cholesky(x) is the lower root",
    ("cholesky_solve", "upper"): "ops.conj(x.mT) as x for upper=True; it takes the lower root",
    ("cholesky_inverse", "upper"): "ops.conj(x.mT) as x for upper=True; it takes the lower root",
    ("eigh", "UPLO"): _TRIANGLE,
    ("eigh", "lower"): _TRIANGLE,
    ("eigvalsh", "UPLO"): _TRIANGLE,
    ("eigvalsh", "lower"): _TRIANGLE,
    ("eigh", "b"): "root = ops.cholesky(b), and ops.eigh(ops.solve_triangular(root, ops.solve_triangular(root, x, "
    "lower=True).mT, lower=True)), for real matrices; its vectors are root.mT @ those of the problem",
    ("eigh", "eigvals_only"): "ops.eigvalsh(x)",
    ("svd", "compute_uv"): "ops.svd(x, full_matrices=False)[1] for the singular values alone",
    ("matmul", "transpose_a"): "x.mT as x",
    ("matmul", "transpose_b"): "y.mT as y",
    ("matmul", "adjoint_a"): "ops.conj(x.mT) as x",
    ("matmul", "adjoint_b"): "ops.conj(y.mT) as y",
    **{(op, "initial"): f"ops.maximum(ops.{op}(x), initial)" for op in ("max", "nanmax")},
    **{(op, "initial"): f"ops.minimum(ops.{op}(x), initial)" for op in ("min", "nanmin")},
    **{(op, "initial"): f"ops.{op}(x) + initial" for op in ("sum", "nansum")},
    **{(op, "initial"): f"ops.{op}(x) * initial" for op in ("prod", "nanprod")},
    **{(op, "where"): _KEPT.format("0") for op in ("sum", "nansum")},
    **{(op, "where"): _KEPT.format("1") for op in ("prod", "nanprod")},
    **{(op, "where"): _KEPT.format("-float('inf')") for op in ("max", "softmax", "log_softmax", "logsumexp")},
    ("min", "where"): _KEPT.format("float('inf')"),
    **{(op, "where"): _KEPT.format("float('nan')") for op in ("nanmean", "nanstd", "nanvar", "nanmax", "nanmin")},
    **{
        (op, "where"): f"ops.{of_visible}(ops.where(mask, x, float('nan')))"
        for op, of_visible in (("mean", "nanmean"), ("std", "nanstd"), ("var", "nanvar"))
    },
    ("any", "where"): "ops.logical_and(mask, x) as x",
    ("all", "where"): "ops.logical_or(ops.logical_not(mask), x) as x",
    ("cumsum", "exclusive"): "ops.cumsum(x, axis) - x",
    **{(op, "reverse"): f"ops.flip(ops.{op}(ops.flip(x, axis), axis), axis)" for op in ("cumsum", "cumprod")},
    ("logsumexp", "b"): "ops.logsumexp(x + ops.log(b)), for a positive b",
    ("one_hot", "on_value"): "ops.one_hot(...) * (on_value - off_value) + off_value",
    ("one_hot", "off_value"): "ops.one_hot(...) * (on_value - off_value) + off_value",
    ("take", "mode"): 'ops.clip(indices, 0, n - 1) as indices for mode="clip", indices % n for "wrap"',
    ("take_along_axis", "mode"): 'ops.clip(indices, 0, n - 1) as indices for mode="clip", indices % n for "wrap"',
    ("isin", "invert"): "ops.logical_not(ops.isin(...))",
    ("diff", "prepend"): "ops.concatenate([prepend, x], axis) as x",
    ("diff", "append"): "ops.concatenate([x, append], axis) as x",
    ("angle", "deg"): "ops.rad2deg(ops.angle(x))",
    ("top_k", "largest"): "values, indices = ops.top_k(-x, k), and -values, for the smallest",
    ("softplus", "beta"): "ops.softplus(beta * x) / beta",
    ("slice", "strides"): "x[start:stop:step]",
    ("cov", "rowvar"): "x.mT as x for rowvar=False",
    ("corrcoef", "rowvar"): "x.mT as x for rowvar=False",
    ("cov", "bias"): "ddof=0 for bias=True",
}
"""What to write for an argument of one function."""

_OF_ALL = {
    "data_format": "channels come last: ops.moveaxis(x, 1, -1) before",
    "merge_repeated": "none, as repeats are always one label",
    "strategy": "beam_width=100 for beam search; without it the likeliest label of each step is taken",
}
"""The same, of any function."""

_EFFECTLESS = frozenset(
    "out casting order subok device copy stable is_stable kind optimize optimise precision accuracy name "
    "preferred_element_type overwrite_a overwrite_b overwrite_input check_finite debug turbo type lapack_driver "
    "driver lwork assume_unique assume_a hermitian symmetrize_input indices_are_sorted unique_indices inplace "
    "parallel_iterations validate_args requires_grad pin_memory layout memory_format sharding out_sharding".split()
)
"""Arguments that say how to compute, or where, and change no number."""


_VALUES = {
    ("norm", "ord", "nuc"): "ops.sum(ops.svd(x, full_matrices=False)[1], axis=-1), the sum of the singular values",
    ("norm", "ord", "fro"): "axis=(-2, -1) in place of ord=, for the root of the sum of squares of each matrix",
    ("norm", "ord", "inf"): 'ord=float("inf")',
    ("norm", "ord", "euclidean"): "ord=2",
}
"""What to write for words that functions of elsewhere take where a number is needed."""


def suggest_value(op: str, name: str, value: object) -> str | None:
    """Return what to write for a word that an argument takes elsewhere; None for other values."""
    return _VALUES.get((op, name, value)) if isinstance(value, str) else None


def suggest_keyword(op: str, keyword: str, names: list[str], called: dict[str, str]) -> str:
    """Return what to write in place of an argument that a function does not have.

    Args:
        op: The function.
        keyword: The argument.
        names: The arguments that it has.
        called: What arguments of elsewhere are called here.
    """
    line = _LINES.get((op, keyword)) or _OF_ALL.get(keyword)
    if line is not None:
        return f"in place of {keyword}=: {line}"
    if (near := called.get(keyword)) in names:
        return f"{near}= in place of {keyword}="
    if keyword in _EFFECTLESS:
        return f"leave {keyword}= out"
    close = get_close_matches(keyword, names, n=1)
    if close:
        return f"{close[0]}= in place of {keyword}="
    return f"other functions of graftax.ops before or after ops.{op}, or leave {keyword}= out if it was at its default"
