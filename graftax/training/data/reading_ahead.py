"""Prefetching: a thread prepares the next batches while the device computes with the present one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.training.batch import unpack
from graftax.training.narrowing import in_present_width
from graftax.training.sources.host_batches import host_batch
from graftax.training.sources.on_device import OnDevice
from graftax.training.sources.wrapper import InOrder, Wrapper


@door
def prefetch(batches: Iterable[Any], size: int = 2) -> Prefetched:
    """Return the same batches, prefetched by a thread, which also moves them to the device.

    Python code of a loader, such as decoding images, then runs while the device computes. An exception of the loader is
    raised at the position of its batch. If a loop ends early, the thread ends, too.

    Args:
        batches: An iterable of batches: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``.
        size: The largest number of prefetched batches. Defaults to 2.

    Raises:
        ArgumentTypeError: ``batches`` is not iterable.
        ArgumentError: the size is not above 0.

    Example:
        >>> import numpy as np
        >>> batches = [(np.full((2, 3), i, "float32"), np.zeros(2)) for i in range(3)]
        >>> [float(x[0, 0]) for x, y in prefetch(batches)]
        [0.0, 1.0, 2.0]
    """
    if not isinstance(batches, Iterable) or isinstance(batches, str | bytes | dict):
        raise ArgumentTypeError(
            f"prefetch got {type(batches).__name__}", "it reads batches ahead from a loader", "prefetch(loader)"
        )
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ArgumentError(f"prefetch got size={size!r}", "it is how many batches are ready", "size=2")
    if isinstance(batches, Iterator):
        return PrefetchedOnce(batches, size)
    return Prefetched(batches, size)


class Prefetched(Wrapper):
    """Batches that a thread prefetches; each pass has its own thread."""

    def __init__(self, batches: Iterable[Any], size: int) -> None:
        super().__init__(batches)
        self._size = size

    def __iter__(self) -> Iterator[OnDevice]:
        return _read_ahead(iter(self._batches), self._size, lambda parts: self.in_order(parts))

    def __getattr__(self, name: str) -> Any:
        if name in ("get_state", "set_state", "row_order"):  # which saves and restores the order of passes
            return getattr(self._batches, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


class PrefetchedOnce(Prefetched, Iterator[OnDevice]):
    """Prefetched batches of an iterator, which continues from pass to pass.

    Where the iterator tells its position, this one does: that behind the last batch that was given, not behind those
    that wait.
    """

    def __init__(self, batches: Iterator[Any], size: int) -> None:
        super().__init__(batches, size)
        self._stream: Generator[OnDevice, None, None] | None = None
        self._place: Any = None

    def __iter__(self) -> Iterator[OnDevice]:
        return self

    def __next__(self) -> OnDevice:
        if self._stream is None:
            tell = getattr(self._batches, "get_state", None)
            self._place = None if tell is None else tell()
            self._stream = _read_ahead(iter(self._batches), self._size, lambda parts: self.in_order(parts), tell)
        batch = next(self._stream)
        self._place = batch.place
        return batch

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)  # which raises where the iterator has no such method
        return {"get_state": self._tell, "set_state": self._go_to}.get(name, found)

    def _tell(self) -> Any:
        return self._batches.get_state() if self._stream is None else self._place

    def _go_to(self, place: Any) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()  # which waits for the thread: nothing is read any more
        self._batches.set_state(place)


_END = object()


def _read_ahead(
    stream: Iterator[Any], size: int, order: InOrder, tell: Callable[[], Any] | None = None
) -> Generator[OnDevice, None, None]:
    ready: queue.Queue[Any] = queue.Queue(size)
    stop = threading.Event()

    def put(item: object) -> bool:
        while not stop.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for batch in stream:
                found = OnDevice.of(host_batch(*order(unpack(batch))))
                found.place = None if tell is None else tell()
                if stop.is_set() or not put(found):
                    return
            put(_END)
        except BaseException as error:  # noqa: BLE001 - it is raised where the batch is asked for
            put(error)

    thread = threading.Thread(target=in_present_width(read), name="graftax prefetch", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not _END:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join(timeout=5)
