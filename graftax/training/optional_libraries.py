"""Optional libraries, imported at their first use, with an error that names a missing one."""

from __future__ import annotations

import importlib
from typing import Any

from graftax.core.errors import MissingLibraryError


def optional_library(module: str, extra: str, feature: str) -> Any:
    """Return a module of a library that is an extra of graftax.

    Args:
        module: The module to import, such as ``"tensorboardX.summary"``.
        extra: The extra that installs it.
        feature: What needs the library, for the message.

    Raises:
        MissingLibraryError: it is not installed, or cannot be imported.

    Example:
        >>> optional_library("json", "progress", "an example").dumps([1])
        '[1]'
    """
    library = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == library
        raise MissingLibraryError(
            f"{feature} needs {library}",
            "it is not installed" if missing else f"it does not load: {error}",
            f"pip install 'graftax[{extra}]'",
        ) from None
