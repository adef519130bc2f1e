"""Tables, numbers and JSON on standard output."""

import json
import time
from collections.abc import Sequence
from math import isfinite
from typing import Any


def print_table(rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = "") -> None:
    """Print rows in columns; those numbered in ``right`` are aligned to the right."""
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print((indent + "  ".join(cells)).rstrip())


def size(count: int) -> str:
    """Return a number of bytes for people.

    Example:
        >>> size(512), size(20_480_000)
        ('512 B', '20.5 MB')
    """
    if count < 1000:
        return f"{count} B"
    scaled = float(count)
    for unit in ("kB", "MB", "GB"):
        scaled /= 1000
        if scaled < 999.95:
            return f"{scaled:.1f} {unit}"
    return f"{scaled / 1000:.1f} TB"


def moment(created: int) -> str:
    """Return nanoseconds since the epoch as local time."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(created / 1e9))
    except (OverflowError, ValueError, OSError):
        return f"{created} ns"


def escape_control(text: str) -> str:
    """Return text from a file without what would move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def format_value(value: object, limit: int = 70) -> str:
    """Return a saved Python value on one line."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        text = f"{type(value).__name__} too long to show"
    return escape_control(text if len(text) <= limit else f"{text[: limit - 3]}...")


def print_json(content: object) -> None:
    """Print JSON; values that JSON lacks are shown as text."""
    print(json.dumps(_to_json(content), indent=1, allow_nan=False))


def _to_json(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key if type(key) is str else repr(key): _to_json(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_to_json(item) for item in value]
    if kind is float and not isfinite(value):  # JSON has no such numbers
        return repr(value)
    return value if kind in (str, int, float, bool, type(None)) else repr(value)
