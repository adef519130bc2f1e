"""The 32 bytes before the index: magic, version, length and checksum, which are checked before decoding."""

import struct

from graftax.checkpoint.checksums import digest
from graftax.checkpoint.damaged import AGAIN
from graftax.core.errors import CorruptMetadata, FormatTooNew, FormatTooOld, LimitExceeded

MAGIC = b"\x89GFXCK\n\x00"
MAJOR, MINOR = 1, 0
FLAGS = 1
"""The flags of format 1.0. The draft format of graftax 0.1.0 has no flags, and so refuses files that it cannot read."""
SIZE = 32
LIMIT = 32 << 20
"""Bytes of ``graph.msgpack`` that a reader accepts: 10 MB of hostile msgpack can become 600 MB of objects."""

_FIELDS = struct.Struct("<HHIQ")


def seal(body: bytes) -> bytes:
    """Return the content of ``graph.msgpack``.

    Raises:
        LimitExceeded: it is larger than any reader would accept.
    """
    if SIZE + len(body) > LIMIT:
        raise LimitExceeded(
            f"an index of {len(body):,} bytes",
            f"readers accept {LIMIT - SIZE:,}; about 200,000 variables fit, or large values of get_state() are in it",
            "keep large state in Variables, or save in parts with only=",
        )
    fields = _FIELDS.pack(MAJOR, MINOR, FLAGS, len(body))
    return MAGIC + fields + digest(fields + body).to_bytes(8, "little") + body


def open_envelope(data: bytes) -> memoryview:
    """Return the body inside of the envelope, after checking it.

    Raises:
        CorruptMetadata: it is damaged, or not an index.
        FormatTooNew: it has a later major version or flags that this version does not know.
        FormatTooOld: it has the draft format of graftax 0.1.0.
    """
    if len(data) < SIZE or data[:8] != MAGIC:
        raise CorruptMetadata(
            f"graph.msgpack with {len(data)} bytes, which begins with {data[:8]!r}",
            f"the index of a checkpoint has at least {SIZE} bytes and begins with {MAGIC!r}",
            AGAIN,
        )
    major, minor, flags, length = _FIELDS.unpack_from(data, 8)
    if major > MAJOR:
        raise FormatTooNew(
            f"a checkpoint of format {major}.{minor}",
            f"this version of graftax reads formats up to {MAJOR}.x",
            "pip install --upgrade graftax",
        )
    if major == 0 or length != len(data) - SIZE:
        raise CorruptMetadata(
            f"graph.msgpack of format {major}.{minor} with {len(data) - SIZE:,} bytes after its header",
            f"the header says {length:,} bytes: the file was cut or damaged",
            AGAIN,
        )
    found = digest(data[8:24] + data[SIZE:])
    expected = int.from_bytes(data[24:SIZE], "little")
    if found != expected:
        raise CorruptMetadata(
            f"graph.msgpack with checksum {found:016x}, and {expected:016x} was written into it",
            "its bytes were changed after the save",
            AGAIN,
        )
    if flags == 0:
        raise FormatTooOld(
            "a checkpoint of graftax 0.1.0",
            "its format was a draft, which no later version reads",
            "with graftax 0.1.0: graftax ckpt restore CKPT weights.safetensors, which any version takes arrays from",
        )
    if flags != FLAGS:
        raise FormatTooNew(
            f"a checkpoint with the format flags {flags:#x}",
            f"this version of graftax knows {FLAGS:#x}",
            "pip install --upgrade graftax",
        )
    return memoryview(data)[SIZE:]
