"""Saving objects of a program as a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from graftax.backend.rendezvous import Rendezvous, process_group
from graftax.checkpoint import values
from graftax.checkpoint.commit import Draft, commit
from graftax.checkpoint.drawing import Drawing, Seen, Sketch
from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.graph import Graph, Root
from graftax.checkpoint.joint_commit import commit_together
from graftax.checkpoint.not_saved import Beside, plain_attributes
from graftax.checkpoint.report_table import SHOWN
from graftax.checkpoint.subset import RANDOM_SPOT, Subset, nothing_selected_error
from graftax.checkpoint.uncollected import uncollected
from graftax.checkpoint.waiting import add_waiting
from graftax.checkpoint.writer_record import writer_record
from graftax.core.errors import ArgumentError
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class SaveReport(NamedTuple):
    """What a save wrote, and which slots it left out because their Variable was not part of the save.

    ``waiting`` are the paths of restored values that still wait for layers to be built: the new checkpoint contains
    them unchanged. ``plain`` are attributes of your own classes that hold numbers, text or other data and are not
    Variables: they are not saved. ``beside`` names optimizers of compiled models that are not roots, and so are not
    saved either.
    """

    path: str
    step: int | None
    arrays: int
    nbytes: int
    left_out: tuple[str, ...]
    waiting: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"saved {self.arrays:,} arrays, {self.nbytes:,} bytes, at {self.path}"]
        lines += _list("left out", self.left_out, "its variable was not saved", "left_out")
        lines += _list("passed on", self.waiting, "it still waits for its layer to be built", "waiting")
        lines += [f"  not saved: {part}; make it a root: Checkpoint(..., optimizer=...)" for part in self.beside]
        if self.plain:
            some = ", ".join(self.plain[:3]) + (", ..." if len(self.plain) > 3 else "")
            count = f"{len(self.plain):,} plain attribute{'s' if len(self.plain) > 1 else ''}"
            lines.append(f"  not saved: {count}, {some}; keep what changes in Variables or in get_state()")
        return "\n".join(lines)


def _list(what: str, paths: Sequence[str], why: str, attribute: str) -> list[str]:
    lines = [f"  {what} {path}: {why}" for path in paths[:SHOWN]]
    return [*lines, *[f"  {what} {len(paths) - SHOWN:,} more, all in report.{attribute}"] * (len(paths) > SHOWN)]


class Prepared(NamedTuple):
    """A save whose values are captured: references to arrays, and copies of Python state."""

    draft: Draft
    left_out: tuple[str, ...]
    waiting: tuple[str, ...]
    plain: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    meeting: Rendezvous | None = None

    def report(self, path: str, nbytes: int | None = None) -> SaveReport:
        """Return the report. Without the size of the files, it gives that of the arrays."""
        size = self.draft.nbytes if nbytes is None else nbytes
        return SaveReport(path, self.draft.step, len(self.draft.items), size, *self[1:5])


def write(
    path: str | os.PathLike[str],
    prepared: Prepared,
    *,
    overwrite: bool = False,
    base: str | os.PathLike[str] | None = None,
    fs: FileSystem | None = None,
) -> SaveReport:
    """Write a prepared save; see `graftax.checkpoint.checkpoint.Checkpoint.save`."""
    if prepared.meeting is not None:
        nbytes = commit_together(path, prepared.draft, prepared.meeting, overwrite=overwrite, base=base)
        return prepared.report(os.fspath(path), nbytes)
    index = commit(path, prepared.draft, overwrite=overwrite, fs=fs, base=base)
    return prepared.report(os.fspath(path), index.nbytes)


class Preparation:
    """Captures a program for repeated saves; see `prepare`."""

    def __init__(self, roots: Mapping[str, Root]) -> None:
        self.roots = roots
        self._seen: Seen | None = None
        self._sketch: Sketch | None = None

    def __reduce__(self) -> tuple[type[Preparation], tuple[Mapping[str, Root]]]:
        return Preparation, (self.roots,)  # a copy draws its own sketch: that of the original is of other objects

    @uncollected()
    def prepare(
        self,
        path: str | os.PathLike[str],
        subset: Subset,
        step: int | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """Capture the selected part of the program as it is now, together with other processes if there are any.

        If it raises in one process, the others raise, too.
        """
        processes = process_group()
        meeting = None if processes is None else Rendezvous(processes, "save")
        try:
            return self._prepare(path, subset, step, meta, meeting)
        except Exception as error:
            if meeting is not None:
                meeting.give_up(error)
            raise

    def _prepare(
        self,
        path: str | os.PathLike[str],
        subset: Subset,
        step: int | None,
        meta: Mapping[str, Any] | None,
        meeting: Rendezvous | None,
    ) -> Prepared:
        if step is not None and (type(step) is not int or not 0 <= step < 1 << 63):
            raise ArgumentError(f"step={step!r}", "a step is an int, zero or more", "step=int(counter.value)")
        meta = dict(meta or {})
        if not all(type(key) is str for key in meta):
            raise ArgumentError(
                f"meta with the keys {list(meta)!r:.100}", "the keys of meta are text", 'meta={"note": 1}'
            )
        values.encode(meta, "meta")
        sketch = self._draw(path, subset)
        for optimizer in sketch.lost:
            optimizer.warn()
        draft = sketch.fill(step, deepcopy(meta), writer_record(1 if meeting is None else meeting.count))
        beside = sketch.beside.describe_unsaved() if sketch.beside is not None else ()
        return Prepared(draft, sketch.left_out, sketch.waiting, sketch.plain, beside, meeting)

    def _draw(self, path: str | os.PathLike[str], subset: Subset) -> Sketch:
        """Return the last sketch if the structure has not changed since, else a new one."""
        if subset.is_all and self._sketch is not None and self._seen is not None and self._seen.is_still(self.roots):
            return self._sketch
        graph = Graph(dict(self.roots))
        sketch = _sketch(path, graph, subset)
        if subset.is_all:
            is_settled = not sketch.waiting and not any(_is_pending(place.thing) for place in graph.places)
            self._sketch = sketch if is_settled else None
            self._seen = Seen(graph, self.roots) if is_settled else None
        return sketch if sketch is self._sketch else sketch._replace(form=None)


def _is_pending(value: object) -> bool:
    return isinstance(value, Module) and value._gx_pending is not None


def _sketch(path: str | os.PathLike[str], graph: Graph, subset: Subset) -> Sketch:
    add_waiting(graph)
    if not subset.is_all:
        graph.find_further_paths(lambda place, path: True)
    leaves = [place for place in graph.places if place.kind.is_leaf]
    random = graph.random if RANDOM_SPOT in subset else None
    subset.check(place.spot for place in [*leaves, *(slot.slot for slot in graph.slots)])
    chosen = {place for place in leaves if place.spot in subset}
    slots = [slot for slot in graph.slots if slot.slot.spot in subset]
    if not chosen and not leaves:
        raise ArgumentError(
            f"nothing to save at {os.fspath(path)}",
            "the roots hold no Variables",
            "build the model first: call it on an example",
        )
    if not chosen:
        raise nothing_selected_error(f"nothing to save at {os.fspath(path)}", [slot.slot.path for slot in slots])
    only_streams = all(_is_stream_of_a_layer(place.thing) for place in chosen)
    if subset.is_all and only_streams and any(_lacks_weights(place.thing) for place in graph.places):
        raise ArgumentError(
            f"nothing to save at {os.fspath(path)} but random streams: {', '.join(place.path for place in chosen)}",
            "layers beside them are not built, so that there are no weights",
            "build the model first: call it on an example",
        )
    keepers = {slot.optimizer for slot in slots if slot.variable in chosen}  # without their counts, if need be
    drawing = Drawing(graph, chosen | keepers, subset.is_all)
    for slot in slots:
        drawing.add_slot(slot)
    plain = plain_attributes(graph) if subset.is_all else ()
    beside = Beside(graph) if subset.is_all else None
    return drawing.sketch()._replace(
        random=random, plain=plain, beside=beside, lost=drawing.find_lost_slots(not subset.is_all)
    )


def _is_stream_of_a_layer(value: object) -> bool:
    if not isinstance(value, Variable) or value.role != "seed":
        return False
    above = value._gx_owner
    while above is not None:
        if isinstance(above, Module) and above._gx_built_later:
            return True
        above = above._gx_owner
    return False


def _lacks_weights(value: object) -> bool:
    return isinstance(value, Module) and value._gx_lacks_weights
