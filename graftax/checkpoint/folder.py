"""A quick listing of a folder of checkpoints: each index is checked by its checksum, but not record by record."""

from typing import NamedTuple

from graftax.checkpoint.folder_index import Summary, summary
from graftax.checkpoint.names import GRAPH, OWNER, STAGING
from graftax.checkpoint.places import place_of
from graftax.checkpoint.storage import Storage
from graftax.core.errors import CheckpointError, NotACheckpoint


class Entry(NamedTuple):
    """One entry of the folder.

    ``state``: ``checkpoint``, ``unfinished``, ``displaced``, ``deleted``, ``damaged`` or ``foreign``; ``note`` says why
    it is not the first. ``targets`` are the checkpoints that it refers to.
    """

    name: str
    state: str
    note: str = ""
    step: int | None = None
    created: int = 0
    nbytes: int = 0
    tensors: int = 0
    targets: tuple[str, ...] = ()


def entries(folder: str) -> list[Entry]:
    """Return all entries of a folder, or a single one if the path is a checkpoint itself.

    Raises:
        NotACheckpoint: there is no such folder.
    """
    storage, folder = place_of(folder)
    if storage.is_checkpoint(folder):
        return [_entry(storage, *storage.split(folder), ())]
    try:
        names = sorted(storage.names(folder), key=natural_key)
    except OSError as error:
        raise NotACheckpoint(
            f"{folder} cannot be listed",
            f"{error.strerror or 'there is no such folder'}",
            "give a folder of checkpoints",
        ) from error
    return [_entry(storage, folder, name, names) for name in names if not OWNER.fullmatch(name)]


def natural_key(name: str) -> tuple[object, ...]:
    """Return a sort key that puts ``step-9`` before ``step-10``."""
    digits = ""
    for c in reversed(name):
        if not ("0" <= c <= "9"):
            break
        digits = c + digits
    return (name[: len(name) - len(digits)], int(digits[-18:] or 0), name)


def _entry(storage: Storage, folder: str, name: str, beside: "list[str] | tuple[str, ...]") -> Entry:
    path = storage.join(folder, name)
    if match := STAGING.fullmatch(name):
        if match["name"] is not None and storage.is_checkpoint(path):
            return _set_aside(storage, folder, name, match["name"])
        return Entry(name, "deleted" if match["name"] is None else "unfinished", "left by a process that was killed")
    if not storage.is_checkpoint(path):
        try:
            inside = storage.names(path) if storage.is_directory(path) else []
        except OSError as error:
            return Entry(name, "foreign", f"cannot be listed: {error.strerror}")
        if any(part.startswith("data-") for part in inside):
            return Entry(name, "unfinished", f"no {GRAPH}, which is written last")
        return Entry(name, "foreign", "no checkpoint")
    try:
        found = summary(storage, path)
    except (CheckpointError, OSError) as error:
        return Entry(name, "damaged", str(error).splitlines()[0])
    missing = [target for target in found.targets if beside and target not in beside]
    if missing:
        return _describe_entry(name, "damaged", f"refers to {', '.join(missing)}, which is not here", found)
    note = f"refers to {', '.join(found.targets)}" if found.targets else ""
    return _describe_entry(name, "checkpoint", note, found)


def _describe_entry(name: str, state: str, note: str, summary: Summary) -> Entry:
    return Entry(name, state, note, summary.step, summary.created, summary.nbytes, summary.tensors, summary.targets)


def _set_aside(storage: Storage, folder: str, name: str, final: str) -> Entry:
    """Return the entry of a complete checkpoint with a hidden name, left by an overwrite that was killed."""
    here = _entry(storage, folder, final, ())
    try:
        found = summary(storage, storage.join(folder, name))
    except (CheckpointError, OSError):
        return Entry(name, "unfinished", "left by a process that was killed")
    if here.state != "checkpoint":
        note = f"a killed save was writing {final}, and this copy is complete; rename it to get it"
    elif here.created >= found.created:
        note = f"a killed save had replaced it by {final}; rename it to get it back"
    else:
        note = f"a killed save had it complete, but not yet in place of {final}; rename it to get it"
    return _describe_entry(name, "displaced", note, found)
