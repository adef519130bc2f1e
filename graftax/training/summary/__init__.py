"""Summaries: numbers, histograms, images and texts of a program, in event files for TensorBoard."""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.training.summary.recording import Writer as Writer
from graftax.training.summary.recording import get_step as get_step
from graftax.training.summary.recording import histogram as histogram
from graftax.training.summary.recording import image as image
from graftax.training.summary.recording import name_scope as name_scope
from graftax.training.summary.recording import record_if as record_if
from graftax.training.summary.recording import scalar as scalar
from graftax.training.summary.recording import set_step as set_step
from graftax.training.summary.recording import text as text

if not _typing.TYPE_CHECKING:  # so that type checkers see the names
    __getattr__ = _answering("summary")
__all__ = _names_in(globals())  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above


def __dir__() -> list[str]:
    return sorted(__all__)
