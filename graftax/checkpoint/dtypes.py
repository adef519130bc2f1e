"""Dtypes by name: the bits of an element, and how it is stored in a data file, which must be plain safetensors."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from graftax.core.typedefs import Shape


class DType(NamedTuple):
    """A dtype that the format supports.

    ``bits`` per element as stored; ``stored`` the safetensors dtype; ``layout``: ``plain`` as it is, ``pair`` real and
    imaginary part on a trailing axis, ``packed`` several elements a byte, ``bits`` the bytes of a dtype that other
    tools do not know.
    """

    bits: int
    stored: str
    layout: str

    @property
    def scalar_bytes(self) -> int:
        """Return the number of bytes of a single element."""
        return -(-self.bits // 8)


def _make_table() -> dict[str, DType]:
    table = {"bool": DType(8, "BOOL", "plain"), "bfloat16": DType(16, "BF16", "plain")}
    for bits in (8, 16, 32, 64):
        table[f"int{bits}"] = DType(bits, f"I{bits}", "plain")
        table[f"uint{bits}"] = DType(bits, f"U{bits}", "plain")
    for bits in (16, 32, 64):
        table[f"float{bits}"] = DType(bits, f"F{bits}", "plain")
    table["float8_e4m3fn"] = DType(8, "F8_E4M3", "plain")
    table["float8_e5m2"] = DType(8, "F8_E5M2", "plain")
    table["complex64"] = DType(64, "F32", "pair")
    table["complex128"] = DType(128, "F64", "pair")
    for name, bits in (("int4", 4), ("uint4", 4), ("float4_e2m1fn", 4), ("int2", 2), ("uint2", 2)):
        table[name] = DType(bits, "U8", "packed")
    for kind in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"):
        table[f"float8_{kind}"] = DType(8, "U8", "bits")
    return table


DTYPES = _make_table()
"""All dtypes that the format supports."""


@lru_cache(maxsize=4096)
def nbytes(dtype: str, shape: Shape) -> int:
    """Return the number of bytes of an array in a data file."""
    return -(-prod(shape) * DTYPES[dtype].bits // 8)


def read_stored_shape(dtype: str, shape: Shape) -> Shape:
    """Return the shape that other tools see."""
    layout = DTYPES[dtype].layout
    if layout == "pair":
        return (*shape, 2)
    return (nbytes(dtype, shape),) if layout == "packed" else shape


def is_possible(shape: Sequence[int]) -> bool:
    """Return True if an array of NumPy may have this shape: its axes count even where another one is empty."""
    return prod(max(size, 1) for size in shape) < 1 << 58
