"""Callbacks: code that runs at given moments of fit, evaluate and predict."""

import typing as _typing

from graftax.core.namespaces import answering as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.training.callbacks.callback import Callback as Callback
from graftax.training.callbacks.callback import Logs as Logs
from graftax.training.callbacks.history import History as History
from graftax.training.callbacks.progress import Progress as Progress

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("callbacks")
__all__ = _names_in(globals())  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above


def __dir__() -> list[str]:
    return sorted(__all__)
