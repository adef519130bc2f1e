"""Pairs of globs: a star of one stands for the text that the star at its place matches in the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from graftax.core.errors import ArgumentError
from graftax.core.globs import compile_glob


def is_glob(path: str, source: str) -> bool:
    """Return True if either side has a star."""
    return "*" in path or "*" in source


def expand(path: str, source: str, known: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    """Yield the paths that a glob fits, each after the path that the other glob makes of it.

    Args:
        path: The glob of new paths.
        source: The glob of present paths.
        known: Present paths, each with whether it is that of a leaf; ``"**"`` at the end fits only these.

    Raises:
        ArgumentError: the two have different numbers of stars.

    Example:
        >>> list(expand("net/*/w", "model/*/kernel", [("model/0/kernel", True), ("model/0/bias", True)]))
        [('net/0/w', 'model/0/kernel')]
    """
    pattern = compile_glob(source, captures=True)
    if pattern.groups != path.count("*") - path.count("**"):
        raise ArgumentError(
            f"map= has {path!r}: {source!r}",
            "each star of one side stands for what the star at its place matches on the other",
            "as many stars, in their order, on both sides",
        )
    leaves_only = source.endswith("**")
    for found, is_leaf in known:
        match = pattern.fullmatch(found)
        if match is not None and (is_leaf or not leaves_only):
            yield _fill(path, match.groups()), found


def _fill(glob: str, texts: tuple[str, ...]) -> str:
    """Return the glob with its stars replaced by texts."""

    def pieces() -> Iterator[str]:
        rest = iter(texts)
        components = glob.split("/")
        for i, component in enumerate(components):
            if component == "**":
                yield next(rest).rstrip("/")
            else:
                yield re.sub(r"\*", lambda _: next(rest), component)
            if i < len(components) - 1:
                yield "/"

    return re.sub("//+", "/", "".join(pieces())).lstrip("/")
