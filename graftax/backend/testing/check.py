"""One row of the kit, and what it is given to look at a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from graftax.backend.protocol import Backend

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}
"""How far numbers may be off, relative to 1 or to themselves, by dtype; others are compared exactly."""


class Kit:
    """A backend under test, and how its arrays are compared.

    Args:
        backend: The backend.
        tolerances: Other numbers than those of the kit, by name of dtype.

    Example:
        >>> from graftax.backend.registry import load
        >>> kit = Kit(load("numpy"), {})
        >>> kit.close(kit.array([1.0, 2.0]) * 2, np.array([2.0, 4.0], "float32"))
    """

    def __init__(self, backend: Backend, tolerances: Mapping[str, float]) -> None:
        self.backend = backend
        self.tolerances = {**TOLERANCES, **tolerances}

    def array(self, x: Any, dtype: str | None = None) -> Any:
        """Return a native array."""
        return self.backend.arrays.asarray(x, dtype)

    def host(self, x: Any) -> np.ndarray[Any, Any]:
        """Return the values of a native array on the host."""
        return np.asarray(self.backend.arrays.to_numpy(x))

    def close(self, actual: Any, expected: Any, what: str = "", dtype: str | None = None) -> None:
        """Raise AssertionError unless an array has the shape, the dtype and about the numbers of another one.

        Args:
            actual: A native array, or what the backend makes one of.
            expected: The numbers of NumPy.
            what: What is compared, for the message.
            dtype: The dtype that is wanted; None for that of ``expected``.
        """
        given, wanted = self.host(self.array(actual)), np.asarray(expected)
        name = dtype or wanted.dtype.name
        assert given.shape == wanted.shape, f"{what}: shape {given.shape}, not {wanted.shape}"
        assert given.dtype.name == name, f"{what}: dtype {given.dtype.name}, not {name}"
        tolerance = self.tolerances.get(name, 0.0)
        if "float" in name:
            given, wanted = given.astype("float64"), wanted.astype("float64")
        np.testing.assert_allclose(given, wanted, rtol=tolerance, atol=tolerance, err_msg=what)


class Check(NamedTuple):
    """One thing that a backend must do."""

    name: str
    """What is looked at, such as ``ops/add/0``; the key in `Conformance.known`."""
    group: str
    """The group that promises it."""
    run: Callable[[Kit], None]
    """Raises if it is not so."""


@contextmanager
def raises(*kinds: type[BaseException]) -> Iterator[None]:
    """Fail unless the block raises one of these."""
    names = " or ".join(kind.__name__ for kind in kinds)
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} was raised, not {names}: {error}") from error
    raise AssertionError(f"nothing was raised, and {names} was due")


def rows(group: str, **functions: Callable[[Kit], None]) -> list[Check]:
    """Return checks of one group from functions; ``_`` in a name stands for a space."""
    return [Check(f"{group}/{name.replace('_', ' ')}", group, function) for name, function in functions.items()]
