"""host_array: text and integers as arrays on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError, StateError
from graftax.core.typedefs import unwrap

_WORDS = {"U": "text", "iu": "integers", "iuU": "text or integers"}


def host_array(value: object, kinds: str, title: str) -> np.ndarray[Any, Any]:
    """Return the tokens as an array on the host.

    Raises:
        ArgumentTypeError: they are something else, or not there yet.
    """
    given, arrays = unwrap(value), registry.current().arrays
    late = arrays.is_array(given) and not arrays.is_concrete(given)  # a value of compiled code
    try:
        array = np.asarray(None if late else given)
    except (TypeError, ValueError, StateError):  # the last by what is not there yet, in a graph of layers
        array = np.asarray(None)
    if array.dtype.kind == "O" and array.size and all(isinstance(token, str) for token in array.ravel().tolist()):
        array = array.astype(str)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind not in kinds and array.size:
        raise ArgumentTypeError(
            f"{title} got {given!r:.60}",
            f"it takes {_WORDS[kinds]}, on the host, in eager code",
            "layer(data) before the data goes to the model",
        )
    return array
