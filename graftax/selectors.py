"""Which variables: a path glob, a compiled regex, a role, a predicate, or a union of them; each must match or fail.

A glob is matched against the whole path, component by component: ``*`` stands for any characters within one component,
``**`` for any number of components (none included). ``"**/kernel"`` is every kernel, ``"layers/0/**"`` all of layer 0.
A plain string that is the name of a role (``"slot"``, ``"seed"``, ...) selects by role.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Protocol, TypeAlias, runtime_checkable

from graftax.errors import SelectorError

ROLES = ("weight", "state", "slot", "metric", "seed", "counter", "hyper")


@runtime_checkable
class Selectable(Protocol):
    """What a selector looks at: Variables and their specs."""

    @property
    def path(self) -> str: ...
    @property
    def role(self) -> str: ...


SelectorLike: TypeAlias = "str | re.Pattern[str] | Callable[[Selectable], bool] | Sequence[SelectorLike] | Selector"


class Selector:
    """A test on a path and a role, with the text it was made from.

    Args:
        text: How the selector is shown in messages.
        test: ``test(path, role, item) -> bool``; ``item`` is None where only a path is known.
    """

    def __init__(self, text: str, test: Callable[[str, str | None, Selectable | None], bool]) -> None:
        self.text = text
        self._test = test

    def matches(self, item: Selectable) -> bool:
        """True if the variable (or spec) is selected."""
        return self._test(item.path, item.role, item)

    def matches_at(self, path: str, item: Selectable) -> bool:
        """True if the variable is selected, going by another path than its own, such as that from a part of a model."""
        return self._test(path, item.role, item)

    def matches_path(self, path: str) -> bool:
        """True if the path alone is selected; roles and predicates never match a bare path."""
        return self._test(path, None, None)

    def __or__(self, other: "SelectorLike") -> "Selector":
        """What one of both selects."""
        right = compile_selector(other)
        return Selector(f"({self.text} | {right.text})", lambda *at: self._test(*at) or right._test(*at))

    def __and__(self, other: "SelectorLike") -> "Selector":
        """What both select."""
        right = compile_selector(other)
        return Selector(f"({self.text} & {right.text})", lambda *at: self._test(*at) and right._test(*at))

    def __invert__(self) -> "Selector":
        """What this does not select."""
        return Selector(f"~{self.text}", lambda *at: not self._test(*at))

    def __repr__(self) -> str:
        return f"Selector({self.text})"


def compile_selector(selector: SelectorLike) -> Selector:
    """Turn anything that selects into a `Selector`.

    Args:
        selector: A glob, a role, a compiled regex (searched in the path), a predicate of the variable, or a sequence of
            these, of which one must match.

    Raises:
        SelectorError: it is none of these, or empty.

    Example:
        >>> (compile_selector("**/kernel") & ~compile_selector("layers/0/**")).matches_path("layers/1/kernel")
        True
        >>> kernels = compile_selector("**/kernel")
        >>> (
        ...     kernels.matches_path("layers/0/kernel"),
        ...     kernels.matches_path("kernel"),
        ...     kernels.matches_path("layers/0/bias"),
        ... )
        (True, True, False)
    """
    if isinstance(selector, Selector):
        return selector
    if isinstance(selector, str):
        if not selector:
            raise SelectorError("an empty selector", "it can match nothing", 'a glob such as "**/kernel"')
        if selector in ROLES:
            return Selector(f"role {selector!r}", lambda path, role, item: role == selector)
        pattern = _glob(selector)
        return Selector(repr(selector), lambda path, role, item: pattern.fullmatch(path) is not None)
    if isinstance(selector, re.Pattern):
        return Selector(repr(selector.pattern), lambda path, role, item: selector.search(path) is not None)
    if callable(selector):
        name = getattr(selector, "__name__", repr(selector))
        return Selector(name, lambda path, role, item: item is not None and bool(selector(item)))
    if isinstance(selector, Sequence) and selector:
        parts = [compile_selector(part) for part in selector]
        text = " | ".join(part.text for part in parts)
        return Selector(text, lambda path, role, item: any(part._test(path, role, item) for part in parts))
    raise SelectorError(
        f"{selector!r} of type {type(selector).__name__} as a selector",
        "a selector is a glob, a role, a compiled regex, a predicate, or a non-empty sequence of these",
        'for example "**/kernel"',
    )


def _glob(glob: str) -> re.Pattern[str]:
    """The glob as a regular expression: every component but the last takes its slash along."""
    pieces = []
    components = glob.split("/")
    for i, component in enumerate(components):
        last = i == len(components) - 1
        if component == "**":
            pieces.append(".+" if last else "(?:[^/]+/)*")
        else:
            pieces.append("[^/]*".join(re.escape(piece) for piece in component.split("*")) + ("" if last else "/"))
    return re.compile("".join(pieces))


def nothing_matched(selector: Selector, paths: Iterable[str], what: str) -> SelectorError:
    """The error for a selector that selects nothing, with the nearest candidates."""
    known = sorted(set(paths))
    wanted = selector.text.strip("'")
    near = get_close_matches(wanted, known, n=3, cutoff=0.3) or known[:3]
    tail = {path.rsplit("/", 1)[-1] for path in known}
    return SelectorError(
        f"{what} {selector.text} matches none of {len(known)} variables",
        f"their paths end in {', '.join(sorted(tail)[:8])}" if known else "there are no variables yet",
        f"one of {', '.join(near)}" if near else "build the model first: call it on an example",
    )
