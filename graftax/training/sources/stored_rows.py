"""Sparse arrays, arrays of 64 bits and arrays on disk, of which only one batch at a time is converted or read."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core.errors import DataError
from graftax.training.narrowing import NARROW, narrow, narrow_dtype
from graftax.training.sources.row_taking import rows_of


def is_stored(leaf: object) -> bool:
    """Return True for matrices of scipy.sparse, arrays of h5py and zarr, and memory maps of 64 bits."""
    return _is_sparse(leaf) or _is_file(leaf) or (isinstance(leaf, np.memmap) and leaf.dtype.name in NARROW)


def _is_sparse(leaf: object) -> bool:
    return type(leaf).__module__.startswith("scipy.sparse") and hasattr(leaf, "tocsr")


def _is_file(leaf: object) -> bool:
    root = type(leaf).__module__.partition(".")[0]
    return root in ("h5py", "zarr") and hasattr(leaf, "shape") and hasattr(leaf, "dtype")


class StoredRows:
    """Rows of an array on disk, of an array of 64 bits, or of a sparse matrix. Indexing returns dense rows of 32 bits.

    Args:
        stored: The matrix, or the array.
        name: Its name, for messages. Defaults to ``"x"``.

    Raises:
        DataError: it holds no numbers; or, when rows are read, a number that 32 bits do not hold.

    Example:
        >>> import scipy.sparse
        >>> rows = StoredRows(scipy.sparse.eye(3, format="csr"))
        >>> rows[1:].tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, stored: Any, name: str = "x") -> None:
        self._name = name
        self._is_array = isinstance(stored, np.ndarray)
        self._stored = stored.tocsr() if _is_sparse(stored) else stored
        self.shape = tuple(stored.shape)
        self.dtype = narrow_dtype(np.dtype(stored.dtype))
        self.ndim = len(self.shape)
        if self.dtype.kind not in "biufc":
            raise DataError(f"an array of dtype {stored.dtype}", "models compute with numbers", "numbers in its place")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> np.ndarray[Any, Any]:
        stored = self._stored
        if self._is_array:
            return narrow(np.asarray(rows_of(stored, rows)), self._name)
        if _is_sparse(stored):
            return narrow(stored[rows].toarray(), self._name)
        if isinstance(rows, np.ndarray) and _is_file(stored):  # h5py accepts only increasing indices
            order, back = np.unique(rows, return_inverse=True)
            return narrow(np.asarray(stored[order]), self._name)[back]
        return narrow(np.asarray(stored[rows]), self._name)

    def cut(self, rows: slice) -> Any:
        """Return some rows in the stored form; those of a file are read."""
        whole = _is_sparse(self._stored) or not _is_file(self._stored)
        return StoredRows(self._stored[rows], self._name) if whole else self[rows]
