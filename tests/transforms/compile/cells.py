"""A notebook: cells that run one after another in one namespace."""

import sys
from types import ModuleType

import numpy as np
import pytest

import graftax as gx

BEGIN = """
import collections, contextlib, dataclasses, enum, functools, types
import numpy as np
import graftax as gx
from graftax import layers, ops
"""


class Cells:
    """A notebook whose function ``f`` is called compiled and as plain Python.

    Args:
        name: What the namespace has as ``__name__``; None for a namespace without one.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str | None = "a_notebook_of_values") -> None:
        self.known: dict = {}
        if name is not None:
            module = ModuleType(name)
            monkeypatch.setitem(sys.modules, name, module)
            self.known = vars(module)
        self.run(BEGIN)

    def run(self, cell: str) -> None:
        exec(compile(cell, "<cell>", "exec"), self.known)

    def results(self) -> list[float]:
        """Return what ``f`` computes: compiled, once more, and as plain Python."""
        x = np.float32(3.0)
        found = [self.known["f"](x), self.known["f"](x)]
        gx.run_eagerly(True)
        try:
            found.append(self.known["f"](x))
        finally:
            gx.run_eagerly(False)
        return [float(np.sum(np.asarray(one))) for one in found]
