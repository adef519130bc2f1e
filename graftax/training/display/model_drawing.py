"""A drawing of a model: its layers as boxes inside of boxes, in their order."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from graftax.core.errors import ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.layers.layer import Layer
from graftax.training.display.summary_table import Row, Summary

_WIDTH, _HIGH, _GAP, _PAD = 300, 44, 18, 12


class Drawing:
    """A picture as SVG; a notebook shows it.

    Example:
        >>> Drawing("<svg/>").svg
        '<svg/>'
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it into a file, whose name ends in ``.svg``."""
        Path(path).write_text(self.svg, encoding="utf-8")


@door
def plot_model(model: Layer, to_file: str | os.PathLike[str] | None = None, expand: bool | int = True) -> Drawing:
    """Return a drawing of a model as SVG: a box for each layer, with its path, shape and number of parameters.

    Layers inside of others are boxes inside of boxes. They stand in the order in which the model holds them, which is
    that of computation in a `Sequential`.

    Args:
        model: The model.
        to_file: Where it is written, too. Defaults to None.
        expand: How many levels of layers inside of layers are drawn; True for all. Defaults to True.

    Raises:
        ArgumentTypeError: it is no layer.

    Example:
        >>> import graftax as gx
        >>> drawing = plot_model(gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(1)]))
        >>> drawing.svg.count("<rect")
        3
    """
    if not isinstance(model, Layer):
        raise ArgumentTypeError(f"plot_model got {type(model).__name__}", "it draws layers", "plot_model(model)")
    summary = Summary(model, expand)
    boxes = _Boxes([row for row in summary.rows if row.path != (".",)])
    total = summary.parameters
    body, high = boxes.column((), 0, _PAD + 24)
    title = escape(f"{summary.title}, {total:,} parameters")
    width = _WIDTH + 2 * _PAD * (boxes.depth + 1)
    drawing = Drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2}" height="{high + 2}" '
        f'font-family="sans-serif" font-size="12">'
        f'<rect x="1" y="1" width="{width}" height="{high}" rx="8" fill="#fff" stroke="#888"/>'
        f'<text x="{_PAD}" y="20" font-weight="bold">{title}</text>{body}</svg>'
    )
    if to_file is not None:
        drawing.save(to_file)
    return drawing


class _Boxes:
    """The layers as boxes, each below the one before it."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = {row.path: row for row in rows}
        self._parents = {path: self._parent(path) for path in self._rows}
        self.depth = max((self._depth(path) for path in self._rows), default=0)

    def _parent(self, path: tuple[str, ...]) -> tuple[str, ...]:
        return max(
            (other for other in self._rows if other != path and path[: len(other)] == other), key=len, default=()
        )

    def _depth(self, path: tuple[str, ...]) -> int:
        parent = self._parents[path]
        return 1 + self._depth(parent) if parent else 0

    def column(self, parent: tuple[str, ...], level: int, top: int) -> tuple[str, int]:
        """The boxes below a layer, from a height on; and the height where they end."""
        parts: list[str] = []
        width = _WIDTH + 2 * _PAD * (self.depth - level)
        left = 1 + _PAD * (level + 1)
        previous: int | None = None
        for path, row in self._rows.items():
            if self._parents[path] != parent:
                continue
            if previous is not None:
                middle = left + width // 2
                parts.append(f'<path d="M{middle} {previous} V{top}" stroke="#888" fill="none"/>')
            inside, end = self.column(path, level + 1, top + _HIGH)
            high = max(end - top, _HIGH) if inside else _HIGH
            parts.append(_box(row, left, top, width, high) + inside)
            previous = top + high
            top = previous + _GAP
        return "".join(parts), (top - _GAP + _PAD) if parts else top


def _box(row: Row, left: int, top: int, width: int, high: int) -> str:
    count = "not built" if row.parameters is None else f"{row.parameters:,} parameters"
    title = escape(f"{row.kind}  {'/'.join(row.path)}")
    detail = escape(", ".join(part for part in (row.shape.replace("?", ""), count, row.note) if part))
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{high}" rx="6" fill="#eef3fb" stroke="#5878a8"/>'
        f'<text x="{left + 8}" y="{top + 17}">{title}</text>'
        f'<text x="{left + 8}" y="{top + 34}" fill="#555">{detail}</text>'
    )
