"""Hashing: tokens as one of so many bins, without a vocabulary."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.layers.arguments import check_positive
from graftax.layers.category_encoding import check_modes, encode
from graftax.layers.host_array import host_array
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables.keys import checked_seed


class Hashing(Layer):
    """Text or integers as one of ``num_bins`` bins: the same token has the same bin on every machine.

    It computes on the host, at once: apply it to data before they go to a model.

    Args:
        num_bins: How many bins there are, the one of ``mask_value`` among them.
        mask_value: A token whose bin is 0; all others get bins from 1. Defaults to None, none.
        salt: A number that makes other bins. Defaults to None.
        output_mode: ``"int"`` for the number of the bin, or one of those of `CategoryEncoding`. Defaults to ``"int"``.
        name: As for `Layer`.
        dtype: As for `Layer`, for vectors and counts; numbers of bins are int32.

    Shape:
        ``(...) -> (...)``; for other modes as for `CategoryEncoding`

    Raises:
        ArgumentError: a setting is out of range.
        ArgumentTypeError: the input is neither text nor integers.

    Example:
        >>> layer = Hashing(4)
        >>> bins = layer([["a", "b", "a"]])
        >>> bins.shape, int(bins[0, 0]) == int(bins[0, 2])
        ((1, 3), True)

    Source: Weinberger et al., arXiv 0902.2206; the hash is BLAKE2b, RFC 7693.
    """

    def __init__(
        self,
        num_bins: int,
        mask_value: str | int | None = None,
        salt: int | None = None,
        output_mode: str = "int",
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.num_bins = check_positive("num_bins", num_bins, 64)
        self.mask_value = mask_value
        if mask_value is not None and self.num_bins < 2:
            raise ArgumentError(f"num_bins={num_bins}, mask_value={mask_value!r}", "no bin is left", "num_bins=2")
        self.salt = None if salt is None else checked_seed(salt)
        self.output_mode = check_modes(output_mode)

    def __call__(self, inputs: Any) -> Array:
        """Compute the bins on the host, at once."""
        return self.call(inputs)

    @door
    def call(self, inputs: Any) -> Array:
        tokens = host_array(inputs, "iuU", self._gx_title())
        first = int(self.mask_value is not None)
        if first and isinstance(self.mask_value, str) != (tokens.dtype.kind == "U"):
            raise ArgumentTypeError(
                f"tokens of dtype {tokens.dtype}, mask_value={self.mask_value!r}",
                "no token is equal to it, and nothing would be masked",
                f"mask_value={str(self.mask_value)!r}" if tokens.dtype.kind == "U" else "mask_value=0",
            )
        bins = [
            0 if first and token == self.mask_value else first + hash_token(token, self.num_bins - first, self.salt)
            for token in tokens.ravel().tolist()
        ]
        found = ops.asarray(np.asarray(bins, "int32").reshape(tokens.shape))
        if self.output_mode == "int":
            return found
        return encode(found, self.num_bins, self.output_mode, self.compute_dtype)


def hash_token(token: str | bytes | int, bins: int, salt: int | None = None) -> int:
    """Return the bin of a token, the same on every machine."""
    data = token if isinstance(token, bytes) else str(token).encode()
    key = b"" if salt is None else salt.to_bytes(8, "little")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "little") % bins
