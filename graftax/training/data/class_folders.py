"""Files in a directory with one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graftax.core.errors import ArgumentError, DataError
from graftax.variables.keys import get_random_seed


def files_by_class(
    directory: str | os.PathLike[str],
    endings: Sequence[str],
    class_names: Sequence[str] | None,
    validation_split: float,
    subset: str | None,
) -> tuple[list[Path], list[int], list[str]]:
    """Return the sorted files below a directory, the class number of each, and the names of the classes.

    Args:
        directory: A directory with a folder for each class.
        endings: The suffixes of the files, in lower case.
        class_names: The folders, in the order of their class numbers; None for all, sorted.
        validation_split: The fraction of the files for validation.
        subset: ``"training"`` or ``"validation"``, if there is a split.

    Raises:
        DataError: the directory is missing, has no folders or files, or has files with other suffixes.
        ArgumentError: a split is given without a subset, or the other way round.
    """
    if bool(validation_split) != (subset is not None) or subset not in (None, "training", "validation"):
        raise ArgumentError(
            f"validation_split={validation_split}, subset={subset!r}",
            "the split says how much is kept back, and the subset which part this is",
            'validation_split=0.2, subset="training"; then the same with subset="validation"',
        )
    if not 0 <= validation_split < 1:
        raise ArgumentError(f"validation_split={validation_split}", "it is a part of the files", "validation_split=0.2")
    root = Path(directory)
    if not root.is_dir():
        raise DataError(f"{root} is no directory", "it has a folder for each class", 'directory="data/train"')
    names = sorted(one.name for one in root.iterdir() if one.is_dir() and not one.name.startswith("."))
    if class_names is not None:
        missing = [name for name in class_names if name not in names]
        idle = [name for name in names if name not in class_names]
        if missing or idle:
            raise DataError(
                f"class_names={list(class_names)!r}, and {root} has {', '.join(map(repr, names))}",
                f"{'there is no folder' if missing else 'nothing says the number of'} {(missing or idle)[0]!r}",
                "the name of each folder once",
            )
        names = list(class_names)
    if not names:
        raise DataError(f"{root} has no folders", "it has a folder for each class", "data/train/cats, data/train/dogs")
    files: list[Path] = []
    labels: list[int] = []
    for number, name in enumerate(names):
        found = sorted(one for one in (root / name).rglob("*") if one.is_file() and not _is_hidden(one, root / name))
        wrong = [one for one in found if one.suffix.lower() not in endings]
        if wrong:
            raise DataError(
                f"{wrong[0]} among {len(found)} files of the class {name!r}",
                f"what is read ends in {', '.join(endings)}",
                "the other files in another folder",
            )
        files += found
        labels += [number] * len(found)
    if not files:
        raise DataError(f"no file below {root}", "there is nothing to read", f"files that end in {', '.join(endings)}")
    if subset is None:
        return files, labels, names
    order = np.random.default_rng((get_random_seed(), len(files))).permutation(len(files))
    kept_back = int(len(files) * validation_split)
    chosen = sorted(int(i) for i in (order[:kept_back] if subset == "validation" else order[kept_back:]))
    if not chosen:
        raise DataError(
            f"validation_split={validation_split} of {len(files)} files", "both parts need a file", "a larger fraction"
        )
    return [files[i] for i in chosen], [labels[i] for i in chosen], names


def _is_hidden(file: Path, folder: Path) -> bool:
    """Tell whether a file, or a folder around it, is hidden, such as the ``.ipynb_checkpoints`` of Jupyter."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)
