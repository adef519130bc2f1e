"""The table that `Model.summary` prints."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import GraftaxError, NotBuiltError
from graftax.layers.building import is_built, unbuilt_below
from graftax.layers.layer import Layer
from graftax.variables.graph.module import Module, walk_with_edges


def summarize(model: Layer) -> str:
    """Layers with their path, output shape and number of parameters; totals below."""
    rows = [("layer", "output shape", "parameters", "")]
    seen: set[int] = set()
    for edges, node in walk_with_edges(model):
        if node is model or not isinstance(node, Layer):
            continue
        own = [v for v in node.variables if id(v) not in seen and v.role in ("weight", "state")]
        if any(isinstance(below, Layer) for below in node.submodules):
            own = []  # counted by the layers below
        seen.update(id(v) for v in own)
        count = sum(v.size for v in own)
        frozen = "" if node.trainable else "frozen"
        title = f"{'/'.join(map(str, edges))} ({type(node).__name__})"
        rows.append((title, _output_shape(node), f"{count:,}" if is_built(node) else "?", frozen))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    line = "-" * (sum(widths) + 6)
    text = [_line(rows[0], widths), line, *(_line(row, widths) for row in rows[1:]), line]
    return "\n".join([f"{type(model).__name__} {model.name!r}", *text, *_totals(model)])


def count_params(model: Layer) -> int:
    """The number of elements of all weights.

    Raises:
        NotBuiltError: a layer is not built.
    """
    if unbuilt := unbuilt_below(model):
        raise NotBuiltError(
            f"count_params() of {type(model).__name__}, of which "
            f"{unbuilt[0]._gx_path or unbuilt[0].name!r} is not built",
            "its weights are made at the first call",
            "call it on an example first: model(x[:1])",
        )
    return sum(v.size for v in model.variables if v.role in ("weight", "state"))


def _line(row: tuple[str, str, str, str], widths: list[int]) -> str:
    title, shape, count, frozen = row
    return f"{title:<{widths[0]}}  {shape:<{widths[1]}}  {count:>{widths[2]}}  {frozen}".rstrip()


def _output_shape(layer: Layer) -> str:
    shape: Any = layer._gx_input_shape
    if shape is None:
        return "?"
    try:
        return str(layer.compute_output_shape((None, *shape[1:])))
    except (GraftaxError, KeyError, TypeError, ValueError):
        return "?"  # takes more than one array, say; the table is no place to fail


def _totals(model: Module) -> list[str]:
    trainable = sum(v.size for v in model.trainable_variables)
    rest = sum(v.size for v in model.non_trainable_variables if v.role in ("weight", "state"))
    total = sum(v.size * _bytes(v.dtype) for v in model.variables)
    return [
        f"parameters: {trainable + rest:,} ({total:,} bytes)",
        f"  trainable {trainable:,}, not trainable {rest:,}",
    ]


def _bytes(dtype: str) -> int:
    bits = int("".join(c for c in dtype if c.isdigit())[:2] or 8)
    return max(bits // 8, 1)
