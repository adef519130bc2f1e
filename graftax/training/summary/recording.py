"""Recording summaries anywhere in a program: eagerly, inside of compiled functions, and inside of fit."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.core.scopes import ScopeStack, register_ambient
from graftax.core.short_traceback import door
from graftax.core.typedefs import ArrayLike, VariableLike
from graftax.training.summary.event_writer import EventWriter
from graftax.variables.state.storage import frames

Step: TypeAlias = "int | ArrayLike | None"


class Writer:
    """A writer of an event file, with the default step of its entries.

    Args:
        log_dir: The directory of the file, for TensorBoard.
        flush_seconds: The time in seconds after which the next entry flushes the file. Defaults to 10.

    Raises:
        MissingLibraryError: tensorboardX is not installed: ``pip install 'graftax[tensorboard]'``.

    Example:
        >>> import graftax as gx
        >>> gx.summary.scalar("loss", 0.5, step=1)  # there is no writer: nothing is recorded
        False
    """

    def __init__(self, log_dir: str | os.PathLike[str], flush_seconds: float = 10.0) -> None:
        self.events = EventWriter(log_dir, flush_seconds)

    @contextmanager
    def as_default(self, step: Step = None) -> Iterator[Writer]:
        """Use this writer for `scalar` and the other functions inside of the block, also in compiled functions.

        Args:
            step: The default step of entries: a number, or a Variable that counts steps. Defaults to None.
        """
        with use_writer(self.events, step):
            yield self
        self.flush()

    def flush(self) -> None:
        """Flush the file to disk."""
        _settle()
        self.events.flush()

    def close(self) -> None:
        """Flush and close the file."""
        _settle()
        self.events.close()


class _Place:
    """The active writer, and the default step of its entries."""

    def __init__(self, events: EventWriter, step: Step) -> None:
        self.events = events
        self.set_step(step)

    def set_step(self, step: Step) -> None:
        """Set the default step."""
        self.kind = _kind_of(step)
        self.step = step


_HOST, _TRACED = "host", "traced"
_variables: dict[int, tuple[Any, object]] = {}


def _kind_of(step: Step) -> Hashable:
    """Return what traces depend on of a default step: a Variable is read by the program, other numbers by the host."""
    if isinstance(step, VariableLike):
        known = _variables.get(id(step))
        if known is None or known[0]() is not step:  # another one had that number
            known = _variables[id(step)] = weakref.ref(step), object()
        return known[1]
    arrays = registry.current().arrays
    return _TRACED if arrays.is_array(step) and not arrays.is_concrete(step) else None if step is None else _HOST


_lock = threading.Lock()
_places: list[_Place] = []
"""Global, not for each thread, since callbacks of compiled functions run in threads of the backend."""
_recording: ScopeStack[bool] = ScopeStack("summary.record_if")
_names: ScopeStack[str] = ScopeStack("summary.name_scope")
_NOTHING_RECORDED = "summary", False, True, "", None


def _trace_key() -> Hashable:
    """Return the settings that traces depend on. Each compiled call needs them, so this must be fast."""
    recording, names = _recording.read(), _names.read()
    place = _places[-1:]
    if not (place or recording or names):
        return _NOTHING_RECORDED
    return "summary", bool(place), all(recording), "/".join(names), place[0].kind if place else None


register_ambient(_trace_key, name="what summaries record")


@contextmanager
def use_writer(events: EventWriter, step: Step) -> Iterator[None]:
    """Use a writer inside of the block."""
    place = _Place(events, step)
    with _lock:
        _places.append(place)
    try:
        yield
    finally:
        _settle()
        with _lock:
            _places.remove(place)


@contextmanager
def record_if(condition: bool) -> Iterator[None]:
    """Record entries inside of the block only if the condition holds, and those of all enclosing blocks.

    Example:
        >>> import graftax as gx
        >>> with gx.summary.record_if(False):
        ...     gx.summary.scalar("loss", 0.5, step=1)
        False
    """
    if not isinstance(condition, bool | np.bool_):
        raise ArgumentTypeError(
            f"record_if({condition!r:.60})", "it is True or False, known on the host", "record_if(step % 100 == 0)"
        )
    with _recording.entered(bool(condition)):
        yield
        _settle()


@contextmanager
def name_scope(name: str) -> Iterator[None]:
    """Prefix the names of entries inside of the block: ``train/loss``.

    Example:
        >>> import graftax as gx
        >>> with gx.summary.name_scope("train"):
        ...     gx.summary.scalar("loss", 0.5, step=1)
        False
    """
    with _names.entered(name):
        yield


def get_step() -> Step:
    """Return the default step of entries; None if there is no active writer, or it has no step.

    Example:
        >>> get_step() is None
        True
    """
    return _places[-1].step if _places else None


def set_step(step: Step) -> None:
    """Set the default step of the active writer.

    Raises:
        ArgumentError: there is no active writer.

    Example:
        >>> try:
        ...     set_step(3)
        ... except ArgumentError as error:
        ...     print(error.instead)
        with gx.summary.Writer("logs").as_default(step=0):
    """
    if not _places:
        raise ArgumentError(
            f"set_step({step!r})", "no writer is active", 'with gx.summary.Writer("logs").as_default(step=0):'
        )
    _settle()
    _places[-1].set_step(step)


@door
def scalar(name: str, value: ArrayLike, step: Step = None) -> bool:
    """Record a number; return True if there is an active writer.

    Args:
        name: The name of the entry; slashes separate groups.
        value: One number.
        step: The step of the entry. Defaults to that of the writer.

    Raises:
        ShapeError: the value is not a single number.
        ArgumentError: there is no step.

    Example:
        >>> scalar("loss", 0.5, step=1)
        False
    """
    array = ops.asarray(value)
    if tuple(array.shape) != ():
        raise ShapeError(
            f"summary.scalar({name!r}) got shape {tuple(array.shape)}",
            "it records one number",
            f"scalar({name!r}, ops.mean(value)), or histogram({name!r}, value)",
        )
    return _record(name, step, [array], lambda events, tag, at, values: events.scalar(tag, values[0], at))


@door
def histogram(name: str, values: ArrayLike, step: Step = None, bins: int = 50) -> bool:
    """Record a histogram of values; return True if there is an active writer.

    Args:
        name: Its name.
        values: An array of any shape; values that are not finite are only counted.
        step: The step of the entry. Defaults to that of the writer.
        bins: The number of bins. Defaults to 50.

    Example:
        >>> histogram("weights", [0.5, 1.5], step=1)
        False
    """
    array = ops.asarray(values)
    return _record(name, step, [array], lambda events, tag, at, got: events.histogram(tag, got[0], at, bins))


@door
def image(name: str, pictures: ArrayLike, step: Step = None, max_outputs: int = 3) -> bool:
    """Record images; return True if there is an active writer.

    Args:
        name: Its name.
        pictures: ``(height, width, channels)`` or several, ``(batch, height, width, channels)``, with 1, 3 or 4
            channels; floats from 0 to 1, what is beyond being cut off, or uint8.
        step: The step of the entry. Defaults to that of the writer.
        max_outputs: The largest number of images that are recorded. Defaults to 3.

    Raises:
        ShapeError: the shape is not that of images.
        DTypeError: they are integers of another dtype.

    Example:
        >>> image("digit", [[[0.0], [1.0]]], step=1)
        False
    """
    array = ops.asarray(pictures)
    if len(array.shape) not in (3, 4) or array.shape[-1] not in (1, 3, 4):
        raise ShapeError(
            f"summary.image({name!r}) got shape {tuple(array.shape)}",
            "a picture has height, width and 1, 3 or 4 channels, which come last",
            f"image({name!r}, picture[..., None]) for one in shades of grey",
        )
    if array.dtype.kind in "iu" and array.dtype.name != "uint8":
        raise DTypeError(
            f"summary.image({name!r}) got {array.dtype.name}",
            "integers from 0 to 255 are uint8, and floats are from 0 to 1",
            f'image({name!r}, picture.astype("uint8"))',
        )

    def write(events: EventWriter, tag: str, at: int, got: list[Any]) -> None:
        several = got[0][None] if got[0].ndim == 3 else got[0][:max_outputs]
        for number, picture in enumerate(several):
            events.image(tag if len(several) == 1 else f"{tag}/{number}", picture, at)

    return _record(name, step, [array], write)


@door
def text(name: str, text: str, step: Step = None) -> bool:
    """Record a text, in Markdown; return True if there is an active writer.

    Args:
        name: Its name.
        text: The text, known on the host.
        step: The step of the entry. Defaults to that of the writer.

    Raises:
        ArgumentTypeError: it is not a text.

    Example:
        >>> text("note", "*first* run", step=1)
        False
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"summary.text({name!r}) got {type(text).__name__}", "it records text", "str(value)")
    return _record(name, step, [], lambda events, tag, at, values: events.text(tag, text, at))


def _record(
    name: str, step: Step, arrays: list[Any], write: Callable[[EventWriter, str, int, list[Any]], None]
) -> bool:
    """Write an entry now or, inside of a trace, when the traced program runs."""
    if not _places or not all(_recording.items):
        return False
    place = _places[-1]
    chosen = place.step if step is None else step
    if chosen is None:
        raise ArgumentError(
            f"summary entry {name!r} without a step",
            "each entry needs a step, and the writer has none",
            f"step=step, or writer.as_default(step=optimizer.iterations) around {name!r}",
        )
    tag = "/".join([*_names.items, name])
    from_host = step is None and place.kind is _HOST  # read at each run, since a trace is reused
    constant = int(chosen) if isinstance(chosen, int | np.integer) and not from_host else None
    values = [ops.stop_gradient(array) for array in arrays]
    if not from_host and constant is None:
        values.append(ops.asarray(chosen.value if isinstance(chosen, VariableLike) else chosen))

    def run(*given: Any) -> tuple[()]:
        with _lock:
            place = _places[-1] if _places else None
        if place is not None:
            hosted = [np.asarray(one) for one in given]
            at: Any = place.step if from_host else hosted.pop() if constant is None else constant
            write(place.events, tag, int(np.asarray(at)), hosted)
        return ()

    backend = registry.current()
    if backend.has("callbacks"):
        backend.callbacks.effect(run, values)
    else:
        run(*values)
    return True


def _settle() -> None:
    """Wait for pending entries of compiled functions, unless a function is being traced."""
    backend = registry.current()
    if backend.has("callbacks") and frames.top is None:
        backend.callbacks.settle()
