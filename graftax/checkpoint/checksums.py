"""Block checksums: they find accidents of storage, not attackers."""

import zlib
from collections.abc import Callable

import xxhash

BLOCK = 4 << 20
"""Bytes per checksum block in what this version writes."""

DEFAULT = "xxh3-64"

digest: Callable[..., int] = xxhash.xxh3_64_intdigest
"""The checksum of the index and of headers, and the default one of blocks."""

FUNCTIONS: dict[str, Callable[..., int]] = {DEFAULT: digest, "crc32": zlib.crc32}
"""Every checksum that a reader knows, by the name that an index gives."""


def block_sums(data: memoryview, block: int = BLOCK, kind: str = DEFAULT) -> bytes:
    """Return the checksums of the blocks of ``data``, 8 bytes each, the last block possibly short."""
    function = FUNCTIONS[kind]
    if len(data) <= block:
        return function(data).to_bytes(8, "little") if len(data) else b""
    return b"".join(function(data[i : i + block]).to_bytes(8, "little") for i in range(0, len(data), block))
