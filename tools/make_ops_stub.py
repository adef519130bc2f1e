"""Write graftax/ops.pyi from the table of ops: ``python tools/make_ops_stub.py``, or ``--check`` to compare only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from graftax.op_table import OPS, TYPES, Op

STUB = Path(__file__).parents[1] / "graftax" / "ops.pyi"

HEAD = '''\
# Generated from graftax/op_table.py by tools/make_ops_stub.py; change the table, not this file.
"""The array functions: checked, on any backend, and every one accepts Variables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.typedefs import Array, ArrayLike, DTypeLike
'''


def typed(op: Op) -> str:
    """The signature of a row with the types of its parameters."""
    definition = ast.parse(f"def f({op.signature}): ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    every = definition.args.args + definition.args.kwonlyargs
    if definition.args.vararg:
        every.append(definition.args.vararg)
    for parameter in every:
        if parameter.annotation is None:
            parameter.annotation = ast.parse(TYPES[parameter.arg], mode="eval").body
    return ast.unparse(definition.args)


def row(op: Op) -> str:
    """One function of the stub, its parameters on lines of their own where they need it."""
    parameters = typed(op)
    line = f"def {op.name}({parameters}) -> {op.result}:"
    if len(line) > 120:
        line = f"def {op.name}(\n    {parameters}\n) -> {op.result}:"
    return f'{line}\n    """{op.doc}"""\n'


def stub() -> str:
    """The text of the stub."""
    return "\n".join([HEAD, *map(row, OPS.values())])


def main(arguments: list[str]) -> int:
    """Write the stub, or with ``--check`` return 1 if it is stale."""
    if "--check" in arguments:
        return int(STUB.read_text(encoding="utf-8") != stub())
    STUB.write_text(stub(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
