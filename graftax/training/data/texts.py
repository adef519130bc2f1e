"""Texts in folders, one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax.core.errors import DataError
from graftax.core.short_traceback import door
from graftax.training.data.class_folders import files_by_class


class Texts(NamedTuple):
    """Texts, the class number of each, and the names of the classes.

    Example:
        >>> Texts(["good"], np.array([1]), ["bad", "fine"]).class_names
        ['bad', 'fine']
    """

    texts: list[str]
    labels: np.ndarray[Any, Any]
    class_names: list[str]


@door
def texts_from_directory(
    directory: str | os.PathLike[str],
    *,
    class_names: Sequence[str] | None = None,
    validation_split: float = 0.0,
    subset: str | None = None,
    encoding: str = "utf-8",
) -> Texts:
    """Return the texts in a directory that has a folder of ``.txt`` files for each class.

    They fit into memory; what makes numbers of them, such as a tokenizer, comes next: ``gx.data.bucket([encode(text)
    for text in texts.texts], texts.labels)``.

    Args:
        directory: The directory.
        class_names: The folders, in the order of their class numbers. Defaults to None, for all of them, sorted.
        validation_split: The part of the files that is kept back, the same for one seed. Defaults to 0.
        subset: ``"training"`` or ``"validation"``, where there is such a split. Defaults to None.
        encoding: How the files are written. Defaults to ``"utf-8"``.

    Raises:
        DataError: there are no such folders or files, or a file is written in another way.
        ArgumentError: a split without a subset, or the other way round.

    Example:
        >>> import pathlib
        >>> for name, text in (("bad", "No."), ("good", "Yes!")):
        ...     pathlib.Path("reviews", name).mkdir(parents=True)
        ...     _ = pathlib.Path("reviews", name, "1.txt").write_text(text)
        >>> found = texts_from_directory("reviews")
        >>> found.texts, found.labels.tolist(), found.class_names
        (['No.', 'Yes!'], [0, 1], ['bad', 'good'])
    """
    files, labels, names = files_by_class(directory, (".txt",), class_names, validation_split, subset)
    texts = []
    for path in files:
        try:
            texts.append(path.read_text(encoding=encoding))
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}: {error.reason} at byte {error.start}",
                f"it is not written in {encoding}",
                'encoding="latin-1", or whatever it is',
            ) from None
    return Texts(texts, np.asarray(labels, "int32"), names)
