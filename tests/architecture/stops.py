"""The way of a value through the package: which functions of ours it passes in an eager run, and in which files.

A stop is a function of the package that gets the value, by itself or inside of what it is given, and that either hands
it on (its result has it, or what was computed from it) or is under way when the value arrives. What only looks at a
value and returns without it, a check for example, is none. Functions of `graftax.ops`, of the backends, and those that
rules of optimizers compute averages and roots with, compute with values: they are where a value is used, and no stop on
its way. A return is a step back into a file that it has left.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tests.architecture.plan import PACKAGE

ARITHMETIC = PACKAGE / "optimizers" / "engine" / "arithmetic.py"
COMPUTING = tuple(map(str, (PACKAGE / "ops", PACKAGE / "backend", ARITHMETIC)))
_DEPTH = 4


class Way(NamedTuple):
    """Where a value went: the functions in their order, and the files one after another, those returned to again."""

    stops: list[str]
    files: list[str]

    @property
    def returns(self) -> int:
        """How often it came back into a file that it had left."""
        return len(self.files) - len(set(self.files))


class _Visit:
    """One call of a function that got the value."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.passed = False


def way(run: Callable[[], Any], value: Any, arrived: Callable[[FrameType], bool]) -> Way:
    """Return the way of a value through a run.

    Args:
        run: What to run.
        value: What is followed, with all arrays that functions compute from it.
        arrived: Says of the frame of a call that the value has arrived in it, which ends the way.
    """
    followed: dict[int, Any] = {id(value): value}
    visits: list[_Visit] = []
    moves: list[tuple[_Visit, str]] = []  # which call brought the value into a file, by being entered or by returning
    done = False

    def watch(frame: FrameType, event: str, given: Any) -> None:
        nonlocal done
        if done or not _is_ours(frame.f_code):
            return
        if event == "call":
            if _holds([frame.f_locals[name] for name in frame.f_locals], followed):
                visit = _Visit(frame)
                visits.append(visit)
                moves.append((visit, _file(frame.f_code)))
            if arrived(frame):
                done = True
                for visit in visits:
                    visit.passed = visit.passed or _is_around(frame, visit.frame)
        elif event == "return":
            visit = next((one for one in reversed(visits) if one.frame is frame), None)
            if visit is not None and (found := list(_arrays(given))):
                visit.passed = True
                followed.update((id(one), one) for one in found)
                caller = _ours_around(frame.f_back)
                if caller is not None:
                    moves.append((visit, _file(caller.f_code)))

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    assert done, "the value never arrived"
    codes = dict.fromkeys(visit.frame.f_code for visit in visits if visit.passed)
    files: list[str] = []
    for visit, file in moves:
        if visit.passed and files[-1:] != [file]:
            files.append(file)
    return Way([f"{_file(code)}:{code.co_qualname}" for code in codes], files)


def _is_ours(code: CodeType) -> bool:
    """Return True for a function with a source in the package; a comprehension is a part of the function around it."""
    if code.co_name.startswith("<"):
        return False
    return code.co_filename.startswith(str(PACKAGE)) and not code.co_filename.startswith(COMPUTING)


def _file(code: CodeType) -> str:
    return code.co_filename.removeprefix(f"{PACKAGE}/")


def _ours_around(frame: FrameType | None) -> FrameType | None:
    while frame is not None and not _is_ours(frame.f_code):
        frame = frame.f_back
    return frame


def _is_around(inner: FrameType | None, outer: FrameType) -> bool:
    while inner is not None and inner is not outer:
        inner = inner.f_back
    return inner is outer


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    elif type(value).__name__ == "Update":
        yield value.gradient


def _holds(values: list[Any], followed: dict[int, Any], depth: int = _DEPTH) -> bool:
    return any(
        followed.get(id(one)) is one or (depth > 0 and _holds(list(_parts(one)), followed, depth - 1)) for one in values
    )


def _arrays(value: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """The arrays in a result; a Variable is none, nor its value."""
    if hasattr(value, "dtype") and hasattr(value, "__array__") and not hasattr(value, "assign"):
        yield value
    elif depth:
        for one in _parts(value):
            yield from _arrays(one, depth - 1)
