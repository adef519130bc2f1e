"""Data for fit: columns by name, bucketing of sequences, images and texts in folders, prefetching."""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.training.data.bucketing import Buckets as Buckets
from graftax.training.data.bucketing import bucket as bucket
from graftax.training.data.folders import ImageFolder as ImageFolder
from graftax.training.data.folders import images_from_directory as images_from_directory
from graftax.training.data.named import columns as columns
from graftax.training.data.reading_ahead import prefetch as prefetch
from graftax.training.data.texts import Texts as Texts
from graftax.training.data.texts import texts_from_directory as texts_from_directory

if not _typing.TYPE_CHECKING:  # so that type checkers see the names
    __getattr__ = _answering("data")
__all__ = _names_in(globals())  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above


def __dir__() -> list[str]:
    return sorted(__all__)
