"""Texts in a directory with one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax.core.errors import DataError
from graftax.core.short_traceback import door
from graftax.training.data.class_folders import files_by_class


class Texts(NamedTuple):
    """Texts, their class numbers, and the names of the classes.

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
    """Return the texts in a directory with one folder of ``.txt`` files for each class.

    All texts are read into memory. A tokenizer then converts them to numbers: ``gx.data.bucket([encode(text) for text
    in texts.texts], texts.labels)``.

    Args:
        directory: The directory.
        class_names: The folders, in the order of their class numbers. Defaults to None: all, sorted.
        validation_split: The fraction of the files for validation; they depend on the global seed. Defaults to 0.
        subset: ``"training"`` or ``"validation"``, if there is a split. Defaults to None.
        encoding: The text encoding of the files. Defaults to ``"utf-8"``.

    Raises:
        DataError: folders or files are missing, or a file has another encoding.
        ArgumentError: a split is given without a subset, or the other way round.

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
