"""The state of a callback without `get_state`: its plain attributes that have changed during training."""

from __future__ import annotations

import io
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from weakref import ref

import numpy as np

from graftax.checkpoint.values import MAX_DEPTH, MAX_LENGTH
from graftax.core import user_line
from graftax.core.keywords import Constructed
from graftax.core.ours import is_ours
from graftax.training.equal_values import are_equal
from graftax.training.hooks.callback import Callback
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

_ATOMS = frozenset({bool, int, float, complex, str, bytes, type(None)})

_DRAWS = "the state of a generator of random numbers"

_VALUE = "the value of a Variable"

_OF_THE_RUN = frozenset({"params", "model", "_model", "validation_data"})


def defines_get_state(callback: object) -> bool:
    """Tell whether a callback says what it remembers: it defines `get_state`, or is one of graftax.

    Example:
        >>> class Elsewhere:
        ...     pass
        >>> class Says(Callback):
        ...     def get_state(self):
        ...         return 3
        >>> defines_get_state(Elsewhere()), defines_get_state(Says())
        (False, True)
    """
    if not isinstance(callback, Callback):
        return hasattr(callback, "get_state") and hasattr(callback, "set_state")
    kind = type(callback)
    if kind.get_state is not Callback.get_state:
        return True
    bases = [base for base in kind.__mro__ if base not in (Callback, Constructed, object)]
    return any(map(is_ours, bases))


class PlainAttributes:
    """The attributes of a callback that differ from their values at the start of training, as its state.

    So settings are those of the present run, and counters continue.

    Args:
        callback: A callback that does not say what it remembers, after its ``on_train_begin``.
        but: Names of attributes that are left out. Defaults to none.
        saved: Returns the Variables that are saved beside what callbacks remember. Defaults to None: there are none.

    Example:
        >>> class Counts:
        ...     def __init__(self):
        ...         self.patience, self.seen = 3, 0
        >>> before, after = Counts(), Counts()
        >>> attributes = PlainAttributes(before)
        >>> before.seen = 5
        >>> PlainAttributes(after).set_state(attributes.get_state())
        >>> after.seen
        5
    """

    def __init__(
        self,
        callback: Any,
        but: frozenset[str] = frozenset(),
        saved: Callable[[], Iterable[Variable]] | None = None,
    ) -> None:
        self.callback = callback
        self._but = but
        self._saved = saved
        self._told: set[str] = set()
        self._begun = dict(_attributes(callback, but))
        elsewhere = self._ids_saved_elsewhere()
        self._values = {
            name: _copy_as_plain(found)
            for name, value in self._begun.items()
            if _is_plain(found := _tell_state(value, elsewhere))
        }
        self._objects = dict(_objects_in(self._begun))  # which others may hold, too, as the data of the run
        self._contents = {name: _contents(value) for name, value in self._begun.items() if name not in self._values}

    def get_state(self) -> dict[str, Any] | None:
        """Return the changed values by name, and names and types of those that cannot be saved; None for no changes."""
        kept: dict[str, Any] = {}
        lost: dict[str, str] = {}
        written: list[list[Any]] = []  # places of objects that are those of the start
        elsewhere = self._ids_saved_elsewhere()
        for name, value in _attributes(self.callback, self._but):
            if _is_plain(found := _tell_state(value, elsewhere)):
                now = _copy_as_plain(found)
                if name not in self._values or not are_equal(now, self._values[name]):
                    kept[name] = now
                    inside = _objects_in({name: value})
                    written += [list(place) for place, one in inside if self._objects.get(place) is one]
            elif id(value) not in elsewhere and self._has_changed(name, value):
                lost[name] = type(value).__name__
        return {"attributes": kept, "lost": lost, "written": written} if kept or lost else None

    def _has_changed(self, name: str, value: object) -> bool:
        """Tell whether an attribute that cannot be saved is another than at the start, or has changed."""
        is_other = self._begun.get(name) is not value
        if not isinstance(value, Module):
            return not callable(value) and (is_other or _contents(value) != self._contents.get(name))
        before: Any = {} if is_other else self._contents.get(name)
        elsewhere = self._ids_saved_elsewhere()
        now = {key: held for key, held in _values_of(value).items() if key not in elsewhere}
        return any(key not in before or before[key]() is not held() for key, held in now.items())

    def _ids_saved_elsewhere(self) -> frozenset[int]:
        """Return the ids of the Variables that are saved in another place."""
        return frozenset() if self._saved is None else frozenset(map(id, self._saved()))

    def set_state(self, state: Mapping[str, Any], tells: bool = True) -> None:
        """Assign the saved values, and warn about those that could not be saved.

        Args:
            state: A result of `get_state`.
            tells: Whether to warn. Defaults to True.
        """
        held = vars(self.callback)
        written = frozenset(map(tuple, state.get("written", ())))  # which earlier versions do not have
        for name, value in state["attributes"].items():
            held[name] = _restore_value(held.get(name), value, (name,), written)
            self._values.pop(name, None)  # it is saved again, even if it does not change any more
        if state["lost"] and tells:
            self._told |= state["lost"].keys()
            _warn_of_lost(self.callback, "goes on without its attributes", state["lost"])

    def warn_before_saving(self, state: Mapping[str, Any]) -> None:
        """Warn, once, if there are attributes that a checkpoint will lack: a run that resumes from it can only say so.

        Args:
            state: A result of `get_state`, which is saved.
        """
        if lost := {name: kind for name, kind in state["lost"].items() if name not in self._told}:
            self._told |= lost.keys()
            _warn_of_lost(self.callback, "is saved without its attributes", lost)


def _warn_of_lost(callback: object, what: str, lost: Mapping[str, str]) -> None:
    name, shown = type(callback).__name__, ", ".join(f"{name} ({kind})" for name, kind in lost.items())
    user_line.warn(
        f"the callback {name} {what} {shown}: only numbers, texts, Variables, NumPy arrays and generators, lists, "
        "tuples and dicts of these are saved for a callback that does not say what it remembers. "
        f"Define get_state(self) and set_state(self, state) in {name}."
    )


def _attributes(callback: Any, but: frozenset[str]) -> list[tuple[str, Any]]:
    held = getattr(callback, "__dict__", {})
    return [(name, value) for name, value in held.items() if name not in _OF_THE_RUN and name not in but]


def _is_plain(value: object, depth: int = 0) -> bool:
    """Tell whether a checkpoint gives a value back as it is; a subclass of a dict or a number would lose its class."""
    kind = type(value)
    if kind in _ATOMS or isinstance(value, np.number | np.bool_):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    if depth > MAX_DEPTH // 2:
        return False
    if isinstance(value, dict):
        is_whole = kind is dict and len(value) <= MAX_LENGTH and all(type(key) in _ATOMS for key in value)
        return is_whole and all(_is_plain(part, depth + 1) for part in value.values())
    if not isinstance(value, list | tuple) or kind not in (list, tuple) or len(value) > MAX_LENGTH:
        return False
    return all(_is_plain(part, depth + 1) for part in value)


def _tell_state(value: object, elsewhere: frozenset[int], depth: int = 0) -> Any:
    """Return what Variables and generators of random numbers follow from, under names of their own; all else as it is.

    Args:
        value: The value; in lists, tuples and dicts, their elements are told.
        elsewhere: The ids of Variables that are saved elsewhere, and stay as they are.
        depth: How deep inside of other values it is. Defaults to 0.
    """
    if depth > MAX_DEPTH // 2:
        return value
    if isinstance(value, Variable):
        return value if id(value) in elsewhere else {_VALUE: value.numpy()}
    if isinstance(value, np.random.Generator):
        return {_DRAWS: value.bit_generator.state}
    if isinstance(value, np.random.RandomState):
        return {_DRAWS: value.get_state(legacy=False)}
    if isinstance(value, random.Random):
        return {_DRAWS: value.getstate()}
    if type(value) is dict and any(map(_is_to_tell, value.values())):
        return {key: _tell_state(part, elsewhere, depth + 1) for key, part in value.items()}
    if type(value) in (list, tuple) and any(map(_is_to_tell, value)):  # type: ignore[call-overload]
        return type(value)(_tell_state(part, elsewhere, depth + 1) for part in value)  # type: ignore[call-arg, attr-defined]
    return value


def _is_to_tell(part: object) -> bool:
    kinds = (Variable, np.random.Generator, np.random.RandomState, random.Random, list, tuple, dict)
    return isinstance(part, kinds)


def _restore_value(current: Any, value: Any, place: tuple[Any, ...], written: frozenset[tuple[Any, ...]]) -> Any:
    """Return what a result of `_tell_state` stands for: existing Variables and generators get their values back.

    Args:
        current: What is there.
        value: The result.
        place: The name of the attribute, and the keys below it.
        written: The places whose arrays, lists and dicts were written to, so that those that are there are, too.
    """
    if type(value) is dict and set(value) == {_VALUE}:
        if isinstance(current, Variable) and current.shape == value[_VALUE].shape:
            current.assign(value[_VALUE])
            return current
        return Variable(value[_VALUE], trainable=False)
    if type(value) is dict and set(value) == {_DRAWS}:
        if isinstance(current, np.random.Generator):
            current.bit_generator.state = value[_DRAWS]
        elif isinstance(current, np.random.RandomState):
            current.set_state(value[_DRAWS])
        elif isinstance(current, random.Random):
            current.setstate(value[_DRAWS])
        return current
    if type(value) is dict:
        there = current if isinstance(current, Mapping) else {}
        value = {key: _restore_value(there.get(key), part, (*place, key), written) for key, part in value.items()}
    elif isinstance(value, list | tuple):
        rest = [None] * len(value)
        beside = [*current, *rest] if isinstance(current, list | tuple) else rest
        parts = enumerate(zip(beside, value, strict=False))
        value = type(value)(_restore_value(one, part, (*place, i), written) for i, (one, part) in parts)
    return current if place in written and write_into(current, value) else value


def _objects_in(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], object]]:
    """Yield arrays, lists and dicts with their places: those that others may hold as well, and see written to."""
    if place and type(value) in (np.ndarray, list, dict):
        yield place, value
    if type(value) in (list, tuple, dict) and len(place) <= MAX_DEPTH // 2:
        for key, part in value.items() if type(value) is dict else enumerate(value):
            yield from _objects_in(part, (*place, key))


def write_into(current: Any, value: Any) -> bool:
    """Give an array, a list or a dict the content of another one, and return whether that was possible.

    Whoever holds it, as the data of the run or a loader does, sees what is there, as in a run that was not interrupted.
    """
    if current is value:
        return True
    if isinstance(current, np.ndarray) and isinstance(value, np.ndarray):
        if (current.shape, current.dtype) != (value.shape, value.dtype) or not current.flags.writeable:
            return False
        current[...] = value
        return True
    if type(current) is dict and type(value) is dict:
        current.clear()
        current.update(value)
        return True
    if type(current) is list and type(value) is list:
        current[:] = value
        return True
    return False


def _contents(value: object) -> object:
    """Return what tells whether an object has changed since, as far as that shows.

    Of containers these are the elements, by identity, of Modules the values, of other objects their plain attributes.
    Of an iterator it does not show.
    """
    if isinstance(value, Module):
        return _values_of(value)
    if isinstance(value, dict):
        return [(key, _Part(part)) for key, part in value.items()]
    if isinstance(value, list | tuple | deque):
        return [_Part(part) for part in value]
    if isinstance(value, set | frozenset):
        return set(value)
    if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
        return object()
    return repr({name: _copy_as_plain(part) for name, part in _attributes(value, frozenset()) if _is_plain(part)})


class _Part:
    """Stands for an element, and does not keep it where that is possible: equal to others of the same object.

    Its ``id`` would not do, which another object gets when it is gone.
    """

    __slots__ = ("_kept",)

    def __init__(self, value: object) -> None:
        try:
            self._kept: object = ref(value)
        except TypeError:  # such as a number or a tuple
            self._kept = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Part):
            return False
        if not isinstance(self._kept, ref) or not isinstance(other._kept, ref):
            return self._kept is other._kept
        return self._kept() is not None and self._kept() is other._kept()

    __hash__ = None  # type: ignore[assignment]


def _values_of(module: Module) -> dict[int, Any]:
    """Return the values of the Variables of a Module, by the id of each, without keeping them alive."""
    return {id(variable): ref(variable._gx_stored) for variable in module.variables}


def _copy_as_plain(value: Any) -> Any:
    """Return a copy, with NumPy scalars as Python numbers."""
    if isinstance(value, np.number | np.bool_):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: _copy_as_plain(part) for key, part in value.items()}
    return type(value)(_copy_as_plain(part) for part in value) if isinstance(value, list | tuple) else value
