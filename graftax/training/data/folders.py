"""Images in a directory with one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from graftax.core import hyperparameters
from graftax.core.errors import ArgumentError, DataError
from graftax.core.short_traceback import door
from graftax.training.batch import Batch
from graftax.training.data.class_folders import files_by_class
from graftax.training.optional_libraries import optional_library
from graftax.variables.keys import get_random_seed

_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")
_MODES = {"rgb": "RGB", "grayscale": "L", "rgba": "RGBA"}


@door
def images_from_directory(
    directory: str | os.PathLike[str],
    image_size: tuple[int, int] = (256, 256),
    batch_size: int = 32,
    *,
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    label_mode: str | None = "int",
    shuffle: bool = True,
    validation_split: float = 0.0,
    subset: str | None = None,
    crop_to_aspect_ratio: bool = False,
    workers: int = 4,
) -> ImageFolder:
    """Return batches of the images in a directory with one folder for each class, read with Pillow.

    `Model.predict` returns the rows in the order of ``file_paths``, whatever the order of the batches.

    Args:
        directory: The directory.
        image_size: The height and width, in pixels, to which images are resized. Defaults to ``(256, 256)``.
        batch_size: The number of images in a batch. Defaults to 32.
        class_names: The folders, in the order of their class numbers. Defaults to None: all, sorted.
        color_mode: ``"rgb"``, ``"rgba"`` or ``"grayscale"``. Defaults to ``"rgb"``.
        label_mode: ``"int"`` for class numbers, ``"categorical"`` for one-hot rows, ``"binary"`` for 0.0 and 1.0 of two
            classes, or None for images only. Defaults to ``"int"``.
        shuffle: Whether each pass has a new order, which depends on the global seed. Defaults to True.
        validation_split: The fraction of the files for validation; they depend on the global seed. Defaults to 0.
        subset: ``"training"`` or ``"validation"``, if there is a split. Defaults to None.
        crop_to_aspect_ratio: Whether to crop images to the aspect ratio of ``image_size`` instead of distorting them.
            Defaults to False.
        workers: The number of threads that read files. Defaults to 4.

    Returns:
        Batches ``(x, y)``: float32 ``(batch, height, width, channels)`` from 0 to 255, and labels. Of pictures with 16
        bits the upper 8 count.

    Raises:
        DataError: folders or files are missing, or a file is not an image.
        ArgumentError: a mode is unknown, or a number is below 1.
        MissingLibraryError: pillow is not installed: ``pip install 'graftax[images]'``.

    Example:
        >>> import pathlib
        >>> from PIL import Image
        >>> for name in ("cats", "dogs"):
        ...     pathlib.Path("pets", name).mkdir(parents=True)
        ...     Image.new("RGB", (8, 6)).save(f"pets/{name}/1.png")
        >>> pets = images_from_directory("pets", image_size=(4, 4))
        >>> [(x.shape, sorted(y.tolist())) for x, y in pets], pets.class_names
        ([((2, 4, 4, 3), [0, 1])], ['cats', 'dogs'])
    """
    if color_mode not in _MODES:
        raise ArgumentError(f"color_mode={color_mode!r}", f"there are {', '.join(map(repr, _MODES))}", '"rgb"')
    if label_mode not in ("int", "categorical", "binary", None):
        raise ArgumentError(f"label_mode={label_mode!r}", "there are 'int', 'categorical', 'binary' and None", '"int"')
    files, labels, names = files_by_class(directory, _ENDINGS, class_names, validation_split, subset)
    if label_mode == "binary" and len(names) != 2:
        raise DataError(f"label_mode='binary' for {len(names)} classes", "it tells two apart", 'label_mode="int"')
    size = _height_and_width(image_size)
    batch_size, workers = _check_count("batch_size", batch_size), _check_count("workers", workers)
    return ImageFolder(
        files, labels, names, size, batch_size, color_mode, label_mode, shuffle, crop_to_aspect_ratio, workers
    )


class ImageFolder:
    """The result of `images_from_directory`: iterating over it yields the batches of a pass.

    ``class_names`` are the names of the classes, in the order of their numbers, and ``file_paths`` the files.

    Example:
        >>> import pathlib
        >>> from PIL import Image
        >>> pathlib.Path("farm", "cows").mkdir(parents=True)
        >>> Image.new("RGB", (8, 6)).save("farm/cows/1.png")
        >>> [path.name for path in images_from_directory("farm").file_paths]
        ['1.png']
    """

    def __init__(
        self,
        files: list[Path],
        labels: list[int],
        class_names: list[str],
        size: tuple[int, int],
        batch_size: int,
        color_mode: str,
        label_mode: str | None,
        shuffle: bool,
        crops: bool,
        workers: int,
    ) -> None:
        self._pillow = optional_library("PIL.Image", "images", "images_from_directory")
        self.file_paths, self.class_names = files, class_names
        self._labels = np.asarray(labels, "int32")
        self._size, self._batch_size, self._mode, self._label_mode = size, batch_size, color_mode, label_mode
        self._shuffle, self._crops, self._workers = shuffle, crops, workers
        self._seed, self._passes = get_random_seed(), 0

    def __len__(self) -> int:
        return -(-len(self.file_paths) // self._batch_size)

    def __iter__(self) -> Iterator[Batch]:
        order = self._order(self._passes)
        self._passes += 1
        starts = range(0, len(order), self._batch_size)
        with ThreadPoolExecutor(self._workers) as pool:
            ahead = [pool.submit(self._read, int(i)) for i in order[: self._batch_size]]
            for start in starts:
                pictures = [one.result() for one in ahead]
                following = order[start + self._batch_size : start + 2 * self._batch_size]
                ahead = [pool.submit(self._read, int(i)) for i in following]
                yield self._batch(np.stack(pictures), order[start : start + self._batch_size])

    def _order(self, number_of_pass: int) -> np.ndarray[Any, Any]:
        count = len(self.file_paths)
        if not self._shuffle:
            return np.arange(count)
        return np.random.default_rng((self._seed, number_of_pass)).permutation(count)

    def row_order(self) -> list[int]:
        """Return the numbers of the files in the order of the last pass.

        Example:
            >>> import pathlib
            >>> from PIL import Image
            >>> pathlib.Path("birds", "owls").mkdir(parents=True)
            >>> for name in "abc":
            ...     Image.new("RGB", (8, 6)).save(f"birds/owls/{name}.png")
            >>> sorted(images_from_directory("birds").row_order())
            [0, 1, 2]
        """
        return [int(i) for i in self._order(max(self._passes - 1, 0))]

    def _batch(self, x: np.ndarray[Any, Any], rows: np.ndarray[Any, Any]) -> Batch:
        labels = self._labels[rows]
        if self._label_mode is None:
            return (x,)
        if self._label_mode == "categorical":
            return x, np.eye(len(self.class_names), dtype="float32")[labels]
        return x, labels.astype("float32")[:, None] if self._label_mode == "binary" else labels

    def _read(self, number: int) -> np.ndarray[Any, Any]:
        path = self.file_paths[number]
        height, width = self._size
        try:
            with self._pillow.open(path) as file:
                if file.mode.startswith("I;16"):  # of which convert makes white of all but the darkest
                    file = self._pillow.fromarray((np.asarray(file) >> 8).astype("uint8"))
                picture = file.convert(_MODES[self._mode])
        except OSError as error:  # OSError: Pillow's error for unreadable files is a subclass
            raise DataError(f"{path}: {error}", "it cannot be read as a picture", "another file, or none") from None
        if self._crops:
            scale = max(width / picture.width, height / picture.height)
            wide, high = width / scale, height / scale
            left, top = (picture.width - wide) / 2, (picture.height - high) / 2
            picture = picture.crop((round(left), round(top), round(left + wide), round(top + high)))
        resized = picture.resize((width, height), self._pillow.Resampling.BILINEAR)
        array = np.asarray(resized, "float32")
        return array if array.ndim == 3 else array[..., None]

    def get_state(self) -> dict[str, Any]:
        """Return the number of the next pass, and the seed of the orders."""
        return {"seed": self._seed, "passes": self._passes}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue with that pass."""
        self._seed, self._passes = state["seed"], state["passes"]


def _check_count(name: str, value: object) -> int:
    return hyperparameters.check_positive(name, value, "it counts, from 1 up", 4)


def _height_and_width(image_size: Any) -> tuple[int, int]:
    sizes = list(image_size) if isinstance(image_size, list | tuple) else []
    if len(sizes) != 2 or not all(isinstance(one, int | np.integer) and one > 0 for one in sizes):
        raise ArgumentError(f"image_size={image_size!r:.60}", "it is a height and a width", "image_size=(256, 256)")
    return int(sizes[0]), int(sizes[1])
