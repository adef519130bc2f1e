"""What an index says at a glance: checked as a whole, by its checksum, but not record by record."""

from typing import Any, NamedTuple

from graftax.checkpoint import values
from graftax.checkpoint.envelope import LIMIT, opened
from graftax.checkpoint.names import GRAPH, STAGING
from graftax.checkpoint.storage import Storage
from graftax.core.errors import CheckpointError, CorruptMetadata, LimitExceeded


class Summary(NamedTuple):
    """The head of an index: step, time in nanoseconds, bytes and number of arrays, own values, what it refers to."""

    step: int | None
    created: int
    nbytes: int
    tensors: int
    meta: dict[str, Any]
    targets: tuple[str, ...]


def summary(storage: Storage, path: str) -> Summary:
    """Read the index of a checkpoint.

    Raises:
        CheckpointError: it is damaged, or not to be read.
        OSError: it is not there.
    """
    folder = storage.open(path)
    try:
        size = folder.size(GRAPH)
        if size > LIMIT:
            raise LimitExceeded(f"{GRAPH} of {size:,} bytes", f"at most {LIMIT:,} are read")
        data = bytearray(size)
        count = folder.read_into(memoryview(data), GRAPH, 0)
    finally:
        folder.close()
    top = values.unpack_some(opened(bytes(data[:count])), ("created", "files", "step", "meta"), "tensors")
    match top:
        case {"created": int(created), "files": list(files), "tensors": int(tensors)}:
            step, meta = top.get("step"), top.get("meta")
            sizes, targets = 0, []
            for file in files:
                match file:
                    case [str(), int(size), int(), int(), None]:
                        sizes += size
                    case [str(), int(), int(), int(), str(target)]:
                        targets.append(target)
            return Summary(
                step if type(step) is int else None,
                created,
                sizes,
                tensors,
                meta if type(meta) is dict else {},
                tuple(dict.fromkeys(targets)),
            )
    raise CorruptMetadata("no created, files or tensors in the index", "it was damaged or forged")


def referrers(storage: Storage, folder: str, name: str) -> list[str]:
    """Return the names of the checkpoints in a folder that refer to the one of that name, those put aside included."""
    try:
        names = sorted(storage.names(folder))
    except OSError:
        return []
    found = []
    for other in names:
        match = STAGING.fullmatch(other)
        if other == name or (match and match["trash"]):
            continue
        path = storage.join(folder, other)
        try:
            if storage.is_checkpoint(path) and name in summary(storage, path).targets:
                found.append(other)
        except (CheckpointError, OSError):  # it cannot be read, and so refers to nothing that could
            continue
    return found
