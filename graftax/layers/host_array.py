"""host_array: text and integers as arrays on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.backend.host import check_plain
from graftax.core.errors import ArgumentTypeError, StateError
from graftax.core.typedefs import unwrap
from graftax.ops.checks import subscript

UNMASK_TOKENS = (
    "x.compressed() for the tokens that are not masked; x.filled(token) for a token in the place of the others, such "
    "as the mask_token of a layer"
)
"""What to write in place of a masked array of tokens."""

_WORDS = {"U": "text", "iu": "integers", "iuU": "text or integers"}


def host_array(value: object, kinds: str, title: str) -> np.ndarray[Any, Any]:
    """Return the tokens as an array on the host.

    Raises:
        ArgumentTypeError: they are something else, or not there yet.
    """
    given, arrays = unwrap(value), registry.current().arrays
    check_plain(given, f"the data of {title}", UNMASK_TOKENS)
    late = arrays.is_array(given) and not arrays.is_concrete(given)  # a value of compiled code
    try:
        array = np.asarray(None if late else given)
    except StateError:  # by what is not there yet, in a graph of layers
        late, array = True, np.asarray(None)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind == "O" and array.size and all(isinstance(token, str) for token in array.ravel().tolist()):
        array = array.astype(str)
    if array.dtype.kind == "S":
        array = _decode(array, title)
    mixed = array.dtype.kind == "U" and isinstance(given, list | tuple) and not _all_text(given)
    if (array.dtype.kind not in kinds or mixed) and array.size:
        if (
            not late
            and (mixed or array.dtype.kind == "O")
            and (missing := _missing_error(given, kinds, title)) is not None
        ):
            raise missing
        instead = "layer(data) before the data goes to the model" if late else _suggest_tokens(array, mixed, kinds)
        raise ArgumentTypeError(
            f"{title} got {given!r:.60}", f"it takes {_WORDS[kinds]}, on the host, in eager code", instead
        )
    return array


def _all_text(values: Any) -> bool:
    """Tell whether nested lists hold nothing but text: NumPy makes words of numbers beside it, and "nan" of a nan."""
    if isinstance(values, list | tuple):
        return all(map(_all_text, values))
    return isinstance(values, str | bytes) or (isinstance(values, np.ndarray) and values.dtype.kind in "US")


def _decode(array: np.ndarray[Any, Any], title: str) -> np.ndarray[Any, Any]:
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentTypeError(
            f"{title} got {error.object[:40]!r}", "text in bytes is UTF-8", 'np.char.decode(data, "latin-1")'
        ) from None


def _missing_error(given: object, kinds: str, title: str) -> ArgumentTypeError | None:
    """Return the error for tokens of one kind, but for some that are missing; None for others."""
    try:
        tokens = np.asarray(given, object)
    except ValueError:  # rows of several lengths
        return None
    flat = tokens.ravel().tolist()
    number = next((i for i, token in enumerate(flat) if _is_missing(token)), None)
    others = {str if isinstance(token, str) else type(token) for token in flat if not _is_missing(token)}
    takes_text = "U" in kinds and others != {int}
    if number is None or not tokens.ndim or not others <= ({str} if takes_text else {int}):
        return None
    filled = '""' if takes_text else "-1"
    place = tuple(map(int, np.unravel_index(number, tokens.shape)))
    if hasattr(given, "fillna"):
        instead = f"data.fillna({filled})"
    else:
        kept = "t is None" if flat[number] is None else "t != t"
        rows = "[{} for row in data]" if tokens.ndim == 2 else "{}"
        instead = rows.format(f"[{filled} if {kept} else t for t in {'row' if tokens.ndim == 2 else 'data'}]")
    return ArgumentTypeError(
        f"{title} got {subscript('data', place)} = {flat[number]!r}",
        f"a token is missing there, and it takes {_WORDS[kinds]}",
        instead,
    )


def _is_missing(token: object) -> bool:
    """Tell whether it is None, a nan, or what pandas has for it."""
    return (
        token is None or type(token).__name__ in ("NAType", "NaTType") or (isinstance(token, float) and token != token)
    )


def _suggest_tokens(array: np.ndarray[Any, Any], mixed: bool, kinds: str) -> str:
    """Return the line to write instead of tokens of another kind."""
    told = [] if mixed else array.ravel().tolist()[:1000]
    if mixed or (array.dtype.kind == "O" and any(isinstance(token, str | int) for token in told)):
        made, least = ("str(t)", '""') if "U" in kinds else ("int(t)", "-1")
        kept = f"{least} if t is None else " if any(token is None for token in told) else ""
        return f"tokens of one kind: [{kept}{made} for t in tokens]"
    if array.dtype.kind == "f" and "i" in kinds:
        whole = 'x.astype("int64") of whole numbers, another number for nan first'
        return f"{whole}; Discretization for numbers with fractions"
    if array.dtype.kind == "b" and "i" in kinds:
        return 'x.astype("int64")'
    if array.dtype.kind in "iufb":
        return "x.astype(str), or IntegerLookup for integers"
    return "an array or nested lists of one length of " + _WORDS[kinds]
