"""Write graftax/ops/__init__.pyi from the table of ops; ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from graftax.ops.signatures import Op, Parameter, parameters
from graftax.ops.table import ALIASES, OPS

OPS_FOLDER = Path(__file__).parents[1] / "graftax" / "ops"
STUB = OPS_FOLDER / "__init__.pyi"

HEAD = '''\
# Generated from graftax/ops/rows by tools/make_ops_stub.py; change the rows, not this file.
"""The array functions: checked, on any backend, and every one accepts Variables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core.typedefs import Array, ArrayLike, DTypeLike
'''


def typed(op: Op) -> list[str]:
    """The parameters of a row with their types."""
    return [_parameter(one) for one in parameters(op)]


def _parameter(one: Parameter) -> str:
    kind = one.kind.type.removeprefix("Sequence[").removesuffix("]") if one.starred else one.kind.type
    kind += " | None" if one.optional else ""
    default = f" = {one.default}".replace("'", '"') if one.default else ""
    return f"{'*' if one.starred else '**' if one.named else ''}{one.name}: {kind}{default}"


def row(op: Op) -> str:
    """One function of the stub, its parameters on lines of their own where they need it."""
    parameters = ", ".join(typed(op))
    name = op.name.rpartition(".")[2]
    line = f"def {name}({parameters}) -> {op.result}:"
    if len(line) > 120:
        broken = parameters if len(parameters) <= 116 else ",\n    ".join([*typed(op), ""]).rstrip()
        line = f"def {name}(\n    {broken}\n) -> {op.result}:"
    return f'{line}\n    """{op.doc}"""\n'


def stub() -> str:
    """The text of the stub."""
    second = "".join(f"{name} = {first}\n" for name, first in ALIASES.items())
    head = (
        HEAD.replace("from graftax.core.typedefs", "from graftax.core.typedefs")
        + "from graftax.ops import image as image\n"
    )
    return "\n".join([head, *(row(op) for name, op in OPS.items() if "." not in name), second])


def image_stub() -> str:
    """The text of the stub of the namespace of images."""
    head = HEAD.replace("The array functions: checked, on any backend, and", "Functions of images;")
    for unused in ("from typing import Any\n\n", "import numpy as np\n\n", ", DTypeLike"):
        head = head.replace(unused, "" if unused.startswith(",") else "\n" if "typing" in unused else "")
    return "\n".join([head, *(row(op) for name, op in OPS.items() if name.startswith("image."))])


def main(arguments: list[str]) -> int:
    """Write the stubs, or with ``--check`` return 1 if one is stale."""
    texts = {STUB: stub(), OPS_FOLDER / "image.pyi": image_stub()}
    if "--check" in arguments:
        return int(any(not file.exists() or file.read_text(encoding="utf-8") != text for file, text in texts.items()))
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
