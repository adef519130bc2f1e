"""Selectors in the description of a model, such as those in the rules of its optimizer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graftax.core.roles import prefixed
from graftax.core.selectors import Selector, compile_selector
from graftax.reparam import adapters
from graftax.reparam.adapter_test import OfAdapters
from graftax.training.whole.public_classes import is_public_selector

_SIGNS: dict[str, Callable[..., Selector]] = {
    "any": lambda first, *others: compile_selector([first, *others]),
    "all": lambda first, *others: first & _all(others),
    "not": lambda part: ~part,
}


def describe_selector(selector: Selector, describe: Callable[[Any, str], Any], where: str) -> list[Any]:
    """Return the description of a selector: a word, and its data.

    Args:
        selector: The selector.
        describe: Describes a value of any kind; gets the value, and its name in messages.
        where: The name of the selector in messages.

    Raises:
        ArgumentError: a predicate in it has no name by which it could be found.
    """
    if selector.parts:
        return [selector.kind, [describe_selector(part, describe, where) for part in selector.parts]]
    if selector.kind == "glob":
        return ["glob", selector.test.text]
    if selector.kind == "role":
        return ["glob", prefixed(selector.test)]
    if selector.kind == "regex":
        return ["regex", *describe_regex(selector.test)]
    if isinstance(selector.test, OfAdapters):
        return ["adapters", sorted(selector.test.names)]
    return ["of", describe(selector if is_public_selector(selector) else selector.test, f"{where}: {selector.text}")]


def rebuild_selector(rebuild: Callable[[Any], Any], word: str, data: Any, *more: Any) -> Selector:
    """Return the selector of a description.

    Args:
        rebuild: Gives the value of a description of any kind.
        word: What it begins with.
        data: What follows.
        *more: What follows that.

    Raises:
        ValueError: it is no description of a selector.
    """
    if word in _SIGNS:
        return _SIGNS[word](*(rebuild_selector(rebuild, *part) for part in data))
    if word == "glob" and isinstance(data, str):
        return compile_selector(data)
    if word == "regex":
        return compile_selector(rebuild_regex(data, *more))
    if word == "adapters":
        return adapters.named(*data)
    if word == "of":
        return compile_selector(rebuild(data))
    raise ValueError(f"a selector that begins with {word!r:.40}")


def describe_regex(regex: re.Pattern[str]) -> list[Any]:
    """Return pattern and flags."""
    return [regex.pattern, regex.flags]


def rebuild_regex(pattern: str, flags: int) -> re.Pattern[str]:
    """Return a compiled regex.

    Raises:
        ValueError: it is none.
    """
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise ValueError(f"the regex {pattern!r:.40}: {error}") from error


def _all(parts: tuple[Selector, ...]) -> Selector:
    first, *others = parts
    return first & _all(tuple(others)) if others else first
