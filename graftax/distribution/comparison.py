"""Comparing a program between processes before its first run, since differences would give wrong results silently.

A program on the devices of several processes requires that all processes run the same program, with equal values of
replicated arrays. The libraries below do not check this: weights would diverge, or all processes would hang.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np

from graftax.backend.processes import Processes
from graftax.backend.rendezvous import Rendezvous, process_group
from graftax.core import tree
from graftax.core.short_traceback import door
from graftax.distribution.moving import optimizers_beside, variables_below
from graftax.distribution.placing import Placing
from graftax.variables import keys
from graftax.variables.graph.module import Module
from graftax.variables.state.home import Assigned, Housed
from graftax.variables.variable import Variable

_WHOLE = 1 << 20
"""The largest size in bytes of a replicated Variable whose value is compared."""

_SAME = (
    "the same seed, model, batch size and rules in every process; graftax.distribution.initialize() before the model "
    "is made gives all one seed"
)

_ASSIGN = "variable.assign(value) in every process, with one value; not below `if is_main():`"


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
    processes = process_group()
    if processes is None:
        return
    things = [
        ("the global seed", str(keys.get_random_seed())),
        ("the mesh", f"{dict(distribution.mesh.shape)} of {[str(one) for one in distribution.mesh.devices.flat]}"),
        ("the rules", repr([rule.text for rule in distribution.rules])),
        *_number_labels("the variable", [_cell(cell, processes) for cell in cells]),
        *_number_labels("argument", [(str(i), _argument(one, processes)) for i, one in enumerate(arguments)]),
        ("the compiled program", _digest(text().encode())),
    ]
    Rendezvous(processes, "the first run of a compiled function").agree(things, _SAME)


def compare_assigned(variables: Iterable[Variable]) -> None:
    """Compare the eager assignments of Variables since the last comparison.

    Raises:
        ProcessError: the processes have assigned different Variables or values; the message names process and Variable.
    """
    processes = process_group()
    if processes is None:
        return
    counts = Assigned.counts_of(v._storage for v in variables if v.role != "metric")  # those begin anew
    told = [(_cell(cell, processes), count) for cell, count in counts.items()]
    cells = [(name, text if ", value " in text else f"{text}, assigned {count} times") for (name, text), count in told]
    meeting = Rendezvous(processes, "what was assigned")
    meeting.agree(
        list(_number_labels("the variable", cells)),
        _ASSIGN,
    )
    meeting.forget()
    Assigned.forget(counts)


@door
def compare(*modules: Module) -> None:
    """Compare the Variables of some Modules with those of the other processes; alone, do nothing. All call it.

    Compiled functions keep processes alike that began alike, so this is for what a program does beside them: values
    that one process alone has assigned, or read from a file of its own. Of each Variable, path, shape, dtype and place
    are compared; the value, too, where each process has the whole of it; of others, how often eager code has assigned
    them. ``fit`` and a save compare by themselves what was assigned; a loop of one's own calls this now and then,
    such as once an epoch, since every value comes to the host.

    Args:
        *modules: Models, layers, optimizers; with a compiled model its optimizer.

    Raises:
        ProcessError: something differs; names the process and the Variable, and is raised by all.
        ArgumentError: nothing was given.
        ArgumentTypeError: something is no Module.

    Example:
        >>> import graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(2)])
        >>> model.build((None, 3))
        >>> compare(model)
    """
    given = [*modules, *(one for module in modules for one in optimizers_beside(module))]
    found = [v for v in variables_below(given)[0].values() if v.role != "metric"]  # those begin anew
    processes = process_group()
    if processes is None:
        return
    counts = Assigned.counts_of(v._storage for v in found)
    cells = []
    for variable in found:
        name, text = _cell(variable._storage, processes, sys.maxsize)
        if variable._storage.home is None:
            text += f", value {_value(variable.numpy())}"
        elif ", value " not in text:
            text += f", assigned {counts.get(variable._storage, 0)} times"
        cells.append((name, text))
    meeting = Rendezvous(processes, "compare")
    meeting.agree(list(_number_labels("the variable", cells)), _ASSIGN)
    meeting.forget()
    Assigned.forget(counts)


def compare_rows(batch: object, steps: int | None) -> None:
    """Compare the first batch of a loop, and the number of batches, which must be equal in all processes.

    Raises:
        ProcessError: a part of the batch differs; the message names the process and the part.
    """
    processes = process_group()
    if processes is not None:
        things = [("the global seed", str(keys.get_random_seed()))]
        things += [(f"part {path}", _value(leaf)) for path, leaf in tree.flatten_with_paths(batch)]
        things += [("the number of batches", str(steps))]
        Rendezvous(processes, "the first batch").agree(
            things,
            "the same seed and arrays in every process; graftax.distribution.LocalRows(batches) where each has its own",
        )


def _number_labels(kind: str, named: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield things with unique labels."""
    seen: set[str] = set()
    for i, (name, text) in enumerate(named):
        label = f"{kind} {name}"
        yield (label if label not in seen else f"{label} ({i})"), text
        seen.add(label)


def _cell(cell: Housed, processes: Processes, most: int = _WHOLE) -> tuple[str, str]:
    home: Any = cell.home
    axes = "" if home is None else f", split by {home.axes}"
    buffer: Any = cell.buffer  # type: ignore[attr-defined]
    return (
        cell.path or "(a variable without a path)"
    ), f"{_kind(buffer)}{axes}{_describe_value(buffer, processes, most)}"


def _argument(value: Any, processes: Processes) -> str:
    if not hasattr(value, "shape") or processes.boxes(value) is None:
        return _value(value)
    return f"{_kind(value)}, {getattr(value.sharding, 'spec', value.sharding)}{_describe_value(value, processes)}"


def _kind(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _describe_value(array: Any, processes: Processes, most: int = _WHOLE) -> str:
    """Return the value of a replicated array that is not too large; otherwise nothing."""
    held = processes.boxes(array)
    if held is None or len(held) != 1 or prod(array.shape) * array.dtype.itemsize > most:
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
