"""Restore on create: saved values wait for Variables that are created later, and are assigned when these appear."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graftax.checkpoint.adapters_in_use import read_saved_use, set_use, translate_use
from graftax.checkpoint.different_settings import (
    Differing,
    common_holder,
    conflict_of,
    line_of,
    read_saved_settings,
    set_line,
    values_to_set,
)
from graftax.checkpoint.expressions import receiver
from graftax.checkpoint.former_names import with_names_of_now
from graftax.checkpoint.index import Edge, Kind
from graftax.checkpoint.paths import join
from graftax.checkpoint.report import Conflict
from graftax.checkpoint.session import CarriedSlot, Session
from graftax.checkpoint.subset import Spot
from graftax.checkpoint.trained_as_saved import set_frozen
from graftax.core.errors import MissingInCheckpoint, SettingsMismatch
from graftax.core.typedefs import Shape
from graftax.reparam.adapted import Adapted
from graftax.reparam.base import Reparam
from graftax.reparam.has_settings import HasSettings
from graftax.variables.graph.copies import Copied
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import own_nodes
from graftax.variables.variable import Variable


def make_deferred(session: Session, module: Copied, node: int | None, path: str, requires: bool) -> Deferred:
    """Return the `Deferred` to attach to a Module that was paired with a node, or that was not (None)."""
    found = module._gx_pending
    earlier = found if isinstance(found, Deferred) and found.session is not session else None
    return Deferred(session, node, path, earlier, type(module), requires=requires)


class Deferred:
    """The values that wait below one Module or container: the Session, a node of the checkpoint and the program path.

    Without a node, only values that ``map=`` sends there wait. ``requires`` is True if the Module is a layer that is
    not built, and every weight that its build creates must get a value.
    """

    def __init__(
        self,
        session: Session,
        node: int | None,
        path: str,
        earlier: Deferred | None = None,
        kind: type[object] | None = None,
        was_frozen: bool = False,
        requires: bool = False,
    ) -> None:
        self.session = session
        self.node = node
        self._path = path
        record = None if node is None else session.index.nodes[node]
        is_object = record is not None and record.kind is Kind.OBJECT
        self._was_frozen = (
            bool((record.payload or {}).get("frozen")) if record is not None and is_object else was_frozen
        )
        saved = () if record is None else record.edges
        edges = {e: n for e, n in saved if node is None or not session.gave_away(node, e)}
        self._edges = edges if kind is None else with_names_of_now(kind, edges)
        self._requires = requires
        self._is_building = requires and kind is None  # Variables that appear during a build belong to it
        self._earlier = earlier if earlier is not None and earlier.is_needed() else None

    def _target(self, edge: Edge) -> tuple[str, int | None]:
        path = join(self._path, edge)
        return path, self.session.mapped.get(path, self._edges.get(edge))

    def is_needed(self) -> bool:
        """Return True while some value waits, or is required."""
        return self.session.is_waiting() or self._requires or (self._earlier is not None and self._earlier.is_needed())

    def is_of(self, other: object) -> bool:
        """Return True if both belong to the same restore."""
        return isinstance(other, Deferred) and other.session is self.session

    def hung_on(self, module: Copied) -> None:
        """Freeze a Module that has appeared, if it was saved frozen. Its present contents have flags of their own.

        A weight that has adapters uses those that were in use.

        Raises:
            SettingsMismatch: it is an expression with other settings than when it was saved.
        """
        if isinstance(module, HasSettings):
            self._compare_settings(module)
        if isinstance(module, Adapted) and self.node is not None:
            self._use_as_saved(module, self.node)
        freezes = self._was_frozen and self.session.as_saved and not self.session.is_as_begun(self._path, False)
        if freezes and isinstance(module, Module) and not module._gx_frozen:
            set_frozen(module, True)
        elif self._earlier is not None:
            self._earlier.hung_on(module)

    def _compare_settings(self, module: HasSettings) -> None:
        node = self.node
        if node is None and self.session.renames:  # its parts have sources of their own
            parts = [edge for (edge, *inner), _ in own_nodes(module) if not inner]
            node = common_holder(self.session.index, map(self._source_of, ([edge] for edge in parts)))
        line = (
            None if node is None else line_of(self._path, module, read_saved_settings(self.session.index.nodes[node]))
        )
        if line is None or not any(path.startswith(f"{self._path}/") for path in self.session.paths):
            return
        choice = self.session.choices.settings
        conflict = conflict_of(line) if choice == "same" else None
        if choice == "saved":
            values = values_to_set(Differing(module, line))
            conflict = values if isinstance(values, Conflict) else None
            for name, value in values.items() if isinstance(values, dict) else ():
                setattr(module, name, value)
            line = set_line(line)
        if conflict is not None:
            raise SettingsMismatch(
                f"{conflict.path} {conflict.reason}",
                "the saved values of its parts were waiting for it, and it would make another weight of them",
                'the creator with its settings as they were; or restore(path, settings="program")',
            )
        self.session.differing.append(line)

    def _use_as_saved(self, weight: Adapted, node: int) -> None:
        saved = read_saved_use(self.session.index.nodes[node])
        is_as_begun = saved is not None and self.session.begun_uses.get(self._path) == saved
        asked = saved if self.session.as_used and not is_as_begun else None
        names = None if asked is None else self._names_here(weight, node, asked)
        if names is None or not weight.adapters.keys() >= {*names}:
            return
        leaves = [(_join_edges(self._path, edges), leaf) for edges, leaf, _ in _weights(weight)]
        if all(self.session.is_about(Spot(path, leaf.role, leaf, (self._path,))) for path, leaf in leaves):
            set_use(weight, names)

    def _names_here(self, weight: Adapted, node: int, saved: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the adapters that were in use by their names in the program, where ``map=`` gives them others."""
        if not self.session.renames:
            return saved
        sources = {
            name: {self._source_of(("adapters", name, *edges)) for edges, _, _ in _weights(adapter)}
            for name, adapter in weight.adapters.items()
        }
        return translate_use(self.session.index, node, sources, saved)

    def _source_of(self, edges: Sequence[Edge]) -> int | None:
        """Return the node that what lies below these edges takes its value from; None for none."""
        path, node = self._path, self.node
        for edge in edges:
            path = join(path, edge)
            known = node is not None and not self.session.gave_away(node, edge)
            below = dict(self.session.index.nodes[node].edges).get(edge) if node is not None and known else None
            node = self.session.mapped.get(path, below)
        return node

    def claim(self, edge: Edge, variable: Variable | Reparam) -> None:
        """Assign the waiting value to a weight that appeared under this edge: that of the latest restore, once."""
        path, node = self._target(edge)
        waits = node is not None and self.session.awaits(node, path)
        slots = self.session.slot_names(node, path) if node is not None else set()
        taken = node is not None and self.session.deliver(node, path, variable, self._was_frozen)
        if self._earlier is None:
            return
        if not taken:
            self._earlier.claim(edge, variable)
        elif waits:
            self._earlier._pass_over(edge, receiver(variable), slots)

    def _pass_over(self, edge: Edge, taker: Variable | Reparam, later: set[tuple[int, str]]) -> None:
        """Let what waits under an edge wait no more: a later restore had a value for it, and these slots."""
        path, node = self._target(edge)
        if node is not None:
            names = self.session.slot_names(node, path)
            self.session.pass_over(node, path, taker, later)
            later = later | names
        if self._earlier is not None:
            self._earlier._pass_over(edge, taker, later)

    def child(self, edge: Edge) -> Deferred | None:
        """Return the `Deferred` below this edge, or None."""
        path, node = self._target(edge)
        earlier = self._earlier.child(edge) if self._earlier is not None else None
        if node is None or self.session.index.nodes[node].kind.is_leaf:
            mapped = any(target.startswith(f"{path}/") for target in self.session.mapped)
            needed = mapped or self._is_building
            return Deferred(self.session, None, path, earlier, requires=self._is_building) if needed else earlier
        return Deferred(self.session, node, path, earlier, was_frozen=self._was_frozen, requires=self._is_building)

    @contextmanager
    def building(self, module: Copied) -> Iterator[None]:
        """Run a build of the Module. If it raises, assigned values wait again; if it succeeds, no value may be missing.

        Raises:
            MissingInCheckpoint: a weight was created that requires a saved value, and there is none.
        """
        chain = list(self._chain())
        returns = [deferred.session.point_of_return() for deferred in chain]
        for each in chain:
            each._is_building = each._requires
            each.session.builds += 1
        try:
            yield
            check(module, chain)
        except BaseException:
            for put_back in returns:
                put_back()
            raise
        finally:
            for each in chain:
                each._is_building = False
                each.session.builds -= 1
        for each in chain:
            each._requires = False

    def _chain(self) -> Iterator[Deferred]:
        """Yield this object, then those of earlier restores."""
        yield self
        if self._earlier is not None:
            yield from self._earlier._chain()

    def edges(self) -> list[Edge]:
        """Return the edges that the checkpoints have here, and those of ``map=``."""
        begin = len(self._path) + 1
        mapped = [path[begin:].partition("/")[0] for path in self.session.mapped if path.startswith(f"{self._path}/")]
        return list(
            dict.fromkeys([*self._edges, *mapped, *(self._earlier.edges() if self._earlier is not None else ())])
        )

    def leaf(self, edge: Edge) -> tuple[Session, int] | None:
        """Return the Session and the node whose value waits for a Variable under this edge, or None."""
        path, node = self._target(edge)
        if node is not None and self.session.awaits(node, path):
            return self.session, node
        return self._earlier.leaf(edge) if self._earlier is not None else None

    def shape_of(self, edge: Edge) -> Shape | None:
        """Return the shape of the value that waits for a Variable under this edge; None if there is none."""
        found = self.leaf(edge)
        return None if found is None else tuple(found[0].value_of(found[1]).shape)

    def carried(self, module: Copied) -> Carried | None:
        """Return the waiting values in the form that a copy of the Module takes along."""
        earlier = self._earlier.carried(module) if self._earlier is not None else None
        if not self._paths_waiting_here() and not self._requires:
            return earlier
        slots = self.session.carried_slots(module)
        return Carried(self.session, self.node, self._path, earlier, slots, self._was_frozen, self._requires)

    def waiting(self, is_overdue: bool = False) -> tuple[str, ...]:
        """Return the program paths, here and below, whose values still wait, including the slots of their Variables.

        Args:
            is_overdue: Whether slots of Variables that wait themselves are left out. Defaults to False.
        """
        earlier = self._earlier.waiting(is_overdue) if self._earlier is not None else ()
        return (*self._paths_waiting_here(is_overdue), *earlier)

    def _paths_waiting_here(self, is_overdue: bool = False) -> tuple[str, ...]:
        paths = self.session.overdue if is_overdue else self.session.paths
        return tuple(path for path in paths if f"{path}/".startswith(f"{self._path}/"))


class Carried:
    """The values that wait below one Module, in the form for a copy. Slots are copied with their optimizer."""

    def __init__(
        self,
        session: Session,
        node: int | None,
        path: str,
        earlier: Carried | None,
        slots: list[CarriedSlot],
        was_frozen: bool,
        requires: bool,
    ) -> None:
        self._session = session
        self._node = node
        self._path = path
        self._earlier = earlier
        self._slots = slots
        self._was_frozen = was_frozen
        self._requires = requires
        self._arrived = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._arrived = True  # a deep copy, which copies the Session as well

    def hang(self, module: Copied) -> None:
        """Attach the waiting values to the copy."""
        object.__setattr__(module, "_gx_pending", self._to_deferred(module))

    def _to_deferred(self, module: Copied) -> Deferred:
        # a shallow copy shares the Session with its original, and each value would be assigned to only one of the two
        session = self._session if self._arrived else copy.deepcopy(self._session)
        session.add_slots(module, self._slots)
        earlier = self._earlier._to_deferred(module) if self._earlier is not None else None
        kind = type(module)
        return Deferred(session, self._node, self._path, earlier, kind, self._was_frozen, self._requires)


def check(module: Copied, chain: Sequence[Deferred]) -> None:
    """Raise if a weight that a Module owns required a saved value and did not get one."""
    for edges, variable, wholes in _weights(module):
        for each in chain:  # the latest restore that includes this weight decides
            path, *above = [_join_edges(each._path, way) for way in (edges, *wholes)]
            if any(each.session.has_given(one) for one in (path, *above)):
                break
            if each.session.is_about(Spot(path, variable.role, variable, tuple(above))):
                if each._requires:
                    each.session.lacking[path] = None
                    raise MissingInCheckpoint(
                        f"{path}, of shape {tuple(variable.shape)}, has no value in the checkpoint that was restored "
                        "before this layer was built",
                        "a restore gives every Variable a saved value, also those that are made later; this one would "
                        "start from its initializer",
                        f'restore(path, skip="{each._path}/**") if the layer is new; '
                        f'map={{"{each._path}": "checkpoint path"}} if its values have another path; mode="overlap" to '
                        "restore only what is on both sides",
                    )
                break


def _join_edges(path: str, edges: tuple[Edge, ...]) -> str:
    for edge in edges:
        path = join(path, edge)
    return path


def _weights(
    holder: Copied, way: tuple[Edge, ...] = (), wholes: tuple[tuple[Edge, ...], ...] = ()
) -> Iterator[tuple[tuple[Edge, ...], Variable, tuple[tuple[Edge, ...], ...]]]:
    """Yield the Variables that a Module owns, also those in expressions: edges, Variable, edges of the expressions."""
    for edges, node in own_nodes(holder):
        here = (*way, *edges)
        if node._gx_owner is not holder:
            continue
        if isinstance(node, Variable):
            yield here, node, wholes
        elif isinstance(node, Reparam):
            yield from _weights(node, here, (here, *wholes))
