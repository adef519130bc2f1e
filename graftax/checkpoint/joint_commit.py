"""From drafts of several processes to one checkpoint, of which each writes its share; it appears as a whole or not.

All compare what they are about to save. Process 0 begins, each writes and syncs its data files and tells in a file what
is in them; once all have, process 0 writes the index of all and publishes it. Whoever fails tells the others before it
raises, so that all raise, each naming the one that failed. They wait for each other at the service that they were
started with, with a timeout, and never in a computation of devices: so they may save in threads beside the program.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from graftax.backend.processes import Held, Processes
from graftax.backend.rendezvous import Rendezvous
from graftax.checkpoint import values
from graftax.checkpoint.checksums import digest
from graftax.checkpoint.commit import Draft, indexed, put_items
from graftax.checkpoint.envelope import opened, seal
from graftax.checkpoint.index import Chunk, FileRecord, Kind, wire
from graftax.checkpoint.layout import Item
from graftax.checkpoint.local_storage import storage_errors
from graftax.checkpoint.names import part_name
from graftax.checkpoint.places import place_of
from graftax.checkpoint.references import References
from graftax.checkpoint.shares import boxes_of, planned, value_of_whole
from graftax.checkpoint.storage import Share, Storage, Writing
from graftax.checkpoint.uncollected import uncollected
from graftax.core.errors import ProcessError, SaveError, StorageFailure

_SAME = (
    "the same model, optimizer, seed, path, assignments and arguments in every process; a callback that one alone runs "
    "says so with main_only = True"
)

_SAVING = "saving with other processes"


def commit_together(
    path: str | os.PathLike[str],
    draft: Draft,
    meeting: Rendezvous,
    *,
    overwrite: bool = False,
    base: str | os.PathLike[str] | None = None,
) -> int:
    """Write a checkpoint with the other processes, durably; returns the bytes of its data files.

    Args:
        path: The directory to make, or the URL of one; a place that all processes reach.
        draft: What to write; the same in all, but for the parts of arrays that each has.
        meeting: Where they meet.
        overwrite: As for `graftax.checkpoint.commit.commit`.
        base: As there.

    Raises:
        ProcessError: they would not save the same; names what differs.
        SaveError: one of them failed, died or did not come; nothing was published.
    """
    try:
        return _commit(path, draft, meeting, overwrite, base)
    except ProcessError as error:
        raise SaveError(
            f"the save of {os.fspath(path)} by {meeting.count} processes: {error.received}",
            f"{error.reason}; nothing was published",
            error.instead,
        ) from error


def _commit(
    path: str | os.PathLike[str],
    draft: Draft,
    meeting: Rendezvous,
    overwrite: bool,
    base: str | os.PathLike[str] | None,
) -> int:
    storage, final = place_of(path)
    boxes = [boxes_of(item, meeting.processes) for item in draft.items]
    arguments = [("path", final), ("overwrite", str(overwrite)), ("base", str(base))]
    meeting.agree([*arguments, *_things(draft, boxes, meeting.processes)], _SAME)
    meeting.forget()
    plan = draft._replace(items=planned(draft.items, boxes, meeting.processes))
    if meeting.index == 0:
        return _lead(storage, final, plan, meeting, overwrite, base)
    return _follow(storage, final, plan, meeting, base)


def _lead(
    storage: Storage,
    final: str,
    plan: Draft,
    meeting: Rendezvous,
    overwrite: bool,
    base: str | os.PathLike[str] | None,
) -> int:
    """Do what process 0 does."""
    save_id = os.urandom(16)
    with _announced(meeting, "begin") as told:
        references = References(storage, final, base, overwrite)
        writing = storage.begin(final, overwrite, sum(item.nbytes for item in plan.items))
        told |= {"id": save_id, "ticket": writing.ticket}
    try:
        with _announced(meeting, "outcome") as told:
            with _met(meeting):
                mine = _written(writing, plan.items, 0, save_id, references)
            files, chunks = _merged([mine, *_parts(writing, meeting.count)])
            with uncollected():
                index, body = indexed(writing, plan, save_id, files, chunks)
            references.check()
            writing.publish(body)
            told["nbytes"] = index.nbytes
    except BaseException:
        writing.abandon()
        raise
    return index.nbytes


def _follow(storage: Storage, final: str, plan: Draft, meeting: Rendezvous, base: str | os.PathLike[str] | None) -> int:
    """Do what every other process does."""
    told = _heard(meeting, "begin")
    with _met(meeting):
        share = storage.take_part(final, told["ticket"])
        references = References(storage, final, base, False)
        mine = _written(share, plan.items, meeting.index, told["id"], references)
        body = seal(values.pack(mine))
        share.put(part_name(meeting.index), len(body), [memoryview(body)])
        share.finish()
    nbytes: int = _heard(meeting, "outcome")["nbytes"]
    return nbytes


def _written(
    writing: Writing | Share, items: Sequence[Item], process: int, save_id: bytes, references: References
) -> dict[str, Any]:
    """Write the items of a process; returns what the index has to say of them."""
    numbers = [number for number, item in enumerate(items) if item.process == process]
    mine = [items[number] for number in numbers]
    kept, waiting = references.divided(mine, by_name=True)
    files = list(references.files)
    position = {id(item): number for number, item in zip(numbers, mine, strict=True)}
    chunks = {numbers[i]: chunk for i, chunk in kept.items()}
    found = put_items(writing, waiting, save_id, files)
    chunks |= {position[id(item)]: chunk for item, chunk in zip(waiting, found, strict=True)}
    return {"files": files, "chunks": [(number, *chunk) for number, chunk in chunks.items()]}


def _parts(writing: Writing, count: int) -> Iterator[dict[str, Any]]:
    """Yield what the other processes have told of their shares."""
    for process in range(1, count):
        try:
            content = writing.collect(part_name(process))
        except FileNotFoundError as error:
            raise StorageFailure(
                f"what process {process} has written is not where process 0 writes",
                "all processes write into one directory, and it seems that they have not the same file system",
                "a path on a shared file system, or a URL such as s3://bucket/run",
            ) from error
        found: dict[str, Any] = values.unpack(opened(content))
        yield found


def _merged(parts: Sequence[dict[str, Any]]) -> tuple[list[FileRecord], dict[int, Chunk]]:
    """Return the files of all processes, and the chunks by the position of their items."""
    files: list[FileRecord] = []
    chunks: dict[int, Chunk] = {}
    for part in parts:
        numbers = []
        for fields in part["files"]:
            record = FileRecord(*fields)
            if record not in files:  # several refer to one file of another checkpoint
                files.append(record)
            numbers.append(files.index(record))
        for number, file, offset, nbytes, start, extent, sums in part["chunks"]:
            chunks[number] = Chunk(numbers[file], offset, nbytes, tuple(start), tuple(extent), sums)
    return files, chunks


# --- what is compared, and told ---------------------------------------------------------------------------------------


def _things(draft: Draft, boxes: Sequence[Sequence[Held] | None], processes: Processes) -> Iterator[tuple[str, str]]:
    """Yield by name what must be the same in all processes, values included of what is not spread over them."""
    yield "step", str(draft.step)
    yield "meta", _mark(values.encode(draft.meta, "meta"))
    yield "the global seed and its stream", _mark(values.encode(draft.random, "random"))
    for item, spread in zip(draft.items, boxes, strict=True):
        kind = f"{item.dtype}{list(item.shape)}"
        if spread is None:
            yield item.name, f"{kind} with checksum {digest(item.data):016x}"
        elif item.name in draft.assigned:
            yield item.name, f"{kind} {_mark(spread)}{value_of_whole(item, spread, processes)}"
        else:
            yield item.name, f"{kind} {_mark(spread)}"
    states = {number: node for number, node in enumerate(draft.nodes) if node.kind in (Kind.VALUE, Kind.BYTES)}
    for number, node in states.items():
        yield f"the state of {node.type} (node {number})", _mark(wire(node).payload)
    rest = [node if number not in states else node[:3] for number, node in enumerate(draft.nodes)]
    yield "the structure of the program", _mark([rest, draft.roots, draft.slots])


def _mark(value: object) -> str:
    return f"{digest(values.pack(value)):016x}"


@contextmanager
def _announced(meeting: Rendezvous, topic: str) -> Iterator[dict[str, Any]]:
    """Let process 0 tell the others what the block puts in there, or how it failed."""
    told: dict[str, Any] = {}
    try:
        with storage_errors(_SAVING):
            yield told
    except BaseException as error:
        with suppress(ProcessError):
            meeting.announce(topic, values.pack({"failed": _failure(error)}))
        raise
    meeting.announce(topic, values.pack(told))


def _heard(meeting: Rendezvous, topic: str) -> dict[str, Any]:
    """Return what process 0 tells.

    Raises:
        SaveError: it failed.
    """
    told: dict[str, Any] = values.unpack(meeting.heard(topic))
    if "failed" in told:
        raise _failed_elsewhere(0, told["failed"])
    return told


@contextmanager
def _met(meeting: Rendezvous) -> Iterator[None]:
    """Let all processes come to the end of the block; whoever fails tells the others.

    Raises:
        SaveError: another one failed.
    """
    try:
        with storage_errors(_SAVING):
            yield
    except BaseException as error:
        with suppress(ProcessError):
            meeting.exchange("written", _failure(error).encode())
        raise
    for process, failure in enumerate(meeting.exchange("written", b"")):
        if failure:
            raise _failed_elsewhere(process, failure.decode())


def _failure(error: BaseException) -> str:
    received = getattr(error, "received", None)
    return f"{type(error).__name__}: {received if received is not None else error}"[:1000]


def _failed_elsewhere(process: int, failure: str) -> SaveError:
    return SaveError(
        f"process {process} could not save its share: {failure}",
        "a checkpoint is there as a whole or not at all; nothing was published",
        f"look at what process {process} says, then save again",
    )
