"""Path globs: matched against a whole path, component by component; and which paths were meant where none matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

FOREIGN_WILDCARDS = re.compile(r"\?|\[[^/\]]*\]|\{[^/}]*\}")
"""What other globs know, and this one takes literally."""


_FUSED_AHEAD, _FUSED_BEHIND = re.compile(r"(?<![^/])\*\*+(?=[^/*])"), re.compile(r"(?<=[^/*])\*\*+(?![^/])")
"""A ``**`` with letters beside it, which is no more than ``*``."""


class Glob:
    """A glob of paths: ``*`` is any characters within one component, ``**`` any number of components.

    Example:
        >>> kernels = Glob("**/kernel")
        >>> [kernels.matches(path) for path in ("kernel", "layers/0/kernel", "layers/0/bias")]
        [True, True, False]
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_literal = "*" not in text
        """Whether it is a path itself."""
        self._pattern = compile_glob(text)

    def matches(self, path: str) -> bool:
        """Return True if the whole path fits."""
        return self._pattern.fullmatch(path) is not None

    def may_select_below(self, path: str) -> bool:
        """Return True if it can match a path that begins with this one and is longer.

        Example:
            >>> [
            ...     Glob(text).may_select_below("layers/1")
            ...     for text in ("layers/1/**", "**/kernel", "layers/1", "layers/2/*")
            ... ]
            [True, True, False, False]
        """
        return _can_match_below(self.text.split("/"), path.split("/"))

    def nearest(self, paths: Sequence[str]) -> list[str]:
        """Return what may have been meant: a glob that fits some of these paths, and two of them; else the nearest.

        Example:
            >>> Glob("layers.0.kernl").nearest(["layers/0/kernel", "layers/0/bias"])
            ['layers/0/kernel']
        """
        return self.meant(paths) or get_close_matches(self.text, paths, n=3, cutoff=0.3) or list(paths[:3])

    def meant(self, paths: Sequence[str]) -> list[str]:
        """Return a glob that is written like this one and fits some of these paths, and two of them; else empty."""
        names = {name for path in paths for name in path.split("/")}
        plain = "/".join(filter(None, FOREIGN_WILDCARDS.sub("*", self.text).split("/")))
        dotted = plain.replace(".", "/")
        found = [_FUSED_BEHIND.sub("/**", _FUSED_AHEAD.sub(ahead, plain)) for ahead in ("**/", "**/*")]
        for text in (plain, dotted, _correct_names(dotted, names), _correct_names(plain, names)):
            found += [text, f"{text}/**", f"**/{text}", f"**/{text}/**"]
        for text in dict.fromkeys(found):
            if _FUSED_AHEAD.search(text) or _FUSED_BEHIND.search(text):
                continue
            there = [path for path in paths if text != self.text and Glob(text).matches(path)]
            if there:
                return list(dict.fromkeys([text, *there[:2]]))
        return []


class Below(Glob):
    """A path, and all that is below it.

    Example:
        >>> head = Below("model/head")
        >>> [head.matches(path) for path in ("model/head", "model/head/kernel", "model/header", "model")]
        [True, True, False, False]
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.is_literal = False  # more paths than this one fit

    def matches(self, path: str) -> bool:
        """Return True if it is this path, or one below it."""
        return path == self.text or path.startswith(f"{self.text}/")

    def may_select_below(self, path: str) -> bool:
        """Return True if it can match a path that begins with this one and is longer."""
        return self.matches(path) or self.text.startswith(f"{path}/")


def _can_match_below(components: Sequence[str], names: Sequence[str]) -> bool:
    """Return True if the first components match all names, and at least one component is left."""
    if not components:
        return False
    if not names:
        return True
    first, rest = components[0], components[1:]
    if first == "**":
        return not rest or _can_match_below(rest, names) or _can_match_below(components, names[1:])
    return Glob(first).matches(names[0]) and _can_match_below(rest, names[1:])


def _correct_names(text: str, names: set[str]) -> str:
    """Return the glob with each component that matches no name replaced by the closest name that there is."""
    return "/".join(
        name if "*" in name or name in names else next(iter(get_close_matches(name, names, 1)), name)
        for name in text.split("/")
    )


def compile_glob(glob: str, captures: bool = False) -> re.Pattern[str]:
    """Return a glob as a regular expression: every component but the last takes its slash along.

    Args:
        glob: The glob.
        captures: Whether each star is a group. Defaults to False.
    """
    some, rest, between = ("([^/]*)", "(.+)", "((?:[^/]+/)*)") if captures else ("[^/]*", ".+", "(?:[^/]+/)*")
    pieces = []
    *components, last = glob.split("/")
    for component in components:
        stars = some.join(map(re.escape, component.split("*")))
        pieces.append(between if component == "**" else f"{stars}/")
    pieces.append(rest if last == "**" else some.join(map(re.escape, last.split("*"))))
    return re.compile("".join(pieces))
