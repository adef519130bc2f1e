"""What lies in a folder of checkpoints, told quickly: each index is checked as a whole but not record by record."""

import os
from typing import Any, NamedTuple

from graftax.checkpoint import values
from graftax.checkpoint.envelope import LIMIT, opened
from graftax.checkpoint.reader import GRAPH, STAGING, is_checkpoint, located
from graftax.core.errors import CheckpointError, CorruptMetadata, LimitExceeded, NotACheckpoint


class Entry(NamedTuple):
    """One name in the folder. ``state``: ``checkpoint``, ``unfinished``, ``displaced``, ``deleted``, ``damaged`` or
    ``foreign``; ``note`` says why it is not the first."""

    name: str
    state: str
    note: str = ""
    step: int | None = None
    created: int = 0
    nbytes: int = 0
    tensors: int = 0


def entries(folder: str) -> list[Entry]:
    """Everything in a folder, or the one checkpoint that is there itself.

    Raises:
        NotACheckpoint: there is no such folder.
    """
    if is_checkpoint(folder):
        return [_entry(*os.path.split(os.path.abspath(folder)))]
    try:
        names = sorted(os.listdir(folder), key=_natural)
    except OSError as error:
        raise NotACheckpoint(
            f"{folder} cannot be listed", f"{error.strerror}", "give a folder of checkpoints"
        ) from error
    return [_entry(folder, name) for name in names]


def _natural(name: str) -> tuple[object, ...]:
    """``step-9`` before ``step-10``."""
    digits = ""
    for c in reversed(name):
        if not ("0" <= c <= "9"):
            break
        digits = c + digits
    return (name[: len(name) - len(digits)], int(digits[-18:] or 0), name)


def _entry(folder: str, name: str) -> Entry:
    path = os.path.join(folder, name)
    if match := STAGING.fullmatch(name):
        if match["state"] == "old" and is_checkpoint(path):
            return Entry(name, "displaced", f"a killed save was replacing {match['name']}; rename it to get that back")
        return Entry(name, "deleted" if match["name"] is None else "unfinished", "left by a process that was killed")
    if not is_checkpoint(path):
        if os.path.isdir(path) and any(n.startswith("data-") for n in os.listdir(path)):
            return Entry(name, "unfinished", f"no {GRAPH}, which is written last")
        return Entry(name, "foreign", "no checkpoint")
    try:
        with located(path):
            return _summary(name, os.path.join(path, GRAPH))
    except (CheckpointError, OSError) as error:
        return Entry(name, "damaged", str(error).splitlines()[0])


def _summary(name: str, graph: str) -> Entry:
    size = os.stat(graph).st_size
    if size > LIMIT:
        raise LimitExceeded(f"{GRAPH} of {size:,} bytes", f"at most {LIMIT:,} are read")
    with open(graph, "rb") as file:
        top = values.unpack(opened(file.read(LIMIT)))
    match top:
        case {"created": int(created), "files": list(files), "tensors": list(tensors)}:
            return Entry(name, "checkpoint", "", _integer(top.get("step")), created, _bytes(files), len(tensors))
    raise CorruptMetadata("no created, files or tensors in the index", "it was damaged or forged")


def _integer(step: Any) -> int | None:
    return step if type(step) is int else None


def _bytes(files: list[Any]) -> int:
    return sum(size for file in files if type(file) is list and len(file) == 4 and type(size := file[1]) is int)
