"""A drawing of a model: its layers as boxes inside of boxes, by Graphviz where that is installed."""

from __future__ import annotations

import os
from pathlib import Path

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.layers.layer import Layer
from graftax.training.display import graphviz_drawing
from graftax.training.display.column_drawing import column_drawing
from graftax.training.display.model_boxes import boxes_of

_OF_GRAPHVIZ = ("png", "pdf", "jpg", "ps")


class Drawing:
    """A picture as SVG, and in the language of Graphviz; a notebook shows it.

    Args:
        svg: The picture.
        dot: What ``dot`` draws it from.

    Example:
        >>> Drawing("<svg/>", "digraph {}").svg
        '<svg/>'
    """

    def __init__(self, svg: str, dot: str) -> None:
        self.svg = svg
        self.dot = dot

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it into a file, whose name says how.

        Args:
            path: Its name: ``.svg``; ``.dot`` for the language of Graphviz; ``.png``, ``.pdf``, ``.jpg`` or ``.ps``
                with Graphviz.

        Raises:
            ArgumentError: the name ends in something else, or Graphviz is not installed.
        """
        where = Path(path)
        kind = where.suffix[1:].lower()
        if kind in ("svg", "dot", "gv"):
            where.write_text(self.svg if kind == "svg" else self.dot, encoding="utf-8")
        elif kind not in _OF_GRAPHVIZ:
            raise ArgumentError(
                f"a drawing into {os.fspath(path)!r}",
                f"the end of the name says what is written: .svg, .dot, .{', .'.join(_OF_GRAPHVIZ)}",
                f"{os.fspath(where.with_suffix('.svg'))!r}",
            )
        elif not graphviz_drawing.is_installed():
            raise ArgumentError(
                f"a drawing into {os.fspath(path)!r}",
                "the program dot of Graphviz draws it, and is not installed",
                f"{os.fspath(where.with_suffix('.svg'))!r}; or Graphviz from your system",
            )
        else:
            where.write_bytes(graphviz_drawing.drawn(self.dot, kind))


@door
def plot_model(model: Layer, to_file: str | os.PathLike[str] | None = None, expand: bool | int = True) -> Drawing:
    """Return a drawing of a model as SVG: a box for each layer, with its path, shape and number of parameters.

    Layers inside of others are boxes inside of boxes. Lines lead from what gives a value to what takes it, in a
    `Sequential` and in a graph of layers, whose ops are boxes, too; what the ``call`` of a class computes from what is
    not known, and its layers stand in the order in which it holds them. Graphviz draws where its program ``dot`` is
    installed; else the boxes stand in one column.

    Args:
        model: The model.
        to_file: Where it is written, too, as `Drawing.save` does: ``"model.svg"``. Defaults to None.
        expand: How many levels of layers inside of layers are drawn; True for all. Defaults to True.

    Raises:
        ArgumentTypeError: it is no layer.
        ArgumentError: the name of the file ends in what cannot be written.
        StateError: Graphviz failed.

    Example:
        >>> import graftax as gx
        >>> drawing = plot_model(gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(1)]))
        >>> drawing.svg.rstrip().endswith("</svg>"), '"layers/0" -> "layers/1"' in drawing.dot
        (True, True)
    """
    if not isinstance(model, Layer):
        raise ArgumentTypeError(f"plot_model got {type(model).__name__}", "it draws layers", "plot_model(model)")
    boxes = boxes_of(model, expand)
    dot = graphviz_drawing.dot_of(boxes)
    if graphviz_drawing.is_installed():
        svg = graphviz_drawing.drawn(dot, "svg").decode()
        svg = svg[svg.index("<svg") :]  # a notebook shows it without the lines before
    else:
        svg = column_drawing(boxes)
    drawing = Drawing(svg, dot)
    if to_file is not None:
        drawing.save(to_file)
    return drawing
