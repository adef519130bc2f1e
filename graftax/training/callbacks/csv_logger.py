"""CSVLogger: writes the numbers of every epoch to a CSV file."""

from __future__ import annotations

import csv
import os
from io import StringIO
from pathlib import Path
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.of_constructor import OfConstructor
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.log_files import translated_errors


class CSVLogger(Callback):
    """Writes a line for each epoch: its number, counted from 0, and its logs.

    The line is written when the epoch ends. A number that first appears later, for example from a validation every
    second epoch, gets a new column, which is empty in earlier lines. A resumed run continues the file after the last
    line that its saved state includes.

    Args:
        filename: The file.
        separator: The separator of columns, one character. Defaults to ``","``.
        append: Keep the content of the file, and append to it. Defaults to False.

    Raises:
        LogError: the file cannot be written; the model keeps the state after the last step.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1, kernel_initializer="ones")])
        >>> model.compile(gx.optimizers.SGD(0.0), "mse")
        >>> x = np.ones((4, 2), "float32")
        >>> _ = model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[CSVLogger("log.csv")])
        >>> import pathlib
        >>> pathlib.Path("log.csv").read_text().splitlines()
        ['epoch,loss,learning_rate', '0,1.0,0.0', '1,1.0,0.0']
    """

    main_only = True

    filename = OfConstructor("graftax.callbacks.CSVLogger(..., filename={value}), a new callback")

    def __init__(self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False) -> None:
        super().__init__()
        if not isinstance(filename, str | os.PathLike):
            raise ArgumentTypeError(f"CSVLogger got {filename!r:.60}", "it takes a path", 'CSVLogger("log.csv")')
        if len(separator) != 1:
            raise ArgumentError(f"CSVLogger got separator={separator!r}", "it is one character", 'separator=","')
        self.path = Path(filename)
        self.separator = separator
        self.append = append
        self._columns: list[str] = []
        self._lines = 0  # of the file, the one with the names of the columns among them
        self._is_open = False
        self._saved: dict[str, Any] | None = None  # the state that a resumed run goes on from

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Start a new file, unless ``append`` is True. A later `set_state` overrides this."""
        self._is_open = False
        self._columns, self._lines, self._saved = [], 0, None

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Write the line."""
        row = {"epoch": epoch, **(logs or {})}
        with translated_errors("CSVLogger", self.path):
            if not self._is_open:
                self._open()
            if any(name not in self._columns for name in row):
                self._widen([*self._columns, *(name for name in row if name not in self._columns)])
            with self.path.open("a", newline="", encoding="utf-8") as file:
                file.write(self._line([row.get(name, "") for name in self._columns]))
            self._lines += 1

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._saved is not None and self.path.exists():
            self._go_back(self._saved)
        elif not self.append:
            self.path.write_text("")
        if self.append or self._saved is not None:
            self._end_last_line()
        kept = self._rows()
        self._columns, self._lines = kept[0] if kept else [], len(kept)
        self._is_open = True

    def _go_back(self, saved: dict[str, Any]) -> None:
        """Take out what was written after the state was saved."""
        rows, columns = self._rows(), saved.get("columns")
        if columns is not None and rows and rows[0] != columns and len(rows) >= saved["lines"]:
            # columns were added since, to all lines, so the size says nothing any more
            self._rewrite([row[: len(columns)] for row in rows[: saved["lines"]]])
        else:
            os.truncate(self.path, min(saved["size"], self.path.stat().st_size))

    def _end_last_line(self) -> None:
        """Begin a new line, if somebody else, or a process that was killed, left one without its end."""
        if self.path.exists() and (text := self.path.read_bytes()) and not text.endswith(b"\n"):
            with self.path.open("ab") as file:
                file.write(b"\n")

    def _widen(self, columns: list[str]) -> None:
        """Rewrite the file with more columns."""
        kept = [[*row, *[""] * (len(columns) - len(row))] for row in self._rows()[1:]]
        self._rewrite([columns, *kept])
        self._columns, self._lines = columns, 1 + len(kept)

    def _rewrite(self, rows: list[list[str]]) -> None:
        """Replace the content of the file. The old file stays until the new one is complete."""
        beside = self.path.with_name(f"{self.path.name}.new")
        beside.write_text("".join(map(self._line, rows)), encoding="utf-8", newline="")
        os.replace(beside, self.path)

    def _rows(self) -> list[list[str]]:
        if not self.path.exists():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            return list(csv.reader(file, delimiter=self.separator))

    def _line(self, cells: list[Any]) -> str:
        text = StringIO()
        csv.writer(text, delimiter=self.separator, lineterminator="\n").writerow(cells)
        return text.getvalue()

    def get_state(self) -> dict[str, Any]:
        """Return the size of the file, its columns, and the number of its lines."""
        if not self._is_open and self._saved is not None:
            return self._saved
        if not self.path.exists() or not (self._is_open or self.append):
            return {"size": 0, "columns": [], "lines": 0}
        if not self._is_open:  # nothing is written yet, and what an earlier run has written is kept
            kept = self._rows()
            return {"size": self.path.stat().st_size, "columns": kept[0] if kept else [], "lines": len(kept)}
        return {"size": self.path.stat().st_size, "columns": list(self._columns), "lines": self._lines}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue the file from there: lines written after the state was saved are written again."""
        self._saved = dict(state)
        self._is_open = False
