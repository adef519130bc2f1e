"""The report of an export: what was written, left out and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Checked(NamedTuple):
    """A program compared with its function."""

    sizes: tuple[Mapping[str, int], ...]
    """The values of the free sizes."""
    error: float
    """The largest difference, as a part of the largest number of its array; 0 for equal bits."""


class SignatureReport(NamedTuple):
    """One program of an artefact."""

    bytes: int
    """The size of the program."""
    checked: Checked | None
    """The comparison; None if ``check`` was False."""
    folded: tuple[str, ...]
    """Weights that are expressions and were folded."""
    left_out: tuple[str, ...]
    """Checks of the function that the program does not have."""
    constants: tuple[str, ...]
    """Arrays of more than 1 MB that became constants of the program: their shapes and dtypes."""
    rows: bool
    """Whether each row is computed independently, so that rows of several requests can run together."""


class ExportReport(NamedTuple):
    """What `graftax.export.save` wrote.

    Example:
        >>> print(ExportReport("net", 2_000, {}, 3, ()))
        net: 3 values, 2.0 kB
    """

    path: str
    bytes: int
    """The size of all files."""
    signatures: Mapping[str, SignatureReport]
    values: int
    """The number of values."""
    unread: tuple[str, ...]
    """Paths of Variables that no program reads, and that are left out."""
    integers: tuple[str, ...] = ()
    """Paths of values that are stored as integers."""

    def __str__(self) -> str:
        stored = f", {len(self.integers)} of them as integers" if self.integers else ""
        lines = [f"{self.path}: {self.values} values{stored}, {_size(self.bytes)}"]
        for name, one in self.signatures.items():
            lines.append(f"  {name}: {_size(one.bytes)}, {_describe_check(one.checked)}")
            lines += [f"    computed at the export: {', '.join(one.folded)}"] if one.folded else []
            lines += [f"    without the checks: {'; '.join(one.left_out)}"] if one.left_out else []
            lines += [f"    constants: {', '.join(one.constants)}"] if one.constants else []
        if self.unread:
            more = f" and {len(self.unread) - 5} more" if len(self.unread) > 5 else ""
            lines.append(f"  left out, since nothing reads them: {', '.join(self.unread[:5])}{more}")
        return "\n".join(lines)


def _describe_check(checked: Checked | None) -> str:
    if checked is None:
        return "not compared"
    shown = "; ".join(", ".join(f"{name} = {size}" for name, size in one.items()) for one in checked.sizes if one)
    found = "equal bits" if checked.error == 0 else f"within {checked.error:.1e}"
    return f"compared{f' at {shown}' if shown else ''}{only_one_value(checked.sizes)}: {found}"


def only_one_value(sizes: Sequence[Mapping[str, int]]) -> str:
    """Return a note on free sizes that had only one value in all trials, if there are any."""
    alone = [name for name in (sizes[0] if sizes else ()) if len({one[name] for one in sizes if name in one}) == 1]
    return f" (no second value was found for {', '.join(alone)})" if alone else ""


def _size(count: int) -> str:
    return f"{count} B" if count < 1000 else f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
