"""The buffer that a Variable starts with: what its initializer makes, as an array of its backend."""

from __future__ import annotations

import math
from typing import Any, cast

from graftax.backend import registry
from graftax.backend.protocol import Backend
from graftax.core.typedefs import Array, Initializer
from graftax.variables.base_initializer import BaseInitializer
from graftax.variables.given_back import initial_value
from graftax.variables.keys import variable_key
from graftax.variables.spec import VariableSpec
from graftax.variables.spread_draws import SpreadDraws
from graftax.variables.state.home import Home
from graftax.variables.state.storage import concretely

_LARGE = 2**20


def first_buffer(spec: VariableSpec, initializer: Initializer, backend: Backend, home: Home | None = None) -> Array:
    """Return what a Variable starts as, where it is to lie."""
    with concretely():
        key: Any = None
        if getattr(initializer, "draws", True):  # zeros need no key, and must not shift the draws of others
            key = variable_key(spec.owner, spec.path, getattr(initializer, "seed", None), initializer)
        spread = home is not None and _holds_a_part(initializer)  # no process could have it on its host
        drawing = backend if spread else _drawing_backend(spec, backend)
        if home is not None and drawing is backend and not spread:
            if _is_constant(initializer):
                return backend.meshes.make(lambda: initializer(key, spec.shape, spec.dtype), home.stored)
            drawing = cast(Backend, SpreadDraws(backend, spec.shape, home.stored))
        with registry.scope(drawing):
            made = initializer(key, spec.shape, spec.dtype)
        buffer = initial_value(initializer, made, spec.shape, spec.dtype, spec.path, backend)
        if backend.arrays.is_weak(buffer):  # else the first assignment would change the type, and compile again
            buffer = buffer.astype(spec.dtype)
        return buffer if home is None else backend.meshes.place(buffer, home.stored)


def _is_constant(initializer: Initializer) -> bool:
    """Tell whether it gives one number everywhere, and no array that somebody has."""
    if not isinstance(initializer, BaseInitializer) or initializer.draws:
        return False
    return type(initializer).__module__.startswith("graftax.") and not any(
        getattr(setting, "shape", ()) for setting in vars(initializer).values()
    )


def _holds_a_part(initializer: Initializer) -> bool:
    """Tell whether it gives an array of which other processes have a part, as the value of a weight that is grafted."""
    if not isinstance(initializer, BaseInitializer) or initializer.draws:
        return False
    return not all(getattr(setting, "is_fully_addressable", True) for setting in vars(initializer).values())


def _drawing_backend(spec: VariableSpec, backend: Backend) -> Backend:
    """Return where the initial value is computed: on the host, which compiles nothing, unless that would take longer.

    For a million numbers NumPy took 0.1 to 0.2 seconds, a first draw of that shape by XLA 0.3 to 0.4; for four million
    0.8 to 1.1 against 0.3 to 0.5 (two CPU cores). The bits are the same.
    """
    narrow = not spec.dtype.endswith(("64", "128"))
    return registry.load("numpy") if narrow and math.prod(spec.shape) <= _LARGE else backend
