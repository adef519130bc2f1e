"""Units of a program, groups of a file, and how the Variables of a unit are made of the arrays of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.foreign_array import ForeignArray
from graftax.checkpoint.foreign.naming import Components, components_of_names
from graftax.checkpoint.foreign.numbering import stem_of
from graftax.core.typedefs import Shape
from graftax.variables.variable import Variable

Convert = Callable[..., HostArray]


class Choice(NamedTuple):
    """One way to make a Variable: the arrays of a group that it needs, the function, and a note for the report."""

    names: tuple[str, ...]
    convert: Convert
    note: str = ""


class Part(NamedTuple):
    """A Variable, its path from the module, and the ways to make it, the first that fits being taken."""

    variable: Variable
    path: str
    choices: tuple[Choice, ...]


class Made(NamedTuple):
    """The choice for a Variable, with the arrays that it uses."""

    part: Part
    choice: Choice
    arrays: tuple[ForeignArray, ...]


@dataclass
class Unit:
    """A layer, or a single Variable, that is paired as a whole.

    Args:
        path: From the module that is loaded.
        kind: The names of its class and its base classes, in snake case; empty for a single Variable.
        label: Its given name, or empty.
        parts: Its Variables.
        is_wanted: Whether any of them is selected.
        leaves_some: Whether a group may have more arrays than it needs, since a name map gives some to other units.
        goes_backwards: Whether a recurrent layer goes through a sequence from its end; None for other layers.
        unnamed: The places of parts of the path that nobody has named: ``layers`` of a Sequential. Defaults to none.
    """

    path: str
    kind: tuple[str, ...]
    label: str
    parts: list[Part]
    is_wanted: bool = True
    leaves_some: bool = False
    goes_backwards: bool | None = None
    unnamed: frozenset[int] = frozenset()

    def components(self, prefix: str = "") -> Components:
        """Return the parts of the path after a prefix, without those that nobody has named."""
        parts = self.path.split("/") if self.path else []
        first = len(prefix.split("/")) if prefix else 0
        return tuple(part for place, part in enumerate(parts) if place >= first and place not in self.unnamed)

    def shapes(self) -> str:
        """Return the shapes that it needs, for messages."""
        return ", ".join(f"{part.path.rpartition('/')[2]} {part.variable.shape}" for part in self.parts)


@dataclass
class Group:
    """The arrays of a file that belong to one layer, by their names within it; a single array has the name ``""``.

    Args:
        name: The name of the layer.
        arrays: The arrays.
        position: The place of the first one in the file.
        label: The ``name`` of the layer, given or numbered. Defaults to none.
        tied: The arrays that share the memory of earlier ones. Defaults to none.
    """

    name: str
    arrays: dict[str, ForeignArray]
    position: int
    label: str = ""
    tied: frozenset[str] = frozenset()

    @property
    def is_named(self) -> bool:
        """Return True if somebody gave the layer its ``name``: it is not the class with a number."""
        return self.label != "" and stem_of(self.label) != stem_of(self.name.rpartition("/")[2])

    def shapes(self) -> str:
        """Return the shapes that it has, for messages."""
        return ", ".join(f"{name or 'array'} {array.shape}" for name, array in self.arrays.items())


def take_apart(groups: Sequence[Group], units: Sequence[Unit]) -> list[Group]:
    """Return the groups, each array by itself where all of a group are Variables of a layer that no rule knows.

    Such a layer may call its Variables ``weight`` and ``bias``, as layers of the other library do.

    Args:
        groups: The groups of the file.
        units: The Variables that no rule knows.
    """
    known = {unit.components() for unit in units}
    found: list[Group] = []
    for group in groups:
        names = {key: array.name for key, array in group.arrays.items() if key}
        parts = components_of_names(list(names.values()))
        if names and len(names) == len(group.arrays) and all(_ends_in(one, known) for one in parts):
            found += [Group(name, {"": group.arrays[key]}, group.position) for key, name in names.items()]
        else:
            found.append(group)
    return found


def _ends_in(name: Components, known: set[Components]) -> bool:
    return any(name[-length:] in known for length in range(2, len(name) + 1)) or name in known


def fit_unit(unit: Unit, group: Group) -> list[Made] | None:
    """Return how a unit is made of all arrays of a group but tied ones; None if that is not possible."""
    made: list[Made] = []
    for part in unit.parts:
        for choice in part.choices:
            arrays = tuple(group.arrays[name] for name in choice.names if name in group.arrays)
            if len(arrays) == len(choice.names) and _has_shape(choice, arrays, tuple(part.variable.shape)):
                made.append(Made(part, choice, arrays))
                break
        else:
            return None
    used = {name for one in made for name in one.choice.names}
    return made if used | group.tied == set(group.arrays) or unit.leaves_some else None


def _has_shape(choice: Choice, arrays: tuple[ForeignArray, ...], shape: Shape) -> bool:
    size = prod(shape)
    if any(prod(array.shape) > size for array in arrays):  # a huge shape in a forged file must not allocate memory
        return False
    return _shape_of(choice.convert, tuple(array.shape for array in arrays)) == shape


@lru_cache(maxsize=4096)
def _shape_of(convert: Convert, shapes: tuple[Shape, ...]) -> Shape | None:
    try:
        return tuple(convert(*(np.zeros(shape, np.bool_) for shape in shapes)).shape)
    except (ValueError, IndexError, TypeError):
        return None


Choices = Mapping[str, tuple[Choice, ...]]
Rule = Callable[[Any], Choices]
"""A function of a layer that returns the choices for its Variables, by the names of its attributes."""
