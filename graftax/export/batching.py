"""Batching: waiting requests run together, padded to a few sizes, so that few programs are compiled."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core.errors import ExportError, StateError
from graftax.export import run


class Request:
    """One waiting call.

    Args:
        leaves: Its inputs, checked.
    """

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.leaves = [np.asarray(one) for one in leaves]
        self.done = threading.Event()
        self.results: list[Any] = []
        self.error: Exception | None = None

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.leaves[0])

    @property
    def key(self) -> tuple[Any, ...]:
        """Return the key that is equal for requests that can run together."""
        return tuple(one.shape[1:] for one in self.leaves)


class Batcher:
    """Runs the calls of one program, in a thread of its own.

    Args:
        function: The program.
        values: What it reads.
        most: The largest number of rows that run together.
    """

    def __init__(self, function: run.Function, values: dict[str, Any], most: int) -> None:
        self.function, self.most = function, most
        self.joins = bool(function.about["rows"])
        self.runs = 0
        """The number of runs of the program."""
        self._values = values
        self._waiting: list[Request] = []
        self._change = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name=f"graftax serve {function.name}", daemon=True)
        self._thread.start()

    def call(self, leaves: Sequence[Any], timeout: float) -> list[Any]:
        """Run the program on inputs, and wait for the results.

        Raises:
            ExportError: the request has more rows than ``most``.
            TimeoutError: it took too long.
            StateError: the server is stopping.
        """
        request = Request(leaves)
        if self.joins and request.rows > self.most:
            raise ExportError(
                f"{self.function.name} with {request.rows} rows",
                f"at most {self.most} run together",
                f"parts of {self.most} rows, or a larger --most where the server was started",
            )
        with self._change:
            if self._stopped:
                raise StateError("a call", "the server stops", "call it again later")
            self._waiting.append(request)
            self._change.notify()
        if not request.done.wait(timeout):
            with self._change:
                if request in self._waiting:
                    self._waiting.remove(request)
            raise TimeoutError(f"{self.function.name} took more than {timeout:.0f} s")
        if request.error is not None:
            raise request.error
        return request.results

    def stop(self) -> None:
        """Finish all waiting requests, and stop the thread."""
        with self._change:
            self._stopped = True
            self._change.notify()
        self._thread.join()

    def _work(self) -> None:
        while (batch := self._next_batch()) is not None:
            try:
                self._run(batch)
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                for one in batch:
                    one.error = error
            for one in batch:
                one.done.set()

    def _next_batch(self) -> list[Request] | None:
        """Return requests to run together, including the oldest one; None at the end."""
        with self._change:
            while not self._waiting:
                if self._stopped:
                    return None
                self._change.wait()
            first = self._waiting.pop(0)
            batch, rows = [first], first.rows if self.joins else 0
            for one in list(self._waiting) if self.joins else ():
                if one.key == first.key and rows + one.rows <= self.most:
                    batch.append(one)
                    rows += one.rows
                    self._waiting.remove(one)
            return batch

    def _run(self, batch: list[Request]) -> None:
        self.runs += 1
        if not self.joins:
            out, _ = self.function.run_flat(self._values, batch[0].leaves)
            batch[0].results = [np.asarray(one) for one in out]
            return
        rows = sum(one.rows for one in batch)
        joined = [np.concatenate(parts) for parts in zip(*(one.leaves for one in batch), strict=True)]
        out, _ = self.function.run_flat(self._values, [pad(one, power_of_two(rows)) for one in joined])
        results = [np.asarray(one) for one in out]
        start = 0
        for one in batch:
            one.results = [part[start : start + one.rows] for part in results]
            start += one.rows


def power_of_two(rows: int) -> int:
    """Return the next power of two.

    Example:
        >>> [power_of_two(n) for n in (1, 2, 3, 8, 9)]
        [1, 2, 4, 8, 16]
    """
    return 1 << (rows - 1).bit_length()


def pad(array: np.ndarray[Any, Any], rows: int) -> np.ndarray[Any, Any]:
    """Return an array with its last row repeated up to ``rows`` rows.

    Example:
        >>> pad(np.array([[1, 2], [3, 4]]), 4).tolist()
        [[1, 2], [3, 4], [3, 4], [3, 4]]
    """
    return np.concatenate([array, np.repeat(array[-1:], rows - len(array), axis=0)])
