"""A drawing of a model: its layers as nested boxes, by Graphviz if it is installed."""

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
    """A drawing as SVG, and in the DOT language of Graphviz; notebooks display it.

    Args:
        svg: The drawing as SVG.
        dot: The drawing in the DOT language.

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
        """Write the drawing to a file in the format of its suffix.

        Args:
            path: The file: ``.svg``; ``.dot`` for the language of Graphviz; ``.png``, ``.pdf``, ``.jpg`` or ``.ps``
                if Graphviz is installed.

        Raises:
            ArgumentError: the suffix is another one, or Graphviz is not installed.
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
            where.write_bytes(graphviz_drawing.render(self.dot, kind))


@door
def plot_model(model: Layer, to_file: str | os.PathLike[str] | None = None, expand: bool | int = True) -> Drawing:
    """Return a drawing of a model as SVG: a box for each layer, with its path, shape and number of parameters.

    Nested layers are nested boxes. In a `Sequential` and in a graph of layers, lines lead from the producer of a value
    to its consumers, and ops are boxes, too. The wiring in the ``call`` of a class is not known, so its layers are in
    the order of its attributes. Graphviz draws the model if its program ``dot`` is installed; otherwise the boxes are
    in one column.

    Args:
        model: The model.
        to_file: A file to write the drawing to, see `Drawing.save`: ``"model.svg"``. Defaults to None.
        expand: The number of nested levels of layers to draw; True for all. Defaults to True.

    Raises:
        ArgumentTypeError: ``model`` is not a layer.
        ArgumentError: the suffix of the file is not supported.
        StateError: graphviz failed.

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
        svg = graphviz_drawing.render(dot, "svg").decode()
        svg = svg[svg.index("<svg") :]  # a notebook shows an SVG without the XML declaration
    else:
        svg = column_drawing(boxes)
    drawing = Drawing(svg, dot)
    if to_file is not None:
        drawing.save(to_file)
    return drawing
