"""Sizes that are free while a program is exported: a name such as ``batch``, known only when the program runs."""

import re
from collections.abc import Callable, Iterable

_tests: list[Callable[[object], bool]] = []


def add(test: Callable[[object], bool]) -> None:
    """Take what a backend calls a free size for one."""
    _tests.append(test)


def is_free(size: object) -> bool:
    """Tell whether it is a size of which only the name is known.

    Example:
        >>> is_free(3), is_free("batch")
        (False, False)
    """
    return type(size) is not int and any(test(size) for test in _tests)


def any_free(sizes: Iterable[object]) -> bool:
    """Tell whether one of the sizes is free."""
    return any(is_free(size) for size in sizes)


def equality_constraint(size: object, other: object) -> str | None:
    """Return the line to write where two sizes must be equal and at least one is free; None if none is.

    Args:
        size: A size, or the text of one.
        other: Another one.

    Example:
        >>> equality_constraint("n", "m"), equality_constraint("min(32, t)", "t"), equality_constraint(2, 3)
        ("one name for both in the Specs; or constraints=['n == m']", "constraints=['t <= 32']", None)
    """
    if isinstance(size, int) and isinstance(other, int):
        return None
    for cut, whole in ((str(size), str(other)), (str(other), str(size))):
        found = re.fullmatch(r"min\((.+), (.+)\)", cut)
        if found is not None and whole in found.groups():
            return f"constraints=['{whole} <= {found[1] if found[2] == whole else found[2]}']"
    cuts = [
        found for text in (str(size), str(other)) for found in re.findall(r"min\((?:(\w+), (\d+)|(\d+), (\w+))\)", text)
    ]
    if cuts:  # slices of at most so many
        name, most = max(((a or d, int(b or c)) for a, b, c, d in cuts), key=lambda cut: cut[1])
        return f"constraints=['{name} >= {most}']"
    return f"one name for both in the Specs; or constraints=['{size} == {other}']"
