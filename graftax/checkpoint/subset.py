"""Selecting a part of a graph by ``only`` and ``skip``: selectors of which each part must match something."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from math import prod
from typing import Any, NamedTuple

from graftax.checkpoint.index import Index, Kind
from graftax.checkpoint.other_paths import other_node_paths
from graftax.checkpoint.paths import node_paths
from graftax.core.errors import ArgumentError
from graftax.core.globs import Below
from graftax.core.selectors import Selector, SelectorLike, compile_selector
from graftax.core.spellings import spellings
from graftax.core.tally import Tally
from graftax.variables.graph.module import Module


class Saved(NamedTuple):
    """A Variable of a checkpoint, for selectors by class or function. ``owner`` would hold it in the program.

    ``owner_path`` is the path of the owner; both paths are either of the program or of the checkpoint.
    """

    path: str
    role: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    adapter: str | None
    owner: Module | None
    owner_path: str = ""

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)

    def _gx_way(self) -> tuple[int | str, ...]:
        """Return the edges from the outermost owner, as for a Variable."""
        if self.owner is None or not self.path.startswith(f"{self.owner_path}/"):
            return ()
        return (*self.owner._gx_way(), *self.path[len(self.owner_path) + 1 :].split("/"))


class Spot(NamedTuple):
    """What selectors see of an object: its path and role, the object, and its other paths.

    These are the paths of the expressions around it, and further ones of what is held several times.
    """

    path: str
    role: str
    item: Any = None
    others: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Return all paths by which it can be selected."""
        return (self.path, *self.others)


RANDOM = "gx.random"
"""The path of the global seed and its stream for selectors. No root has this name."""

RANDOM_SPOT = Spot(RANDOM, "seed")


def find_saved_spot(
    index: Index,
    node: int,
    path: str,
    owner: Module | None = None,
    owner_path: str = "",
    others: tuple[str, ...] = (),
) -> Spot:
    """Return the spot of a leaf of a checkpoint, which may have other paths; other arguments are as for `Saved`."""
    record = index.nodes[node]
    if record.kind is not Kind.VARIABLE:
        return Spot(path, "", None, others)
    tensor, trainable, role, attributes = record.payload
    adapter = attributes.get("adapter")
    if tensor is None:
        return Spot(path, role, None, others)
    array = index.tensors[tensor]
    return Spot(path, role, Saved(path, role, array.shape, array.dtype, trainable, adapter, owner, owner_path), others)


def saved_spots(index: Index) -> dict[int, Spot]:
    """Return the spots of all leaves of a checkpoint, by node."""
    paths = node_paths(index)
    others = other_node_paths(index, paths)
    return {
        node: find_saved_spot(index, node, path, others=others.get(node, ()))
        for node, path in paths.items()
        if index.nodes[node].kind.is_leaf
    }


class Subset:
    """The test whether spots are selected, which also records the parts of the selectors that matched.

    Paths without globs are looked up in a table, so the cost does not depend on how many paths are given.

    Args:
        only: The selected part. Defaults to None: everything.
        skip: What is left out of it. Defaults to None: nothing.
    """

    def __init__(self, only: SelectorLike | None = None, skip: SelectorLike | None = None) -> None:
        self._given = only, skip
        self._only = None if only is None else _Part("only=", only)
        self._skip = None if skip is None or skip == () or skip == [] else _Part("skip=", skip)

    def fresh_copy(self) -> Subset:
        """Return a new Subset with the same selectors, without recorded matches."""
        return Subset(*self._given)

    def __reduce__(self) -> tuple[Any, ...]:
        return Subset, self._given

    def can_be_pickled(self) -> bool:
        """Return False if a selector cannot be pickled, such as a lambda function."""
        try:
            pickle.dumps(self._given)
        except Exception:  # noqa: BLE001 - of many kinds, as the things that cannot be
            return False
        return True

    @property
    def is_all(self) -> bool:
        """Return True if nothing is left out."""
        return self._only is None and self._skip is None

    @property
    def is_narrow(self) -> bool:
        """Return True if ``only`` selects a part."""
        return self._only is not None

    @property
    def heads(self) -> list[tuple[str, ...]] | None:
        """Return the first components of all paths that can be selected; None if any path can."""
        return None if self._only is None else self._only.heads

    def __contains__(self, spot: Spot) -> bool:
        chosen = self._only is None or self._only.sees(spot)
        skipped = self._skip is not None and self._skip.sees(spot)
        return chosen and not skipped

    def skips(self, spot: Spot) -> bool:
        """Return True if ``skip`` leaves the object out."""
        return self._skip is not None and self._skip.sees(spot)

    def check(self, spots: Iterable[Spot] = (), new: Sequence[str] = ()) -> None:
        """Raise if a selector, or a part of one, matches none of these spots and none that was tested before.

        Args:
            spots: Spots to test now. Defaults to none.
            new: Paths of layers that have no weights yet, and no values in the checkpoint: ``skip`` may name what is
                below them. Defaults to none.

        Raises:
            SelectorError: a selector matches nothing, so it has no effect.
        """
        if self.is_all:
            return
        for spot in spots:
            _ = spot in self
        if self._only is not None:
            self._only.check()
        if self._skip is not None:
            self._skip.check(new)


def nothing_selected_error(
    subject: str, slots: Sequence[str] = (), instead: str = "a selection that leaves something to save"
) -> ArgumentError:
    """Return the error for a selection that leaves nothing to write.

    Args:
        subject: What is not done.
        slots: The paths of slots that are selected, without their Variables.
        instead: What to write where nothing is selected.
    """
    if not slots:
        return ArgumentError(subject, "only= and skip= leave nothing", instead)
    return ArgumentError(
        f"{subject}: {len(slots)} slots are selected, such as {slots[0]}, and none of their Variables",
        "a slot belongs to a Variable, and is saved only together with it",
        "the paths of the Variables, too, such as 'model/**', beside 'role:slot'",
    )


class _Part:
    """One selector: its paths in a table, its globs as patterns; other kinds are tested on spots."""

    def __init__(self, argument: str, selector: SelectorLike) -> None:
        self._argument = argument
        self._selector = _select_below(compile_selector(selector))
        self._spots: dict[str, Spot] = {}
        globs = _globs(self._selector)
        self._literals = None if globs is None else {g.test.text: g for g in globs if "*" not in g.test.text}
        self._globs = [] if globs is None else [g for g in globs if "*" in g.test.text]
        self._hit: set[int] = set()
        self._tally = Tally(self._selector) if globs is None else None

    @property
    def heads(self) -> list[tuple[str, ...]] | None:
        return _heads(self._selector)

    def sees(self, spot: Spot) -> bool:
        if self._tally is not None:
            return self._tally.see(spot.paths, spot.role, spot.item)
        self._spots[spot.path] = spot
        found = False
        for path in (*spot.paths, *spellings(spot.paths, spot.item)):
            for above in _path_and_parents(path) if self._literals else ():
                literal = self._literals.get(above)  # type: ignore[union-attr]
                if literal is not None:
                    self._hit.add(id(literal))
                    found = True
            for one in self._globs:
                if one.test.matches(path):
                    self._hit.add(id(one))
                    found = True
        return found

    def check(self, new: Sequence[str] = ()) -> None:
        if self._tally is None:
            given = [*(self._literals or {}).values(), *self._globs]
            for glob in [glob for glob in given if id(glob) not in self._hit] if new else ():
                if any(glob.test.may_select_below(path) for path in new):
                    self._hit.add(id(glob))
            idle = [glob for glob in given if id(glob) not in self._hit]
            if not idle:
                return
            whole = self._selector if len(idle) == len(given) else idle[0]
            self._tally = Tally(whole)  # raises an error that names the part, with suggestions
            for spot in self._spots.values():
                self._tally.see(spot.paths, spot.role, spot.item)
        if new:
            self._tally.foresee(new)
        self._tally.check(self._argument)


def _path_and_parents(path: str) -> Iterator[str]:
    """Yield a path, and those of the objects around."""
    yield path
    while (end := path.rfind("/")) >= 0:
        path = path[:end]
        yield path


def _select_below(selector: Selector) -> Selector:
    """Return the selector with paths that select all below them, as a path in ``map=`` stands for all below it."""
    if selector.kind == "glob" and selector.test.is_literal:
        return Selector("glob", selector.text, Below(selector.test.text))
    parts = tuple(map(_select_below, selector.parts))
    if all(one is other for one, other in zip(parts, selector.parts, strict=True)):
        return selector
    return Selector(selector.kind, selector.text, selector.test, parts)


def _globs(selector: Selector) -> list[Selector] | None:
    """Return the globs of which one must match; None if the selector has other parts."""
    parts = selector.parts if selector.kind == "any" else (selector,)
    return list(parts) if all(part.kind == "glob" for part in parts) else None


def _heads(selector: Selector) -> list[tuple[str, ...]] | None:
    """Return the first components of the paths that a selector can match; None if any path, slots or the seed can."""
    if selector.kind == "glob":
        head = tuple(takewhile(lambda component: "*" not in component, selector.test.text.split("/")))
        is_special = head[:1] == (RANDOM,) or any(component.startswith("slots(") for component in head)
        return [head] if head and not is_special else None
    below = [_heads(part) for part in selector.parts]
    if selector.kind == "all":  # both must match, so the restriction of one is sufficient
        return next((found for found in below if found is not None), None)
    if selector.kind != "any" or None in below:
        return None
    return [head for found in below for head in found or ()]
