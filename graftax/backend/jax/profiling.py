"""Traces of what programs of JAX do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def profile(directory: str) -> Iterator[None]:
    """Write a trace of what runs inside into a directory; ``perfetto_trace.json.gz`` in it is for Perfetto."""
    jax.profiler.start_trace(directory, create_perfetto_trace=True)
    try:
        yield
    finally:
        jax.profiler.stop_trace()
