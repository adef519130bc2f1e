"""Comparing a program between processes before its first run, since differences would give wrong results silently.

A program on the devices of several processes requires that all processes run the same program, with equal values of
replicated arrays. The libraries below do not check this: weights would diverge, or all processes would hang.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np

from graftax.backend.processes import Processes
from graftax.backend.rendezvous import Rendezvous, several
from graftax.core import tree
from graftax.distribution.placing import Placing
from graftax.variables import keys
from graftax.variables.state.assigned import Assigned
from graftax.variables.state.home import Housed
from graftax.variables.variable import Variable

_WHOLE = 1 << 20
"""The largest size in bytes of a replicated Variable whose value is compared."""

_SAME = (
    "the same seed, model, batch size and rules in every process; graftax.distribution.initialize() before the model "
    "is made gives all one seed"
)


def compare_programs(
    distribution: Placing, cells: Sequence[Housed], arguments: Sequence[Any], text: Callable[[], str]
) -> None:
    """Compare a program and its inputs with the other processes, if there are any.

    Args:
        distribution: The distribution of the program.
        cells: The Variables that it reads and assigns.
        arguments: The arguments of the call.
        text: Returns the text of the program.

    Raises:
        ProcessError: something differs; the message names the process and the difference.
    """
    processes = several()
    if processes is None:
        return
    things = [
        ("the global seed", str(keys.get_random_seed())),
        ("the mesh", f"{dict(distribution.mesh.shape)} of {[str(one) for one in distribution.mesh.devices.flat]}"),
        ("the rules", repr([rule.text for rule in distribution.rules])),
        *_numbered("the variable", [_cell(cell, processes) for cell in cells]),
        *_numbered("argument", [(str(i), _argument(one, processes)) for i, one in enumerate(arguments)]),
        ("the compiled program", _digest(text().encode())),
    ]
    Rendezvous(processes, "the first run of a compiled function").agree(things, _SAME)


def compare_assigned(variables: Iterable[Variable]) -> None:
    """Compare the eager assignments of Variables since the last comparison.

    Raises:
        ProcessError: the processes have assigned different Variables or values; the message names process and Variable.
    """
    processes = several()
    if processes is None:
        return
    counts = Assigned.among(v._storage for v in variables if v.role != "metric")  # those begin anew
    told = [(_cell(cell, processes), count) for cell, count in counts.items()]
    cells = [(name, text if ", value " in text else f"{text}, assigned {count} times") for (name, text), count in told]
    meeting = Rendezvous(processes, "what was assigned")
    meeting.agree(
        list(_numbered("the variable", cells)),
        "variable.assign(value) in every process, with one value; not below `if is_main():`",
    )
    meeting.forget()
    Assigned.forget(counts)


def compare_rows(batch: object, steps: int | None) -> None:
    """Compare the first batch of a loop, and the number of batches, which must be equal in all processes.

    Raises:
        ProcessError: a part of the batch differs; the message names the process and the part.
    """
    processes = several()
    if processes is not None:
        things = [("the global seed", str(keys.get_random_seed()))]
        things += [(f"part {path}", _value(leaf)) for path, leaf in tree.flatten_with_paths(batch)]
        things += [("the number of batches", str(steps))]
        Rendezvous(processes, "the first batch").agree(
            things,
            "the same seed and arrays in every process; graftax.distribution.LocalRows(batches) where each has its own",
        )


def _numbered(what: str, named: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield things with unique labels."""
    seen: set[str] = set()
    for i, (name, text) in enumerate(named):
        label = f"{what} {name}"
        yield (label if label not in seen else f"{label} ({i})"), text
        seen.add(label)


def _cell(cell: Housed, processes: Processes) -> tuple[str, str]:
    home: Any = cell.home
    axes = "" if home is None else f", split by {home.axes}"
    buffer: Any = cell.buffer  # type: ignore[attr-defined]
    return (cell.path or "(a variable without a path)"), f"{_kind(buffer)}{axes}{_whole(buffer, processes)}"


def _argument(one: Any, processes: Processes) -> str:
    if not hasattr(one, "shape") or processes.boxes(one) is None:
        return _value(one)
    return f"{_kind(one)}, {getattr(one.sharding, 'spec', one.sharding)}{_whole(one, processes)}"


def _kind(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _whole(array: Any, processes: Processes) -> str:
    """Return the value of a replicated array that is not too large; otherwise nothing."""
    held = processes.boxes(array)
    if held is None or len(held) != 1 or prod(array.shape) * array.dtype.itemsize > _WHOLE:
        return ""
    return f", value {_digest(np.ascontiguousarray(processes.part(array, *held[0][:2])).tobytes())}"


def _value(leaf: Any) -> str:
    if leaf is None:
        return "None"
    found = np.asarray(leaf)
    content = repr(found.tolist()).encode() if found.dtype.kind == "O" else np.ascontiguousarray(found).tobytes()
    return f"{found.dtype}{list(found.shape)} {_digest(content)}"


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=6).hexdigest()
