"""Sizes that are free while a program is exported: a name such as ``batch``, known only when the program runs."""

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
