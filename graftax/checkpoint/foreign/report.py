"""The report of `load_foreign`."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftax.checkpoint.foreign.settings import Setting, shown
from graftax.checkpoint.report import RestoreReport
from graftax.checkpoint.report_table import Row


class LeftOut(NamedTuple):
    """An array of a file that no Variable uses, and the reason why it is not needed."""

    name: str
    reason: str


class ForeignReport(RestoreReport):
    """What `load_foreign` did: a `RestoreReport` with more attributes.

    ``source`` is the library whose rules were applied. ``left_out`` are arrays that no layer needs, with the reason;
    ``kept`` are Variables that the file does not have and that keep their values; ``settings`` are the settings of
    layers that differ from the defaults of that library; ``by_order`` are paths of layers that nothing but the order of
    definition tells apart; ``notes`` are further notes. These five are tuples.
    """

    def __init__(self, path: str, source: str, mode: str) -> None:
        super().__init__(path, mode)
        self.source = source
        self.left_out: tuple[LeftOut, ...] = ()
        self.kept: tuple[str, ...] = ()
        self.settings: tuple[Setting, ...] = ()
        self.by_order: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return {
            **super().as_dict(),
            "source": self.source,
            "left_out": [one._asdict() for one in self.left_out],
            "kept": self.kept,
            "settings": [one._asdict() for one in self.settings],
            "by_order": self.by_order,
            "notes": self.notes,
        }

    def _rows(self) -> list[Row]:
        """Return the rows of every restore, and those of what other libraries keep differently."""
        known = "by default; the file does not say which was used"
        return [
            *super()._rows(),
            *(Row("left out", one.name, one.reason) for one in self.left_out),
            *(Row("kept", path, "files of other libraries do not have it") for path in self.kept),
            *(Row("setting", str(one), f"{self.source}: {shown(one.there)} {known}") for one in self.settings),
            *(
                Row("by order", path, "neither its name nor its shapes say which array is its own")
                for path in self.by_order
            ),
            *(Row("note", note) for note in self.notes),
        ]
