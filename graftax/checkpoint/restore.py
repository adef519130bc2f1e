"""From a checkpoint to objects of a program: plan, check all, read all, and only then change all at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.deferred import Session, WaitingSlot, cast_to
from graftax.checkpoint.expressions import take, undo
from graftax.checkpoint.graph import Graph, Place
from graftax.checkpoint.index import Index, Kind
from graftax.checkpoint.loading import load
from graftax.checkpoint.matching import Match, all_of
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.report import Conflict, Restored, RestoreReport
from graftax.checkpoint.state import resembling, revived
from graftax.checkpoint.subset import Subset, saved_spot
from graftax.core.errors import ArgumentError, MissingInCheckpoint, StateError, UnusedInCheckpoint
from graftax.reparam.base import Reparam
from graftax.variables.state import storage

MODES = ("exact", "cover", "overlap")
CASTS = ("exact", "safe", "any")


def restore(
    path: str | os.PathLike[str],
    graph: Graph,
    subset: Subset,
    renames: Mapping[str, str],
    mode: str,
    cast: str,
) -> RestoreReport:
    """Give the chosen part of a graph its saved values; see `graftax.checkpoint.checkpoint.Checkpoint.restore`."""
    for name, value, known in (("mode", mode, MODES), ("cast", cast, CASTS)):
        if value not in known:
            raise ArgumentError(f"{name}={value!r}", "there is no such choice", " or ".join(map(repr, known)))
    if storage.frames.top is not None:
        raise StateError(
            "restore() inside a function that is being compiled or differentiated",
            "the values would become part of that function",
            "restore before calling it",
        )
    with Reader(path) as reader:
        reader.check_files()
        match = Match(reader.index, graph, subset, renames, mode, cast)
        report = RestoreReport(os.fspath(path), mode)
        report.step, report.meta = reader.index.step, revived(reader.index.meta, {})
        waiting = _plan_slots(match)
        subset.check(match.spots)
        _judge(match, report)
        nodes = {*match.pairs.values(), *match.awaited.values()}
        nodes |= {slot.node for slots in waiting.values() for slot in slots}
        values = _read(reader, nodes)
    notes = _assign(match, values)
    if match.awaited:
        session = Session(reader.index, match.paths, match.mapped, cast)
        kept = {*match.awaited.values(), *(slot.node for slots in waiting.values() for slot in slots)}
        session.begin({node: values[node] for node in kept}, match.awaited, waiting)
        session.attach(match.modules)
        report.wait_for(session)
    report.restored = tuple(_restored(match, place, node, notes) for place, node in match.pairs.items())
    return report


def _plan_slots(match: Match) -> dict[int, list[WaitingSlot]]:
    """Pair the slots, making those that the optimizers have not made yet; returns those whose Variables wait."""
    waiting: dict[int, list[WaitingSlot]] = {}
    existing = {(s.optimizer, s.name, s.variable): s.slot for s in match.graph.slots}
    blocked = bool(match.conflicts)
    for record, optimizer, variable, path, is_awaited in match.slots():
        if is_awaited:
            waiting.setdefault(record.variable, []).append(WaitingSlot(optimizer.thing, record.name, path, record.slot))
            continue
        if variable is None:
            match.unused[path] = record.slot
            continue
        place = existing.get((optimizer, record.name, variable))
        if place is None and not blocked:
            made = optimizer.thing._gx_ensure_slot(record.name, variable.thing)
            if made is None:
                match.unused[path] = record.slot
            else:
                place = Place(made, Kind.VARIABLE, path)
        if place is not None and match.fits(place, record.slot):
            match.pairs[place] = record.slot
    return waiting


def _judge(match: Match, report: RestoreReport) -> None:
    """Fill the report, and raise if the mode does not allow what is in it."""
    report.missing = tuple(place.path for place in match.missing)
    report.unused = tuple(match.unused)
    report.conflicts = tuple(match.conflicts)
    report.unshared = match.unshared
    slots = [slot.slot for slot in match.graph.slots]
    slots = [slot for slot in slots if match.has(slot) and slot not in match.pairs]
    report.fresh = tuple(place.path for place in [*match.fresh, *slots])
    conflicts = list(match.conflicts)
    conflicts += _idle_roots(match)
    if report.mode != "overlap":
        conflicts += [
            Conflict(MissingInCheckpoint, place.path, f"has no value in the checkpoint{match.advice(place)}")
            for place in match.missing
        ]
    if report.mode == "exact":
        conflicts += [
            Conflict(UnusedInCheckpoint, path, f"is in the checkpoint{_as(path, match.paths[node])} and has no place")
            for path, node in match.unused.items()
        ]
    if conflicts:
        raise report.failure(conflicts, instead=_graft_first(match))


def _graft_first(match: Match) -> str:
    """What to do where saved adapters have no place."""
    adapters = {saved_spot(match.index, node, "").item for node in match.unused.values()}
    names = sorted({saved.adapter for saved in adapters if saved is not None and saved.adapter})
    if not names:
        return ""
    return f"declare the adapters first: gx.graft(model, gx.reparam.LoRA(rank=..., name={names[0]!r}), where=...)"


def _as(path: str, source: str) -> str:
    return "" if path == source else f" as {source}"


def _idle_roots(match: Match) -> list[Conflict]:
    """Roots that were asked for and matched nothing: an error in every mode."""
    paired = {place for places in match.objects.values() for place in places}
    told = [*match.awaited, *(conflict.path for conflict in match.conflicts)]
    told += match.unused if match.mode == "exact" else ()  # named one by one
    conflicts = []
    for root in match.graph.roots.values():
        inside = f"{root.path}/"
        below = [spot for spot in match.spots if spot.path == root.path or spot.path.startswith(inside)]
        if not below:
            busy = root in paired
        else:
            busy = not any(match.wanted(spot) for spot in below)
        busy = busy or any(place in match.pairs for place in all_of(root))
        if not busy and not any(path == root.path or path.startswith(inside) for path in told):
            known = ", ".join(match.index.roots)
            reason = f"matched nothing; the roots of the checkpoint are: {known}"
            conflicts.append(Conflict(MissingInCheckpoint, root.path, reason))
    return conflicts


def _read(reader: Reader, nodes: set[int]) -> dict[int, Any]:
    """The values of nodes: arrays, or Python state."""
    index = reader.index
    tensors = {node: tensor for node in nodes if (tensor := index.nodes[node].tensor) is not None}
    arrays = load(reader, {tensor for node in nodes for tensor in index.nodes[node].tensors})
    values: dict[int, Any] = {}
    for node in nodes:
        record = index.nodes[node]
        array: HostArray | None = arrays[tensors[node]] if node in tensors else None
        if record.kind is Kind.VARIABLE:
            values[node] = array
        elif record.kind is Kind.BYTES:
            values[node] = record.payload[1] if array is None else array.tobytes()
        else:
            values[node] = revived(record.payload, arrays)
    return values


def _assign(match: Match, values: dict[int, Any]) -> dict[Place, str]:
    """Everything that may fail first, then assignments, which cannot; returns notes for the report."""
    variables = [(place.thing, values[node]) for place, node in match.pairs.items() if place.kind is Kind.VARIABLE]
    ready = [
        (variable, variable._storage.backend.arrays.asarray(cast_to(variable, value), variable.dtype))
        for variable, value in variables
    ]
    notes: dict[Place, str] = {}
    moved: list[tuple[Any, Any]] = []
    done: list[tuple[Any, Any]] = []
    try:
        for place, node in match.pairs.items():
            if isinstance(place.thing, Reparam) and place.kind is Kind.OBJECT:
                notes[place], before = take(place.thing, cast_to(place.thing, values[node]), place.path)
                moved += before
        for place, node in match.pairs.items():
            if place.kind not in (Kind.VARIABLE, Kind.OBJECT):
                state = place.thing.get_state()
                if state is not None or values[node] is not None:
                    done.append((place.thing, state))
                    place.thing.set_state(resembling(values[node], state))
    except BaseException:
        for module, state in reversed(done):
            module.set_state(state)
        undo(moved)
        raise
    for variable, value in ready:
        variable.assign(value)
    return notes


def _restored(match: Match, place: Place, node: int, notes: dict[Place, str]) -> Restored:
    index: Index = match.index
    tensor = index.nodes[node].tensor
    if place.kind not in (Kind.VARIABLE, Kind.OBJECT) or tensor is None:
        return Restored(place.path, match.paths[node])
    saved = index.tensors[tensor]
    return Restored(place.path, match.paths[node], saved.dtype, saved.shape, notes.get(place, ""))
