"""Optional libraries for other formats, which are imported when such a file is opened."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from graftax.core.errors import ArgumentError


def optional_library(module: str, package: str, path: str) -> Any:
    """Return a module of a library that may not be installed.

    Args:
        module: Its name for ``import``.
        package: Its name for ``pip install``.
        path: The file that needs it.

    Raises:
        ArgumentError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ArgumentError(
            f"{path}, which is read with the library {package}",
            f"{package} cannot be imported: {error}",
            f"pip install {package}",
        ) from None
