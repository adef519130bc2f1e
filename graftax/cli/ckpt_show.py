"""``graftax ckpt show CKPT``."""

from argparse import Namespace
from typing import Any

from graftax.checkpoint.derived.node_descriptions import describe_node
from graftax.checkpoint.index import Index, Kind
from graftax.checkpoint.other_paths import other_node_paths
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.reader import Reader
from graftax.cli.output import escape_control, format_value, moment, print_json, print_table, size
from graftax.cli.show_table import tree
from graftax.core.selectors import compile_selector
from graftax.core.tally import Tally


def run(options: Namespace) -> int:
    """Print the paths of a checkpoint with what is there."""
    with Reader(options.checkpoint) as reader:
        index = reader.index
    lines = _lines(index)
    if options.only:
        tally = Tally(compile_selector(options.only))
        others = _other_paths(index)
        lines = [
            line for line in lines if tally.see((line["path"], *others.get(line["path"], ())), line.get("role"), None)
        ]
        tally.check("--only")
    if options.json:
        head = {"path": options.checkpoint, "step": index.step, "created": index.created, "bytes": index.nbytes}
        print_json({**head, "meta": index.meta, "random": index.random, "entries": lines})
        return 0
    step = "" if index.step is None else f"step {index.step:,}, "
    print(f"{options.checkpoint}: {step}{len(index.tensors):,} arrays, {size(index.nbytes)}, {moment(index.created)}")
    rows = [_row(line) for line in lines]
    if options.tree:
        tree(rows)
    else:
        print_table(rows, right=(3,), indent="  ")
    if index.random is not None and not options.only:
        print(f"gx.random {format_value(index.random)}")
    for key, value in index.meta.items():
        print(f"meta {escape_control(key)} = {format_value(value)}")
    return 0


def _other_paths(index: Index) -> dict[str, tuple[str, ...]]:
    paths = node_paths(index)
    return {paths[node]: others for node, others in other_node_paths(index, paths).items()}


def _lines(index: Index) -> list[dict[str, Any]]:
    """Return nodes in the order of their paths' first appearance, depth first; slots after all else."""
    paths = node_paths(index)
    order: list[int] = []
    waiting = list(reversed(index.roots.values()))
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            order.append(node)
            waiting += [child for _, child in reversed(index.nodes[node].edges)]
    slots = {slot.slot: slot for slot in index.slots}
    order += [slot for slot in slots if slot in paths and slot not in seen]
    return [_line(index, node, paths[node], node in slots) for node in order]


def _line(index: Index, node: int, path: str, is_slot: bool) -> dict[str, Any]:
    record = index.nodes[node]
    line: dict[str, Any] = {"path": path, "kind": "slot" if is_slot else record.kind.name.lower(), "type": record.type}
    if record.tensor is not None:
        tensor = index.tensors[record.tensor]
        line |= {"dtype": tensor.dtype, "shape": list(tensor.shape), "bytes": tensor.nbytes}
    if record.kind is Kind.VARIABLE:
        line |= {"trainable": record.payload[1], "role": record.payload[2], "saved": record.tensor is not None}
        if "adapter" in record.payload[3]:
            line["adapter"] = record.payload[3]["adapter"]
    elif record.kind is Kind.VALUE:
        line["value"] = record.payload
    elif record.kind is Kind.OBJECT and (said := describe_node(record)).keys() > {"class"}:
        line["says"] = {name: value for name, value in said.items() if name != "class"}
    return line


def _row(line: dict[str, Any]) -> tuple[str, ...]:
    path = escape_control(line["path"])
    if "dtype" in line:
        what = line.get("role", line["kind"]) + ("" if line.get("trainable", True) else ", not trainable")
        what += f", adapter {line['adapter']}" if "adapter" in line else ""
        return path, line["dtype"], str(tuple(line["shape"])), size(line["bytes"]), escape_control(what)
    if "value" in line:
        return path, "value", "", "", format_value(line["value"])
    says = ", ".join(f"{name}={format_value(value)}" for name, value in line.get("says", {}).items())
    return (
        path,
        escape_control(line["type"].rpartition(".")[2]),
        "",
        "",
        says if line.get("saved", True) else "not saved",
    )
