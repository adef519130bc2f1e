"""The summary of a model as a table: a row for each layer, and totals, which are the sums of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graftax.core import user_line
from graftax.core.errors import ArgumentTypeError, GraftaxError, NotBuiltError
from graftax.layers.building import is_built, unbuilt_below
from graftax.layers.inputs_of_call import building_line
from graftax.layers.layer import Layer
from graftax.layers.shapes import map_shapes
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.variable import Variable

_COLUMNS = 80
_SMALL = {"bool": 1, "int4": 0.5, "uint4": 0.5}


@dataclass(frozen=True)
class Row:
    """A layer with its own weights, and with those of layers below it that have no rows.

    Args:
        path: The edges from the model.
        kind: The name of the class.
        name: The name that the user gave, or empty.
        shape: The shape of the output, as text.
        parameters: The number of parameters; None if the layer is not built.
        size: The size of the parameters in bytes.
        note: ``"frozen"``, ``"not built"`` or empty.
    """

    path: tuple[str, ...]
    kind: str
    name: str
    shape: str
    parameters: int | None
    size: float
    note: str


class Summary:
    """The content of a model, row by row.

    Args:
        model: The model.
        expand: The number of nested levels of layers that have rows; True for all, False for one.
        show_trainable: Whether frozen layers are marked.

    Raises:
        ArgumentTypeError: ``expand`` is neither an integer nor a bool.
    """

    def __init__(self, model: Layer, expand: bool | int = True, show_trainable: bool = True) -> None:
        if not isinstance(expand, int) or (not isinstance(expand, bool) and expand < 1):
            raise ArgumentTypeError(
                f"summary got expand={expand!r}", "it is how many levels have rows, or True for all", "expand=2"
            )
        self.model = model
        self.title = f"{type(model).__name__} {model.name!r}"
        self.shows_trainable = show_trainable
        levels = None if expand is True else max(int(expand), 1)
        self.rows = list(_rows(model, levels))
        weights = [v for v in model.variables if v.role in ("weight", "state")]
        self.trainable = sum(v.size for v in model.trainable_variables if v.role in ("weight", "state"))
        self.parameters = sum(v.size for v in weights)
        self.bytes = sum(map(_bytes, weights))
        others = [v for v in model.variables if v.role not in ("weight", "state")]
        self.other_bytes = sum(map(_bytes, others))
        self.optimizer = _optimizer_of(model)
        self.optimizer_bytes = sum(map(_bytes, _variables_of_optimizer(self.optimizer)))
        unbuilt = unbuilt_below(model)
        self.unbuilt = [one._gx_path or one.name for one in unbuilt if one is not model or len(unbuilt) == 1]

    @property
    def totals(self) -> list[str]:
        """Return the lines below the table."""
        lines = [
            f"parameters: {self.parameters:,} ({bytes_text(self.bytes)})",
            f"  trainable {self.trainable:,}, not trainable {self.parameters - self.trainable:,}",
        ]
        if self.other_bytes:
            lines.append(f"seeds, metrics and other state: {bytes_text(self.other_bytes)}")
        if self.optimizer_bytes:
            lines.append(f"optimizer {type(self.optimizer).__name__}: {bytes_text(self.optimizer_bytes)}")
        if self.unbuilt:
            count = f"{len(self.unbuilt)} layer{'s' if len(self.unbuilt) > 1 else ''}"
            lines.append(f"not built: {count}; {building_line(self.model)} builds them")
        return lines

    def __str__(self) -> str:
        """Return the table. Given names have their own lines if their rows would be wider than 80 columns."""
        table = self._table_lines(beside=True)
        lines = table if max(map(len, table)) <= _COLUMNS else self._table_lines(beside=False)
        return "\n".join([self.title, *lines, *self.totals])

    def _table_lines(self, beside: bool) -> list[str]:
        cells = [("layer", "output shape", "parameters", "")]
        for row in self.rows:
            title = f"{'/'.join(row.path)} ({row.kind}{f' {row.name!r}' if beside and row.name else ''})"
            count = "?" if row.parameters is None else f"{row.parameters:,}"
            cells.append((title, row.shape, count, row.note if self.shows_trainable or row.note != "frozen" else ""))
        widths = [max(len(row[i]) for row in cells) for i in range(4)]
        line = "-" * (sum(widths) + 6)
        head, *lines = (_line(row, widths) for row in cells)
        names = ["" if beside or not row.name else f"\n    name={row.name!r}" for row in self.rows]
        return [head, line, *(text + name for text, name in zip(lines, names, strict=True)), line]


def summarize(model: Layer) -> str:
    """Return the table as text."""
    return str(Summary(model))


def count_params(model: Layer) -> int:
    """Return the number of elements of all weights; warn about layers that no call of a built model has used.

    Raises:
        NotBuiltError: the model is not built.
    """
    if unbuilt := unbuilt_below(model):
        first = unbuilt[0]._gx_path or unbuilt[0].name
        if not is_built(model):
            raise NotBuiltError(
                f"count_params() of {type(model).__name__}, of which {first!r} is not built",
                "its weights are made at the first call",
                f"call it on an example first: {building_line(model)}",
            )
        user_line.warn(
            f"count_params() of {type(model).__name__} counts nothing for {first!r}: no call has used it, so that it "
            "has no weights"
        )
    return sum(v.size for v in model.variables if v.role in ("weight", "state"))


def _rows(model: Layer, levels: int | None) -> list[Row]:
    """Return the rows. Each Variable is counted only in the first layer that has it."""
    layers = [(tuple(map(str, edges)), node) for edges, node in walk_with_edges(model) if isinstance(node, Layer)]
    shown = [(path, node) for path, node in layers if path and (levels is None or _depth(path, layers) <= levels)]
    if len(layers) == 1 or bool(_own_weights(model, layers, shown, ())):
        shown = [((), model), *shown]
    rows = []
    counted: set[int] = set()
    for path, node in shown:
        own = [v for v in _own_weights(node, layers, shown, path) if id(v) not in counted]
        counted.update(map(id, own))
        built = is_built(node) if any(p[: len(path)] == path and p != path for p, _ in shown) else _is_all_built(node)
        weights = [v for v in own if v.role == "weight"]
        frozen = not node.trainable or (bool(weights) and not any(v.trainable for v in weights))
        note = "" if built and not frozen else "frozen" if built else "not built"
        number = sum(v.size for v in own) if built or own else None
        kind, name, size = type(node).__name__, "", sum(map(_bytes, own))
        if path:  # the title has the name of the model
            name = node._gx_name or ""
        rows.append(Row(path or (".",), kind, name, _output_shape(node), number, size, note))
    return rows


def _own_weights(
    node: Layer, layers: list[tuple[tuple[str, ...], Layer]], shown: list[tuple[tuple[str, ...], Layer]], path: Any
) -> list[Variable]:
    """Return the weights below a layer that are in no nested layer with a row."""
    further = [one for where, one in shown if where != path and where[: len(path)] == path]
    theirs = {id(v) for one in further for v in one.variables}
    return [v for v in node.variables if v.role in ("weight", "state") and id(v) not in theirs]


def _depth(path: tuple[str, ...], layers: list[tuple[tuple[str, ...], Layer]]) -> int:
    """Return the depth of a layer: the number of layers between the model and it, plus one."""
    return sum(1 for other, _ in layers if other and path[: len(other)] == other)


def _is_all_built(layer: Layer) -> bool:
    return is_built(layer) and not unbuilt_below(layer)


def _line(row: tuple[str, str, str, str], widths: list[int]) -> str:
    title, shape, count, note = row
    return f"{title:<{widths[0]}}  {shape:<{widths[1]}}  {count:>{widths[2]}}  {note}".rstrip()


def _output_shape(layer: Layer) -> str:
    shape: Any = layer._gx_input_shape
    if shape is None:
        return "?"
    for batch in (_any_batch, tuple):
        try:
            return str(layer.compute_output_shape(map_shapes(batch, shape)))
        except (GraftaxError, KeyError, TypeError, ValueError):  # a summary should not raise
            continue
    return "?"


def _any_batch(shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    return (None, *shape[1:])


def _optimizer_of(model: Layer) -> Any:
    objectives = getattr(model, "_gx_objectives", None)
    return None if objectives is None else objectives.optimizer


def _variables_of_optimizer(optimizer: object) -> list[Variable]:
    """Return the Variables of an optimizer, including slots."""
    if not isinstance(optimizer, Module):
        return []
    slots = [record.slot for _, one in walk_with_edges(optimizer) for record in _records(one)]
    return list({id(v): v for v in [*optimizer.variables, *slots] if isinstance(v, Variable)}.values())


def _records(node: object) -> Any:
    return node._gx_slot_records() if isinstance(node, Module) else ()


def _bytes(variable: Variable) -> float:
    return variable.size * bytes_of(variable.dtype)


def bytes_of(dtype: str) -> float:
    """Return the number of bytes of one element of a dtype; 0.5 for 4 bits."""
    if dtype in _SMALL:
        return _SMALL[dtype]
    bits = int("".join(c for c in dtype.removeprefix("b").partition("_")[0] if c.isdigit())[:3] or 8)
    return bits / 8


def bytes_text(size: float) -> str:
    """Return a number of bytes as text."""
    plain = f"{int(size):,} bytes"
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= 10 * unit:
            return f"{plain}, {size / unit:.1f} {name}"
    return plain
