"""Names of files and directories that checkpoints are made of, and of what a killed save leaves behind."""

import re

GRAPH = "graph.msgpack"
"""The index, which is written last."""

DATA = re.compile(r"data-[0-9]{5}-[0-9]{5}\.safetensors", re.ASCII)
TABLE = re.compile(r"chunks-[0-9]{5}-[0-9]{5}\.table", re.ASCII)

PART = re.compile(r"part-[0-9]{5}\.msgpack", re.ASCII)
"""What a process tells the first of its share; gone before a checkpoint is published."""

STAGING = re.compile(
    r"\.(?P<name>.+)\.(?P<state>tmp|old)-(?P<nonce>[0-9a-f]{16})|\.trash-(?P<trash>[0-9a-f]{16})", re.DOTALL
)
"""Directories that a save or a deletion is at work on, or left behind when it was killed."""

OWNER = re.compile(r"\.owner-(?P<nonce>[0-9a-f]{16})")
"""The record of the process that is at work on those of the same number."""


def data_name(process: int, number: int) -> str:
    """Return the name of a data file."""
    return f"data-{process:05d}-{number:05d}.safetensors"


def table_name(process: int, number: int) -> str:
    """Return the name of a chunk table."""
    return f"chunks-{process:05d}-{number:05d}.table"


def part_name(process: int) -> str:
    """Return the name under which a process tells the first of its share."""
    return f"part-{process:05d}.msgpack"


def is_part(name: str) -> bool:
    """Return True if a save makes files of that name."""
    return name == GRAPH or any(kind.fullmatch(name) for kind in (DATA, TABLE, PART))
