"""Saving one checkpoint by several processes: each writes its share, and the checkpoint appears as a whole or not.

First, all processes compare what they are about to save. Process 0 creates the staging directory. Each process writes
and syncs its data files, and lists their content in a file. When all have done so, process 0 writes the common index
and publishes it. A process that fails tells the others before it raises, so that all raise and name the one that
failed. The processes wait for each other, with a timeout, at the coordination service that they were started with,
never by a computation on devices. So they can save in background threads.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from graftax.backend.processes import Held, Processes
from graftax.backend.rendezvous import Rendezvous
from graftax.checkpoint import values
from graftax.checkpoint.checksums import digest
from graftax.checkpoint.commit import Draft, put_items, write_index
from graftax.checkpoint.envelope import open_envelope, seal
from graftax.checkpoint.index import Chunk, FileRecord, Kind, wire
from graftax.checkpoint.layout import Item
from graftax.checkpoint.local_storage import storage_errors
from graftax.checkpoint.names import part_name
from graftax.checkpoint.places import place_of
from graftax.checkpoint.references import References
from graftax.checkpoint.shares import boxes_of, plan_shares, value_of_whole
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
    """Write a checkpoint durably, together with the other processes; return the number of bytes of its data files.

    Args:
        path: The directory to create, or a URL; all processes must have access to it.
        draft: What to write; equal in all processes, except for the parts of arrays that each has.
        meeting: The meeting of the processes.
        overwrite: As for `graftax.checkpoint.commit.commit`.
        base: Likewise.

    Raises:
        ProcessError: the processes would not save the same; the message names what differs.
        SaveError: a process failed, died or timed out; nothing was published.
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
    plan = draft._replace(items=plan_shares(draft.items, boxes, meeting.processes))
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
    """Run the part of process 0."""
    save_id = os.urandom(16)
    with _announcing(meeting, "begin") as message:
        references = References(storage, final, base, overwrite)
        writing = storage.begin(final, overwrite, sum(item.nbytes for item in plan.items))
        message |= {"id": save_id, "ticket": writing.ticket}
    try:
        with _announcing(meeting, "outcome") as message:
            with _meeting_at_end(meeting):
                mine = _write_share(writing, plan.items, 0, save_id, references)
            files, chunks = _merge([mine, *_parts(writing, meeting.count)])
            with uncollected():
                index, body = write_index(writing, plan, save_id, files, chunks)
            references.check()
            writing.publish(body)
            message["nbytes"] = index.nbytes
    except BaseException:
        writing.abandon()
        raise
    return index.nbytes


def _follow(storage: Storage, final: str, plan: Draft, meeting: Rendezvous, base: str | os.PathLike[str] | None) -> int:
    """Run the part of every other process."""
    message = _receive(meeting, "begin")
    with _meeting_at_end(meeting):
        share = storage.take_part(final, message["ticket"])
        references = References(storage, final, base, False)
        mine = _write_share(share, plan.items, meeting.index, message["id"], references)
        body = seal(values.pack(mine))
        share.put(part_name(meeting.index), len(body), [memoryview(body)])
        share.finish()
    nbytes: int = _receive(meeting, "outcome")["nbytes"]
    return nbytes


def _write_share(
    writing: Writing | Share, items: Sequence[Item], process: int, save_id: bytes, references: References
) -> dict[str, Any]:
    """Write the items of a process, and return their records for the index."""
    numbers = [number for number, item in enumerate(items) if item.process == process]
    mine = [items[number] for number in numbers]
    kept, waiting = references.divide(mine, by_name=True)
    files = list(references.files)
    position = {id(item): number for number, item in zip(numbers, mine, strict=True)}
    chunks = {numbers[i]: chunk for i, chunk in kept.items()}
    found = put_items(writing, waiting, save_id, files)
    chunks |= {position[id(item)]: chunk for item, chunk in zip(waiting, found, strict=True)}
    return {"files": files, "chunks": [(number, *chunk) for number, chunk in chunks.items()]}


def _parts(writing: Writing, count: int) -> Iterator[dict[str, Any]]:
    """Yield the records that the other processes have written for their shares."""
    for process in range(1, count):
        try:
            content = writing.collect(part_name(process))
        except FileNotFoundError as error:
            raise StorageFailure(
                f"what process {process} has written is not where process 0 writes",
                "all processes write into one directory, and it seems that they have not the same file system",
                "a path on a shared file system, or a URL such as s3://bucket/run",
            ) from error
        found: dict[str, Any] = values.unpack(open_envelope(content))
        yield found


def _merge(parts: Sequence[dict[str, Any]]) -> tuple[list[FileRecord], dict[int, Chunk]]:
    """Return the files of all processes, and the chunks by the position of their items."""
    files: list[FileRecord] = []
    chunks: dict[int, Chunk] = {}
    for part in parts:
        numbers = []
        for fields in part["files"]:
            record = FileRecord(*fields)
            if record not in files:  # several processes may refer to the same file of another checkpoint
                files.append(record)
            numbers.append(files.index(record))
        for number, file, offset, nbytes, start, extent, sums in part["chunks"]:
            chunks[number] = Chunk(numbers[file], offset, nbytes, tuple(start), tuple(extent), sums)
    return files, chunks


# --- comparison and communication -------------------------------------------------------------------------------------


def _things(draft: Draft, boxes: Sequence[Sequence[Held] | None], processes: Processes) -> Iterator[tuple[str, str]]:
    """Yield, by name, everything that must be equal in all processes, including values that are not sharded."""
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
def _announcing(meeting: Rendezvous, topic: str) -> Iterator[dict[str, Any]]:
    """Send the other processes the dict that the block of process 0 fills, or its error."""
    message: dict[str, Any] = {}
    try:
        with storage_errors(_SAVING):
            yield message
    except BaseException as error:
        with suppress(ProcessError):
            meeting.announce(topic, values.pack({"failed": _failure(error)}))
        raise
    meeting.announce(topic, values.pack(message))


def _receive(meeting: Rendezvous, topic: str) -> dict[str, Any]:
    """Return what process 0 has sent.

    Raises:
        SaveError: process 0 failed.
    """
    message: dict[str, Any] = values.unpack(meeting.heard(topic))
    if "failed" in message:
        raise _remote_failure(0, message["failed"])
    return message


@contextmanager
def _meeting_at_end(meeting: Rendezvous) -> Iterator[None]:
    """Wait at the end of the block for all processes; a process that fails tells the others.

    Raises:
        SaveError: another process failed.
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
            raise _remote_failure(process, failure.decode())


def _failure(error: BaseException) -> str:
    received = getattr(error, "received", None)
    return f"{type(error).__name__}: {received if received is not None else error}"[:1000]


def _remote_failure(process: int, failure: str) -> SaveError:
    return SaveError(
        f"process {process} could not save its share: {failure}",
        "a checkpoint is complete or is not there at all; nothing was published",
        f"read the error of process {process}, then save again",
    )
