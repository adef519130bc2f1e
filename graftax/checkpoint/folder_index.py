"""The summary of an index, which is checked by its checksum but not record by record."""

from typing import Any, NamedTuple

from graftax.checkpoint import values
from graftax.checkpoint.damaged import FORGED, corrupt_error
from graftax.checkpoint.envelope import LIMIT, open_envelope
from graftax.checkpoint.names import GRAPH, STAGING
from graftax.checkpoint.storage import Storage
from graftax.core.errors import CheckpointError, LimitExceeded


class Summary(NamedTuple):
    """The head of an index: step, time in nanoseconds, bytes, number of arrays, the user's values, and references."""

    step: int | None
    created: int
    nbytes: int
    tensors: int
    meta: dict[str, Any]
    targets: tuple[str, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """Return the numbers that a manager was given with the save."""
        found = self.meta.get("metrics")
        if type(found) is not dict:
            return {}
        return {name: float(value) for name, value in found.items() if type(value) in (int, float)}


def summary(storage: Storage, path: str) -> Summary:
    """Return the summary of the index of a checkpoint.

    Raises:
        CheckpointError: the index is damaged, or must not be read.
        OSError: there is no index.
    """
    folder = storage.open(path)
    try:
        size = folder.size(GRAPH)
        if size > LIMIT:
            raise LimitExceeded(f"{GRAPH} has {size:,} bytes", f"at most {LIMIT:,} bytes are read", FORGED)
        data = bytearray(size)
        count = folder.read_into(memoryview(data), GRAPH, 0)
    finally:
        folder.close()
    top = values.unpack_some(open_envelope(bytes(data[:count])), ("created", "files", "step", "meta"), "tensors")
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
    raise corrupt_error("no created, files or tensors", "an index must have all three")


def referrers(storage: Storage, folder: str, name: str) -> list[str]:
    """Return the names of all checkpoints in a folder that refer to this one, including displaced ones."""
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
        except (CheckpointError, OSError):  # an index that cannot be read cannot use its references
            continue
    return found
