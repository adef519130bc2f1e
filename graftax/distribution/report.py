"""PlacementReport: the placement of Variables, and the bytes on each device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graftax.backend.meshes import Axes
from graftax.core.typedefs import Shape
from graftax.distribution.axes import parts
from graftax.distribution.moving import variables_below
from graftax.distribution.placing import SPLIT_ROLES, Placing
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class PlacementRow(NamedTuple):
    """The placement of one Variable."""

    path: str
    shape: Shape
    dtype: str
    axes: Axes
    """The axes that split each dimension."""
    bytes: int
    bytes_per_device: int
    why: str


class PlacementReport:
    """The placement of Variables: print it, or compare ``rows`` in a test.

    Args:
        title: The first line.
        rows: One row for each Variable.

    Example:
        >>> row = PlacementRow("kernel", (4, 2), "float32", ("data", None), 32, 8, "the largest dimension")
        >>> print(PlacementReport("over 4 devices", (row,)))
        over 4 devices
        path    shape   axes          each device  why
        kernel  (4, 2)  (data, None)          8 B  the largest dimension
        1 Variable: 8 B on each device of 32 B
    """

    def __init__(self, title: str, rows: Sequence[PlacementRow]) -> None:
        self.title = title
        self.rows = tuple(rows)

    @property
    def bytes(self) -> int:
        """Return the bytes of all Variables."""
        return sum(row.bytes for row in self.rows)

    @property
    def bytes_per_device(self) -> int:
        """Return the bytes on each device."""
        return sum(row.bytes_per_device for row in self.rows)

    def __str__(self) -> str:
        table = [("path", "shape", "axes", "each device", "why")]
        table += [
            (row.path, str(row.shape), shown_axes(row.axes), shown_bytes(row.bytes_per_device), row.why)
            for row in self.rows
        ]
        widths = [max(len(line[i]) for line in table) for i in range(4)]
        lines = [
            "  ".join((*(f"{cell:<{width}}" for cell, width in zip(line[:3], widths, strict=False)),
                       f"{line[3]:>{widths[3]}}", line[4])).rstrip()
            for line in table
        ]  # fmt: skip
        count = f"{len(self.rows)} Variable{'s' if len(self.rows) != 1 else ''}"
        total = f"{count}: {shown_bytes(self.bytes_per_device)} on each device of {shown_bytes(self.bytes)}"
        return "\n".join([self.title, *lines, total])

    def __repr__(self) -> str:
        return f"<PlacementReport of {len(self.rows)} Variables, {shown_bytes(self.bytes_per_device)} on each device>"


def shown_axes(axes: Axes) -> str:
    """Return the text of axes for a table.

    Example:
        >>> shown_axes((None, ("data", "model"))), shown_axes((None, None))
        ('(None, data+model)', 'whole')
    """
    if all(entry is None for entry in axes):
        return "whole"
    cells = ["None" if e is None else e if isinstance(e, str) else "+".join(e) for e in axes]
    return f"({', '.join(cells)}{',' if len(cells) == 1 else ''})"


def shown_bytes(count: int) -> str:
    """Return the text of a number of bytes.

    Example:
        >>> shown_bytes(12), shown_bytes(5_400_000)
        ('12 B', '5.1 MiB')
    """
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def report(distribution: Placing, modules: Sequence[Module]) -> PlacementReport:
    """Return the placement of the Variables of Modules."""
    variables, slots = variables_below(modules)
    rows = [_row(distribution, path, variable, slots.get(id(variable))) for path, variable in variables.items()]
    sizes = ", ".join(f"{name}={size}" for name, size in distribution.mesh.shape.items())
    used = math.prod(distribution.mesh.shape.values())
    idle = len(distribution.backend.meshes.devices()) - used
    devices = f"{used} device{'s' if used != 1 else ''}" + (f", {idle} idle" if idle > 0 else "")
    return PlacementReport(f"{type(distribution).__name__} over mesh({sizes}), {devices}", rows)


def _row(distribution: Placing, path: str, variable: Variable, main_variable: Variable | None) -> PlacementRow:
    size = math.prod(variable.shape) * np.dtype(variable.dtype).itemsize
    home = variable._storage.home
    whole: Axes = (None,) * len(variable.shape)
    axes: Axes = whole if home is None or not home.fixed else getattr(home, "axes", whole)
    if home is None:
        why = "not placed: on the default device"
    elif main_variable is not None:
        why = f"as {main_variable.path}"
    elif not home.fixed and variable.role in SPLIT_ROLES:
        why = "not placed: beside the others of its program"
    else:
        decision = distribution.decide(variable)
        why = decision.why if decision.axes == axes else "placed by another distribution"
    return PlacementRow(path, variable.shape, variable.dtype, axes, size, size // parts(distribution.mesh, axes), why)
