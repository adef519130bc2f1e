"""What messages call the library below a backend, so that no code above the seam has its name."""

from __future__ import annotations

from typing import NamedTuple


class Wording(NamedTuple):
    """The words of one backend."""

    library: str = "the library of the backend"
    """Its name, such as ``jax``."""
    title: str = "The library of the backend"
    """The name at the beginning of a sentence."""
    compile: str = "the compiler of the backend's library"
    """What compiles a function of that library, such as ``jax.jit``."""
    transforms: str = "its own transforms"
    """What transforms functions there, such as ``scan, vmap, cond, jit, grad of jax``."""
    namespace: str = "functions of the backend's library"
    """Where its functions of arrays are, such as ``jax.numpy``."""
