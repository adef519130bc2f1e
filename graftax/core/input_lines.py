"""The line with `graftax.Input` that a message tells: for known sizes, or for what other libraries would be given."""

from __future__ import annotations

from collections.abc import Mapping

_TAKEN = ("shape", "dtype", "batch_size", "name")
_DROPPED = ("sparse", "ragged", "optional", "type_spec")
"""Arguments that say how an array is stored, of which there is one way here."""
_EXAMPLE = (8,)


def write_input(given: Mapping[str, object], function: str = "gx.Input") -> str:
    """Return the call for such arguments; those that are None are left out.

    Args:
        given: ``shape``, and any of ``dtype``, ``batch_size`` and ``name``.
        function: What is called. Defaults to ``"gx.Input"``.

    Example:
        >>> write_input({"shape": (10, 1), "batch_size": 4, "name": None})
        'gx.Input((10, 1), batch_size=4)'
    """
    named = [f"{name}={_quote(given[name])}" for name in _TAKEN[1:] if given.get(name) is not None]
    return f"{function}({', '.join([repr(given['shape']), *named])})"


def translate_input(given: Mapping[str, object], function: str) -> str | None:
    """Return the call that is meant by one with keywords of other libraries; None where they do not say it.

    Args:
        given: All that was given, by name.
        function: What was called.

    Example:
        >>> translate_input({"batch_shape": (4, 10, 1)}, "gx.Input"), translate_input({"size": "x"}, "gx.Input")
        ('gx.Input((10, 1), batch_size=4)', None)
    """
    found = {name: value for name, value in given.items() if name in _TAKEN}
    for name in set(given) - set(_TAKEN):
        if name not in _DROPPED:
            said = _read(name, given[name])
            if not said:
                return None
            found = said | found
    return write_input({"shape": _EXAMPLE} | found, function)


def _quote(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _read(name: str, value: object) -> dict[str, object]:
    """Return what one keyword says in the words of `graftax.Input`; nothing where that is not known."""
    if name in ("batch_shape", "batch_input_shape") and isinstance(value, list | tuple) and value:
        return {"batch_size": value[0], "shape": tuple(value[1:])}
    if name in ("input_shape", "dims", "size", "input_dim"):
        if isinstance(value, int):
            return {"shape": (value,)}
        return {"shape": tuple(value)} if isinstance(value, list | tuple) else {}
    shape = getattr(value, "shape", None)
    if name in ("tensor", "input_tensor") and isinstance(shape, tuple) and shape:
        return {"shape": shape[1:], "dtype": str(getattr(value, "dtype", "")) or None}
    return {}
