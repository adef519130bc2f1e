"""What a selector has selected of all that it saw, and the error for a part of it that selected nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from graftax.core.errors import SelectorError
from graftax.core.globs import FOREIGN_WILDCARDS
from graftax.core.roles import ROLES, prefixed
from graftax.core.selectors import Selector
from graftax.core.spellings import owners_along

T = TypeVar("T")


class Tally:
    """A selector at work on one variable after another; knows in the end whether some part of it was in vain."""

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self.paths: list[str] = []
        self._roles: set[str] = set()
        self._classes: dict[str, None] = {}
        self._hit: set[int] = set()
        self._has_classes = "class" in selector.kinds

    def see(self, paths: Sequence[str], role: str | None, item: object) -> bool:
        """Return True if it is selected."""
        self.paths.append(paths[0])
        if role:
            self._roles.add(role)
        if self._has_classes:
            self._classes |= dict.fromkeys(type(one).__name__ for one in owners_along(paths, item))
        return self._see(self.selector, paths, role, item)

    def _see(self, part: Selector, paths: Sequence[str], role: str | None, item: object) -> bool:
        if part.parts:  # all of them, so that each is counted
            here = list(part.looked_up(paths, item))
            self._hit.update(map(id, here))
            tried = [self._see(below, paths, role, item) for below in part._tried]
            found = bool(here) or part._combine(tried)
        else:
            found = part._hits(paths, role, item)
        if found:
            self._hit.add(id(part))
        return found

    def foresee(self, paths: Sequence[str], part: Selector | None = None) -> bool:
        """Take globs for matched that can match something below these paths, which will be made later."""
        part = part or self.selector
        below = [self.foresee(paths, one) for one in part.parts]
        at_glob = part.kind == "glob" and any(map(part.test.may_select_below, paths))
        found = at_glob or (part.kind == "any" and any(below)) or (part.kind == "all" and all(below))
        if found:
            self._hit.add(id(part))
        return found

    def idle(self) -> Selector | None:
        """Return a part that was in vain; behind ``~``, only what names a place has to be there."""
        return self._idle(self.selector, False)

    def _idle(self, part: Selector, denied: bool) -> Selector | None:
        for below in part.parts:
            found = self._idle(below, denied != (part.kind == "not"))
            if found is not None:
                return found
        needed = not denied or part.by_path
        return part if needed and id(part) not in self._hit else None

    def check(self, label: str) -> None:
        """Raise if some part was in vain.

        Raises:
            SelectorError: it was; names the nearest candidates.
        """
        part = self.idle()
        if part is not None:
            inside = "" if part is self.selector else f", a part of {self.selector.text},"
            raise no_match_error(part, self.paths, label, inside, self.nearest(part))

    def nearest(self, part: Selector) -> list[str]:
        """Return what may have been meant by a part that was in vain."""
        if part.kind == "role":
            return [prefixed(role) for role in ROLES if role in self._roles]
        if part.kind == "class":
            return [*get_close_matches(part.text, self._classes, n=1), *self._classes][:3]
        return nearest(part, self.paths)


def pick(selector: Selector, items: Iterable[tuple[Sequence[str], T]], label: str) -> list[T]:
    """Return those of some variables (with their paths) that are selected.

    Raises:
        SelectorError: there are none, or a part of this selects nothing.
    """
    tally = Tally(selector)
    chosen = [item for paths, item in items if tally.see(paths, getattr(item, "role", None), item)]
    tally.check(label)
    return chosen


def no_match_error(
    selector: Selector, paths: Iterable[str], label: str, inside: str = "", near: Sequence[str] | None = None
) -> SelectorError:
    """Return the error for a selector that selects nothing, with the nearest candidates."""
    known = sorted(set(paths))
    near = nearest(selector, known) if near is None else near
    tail = {path.rsplit("/", 1)[-1] for path in known}
    reason = f"their paths end in {', '.join(sorted(tail)[:8])}" if known else "there are no variables yet"
    if known and selector.kind in _REASONS:
        reason = _REASONS[selector.kind].format(selector.text)
    elif selector.kind == "glob" and selector.test.text in ROLES:
        reason = f"a word alone is a path, and {reason}"
    elif selector.kind == "glob" and FOREIGN_WILDCARDS.search(selector.test.text):
        reason = f"only * and ** stand for other characters, and {reason}"
    return SelectorError(
        f"{label} {selector.text}{inside} matches none of {len(known)} variables",
        reason,
        f"one of {', '.join(near)}" if near and known else "build the model first: call it on an example",
    )


_REASONS = {
    "all": "each part matches some, but none is matched by all parts",
    "not": "nothing is left over",
    "role": "none of them has that role",
    "class": "none of them hangs below a {}",
    "predicate": "it is False for all of them",
}


def nearest(selector: Selector, paths: Sequence[str]) -> list[str]:
    """Return what may have been meant: a role of that name, a glob with misspelt names put right, the nearest paths."""
    paths = sorted(set(paths))
    if selector.kind == "glob":
        roles = [prefixed(role) for role in ROLES if role == selector.test.text]
        return [*roles, *(selector.test.meant(paths) if roles else selector.test.nearest(paths))]
    return get_close_matches(selector.text, paths, n=3, cutoff=0.3) or paths[:3]
