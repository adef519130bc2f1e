"""Which variables: path globs, regexes, roles and predicates, combined with ``|``, ``&`` and ``~``; each must match.

A glob is matched against the whole path, component by component: ``*`` stands for any characters within one component,
``**`` for any number of components (none included). ``"**/kernel"`` is every kernel, ``"layers/0/**"`` all of layer 0.
A plain string that is the name of a role (``"slot"``, ``"seed"``, ...) selects by role. By path, the parts of a weight
that is an expression are selected with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from graftax.errors import SelectorError
from graftax.typedefs import VariableLike

T = TypeVar("T")
ROLES = ("weight", "state", "slot", "metric", "seed", "counter", "hyper")


@runtime_checkable
class Selectable(Protocol):
    """What a selector looks at: Variables and their specs."""

    @property
    def path(self) -> str: ...
    @property
    def role(self) -> str: ...


SelectorLike: TypeAlias = "str | re.Pattern[str] | Callable[[Any], bool] | Sequence[SelectorLike] | Selector"


class Selector:
    """A test of variables; made by `select`, combined with ``|``, ``&`` and ``~``.

    Args:
        kind: ``"glob"``, ``"regex"``, ``"role"`` or ``"predicate"``; ``"any"``, ``"all"`` or ``"not"`` of its parts.
        text: How it is shown in messages.
        test: The compiled regex, the role, or the function.
        parts: The selectors that it combines.
    """

    def __init__(self, kind: str, text: str, test: Any = None, parts: tuple[Selector, ...] = ()) -> None:
        self.kind = kind
        self.text = text
        self.test = test
        self.parts = parts

    def matches(self, item: Selectable) -> bool:
        """True if the variable (or spec) is selected."""
        return self.sees((item.path, *wholes(item)), item.role, item)

    __call__ = matches

    def matches_at(self, path: str, item: Selectable) -> bool:
        """True if the variable is selected, going by another path than its own, such as that from a part of a model."""
        return self.sees((path,), item.role, item)

    def matches_path(self, path: str) -> bool:
        """True if the path alone is selected; roles and predicates never match a bare path."""
        return self.sees((path,), None, None)

    def sees(self, paths: Sequence[str], role: str | None, item: Any) -> bool:
        """True if something is selected that has these paths: its own, and those of the weights it is a part of."""
        if self.parts:
            found = (part.sees(paths, role, item) for part in self.parts)
            return self._combined(found)
        return self._hits(paths, role, item)

    def _combined(self, found: Iterable[bool]) -> bool:
        return any(found) if self.kind == "any" else all(found) if self.kind == "all" else not any(found)

    def _hits(self, paths: Sequence[str], role: str | None, item: Any) -> bool:
        if self.kind == "glob":
            return any(self.test.fullmatch(path) for path in paths)
        if self.kind == "regex":
            return any(self.test.search(path) for path in paths)
        if self.kind == "role":
            return bool(role == self.test)
        return item is not None and bool(self.test(item))

    @property
    def by_path(self) -> bool:
        """True for what names places, which a typing error can miss."""
        return self.kind in ("glob", "regex")

    def pick(self, items: Iterable[tuple[Sequence[str], T]], what: str) -> list[T]:
        """Those of some variables (with their paths) that are selected.

        Raises:
            SelectorError: there are none, or a part of this selects nothing.
        """
        tally = Tally(self)
        chosen = [item for paths, item in items if tally.see(paths, getattr(item, "role", None), item)]
        tally.check(what)
        return chosen

    def __or__(self, other: SelectorLike) -> Selector:
        """What one of both selects."""
        return _joined("any", self, compile_selector(other))

    def __ror__(self, other: SelectorLike) -> Selector:
        return _joined("any", compile_selector(other), self)

    def __and__(self, other: SelectorLike) -> Selector:
        """What both select."""
        return _joined("all", self, compile_selector(other))

    def __rand__(self, other: SelectorLike) -> Selector:
        return _joined("all", compile_selector(other), self)

    def __invert__(self) -> Selector:
        """What this does not select."""
        return Selector("not", f"~{_inside(self, 'not')}", parts=(self,))

    def __repr__(self) -> str:
        return f"Selector({self.text})"


class Tally:
    """A selector at work on one variable after another; knows in the end whether some part of it was in vain."""

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self.paths: list[str] = []
        self._hit: set[int] = set()

    def see(self, paths: Sequence[str], role: str | None, item: Any) -> bool:
        """True if it is selected."""
        self.paths.append(paths[0])
        return self._see(self.selector, paths, role, item)

    def _see(self, part: Selector, paths: Sequence[str], role: str | None, item: Any) -> bool:
        if part.parts:  # all of them, so that each is counted
            found = part._combined([self._see(below, paths, role, item) for below in part.parts])
        else:
            found = part._hits(paths, role, item)
        if found:
            self._hit.add(id(part))
        return found

    def idle(self) -> Selector | None:
        """A part that was in vain; behind ``~``, only what names a place has to be there."""
        return self._idle(self.selector, False)

    def _idle(self, part: Selector, denied: bool) -> Selector | None:
        for below in part.parts:
            found = self._idle(below, denied != (part.kind == "not"))
            if found is not None:
                return found
        needed = not denied or part.by_path
        return part if needed and id(part) not in self._hit else None

    def check(self, what: str) -> None:
        """Raise if some part was in vain.

        Raises:
            SelectorError: it was; names the nearest candidates.
        """
        part = self.idle()
        if part is not None:
            inside = "" if part is self.selector else f", a part of {self.selector.text},"
            raise nothing_matched(part, self.paths, what, inside)


def wholes(item: Any) -> Iterator[str]:
    """The paths of the expressions that a variable is a part of."""
    owner: Any = getattr(item, "owner", None)
    while owner is not None:
        if isinstance(cast(object, owner), VariableLike):
            yield owner.path
        owner = owner.owner


def select(*selectors: SelectorLike) -> Selector:
    r"""A selector of variables, to be combined with ``|``, ``&`` and ``~``; several select what any of them does.

    Wherever variables are selected (``where=``, ``only=``, ``skip=``, ``rules=``, `Module.freeze`), each part must
    select something, or the call fails. ``~`` takes away what its operand selects; a place that it names must be there,
    a role or a predicate need not. `graftax.explain` shows what a selector hits in a model.

    Args:
        selectors: Globs of paths, roles, compiled regexes (searched in the path), predicates of a variable, or
            sequences of these. As a decorator, it makes a selector of a predicate.

    Raises:
        SelectorError: there is none, or it is none of these.

    Example:
        >>> import re, graftax as gx
        >>> chosen = (select("**/kernel") & ~select("head/**")) | re.compile(r"norm_\d+/gamma")
        >>> [chosen.matches_path(path) for path in ("body/kernel", "head/kernel", "body/norm_2/gamma")]
        [True, False, True]
        >>> @select
        ... def large(variable):
        ...     return variable.size > 1000
        >>> large & "**/kernel"
        Selector(large & '**/kernel')
    """
    if not selectors:
        raise SelectorError("select() without a selector", "it would select nothing", 'select("**/kernel")')
    return compile_selector(selectors[0] if len(selectors) == 1 else selectors)


def compile_selector(selector: SelectorLike) -> Selector:
    """Turn anything that selects into a `Selector`.

    Args:
        selector: A glob, a role, a compiled regex (searched in the path), a predicate of the variable, or a sequence of
            these, of which one must match.

    Raises:
        SelectorError: it is none of these, or empty.

    Example:
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
            return Selector("role", f"role {selector!r}", selector)
        return Selector("glob", repr(selector), _glob(selector))
    if isinstance(selector, re.Pattern):
        return Selector("regex", repr(selector.pattern), selector)
    if callable(selector):
        made = Selector("predicate", getattr(selector, "__name__", repr(selector)), selector)
        for name in ("__module__", "__doc__", "__name__"):
            if hasattr(selector, name):
                setattr(made, name, getattr(selector, name))
        return made
    if isinstance(selector, Sequence) and selector:
        parts = [compile_selector(part) for part in selector]
        return parts[0] if len(parts) == 1 else _joined("any", *parts)
    raise SelectorError(
        f"{selector!r} of type {type(selector).__name__} as a selector",
        "a selector is a glob, a role, a compiled regex, a predicate, or a non-empty sequence of these",
        'for example "**/kernel"',
    )


def _joined(kind: str, *selectors: Selector) -> Selector:
    parts = tuple(part for one in selectors for part in (one.parts if one.kind == kind else (one,)))
    sign = " | " if kind == "any" else " & "
    return Selector(kind, sign.join(_inside(part, kind) for part in parts), parts=parts)


def _inside(selector: Selector, kind: str) -> str:
    return f"({selector.text})" if selector.kind in ("any", "all") and selector.kind != kind else selector.text


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


def nothing_matched(selector: Selector, paths: Iterable[str], what: str, inside: str = "") -> SelectorError:
    """The error for a selector that selects nothing, with the nearest candidates."""
    known = sorted(set(paths))
    near = nearest(selector, known)
    tail = {path.rsplit("/", 1)[-1] for path in known}
    reason = f"their paths end in {', '.join(sorted(tail)[:8])}" if known else "there are no variables yet"
    if known and selector.kind == "all":
        reason = "each part matches some, but none is matched by all parts"
    elif known and selector.kind == "not":
        reason = "nothing is left over"
    return SelectorError(
        f"{what} {selector.text}{inside} matches none of {len(known)} variables",
        reason,
        f"one of {', '.join(near)}" if near else "build the model first: call it on an example",
    )


def nearest(selector: Selector, known: Sequence[str]) -> list[str]:
    """What may have been meant: the glob with its misspelt names put right, else the most similar paths."""
    wanted = selector.text.strip("'")
    if selector.kind == "glob":
        names = {name for path in known for name in path.split("/")}
        right = [
            name if "*" in name or name in names else next(iter(get_close_matches(name, names, 1)), name)
            for name in wanted.split("/")
        ]
        pattern = _glob("/".join(right))
        if any(pattern.fullmatch(path) for path in known):
            there = [path for path in known if pattern.fullmatch(path)]
            return list(dict.fromkeys(["/".join(right), *there[:2]]))
    return get_close_matches(wanted, known, n=3, cutoff=0.3) or list(known[:3])
