"""Numbers for inputs that are given as Specs, to try a program with."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.host import host_dtype
from graftax.export.signature import Signature
from graftax.export.spec import Spec
from graftax.layers.embedding import Embedding
from graftax.transforms.compile.reach import find_modules
from graftax.variables.graph.walking import walk


def trial_specs(signature: Signature) -> list[Spec]:
    """Return the Specs of a signature; the one of integers without bounds has those of the smallest table below.

    Where there are several of integers, nothing says which are indices of a table.

    Example:
        >>> model = Embedding(50, 8)
        >>> trial_specs(Signature(model, Spec("batch time", "int32")))
        [Spec("batch time", "int32", bounds=(0, 49))]
    """
    specs = signature.specs
    unbound = [i for i, spec in enumerate(specs) if spec.dtype[:3] in ("int", "uin") and spec.bounds is None]
    tables = [
        part.input_dim
        for module in find_modules((signature.fn,))[0]
        for part in walk(module)
        if isinstance(part, Embedding)
    ]
    if len(unbound) == 1 and tables and specs[unbound[0]].shape:
        spec = specs[unbound[0]]
        specs[unbound[0]] = Spec(spec.shape, spec.dtype, (0, min(tables) - 1))
    return specs


def made_up(spec: Spec, shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """Return numbers for an input, within its bounds; integers without any are 0 and 1."""
    draw = np.random.default_rng((seed, *shape))
    dtype = host_dtype(spec.dtype)
    found: np.ndarray[Any, Any]
    if spec.dtype == "bool":
        found = np.asarray(draw.random(shape) < 0.7)
        if shape:
            found[..., :1] = True  # of a mask, something stays
    elif dtype.kind in "iu":
        low, high = (0, 1) if spec.bounds is None else map(int, spec.bounds)
        found = np.asarray(draw.integers(low, min(high, low + 1000), shape, endpoint=True))
    elif spec.bounds is not None:
        found = np.asarray(draw.uniform(*spec.bounds, shape))
    else:
        found = np.asarray(draw.normal(size=shape))
        if dtype.kind == "c":
            found = found + 1j * draw.normal(size=shape)
    return found.astype(dtype)
