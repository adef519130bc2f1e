"""The function load: loads an artefact with the same loader that lies in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from graftax.core.errors import ExportError
from graftax.core.short_traceback import door
from graftax.export import run
from graftax.export.manifest import ArtefactError


@door
def load(
    path: str | os.PathLike[str],
    only: str | Sequence[str] | None = None,
    cache: str | None = None,
    integers: Literal["numbers", "keep"] = "numbers",
) -> run.Artefact:
    """Load the artefact at a path: its programs are attributes, their values are in ``values``.

    A program is called like the exported function; its assignments update the values. ``program.pure(values, ...)``
    changes nothing, and JAX can transform it. Only the programs of an artefact are executed, and they can only call
    those functions of the host that JAX keeps stable.

    Args:
        path: A folder or a zip.
        only: Names of programs, or patterns such as ``"predict*"``; others, and their values, are not read. Defaults to
            None: all.
        cache: A folder for compiled programs, for later processes. Defaults to None: no cache.
        integers: When weights that are stored as integers are converted to numbers: ``"numbers"`` at the load, for fast
            calls, or ``"keep"`` in each call, to save memory. Defaults to ``"numbers"``.

    Raises:
        ExportError: the artefact is damaged, calls a function that is not allowed, or was written by a version that
            this one cannot read.

    Example:
        >>> import tempfile, numpy as np, graftax as gx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = gx.export.save(f"{folder}/double", lambda x: 2 * x, gx.export.Spec("n"))
        ...     artefact = load(f"{folder}/double")
        >>> artefact.predict(np.array([1.0, 2.0], "float32")).tolist()
        [2.0, 4.0]
    """
    with convert_errors():
        return run.load(path, only, cache, integers)


@contextmanager
def convert_errors() -> Iterator[None]:
    """Raise what the loader raises as an error of this library."""
    try:
        yield
    except ArtefactError as error:
        raise ExportError(*error.args) from error
