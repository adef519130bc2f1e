"""Keywords that a constructor does not take: the one that was meant, by its spelling or as other libraries call it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from graftax.core.argument_kinds import misfit, plain_kinds
from graftax.core.errors import ArgumentTypeError
from graftax.core.foreign_keywords import KEYWORDS, OF_MODELS, WORDS
from graftax.core.input_lines import translate_input
from graftax.core.known_names import closest

_COLLECTING = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def unknown_keyword(kind: type[Any], name: str, value: object, inherited: list[str]) -> ArgumentTypeError:
    """Return the error for a keyword of a constructor, where ``inherited`` are those that a base class takes."""
    own = inspect.signature(kind.__init__).parameters.values()
    names = list(dict.fromkeys([*(p.name for p in own if p.kind not in _COLLECTING and p.name != "self"), *inherited]))
    shown = f"{value!r:.40}"
    meant = next((near for near in KEYWORDS.get(name.lower(), ()) if near in names), None) or closest(name, names)
    if name == "filepath" and meant == "directory" and isinstance(value, str):
        value = _folder(value)
    needs, text = WORDS.get(name.lower(), ("", ""))
    if name == "betas" and isinstance(value, tuple | list):
        text = ", ".join(f"beta_{i}={beta!r:.40}" for i, beta in enumerate(value, 1))
    if name == "activity_regularizer" and (factors := _factors(value)):
        text = text.replace("l2=0.01", factors)
    if meant is None or needs in names:
        instead = text if needs in names else "leave it out"
    else:
        instead = _replacement(kind, meant, value)
    taken = f"it takes {', '.join(names)}" if names else "it takes no arguments"
    return ArgumentTypeError(f"{kind.__name__} got {name}={shown}", taken, instead)


def _factors(regularizer: object) -> str:
    """Return the factors of a regularizer of L1 and L2 as arguments; nothing for others."""
    if regularizer == "l1":
        return "l1=0.01"
    found = {name: getattr(regularizer, name, None) for name in ("l1", "l2")}
    return ", ".join(f"{name}={value!r}" for name, value in found.items() if isinstance(value, float) and value)


def explain_unknown(
    kind: type[Any], given: Mapping[str, object], inherited: list[str], said: Mapping[str, object]
) -> ArgumentTypeError:
    """Return one error for all keywords that a constructor was given and does not take.

    Args:
        kind: The class.
        given: These keywords.
        inherited: The keywords that a base class takes.
        said: All that was given, by name.
    """
    errors = {name: unknown_keyword(kind, name, value, inherited) for name, value in given.items()}
    found = [*errors.values()]
    whole = _whole_line(kind, given, said)
    if whole is not None:
        found[0].instead = whole
    if len(found) == 1:
        return found[0]
    first, *others = (one.received for one in found)
    received = ", ".join([first, *(other.partition(" got ")[2] for other in others)])
    lines = [one.instead.replace("leave it out", f"leave {name}= out", 1) for name, one in errors.items()]
    return ArgumentTypeError(received, found[0].reason, "; ".join(lines) if whole is None else whole)


def _whole_line(kind: type[Any], given: Mapping[str, object], said: Mapping[str, object]) -> str | None:
    """Return the call of another class, or of this one, that says all of it; None where there is no such call."""
    if kind.__name__ == "InputLayer":
        return translate_input(said, "gx.layers.InputLayer")
    return next((OF_MODELS[kind.__name__, name] for name in given if (kind.__name__, name) in OF_MODELS), None)


def _folder(path: str) -> str:
    """Return what a file of checkpoints would be called as a folder: without its suffixes and places for numbers."""
    lead, slash, name = path.rpartition("/")
    return lead + slash + (re.split(r"[.{]", name)[0].rstrip("-_") or "checkpoints")


def _replacement(kind: type[Any], keyword: str, value: object) -> str:
    """Return the line with the right keyword and the same value, or with a value that the keyword takes."""
    parameter = plain_kinds(kind.__init__).get(keyword)
    if parameter is None or (error := misfit(kind, parameter, value)) is None:
        shown = f"{value!r:.40}"
        return f"{keyword}={'...' if '<' in shown else shown}"
    if isinstance(value, list | tuple) and value and all(misfit(kind, parameter, one) is None for one in value):
        if len(value) == 1:
            return f"{keyword}={value[0]!r:.40}"
        several = ", ".join(f"{kind.__name__}({keyword}={one!r:.40})" for one in value)
        return f"one {kind.__name__} for each: {several}"
    return f"{error.instead}, since {error.reason}"
