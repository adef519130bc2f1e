"""Restoring objects of a program: plan, check and read everything, and only then change all objects at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from graftax.checkpoint.adapters_in_use import Use, compare_uses, restores_use
from graftax.checkpoint.advice import advice
from graftax.checkpoint.children import models_among
from graftax.checkpoint.choices import Choices
from graftax.checkpoint.deferred import make_deferred
from graftax.checkpoint.different_settings import Differing, conflict_of, different_settings, set_line, values_to_set
from graftax.checkpoint.facts import facts_to_take
from graftax.checkpoint.freezing import Flag, flags
from graftax.checkpoint.graph import Graph, Place, Root, objects_below, path_below
from graftax.checkpoint.index import Kind
from graftax.checkpoint.joint_restore import JointRestore
from graftax.checkpoint.loading import values_of
from graftax.checkpoint.lost_slots import warn_of_fresh_slots
from graftax.checkpoint.matching import Match
from graftax.checkpoint.misfit import cast_to
from graftax.checkpoint.nearest import Nearest
from graftax.checkpoint.own_places import OwnPlaces
from graftax.checkpoint.partial_restore import NeedsFullRestore, find_affected_part, is_small_part, planned_in_part
from graftax.checkpoint.paths import join
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.report import Conflict, Restored, RestoreReport
from graftax.checkpoint.report_table import SHOWN
from graftax.checkpoint.reset_slots import reset_slots, slots_to_reset
from graftax.checkpoint.session import Session
from graftax.checkpoint.slot_matching import SlotMatch
from graftax.checkpoint.spread_values import SpreadValues
from graftax.checkpoint.state import revive
from graftax.checkpoint.subset import RANDOM_SPOT, Subset
from graftax.checkpoint.tied_parts import check_tied
from graftax.checkpoint.transaction import Transaction, uninterrupted
from graftax.checkpoint.uncollected import uncollected
from graftax.checkpoint.unused import starts
from graftax.core import user_line
from graftax.core.errors import MissingInCheckpoint, StateError, UnusedInCheckpoint
from graftax.core.typedefs import VariableLike
from graftax.reparam.base import Reparam
from graftax.variables.graph.following import Follower
from graftax.variables.graph.module import Module
from graftax.variables.graph.trained_model import restoring
from graftax.variables.state import storage


def restore(
    path: str | os.PathLike[str],
    roots: Mapping[str, Root],
    subset: Subset,
    renames: Mapping[str, str],
    choices: Choices,
) -> RestoreReport:
    """Restore the selected part of some roots; see `graftax.checkpoint.checkpoint.Checkpoint.restore`."""
    if storage.frames.top is not None:
        raise StateError(
            "restore() inside a function that is being compiled or differentiated",
            "the values would become constants of that function",
            "restore before calling it",
        )
    joint = JointRestore()
    try:
        # no garbage collection until the temporary objects of the restore are freed
        with uncollected(), restoring(models_among(roots)):
            graph = Graph(roots, narrow=find_affected_part(roots, subset, renames))
            with Reader(path, lazily=True) as reader:
                reader.check_files()
                if not is_small_part(graph, reader.index, renames):
                    reader.complete()
                if graph.narrow is not None or reader.is_lazy:
                    try:
                        return _restore(reader, graph, subset, renames, choices, joint)
                    except NeedsFullRestore:  # the restore as a whole raises the error, with complete messages
                        reader.complete()
                        graph, subset = Graph(roots) if graph.narrow is not None else graph, subset.fresh_copy()
                return _restore(reader, graph, subset, renames, choices, joint)
    except Exception as error:
        joint.report_failure(error)
        raise


def _restore(
    reader: Reader,
    graph: Graph,
    subset: Subset,
    renames: Mapping[str, str],
    choices: Choices,
    joint: JointRestore,
) -> RestoreReport:
    mode, cast, trainable, _ = choices
    with Transaction(graph) as changes:
        report = RestoreReport(reader.path, mode)
        with planned_in_part(graph, reader.is_lazy) as check_part:
            match = Match(reader.index, graph, subset, renames, mode, cast)
            check_part(match)
            slots = SlotMatch(match)
            random = _random(match)
            to_reset = slots_to_reset(match)  # which selectors may speak of, too
            new = starts(match)
            match.missing = [place for place in match.missing if place not in {start.place for start in new}]
            subset.check(new=_new_layers(match))
            report.step, report.meta = reader.index.step, revive(reader.index.meta, {})
            differing = different_settings(match)
            fresh = [*(slot.slot for slot in to_reset), *(start.place for start in new)]
            waiting_slots = [slot for below in slots.waiting.values() for slot in below]
            _judge(match, report, differing, fresh, choices, [slot.path for slot in waiting_slots])
        waiting = {*(slot.node for slot in waiting_slots), *match.awaited.values()}
        spread = SpreadValues(match, reader)
        values = values_of(reader, ({*match.pairs.values()} - spread.nodes) | waiting)
        as_saved = _restores_trainable(trainable, mode, subset)
        known = flags(match, as_saved)
        as_used = restores_use(trainable, mode)
        used = compare_uses(match, as_used)
        report.adapters = tuple([use.report_line for use in used])
        ready = _on_devices(match, values, spread)
        session = _session(match, slots, {node: values[node] for node in waiting}, choices, as_saved, as_used)
        if trainable is None:
            _warn_of_thawing(known)
        if mode == "exact":
            warn_of_fresh_slots(match, values)
        joint.wait_until_read(reader, match)
        with uninterrupted() as raise_if_interrupted:
            notes = _apply_python(match, changes, values)
            if random is not None:
                changes.set_random(graph.random, random)
            raise_if_interrupted()
            ready += [(start.place.thing._storage, start.value) for start in new]
            if choices.settings == "saved":
                _apply_settings(changes, differing)
                report.tell_settings([set_line(one.line) for one in differing])
            _apply_values(match, changes, ready, known, used, session)
            following = changes.follow([place.thing for place in match.pairs])
            report.tell_followed(_followed_paths(match.graph, following))
            reset_slots(changes, to_reset)  # whose initial value may be that of their Variable
            check_tied(match, report, notes, values)
            joint.wait_until_assigned()
        report.tell(_make_restored(match, notes), [flag.report_line for flag in known])
        if not reader.is_lazy:
            _ = report.restored  # the function would otherwise keep the whole index alive
        report.random = None if reader.index.random is None else random is not None
        if session is not None:
            session.source = report.path
            report.wait_for(session)
    return report


def _new_layers(match: Match) -> list[str]:
    """Return the paths of layers that have no weights yet, and will need values that the checkpoint does not have."""
    if match.subset.is_all or match.mode == "overlap":
        return []
    known = {place for places in match.objects.values() for place in places}
    return [place.path for place in match.graph.places if _is_unbuilt(place) and place not in known]


def _random(match: Match) -> Any:
    """Return the saved global seed if it has to be restored: for a whole program, or if it is selected."""
    saved = revive(match.index.random, {})
    wanted = saved is not None and match.is_wanted(RANDOM_SPOT)
    return saved if wanted and (match.mode == "exact" or match.subset.is_narrow) else None


def _restores_trainable(trainable: str | None, mode: str, subset: Subset) -> bool:
    """Return whether ``trainable`` flags are restored, rather than kept as in the program."""
    if trainable is None:
        return mode == "exact" and not subset.is_narrow
    return trainable == "saved"


def _warn_of_thawing(flags: list[Flag]) -> None:
    """Warn that frozen Variables of the program will be trained: other libraries keep such flags at a load."""
    thawed = [flag.path for flag in flags if flag.is_applied and flag.saved]
    if thawed:
        some = ", ".join(thawed[:3]) + (", …" if len(thawed) > 3 else "")
        user_line.warn(
            f"the restore unfreezes {len(thawed)} of what the program has frozen, as it was saved: {some}. "
            'Instead: trainable="program" keeps it frozen; trainable="saved" says that this is meant'
        )


def _judge(
    match: Match,
    report: RestoreReport,
    differing: Sequence[Differing],
    reset: list[Place],
    choices: Choices,
    later: Sequence[str],
) -> None:
    """Fill the report, and raise if the mode does not allow what is in it."""
    report.missing = tuple([place.path for place in match.missing])
    report.unused = tuple(match.unused)
    report.conflicts = tuple(match.conflicts)
    report.unshared = match.unshared
    report.reset = tuple([place.path for place in dict.fromkeys(reset)])
    slots = [slot.slot for slot in match.graph.slots]
    slots = [slot for slot in slots if slot not in match.pairs and slot not in reset and match.is_selected(slot)]
    report.fresh = tuple([place.path for place in [*match.fresh, *slots]])
    report.tell_settings([one.line for one in differing])
    conflicts = list(match.conflicts)
    conflicts += map(conflict_of, report.other_settings) if choices.settings == "same" else ()
    if choices.settings == "saved":
        conflicts += [found for found in map(values_to_set, differing) if isinstance(found, Conflict)]
    known = ", ".join(match.index.roots)
    idle = [root.path for root in match.idle_roots() if not _is_explained(root, match, [*report.reset, *later])]
    conflicts += [
        Conflict(MissingInCheckpoint, path, f"matched nothing; the roots of the checkpoint are: {known}")
        for path in idle
    ]
    if report.mode != "overlap":
        conflicts += _missing_conflicts(match)
    if report.mode == "exact":
        conflicts += [
            Conflict(UnusedInCheckpoint, path, match.reasons.get(path) or _no_place(match, path, node))
            for path, node in match.unused.items()
        ]
    if conflicts:
        raise report.failure(conflicts, instead=advice(match, idle, choices))


def _is_explained(root: Place, match: Match, others: Iterable[str]) -> bool:
    """Return True if the conflicts, unused or waiting values of a root are listed one by one."""
    inside = f"{root.path}/"
    explained = [
        *match.awaited,
        *others,
        *(place.path for place in match.reassigned),
        *(conflict.path for conflict in match.conflicts),
    ]
    explained += match.unused if match.mode == "exact" else ()
    return any(path == root.path or path.startswith(inside) for path in explained)


def _missing_conflicts(match: Match) -> list[Conflict]:
    """Return the conflicts of missing values; those that a message shows have suggestions."""
    if not match.missing:
        return []
    taken = {*match.pairs.values(), *(node for nodes in match.candidates.values() for node in nodes)}
    taken |= {slot.slot for slot in match.index.slots}
    nodes, tensors = match.index.nodes, match.index.tensors
    free = [
        (path, tensors[tensor].shape)
        for node, path in match.paths.items()
        if node not in taken and (tensor := nodes[node].tensor) is not None
    ]
    candidates = Nearest(free)
    conflicts = []
    for i, place in enumerate(match.missing):
        reason = "has no value in the checkpoint"
        if place in match.reassigned:
            taker = match.reassigned[place]
            reason = f"has no value: map= gives the saved value of this path to {taker!r}; name both to use it twice"
        elif i < SHOWN:
            shape = tuple(place.thing.shape) if place.kind is Kind.VARIABLE else None
            reason += candidates.similar_to(place.path, shape)
        conflicts.append(Conflict(MissingInCheckpoint, place.path, reason))
    return conflicts


def _no_place(match: Match, path: str, node: int) -> str:
    source = match.paths[node]
    return f"is in the checkpoint{'' if path == source else f' as {source}'} and has no place"


# --- changes ----------------------------------------------------------------------------------------------------------


def _on_devices(match: Match, values: Mapping[int, Any], spread: SpreadValues) -> list[tuple[Any, Any]]:
    """Return storages and their new values, which are moved to the devices in one call."""
    takers: dict[int, list[tuple[Any, Any]]] = {}
    ready: list[tuple[Any, Any]] = []
    nodes, tensors = match.index.nodes, match.index.tensors
    for place, node in match.pairs.items():
        if place in spread:
            ready.append((place.thing._storage, spread.make_value(place, node, values)))
        elif place.kind is Kind.VARIABLE:
            there, value = place.thing._storage, values[node]
            if tensors[nodes[node].payload[0]].dtype != place.thing.dtype:
                value = cast_to(place.thing, value)
            takers.setdefault(id(there.backend), []).append((there, value))
    for found in takers.values():
        backend = found[0][0].backend
        made = backend.arrays.adopt([value for _, value in found])
        ready += [(there, value) for (there, _), value in zip(found, made, strict=True)]
    return ready


def _apply_python(match: Match, changes: Transaction, values: Mapping[int, Any]) -> dict[Place, str]:
    """Apply the changes that run code of users, and so may fail; return notes for the report."""
    notes: dict[Place, str] = {}
    for place, node in match.pairs.items():
        if isinstance(place.thing, Reparam) and place.kind is Kind.OBJECT:
            notes[place] = changes.take(place.thing, cast_to(place.thing, values[node]), place.path)
    for place, node in match.pairs.items():
        if place.kind not in (Kind.VARIABLE, Kind.OBJECT):
            changes.set_state(place.thing, values[node])
    return notes


def _apply_settings(changes: Transaction, differing: Sequence[Differing]) -> None:
    for one in differing:
        found = values_to_set(one)
        for name, value in found.items() if isinstance(found, dict) else ():
            changes.set_setting(one.expression, name, value)


def _apply_values(
    match: Match,
    changes: Transaction,
    ready: list[tuple[Any, Any]],
    flags: list[Flag],
    used: list[Use],
    session: Session | None,
) -> None:
    for there, value in ready:
        changes.write(there, value)
    for flag in flags:
        if flag.is_applied:
            changes.set_trainable(flag.thing, flag.saved)
    for module, facts in facts_to_take(match):
        changes.take_facts(module, facts)
    for use in used:
        if use.is_applied:
            changes.set_use(use.weight, use.names)
    if session is None:
        return
    paired = [(place.thing, node) for place, node in match.pairs.items() if place.kind is Kind.VARIABLE]
    session.note_restored(paired)
    homes: dict[Place, int | None] = {}
    for node, places in match.objects.items():
        for place in places:
            homes.setdefault(place, node)
    for path in match.mapped:
        above = match.graph.parent_of(path)
        if above is not None:
            homes.setdefault(above[0], None)
    for place in match.graph.places:
        if _is_unbuilt(place):
            for below in objects_below(place):
                homes.setdefault(below, None)
    for place, home in homes.items():
        session.leave_alone(join(place.path, e) for e, c in place.edges.items() if _is_weight(c))
        if isinstance(place.thing, Module) and place.kind is Kind.OBJECT:  # not what its get_state gives
            requires = match.mode != "overlap" and _is_unbuilt(place)
            changes.hang(place.thing, make_deferred(session, place.thing, home, place.path, requires))
            place.thing._gx_ensure_state()  # of what only the saved values say the shape


def _is_unbuilt(place: Place) -> bool:
    return isinstance(place.thing, Module) and place.kind is Kind.OBJECT and place.thing._gx_lacks_weights


def _followed_paths(graph: Graph, following: list[Follower]) -> list[str]:
    paths = {id(place.thing): place.path for place in graph.places}
    return [
        path_below(paths[id(one)], one, leaf)
        for one in following
        if id(one) in paths
        for leaf in one._gx_state_about_base()
    ]


def _is_weight(place: Place) -> bool:
    return place.kind.is_leaf or isinstance(place.thing, VariableLike)


def _session(
    match: Match, slots: SlotMatch, values: dict[int, Any], choices: Choices, as_saved: bool, as_used: bool
) -> Session | None:
    if not match.awaited and not any(_is_unbuilt(place) for place in match.graph.places):
        return None
    given = frozenset(match.renames.given)
    session = Session(match.index, match.paths, match.mapped, given, choices, as_saved, match.subset, as_used)
    session.ways = match.ways | {place.path: place.further for place in match.graph.places if place.further}
    session.own_places = OwnPlaces.of(match.graph)
    session.begin(values, match.awaited, slots.waiting)
    return session


def _make_restored(match: Match, notes: dict[Place, str]) -> Callable[[], tuple[Restored, ...]]:
    nodes, tensors = match.index.nodes, match.index.tensors
    found = []
    for place, node in match.pairs.items():
        tensor = nodes[node].tensor if place.kind in (Kind.VARIABLE, Kind.OBJECT) else None
        if tensor is None:
            found.append((node, Restored(place.path, "")))
        else:
            saved = tensors[tensor]
            found.append((node, Restored(place.path, "", saved.dtype, saved.shape, notes.get(place, ""))))
    return partial(_with_sources, found, match.paths)


def _with_sources(entries: list[tuple[int, Restored]], paths: Mapping[int, str]) -> tuple[Restored, ...]:
    return tuple([restored._replace(source=paths[node]) for node, restored in entries])
