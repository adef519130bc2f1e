"""What people ask of a Variable as they would of an array or a tensor, and the line to write instead."""

from __future__ import annotations

from graftax.core.errors import AssignmentError, MissingAttributeError

_OPS = (
    "all any argmax argmin argsort clip conj cumprod cumsum diagonal dot max mean min nonzero prod ravel repeat round "
    "sort squeeze std sum swapaxes trace transpose var abs exp log log2 log10 log1p expm1 sqrt square sin cos tan tanh "
    "sigmoid softmax log_softmax logsumexp matmul norm inner outer maximum minimum isnan isinf isfinite floor ceil "
    "sign moveaxis flip roll tile split unstack median quantile real imag take det"
)
"""Methods elsewhere that are functions here."""

_LINES = {
    **{name: f"ops.{name}(w)" for name in _OPS.split()},
    "add": "w + x, or w.assign_add(x)",
    "add_": "w.assign_add(x)",
    "amax": "ops.max(w)",
    "amin": "ops.min(w)",
    "argpartition": "ops.top_k(w, k)",
    "astype": 'ops.cast(w, "float16")',
    "at": "w[i] = x",
    "backward": "graftax.grad, graftax.GradientTape or optimizer.minimize",
    "block_until_ready": "w.value.block_until_ready()",
    "clamp": "ops.clip(w, low, high)",
    "clamp_": "w.assign(ops.clip(w, low, high))",
    "clone": "w.value, which never changes, or copy.deepcopy(w)",
    "contiguous": "w.value",
    "copy": "w.value, which never changes, or copy.deepcopy(w)",
    "copy_": "w.assign(x)",
    "cpu": "w.numpy()",
    "cuda": 'graftax.device("gpu") around what makes it',
    "data": "w.value; w.assign(x) to change it",
    "detach": "ops.stop_gradient(w)",
    "device": "w.value.device",
    "devices": "w.value.devices()",
    "div_": "w /= x",
    "double": 'ops.cast(w, "float64")',
    "expand": "ops.broadcast_to(w, shape)",
    "fill_": "w[...] = 1.0",
    "flat": "ops.ravel(w)",
    "flatten": "ops.ravel(w)",
    "float": 'ops.cast(w, "float32")',
    "grad": "graftax.grad, graftax.GradientTape or optimizer.minimize",
    "half": 'ops.cast(w, "float16")',
    "int": 'ops.cast(w, "int32")',
    "item": "float(w), or int(w)",
    "itemsize": "w.value.dtype.itemsize",
    "inverse": "ops.inv(w)",
    "long": 'ops.cast(w, "int32")',
    "mm": "w @ x",
    "mul_": "w *= x",
    "permute": "ops.transpose(w, axes)",
    "pow": "w ** x",
    "ptp": "ops.max(w) - ops.min(w)",
    "read_value": "w.value",
    "requires_grad": "w.trainable",
    "requires_grad_": "w.trainable = True",
    "reshape": "ops.reshape(w, shape)",
    "scatter_add": "ops.scatter_add(w, indices, updates)",
    "searchsorted": "ops.searchsorted(w, values)",
    "set_value": "w.assign(x)",
    "strides": "w.numpy().strides",
    "sub": "w - x, or w.assign_sub(x)",
    "sub_": "w.assign_sub(x)",
    "t": "w.T",
    "to": 'graftax.device("gpu") around what makes it; ops.cast(w, "float16") for another dtype',
    "tolist": "w.numpy().tolist()",
    "type": 'ops.cast(w, "float16")',
    "unsqueeze": "ops.expand_dims(w, axis)",
    "view": "ops.reshape(w, shape)",
    "zero_": "w[...] = 0.0",
}

_SETTINGS = {
    "data": "w.assign(x)",
    "dtype": "a new Variable of that dtype: it never changes",
    "grad": "optimizer.apply(gradients, variables)",
    "requires_grad": "w.trainable = False",
    "shape": "a new Variable of that shape: it never changes",
    "value": "w.assign(x)",
}


def missing_attribute_error(kind: str, name: str) -> MissingAttributeError | None:
    """Return the error for ``w.name`` where arrays or tensors have such a thing; None where they have none."""
    if name not in _LINES:
        return None
    return MissingAttributeError(
        f"{kind}.{name}",
        f"a {kind} stands for an array in ops and operators, but has none of its methods",
        _LINES[name],
    )


def refuse_setting(kind: str, path: str, name: str, value: object) -> None:
    """Raise for ``w.name = value`` where it would change nothing.

    Raises:
        AssignmentError: the name means something elsewhere, and nothing here.
    """
    if name in _SETTINGS:
        shown = repr(value) if isinstance(value, (bool, int, float, str)) else "..."
        raise AssignmentError(f"{kind} {path!r}: .{name} = {shown}", "that would change nothing", _SETTINGS[name])
