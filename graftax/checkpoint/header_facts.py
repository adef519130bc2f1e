"""What a checkpoint says besides arrays, in the header of a safetensors file: settings, adapters, flags; step and seed.

Without it, the parts of an expression would be arrays of which nobody knows what they make.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from graftax.checkpoint import values
from graftax.checkpoint.damaged import corrupt_error
from graftax.checkpoint.decode_records import node_record
from graftax.checkpoint.dtypes import DTYPES, is_possible
from graftax.checkpoint.expression_records import is_expression
from graftax.checkpoint.index import Index, Kind, NodeRecord
from graftax.checkpoint.paths import node_paths, prefixes
from graftax.core.errors import ArgumentError, GraftaxError
from graftax.core.typedefs import Shape
from graftax.reparam.settings import is_same, text_of

KEY = "graftax_objects"
HEAD_KEY = "graftax_checkpoint"
DTYPES_KEY = "graftax_dtypes"
"""The entries of the metadata."""
_CONTAINERS = (Kind.LIST, Kind.TUPLE, Kind.DICT)
_PLAIN: tuple[bool, str, dict[str, object]] = (True, "weight", {})


class Facts(NamedTuple):
    """Records of objects and Variables by path, without edges and arrays; and of containers, with keys by number."""

    objects: Mapping[str, NodeRecord]
    variables: Mapping[str, NodeRecord]
    containers: Mapping[str, NodeRecord] = {}

    def to_text(self) -> str:
        """Return them as JSON.

        Raises:
            ArgumentError: JSON has no form for a value.
        """
        found = {}
        for path, record in {**self.objects, **self.variables}.items():
            found[path] = [int(record.kind), record.type, record.payload]
            text = json.dumps(found[path], default=str)
            if not is_same(json.loads(text), found[path]):
                raise ArgumentError(
                    f"{path} with {text_of(record.facts.get('settings', {})) or record.payload!r:.100}",
                    "the header of a file for other tools is JSON, which has no form for one of these values",
                    "graftax ckpt extract, which writes a checkpoint; or --skip what it belongs to",
                )
        for path, record in self.containers.items():
            found[path] = [int(record.kind), record.type, [edge for edge, _ in record.edges]]
        return json.dumps(found)

    def holder_of(self, path: str) -> tuple[str, NodeRecord] | None:
        """Return the expression that an array is a part of, the outermost one, with its path; None for plain arrays."""
        parts = path.split("/")
        above = ("/".join(parts[:i]) for i in range(1, len(parts)))
        return next(((p, self.objects[p]) for p in above if p in self.objects and is_expression(self.objects[p])), None)


NONE = Facts({}, {})


class Head(NamedTuple):
    """The step of a checkpoint, the user's own values, and the state of the global seed."""

    step: int | None = None
    meta: Mapping[str, Any] = {}
    random: Any = None

    def to_text(self) -> str:
        """Return it in letters, as the header of a file needs."""
        found = [self.step, values.encode(dict(self.meta), "meta"), values.encode(self.random, "random")]
        return base64.b64encode(values.pack(found)).decode()


NO_HEAD = Head()


def head_from_text(text: str, file: str) -> Head:
    """Return what a header says, checked.

    Raises:
        CorruptMetadata: it is damaged or forged.
    """
    damaged = corrupt_error(f"{HEAD_KEY} in the header of {file}", "it is no step, values and seed of a checkpoint")
    try:
        found = values.unpack(base64.b64decode(text, validate=True))
    except ValueError:
        raise damaged from None
    if type(found) is not list or len(found) != 3:
        raise damaged
    step, meta, random = found
    if not (step is None or type(step) is int) or type(meta) is not dict:
        raise damaged
    return Head(step, meta, random)


def _read_dict(text: str, damaged: GraftaxError) -> dict[str, Any]:
    """Return a dict that is JSON; raise the error for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged from None
    if type(found) is not dict:
        raise damaged
    return found


def dtypes_to_text(dtypes: Mapping[str, tuple[str, Shape]]) -> str:
    """Return as JSON which arrays have a dtype that other tools read as another one, such as complex numbers.

    Args:
        dtypes: The dtypes and shapes of all arrays by path.
    """
    return json.dumps({path: one for path, one in dtypes.items() if DTYPES[one[0]].layout != "plain"})


def dtypes_from_text(text: str, file: str) -> dict[str, tuple[str, Shape]]:
    """Return the dtypes and shapes that a header says, checked.

    Raises:
        CorruptMetadata: it is damaged or forged.
    """
    damaged = corrupt_error(f"{DTYPES_KEY} in the header of {file}", "it is no JSON of dtypes and shapes by path")
    dtypes = {}
    for path, entry in _read_dict(text, damaged).items():
        if type(entry) is not list or len(entry) != 2 or type(entry[0]) is not str or entry[0] not in DTYPES:
            raise damaged
        dtype, shape = entry
        if type(shape) is not list or len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
            raise damaged
        if not is_possible(shape):
            raise damaged
        dtypes[path] = dtype, tuple(shape)
    return dtypes


def facts_of(index: Index, leaves: Collection[int] | None = None) -> Facts:
    """Return what an index says of objects, and of Variables that are not as most weights are.

    Args:
        index: The index.
        leaves: The leaves that are meant. Defaults to all.
    """
    paths = node_paths(index)
    objects, variables, containers = {}, {}, {}
    meant = None if leaves is None else {p for leaf in leaves for p in prefixes(paths[leaf])}
    for node, path in paths.items():
        record = index.nodes[node]
        if meant is not None and path not in meant:
            continue
        if record.kind is Kind.OBJECT:
            objects[path] = record._replace(edges=())
        elif record.kind is Kind.VARIABLE and tuple(record.payload[1:]) != _PLAIN:
            variables[path] = record._replace(payload=(None, *record.payload[1:]))
        elif record.kind in _CONTAINERS:
            containers[path] = record._replace(edges=tuple([(e, 0) for e, _ in record.edges if type(e) is int]))
    return Facts(objects, variables, containers)


def facts_from_text(text: str, file: str) -> Facts:
    """Return what a header says, checked.

    Raises:
        CorruptMetadata: it is damaged or forged.
    """
    damaged = corrupt_error(f"{KEY} in the header of {file}", "it is no JSON of records by path")
    records, containers = {}, {}
    for path, entry in _read_dict(text, damaged).items():
        if type(entry) is not list or len(entry) != 3:
            raise damaged
        kind, name, payload = entry
        if kind in _CONTAINERS:
            if type(name) is not str or type(payload) is not list or not all(type(edge) is int for edge in payload):
                raise damaged
            containers[path] = NodeRecord(Kind(kind), name, tuple([(edge, 0) for edge in payload]))
            continue
        records[path] = node_record([kind, name, [], payload], 0, ())
    if not all(record.kind in (Kind.OBJECT, Kind.VARIABLE) and record.tensor is None for record in records.values()):
        raise damaged
    return Facts(
        {path: record for path, record in records.items() if record.kind is Kind.OBJECT},
        {path: record for path, record in records.items() if record.kind is Kind.VARIABLE},
        containers,
    )


def expressions_error(facts: Facts, arrays: Collection[str], file: str) -> GraftaxError | None:
    """Return the error for arrays that go where nothing says what they make; None if they are plain ones.

    Args:
        facts: What is known of them.
        arrays: Their paths.
        file: Where they go.
    """
    holders = dict(held for path in arrays if (held := facts.holder_of(path)) is not None)
    if not holders:
        return None
    some = [f"{path} ({_text(record)})" for path, record in list(holders.items())[:3]]
    return ArgumentError(
        f"parts of {len(holders)} expressions into {file}: {', '.join(some)}{', …' if len(holders) > 3 else ''}",
        "such a file has no place for what they are, and their arrays are no weights without it",
        "OUT.safetensors, whose header has it; or --skip SELECTOR; or gx.ungraft(model) and a new checkpoint",
    )


def _text(record: NodeRecord) -> str:
    settings = record.facts.get("settings")
    more = text_of(settings) if isinstance(settings, dict) else ""
    return f"{record.type.rpartition('.')[2]}{': ' if more else ''}{more}"
