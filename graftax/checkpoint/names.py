"""Names of the files and directories of checkpoints, and of those that a killed save leaves behind."""

import re

GRAPH = "graph.msgpack"
"""The index, which is written last."""

DATA = re.compile(r"data-[0-9]{5}-[0-9]{5}\.safetensors", re.ASCII)
TABLE = re.compile(r"chunks-[0-9]{5}-[0-9]{5}\.table", re.ASCII)

PART = re.compile(r"part-[0-9]{5}\.msgpack", re.ASCII)
"""The records of a process for process 0; deleted before the checkpoint is published."""

STAGING = re.compile(
    r"\.(?P<name>.+)\.(?P<state>tmp|old)-(?P<nonce>[0-9a-f]{16})|\.trash-(?P<trash>[0-9a-f]{16})", re.DOTALL
)
"""Directories that a save or a deletion is using, or that it left behind when it was killed."""

OWNER = re.compile(r"\.owner-(?P<nonce>[0-9a-f]{16})")
"""The record of the process that uses the directories with the same number."""


def data_name(process: int, number: int) -> str:
    """Return the name of a data file."""
    return f"data-{process:05d}-{number:05d}.safetensors"


def table_name(process: int, number: int) -> str:
    """Return the name of a chunk table."""
    return f"chunks-{process:05d}-{number:05d}.table"


def part_name(process: int) -> str:
    """Return the name of the file with the records of a process for process 0."""
    return f"part-{process:05d}.msgpack"


def is_part(name: str) -> bool:
    """Return True if a save writes files of that name."""
    return name == GRAPH or any(kind.fullmatch(name) for kind in (DATA, TABLE, PART))
