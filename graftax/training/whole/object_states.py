"""What plain objects of a model hold since their construction, such as a vocabulary: saved, and set again."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import ArgumentError, CorruptCheckpoint
from graftax.training.whole.description import Describing
from graftax.training.whole.differences import compare_attributes, is_plain_object, left_out
from graftax.training.whole.rebuilding import Rebuilding


def add_states(states: list[list[Any]], done: set[int], describing: Describing, making: Rebuilding) -> None:
    """Add the number of each described object that differs from its twin, and names and values of what differs.

    Twins get the values at once.

    Args:
        states: Where they are added.
        done: The numbers that have been looked at; those that are looked at now are added.
        describing: The description of the model so far.
        making: The object that has made the twins.

    Raises:
        ArgumentError: a value could not be restored by ``load_model``.
    """
    while waiting := [number for number in describing.objects if number not in done]:  # values may hold further ones
        for number in waiting:
            done.add(number)
            one, twin = describing.objects[number], making.made.get(number)
            if one is twin or not is_plain_object(one) or type(one) is not type(twin):
                continue
            kind = type(one)
            for name, value in [*compare_attributes(one, twin, left_out(kind))]:
                try:
                    entry = [number, name, describing.value(value, f"{kind.__name__}.{name}")]
                except ArgumentError as error:
                    error.add_context(
                        f"{kind.__name__}.{name} was assigned after the construction; "
                        f'untracked = frozenset({{"{name}"}}) in the class leaves it out of files'
                    )
                    raise
                states.append(entry)
                _set(entry, making)


def set_states(states: list[list[Any]], making: Rebuilding) -> list[list[Any]]:
    """Set what objects of a loaded model held; return the entries of objects that are not there yet.

    Args:
        states: What `add_states` has added.
        making: The object that has rebuilt the model.

    Raises:
        CorruptCheckpoint: the description has an object or attribute that cannot be set.
    """
    return [entry for entry in states if not _set(entry, making)]


def _set(entry: list[Any], making: Rebuilding) -> bool:
    number, name, described = entry
    if number not in making.made:
        return False
    made = making.made[number]
    if not is_plain_object(made) or not isinstance(name, str) or name.startswith(("__", "_gx_")):
        raise CorruptCheckpoint(
            f"the attribute {name!r:.60} of a {type(made).__name__} in the description of a model",
            "it is none that a file sets",
            "another copy of the file",
        )
    vars(made)[name] = making.value(described)
    return True
