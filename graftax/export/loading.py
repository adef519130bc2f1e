"""load: an artefact in this process, by the very loader that lies in it."""

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
    """Return the artefact at a path: its programs are attributes, their values are in ``values``.

    A program is called like the function that it was; what it assigns is in the values afterwards.
    ``program.pure(values, ...)`` changes nothing and may be transformed by JAX. Nothing of an artefact is executed
    but its programs, and these may call no functions of the host but those that JAX keeps stable.

    Args:
        path: A folder or a zip.
        only: Names of programs, or patterns such as ``"predict*"``; others are not read, nor are their values.
            Defaults to None, all.
        cache: A folder in which compiled programs are kept for later processes. Defaults to None, none.
        integers: Of weights that are stored as integers, numbers are made at once, so that calls are as fast as
            others; or, with ``"keep"``, in each call, so that memory is small. Defaults to ``"numbers"``.

    Raises:
        ExportError: it is damaged, or calls what it may not; or another version wrote it, which this one cannot read.

    Example:
        >>> import tempfile, numpy as np, graftax as gx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = gx.export.save(f"{folder}/double", lambda x: 2 * x, gx.export.Spec("n"))
        ...     artefact = load(f"{folder}/double")
        >>> artefact.predict(np.array([1.0, 2.0], "float32")).tolist()
        [2.0, 4.0]
    """
    with reading():
        return run.load(path, only, cache, integers)


@contextmanager
def reading() -> Iterator[None]:
    """Raise what the loader raises as an error of this library."""
    try:
        yield
    except ArtefactError as error:
        raise ExportError(*error.args) from error
