"""Names from elsewhere, of ops and of their arguments: the few that are taken, and what to write for the others."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from graftax.core.errors import ArgumentTypeError, MissingAttributeError
from graftax.ops.foreign_keywords import suggest_keyword

_OPS = {
    "avg_pool": "average_pool",
    "pixel_shuffle": "depth_to_space",
    "pixel_unshuffle": "space_to_depth",
    "layer_norm": "layer_normalization",
    "rms_norm": "rms_normalization",
    "batch_norm": "batch_normalization",
    "psnr": "image.psnr",
    "image.flip": "flip",
    "interpolate": "image.resize",
    "image.crop_images": "image.crop",
    "image.pad_images": "image.pad",
    "image.rotate": "image.affine_transform",
    "image.grayscale": "image.rgb_to_grayscale",
    "cho_solve": "cholesky_solve",
    "triangular_solve": "solve_triangular",
    "hann": "hanning",
    "trapz": "trapezoid",
    "row_stack": "vstack",
    "gammaln": "lgamma",
    "loggamma": "lgamma",
    "psi": "digamma",
    "inv_ex": "inv",
    "erf_inv": "erfinv",
    "hardtanh": "hard_tanh",
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_silu",
    "hardshrink": "hard_shrink",
    "softshrink": "soft_shrink",
    "tanhshrink": "tanh_shrink",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bmm": "matmul",
    "cat": "concatenate",
    "clamp": "clip",
    "clip_by_value": "clip",
    "concat": "concatenate",
    "constant": "asarray",
    "cumulative_sum": "cumsum",
    "equals": "equal",
    "gather": "take",
    "index_select": "take",
    "index_add": "scatter_add",
    "invert": "bitwise_not",
    "mm": "matmul",
    "mul": "multiply",
    "neg": "negative",
    "pow": "power",
    "range": "arange",
    "reduce_all": "all",
    "reduce_any": "any",
    "reduce_logsumexp": "logsumexp",
    "reduce_max": "max",
    "reduce_mean": "mean",
    "reduce_min": "min",
    "reduce_prod": "prod",
    "reduce_std": "std",
    "reduce_sum": "sum",
    "reduce_variance": "var",
    "scatter_nd_add": "scatter_add",
    "sub": "subtract",
    "tensor": "asarray",
    "to_tensor": "asarray",
    "topk": "top_k",
    "tensor_scatter_nd_add": "scatter_add",
    "true_div": "divide",
    "unbind": "unstack",
    "unsorted_segment_sum": "segment_sum",
    "rint": "round",
    "fabs": "abs",
    "div": "divide",
    "scaled_dot_product_attention": "dot_product_attention",
}
"""Names for which there is one function here; its arguments may have other names."""

_LINES = {
    "ctc_greedy_decoder": "ops.ctc_decode(logits, lengths, blank=classes - 1)",
    "ctc_beam_search_decoder": "ops.ctc_decode(logits, lengths, blank=classes - 1, beam_width=100)",
    "cross_entropy": "graftax.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)",
    "nll_loss": "graftax.losses.sparse_categorical_crossentropy(labels, logs, from_logits=True)",
    "mse_loss": "graftax.losses.mean_squared_error(y_true, y_pred)",
    "l1_loss": "graftax.losses.mean_absolute_error(y_true, y_pred)",
    "smooth_l1_loss": "graftax.losses.huber(y_true, y_pred, delta=beta) / beta",
    "huber_loss": "graftax.losses.huber(y_true, y_pred)",
    "kl_div": "graftax.losses.kl_divergence(y_true, y_pred), of probabilities",
    "binary_cross_entropy": "graftax.losses.binary_crossentropy(y_true, y_pred)",
    "binary_cross_entropy_with_logits": "graftax.losses.binary_crossentropy(y_true, logits, from_logits=True)",
    "poisson_nll_loss": "graftax.losses.poisson(y_true, rates)",
    "gaussian_nll_loss": "graftax.losses.gaussian_nll(y_true, means_and_variances, from_log_variance=False)",
    "cosine_embedding_loss": "ops.where(sign > 0, 1 - cosine, ops.relu(cosine - margin))",
    "margin_ranking_loss": "ops.relu(margin - sign * (better - worse))",
    "hinge_embedding_loss": "ops.where(sign > 0, x, ops.relu(margin - x))",
    "triplet_margin_loss": "ops.relu(ops.norm(anchor - near, axis=-1) - ops.norm(anchor - far, axis=-1) + margin)",
    "soft_margin_loss": "ops.softplus(-sign * x)",
    "multilabel_soft_margin_loss": "graftax.losses.binary_crossentropy(y_true, logits, from_logits=True)",
    "embedding": "ops.take(table, indices, axis=0)",
    "dropout": "graftax.layers.Dropout(rate)(x, training=True)",
    "alpha_dropout": "graftax.layers.AlphaDropout(rate)(x, training=True)",
    "dropout2d": "graftax.layers.SpatialDropout2D(rate)(x, training=True)",
    "group_norm": "graftax.layers.GroupNormalization(groups)",
    "instance_norm": "graftax.layers.InstanceNormalization()",
    "cosine_similarity": "ops.sum(ops.normalize(a) * ops.normalize(b), -1)",
    "pairwise_distance": "ops.norm(a - b, axis=-1)",
    "cdist": "ops.norm(a[:, None] - b[None], axis=-1)",
    "grid_sample": "ops.image.map_coordinates(image, coordinates)",
    "affine_grid": "ops.image.affine_transform(images, transform)",
    "upsample": "ops.image.resize(images, size)",
    "channel_shuffle": 'ops.rearrange(x, "... (g c) -> ... (c g)", g=groups)',
    "array_split": "ops.split(x, places, axis)",
    "argpartition": "ops.argsort(x)",
    "bartlett": "1 - ops.abs(2 * ops.arange(n) / (n - 1) - 1)",
    "correlate": "ops.conv(x[None, :, None], v[:, None, None])[0, :, 0]",
    "diagflat": "ops.diag(ops.ravel(x))",
    "jvp": "graftax.jvp(fn, primals, tangents)",
    "polar": "ops.view_as_complex(ops.stack([r * ops.cos(angle), r * ops.sin(angle)], -1))",
    "sobel_edges": "ops.conv(images, kernel, padding='same')",
    "switch": "graftax.switch(index, branches)",
    "vander": "ops.expand_dims(x, -1) ** ops.arange(n - 1, -1, -1)",
    "vectorize": "graftax.vectorized_map(fn, x)",
    "segment_prod": "ops.prod(ops.where(segment_ids == i, x, 1)) for each i",
    "bucketize": "ops.digitize(x, bins)",
    "astype": 'ops.cast(x, "float32")',
    "binary_crossentropy": "graftax.losses.BinaryCrossentropy()(y_true, y_pred)",
    "categorical_crossentropy": "graftax.losses.CategoricalCrossentropy()(y_true, y_pred)",
    "chunk": "ops.split(x, parts, axis)",
    "associative_scan": "graftax.associative_scan(fn, elems)",
    "lu": "ops.lu_factor(x)",
    "im2col": "ops.unfold(x, kernel_size)",
    "col2im": "ops.fold(x, output_size, kernel_size)",
    "complex": "ops.view_as_complex(ops.stack([real, imag], -1))",
    "cond": "graftax.cond(condition, true_fn, false_fn)",
    "copy": "the array itself: it never changes",
    "clone": "the array itself: it never changes",
    "custom_gradient": "graftax.custom_gradient",
    "detach": "ops.stop_gradient(x)",
    "dtype": "x.dtype",
    "empty": "ops.zeros(shape)",
    "empty_like": "ops.zeros_like(x)",
    "fill": "ops.full(shape, value)",
    "flatten": "ops.ravel(x), or ops.reshape(x, (x.shape[0], -1))",
    "flipud": "ops.flip(x, 0)",
    "fliplr": "ops.flip(x, 1)",
    "fori_loop": "graftax.scan(lambda carry, _: (fn(carry), None), init, length=n)[0], or graftax.while_loop",
    "get_item": "x[i]",
    "is_tensor": 'hasattr(x, "dtype")',
    "item": "float(x)",
    "linalg": "the functions themselves: ops.svd, ops.inv, ops.solve, ops.norm",
    "map": "graftax.map_fn(fn, x)",
    "masked_fill": "ops.where(mask, value, x)",
    "nn": "the functions themselves: ops.softmax, ops.conv, ops.one_hot",
    "numpy": "ops.to_numpy(x), or the functions themselves: ops.add, ops.mean",
    "permute": "ops.transpose(x, (0, 2, 1))",
    "random": "graftax.random",
    "scan": "graftax.scan",
    "sparse_categorical_crossentropy": "graftax.losses.SparseCategoricalCrossentropy()(y_true, y_pred)",
    "t": "ops.transpose(x)",
    "take_nd": "ops.gather_nd(x, indices)",
    "unsqueeze": "ops.expand_dims(x, axis)",
    "vectorized_map": "graftax.vectorized_map",
    "view": "ops.reshape(x, shape)",
    "while_loop": "graftax.while_loop",
    "eigvals": "ops.eig(x)[0]",
    "matrix_norm": "ops.norm(x, axis=(-2, -1))",
    "matrix_transpose": "x.mT",
    "multi_dot": "ops.matmul(ops.matmul(a, b), c)",
    "vecdot": "ops.sum(ops.conj(x) * y, axis=-1)",
    "cho_factor": "ops.cholesky(x)",
    "pinvh": "ops.pinv(x)",
    "expm": "expm(x) of the library of the backend: there is none here, and its functions take arrays, too",
    "matrix_exp": "expm(x) of the library of the backend: there is none here, and its functions take arrays, too",
    "sqrtm": "values, vectors = ops.eigh(x), and (vectors * ops.sqrt(values)) @ ops.conj(vectors.mT), for a matrix x "
    "that is Hermitian",
    "logm": "values, vectors = ops.eigh(x), and (vectors * ops.log(values)) @ ops.conj(vectors.mT), for a matrix x "
    "that is Hermitian",
    "lu_solve": "lu_solve(factors, y) of the library of the backend: none is here, and its functions take arrays, too",
    "argwhere": "ops.stack(ops.nonzero(x), axis=-1)",
    "column_stack": "ops.stack(arrays, axis=-1)",
    "fmax": "ops.where(ops.isnan(x), y, ops.where(ops.isnan(y), x, ops.maximum(x, y)))",
    "fmin": "ops.where(ops.isnan(x), y, ops.where(ops.isnan(y), x, ops.minimum(x, y)))",
    "iscomplex": "ops.imag(x) != 0",
    "isreal": "ops.imag(x) == 0",
    "expit": "ops.sigmoid(x)",
    "log_expit": "ops.log_sigmoid(x)",
    "logsigmoid": "ops.log_sigmoid(x)",
    "exp10": "10.0 ** x",
    "gamma": "ops.exp(ops.lgamma(x)), for a positive x",
    "xlog1py": "ops.xlogy(x, 1 + y)",
    "softmin": "ops.softmax(-x)",
    "linear": "ops.matmul(x, weight.mT) + bias",
    "prelu": "ops.where(x > 0, x, weight * x)",
}
"""Names of what is written in another way."""

_OTHERS = frozenset(
    """tensorsolve tensorinv cholesky_banded coshm cosm cossin diagsvd leslie matrix_balance orth null_space
    qr_multiply signm sinhm sinm tanhm tanm ldl_factor ldl_factor_ex ldl_solve solve_sylvester solve_toeplitz
    solve_banded solveh_banded bitwise_count broadcast_shapes einsum_path fill_diagonal frexp geterr gradient
    insert interp ldexp lexsort modf put_along_axis ravel_multi_index resize isnat erfcx erfcinv erfi gammainc
    gammaincc gammasgn rgamma log_ndtr ndtri polygamma gumbel_softmax rrelu max_unpool1d max_unpool2d
    max_unpool3d apply_along_axis array_str cosm1 exp1 expi expn iv sici stdtr bdtri fdtri pdtri""".split()
)
"""Functions of elsewhere that have no counterpart here: a name that is spelled alike is that of another function."""

_KEYWORDS = {
    "frame_length": "length",
    "win_length": "length",
    "nperseg": "length",
    "sequence_length": "length",
    "frame_step": "step",
    "hop_length": "step",
    "sequence_stride": "step",
    "n_fft": "fft_length",
    "a": "x",
    "array": "x",
    "axes": "axis",
    "axis": "axes",
    "correction": "ddof",
    "p": "ord",
    "data": "x",
    "depth": "num_classes",
    "dim": "axis",
    "dim0": "axis1",
    "dim1": "axis2",
    "dims": "axis",
    "dilation_rate": "dilation",
    "dilations": "dilation",
    "filters": "kernel",
    "indices_or_sections": "sections",
    "input": "x",
    "inputs": "x",
    "keep_dims": "keepdims",
    "keepdim": "keepdims",
    "blank_index": "blank",
    "mask_index": "blank",
    "kernel_size": "window",
    "newshape": "shape",
    "num_or_size_splits": "sections",
    "other": "y",
    "paddings": "pad_width",
    "perm": "axes",
    "pool_size": "window",
    "reduction_axis": "axis",
    "start_indices": "begin",
    "stride": "strides",
    "target_shape": "shape",
    "tensors": "arrays",
    "unbiased": "ddof",
    "x1": "x",
    "x2": "y",
    "x_max": "max",
    "x_min": "min",
    "a_min": "min",
    "a_max": "max",
    "xs": "arrays",
}
"""What arguments are called elsewhere."""


def missing_op(name: str, op_names: Iterable[str]) -> MissingAttributeError:
    """Return the error for ``ops.name`` where there is no such function."""
    names = [*op_names]
    if name in _LINES:
        instead = _LINES[name]
    else:
        near = (
            [_OPS[name]]
            if name in _OPS
            else []
            if name in _OTHERS
            else get_close_matches(name.lower(), names, n=1, cutoff=0.7)
        )
        instead = (
            f"ops.{near[0]}"
            if near
            else "dir(graftax.ops) for all names; functions of the backend's own library take arrays, too"
        )
    return MissingAttributeError(f"graftax.ops.{name}", "there is no function of that name", instead)


def unknown_arguments_error(
    op: str, signature: str, parameters: Iterable[str], unknown: Iterable[str]
) -> ArgumentTypeError:
    """Return the error for keyword arguments that an op does not have."""
    names = [*parameters]
    wrong = [*unknown]
    return ArgumentTypeError(
        f"{op}() got {', '.join(f'{name}=' for name in wrong)}",
        f"its arguments are ({signature})",
        ", ".join(suggest_keyword(op, name, names, _KEYWORDS) for name in wrong) or "leave it out",
    )


def missing_arguments_error(op: str, signature: str, needed: Iterable[str]) -> ArgumentTypeError:
    """Return the error for arguments that an op needs and did not get."""
    names = [*needed]
    return ArgumentTypeError(
        f"{op}() got no {' and no '.join(names)}",
        f"its arguments are ({signature})",
        f"ops.{op}(..., {', '.join(f'{name}=...' for name in names)})",
    )
