"""Each operation in ONNX Runtime against JAX, at two values of every free size."""

from pathlib import Path
from typing import Any

import pytest

import graftax as gx
from graftax.export.signature import Signature
from graftax.export.to_onnx.randomness import DRAWS
from graftax.export.to_onnx.translation import RULES
from graftax.export.tracing import trace
from tests.export.to_onnx.operations import ROWS

pytest.importorskip("onnxruntime")
UNSEEN = {"add_any", "copy_p", "scatter-sub", "pure_callback", "io_callback", "debug_callback", *DRAWS}
"""Rules without a row: of gradients, of one version of JAX only, and those that refuse."""


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")  # jax, of an index that counts from the end
@pytest.mark.parametrize("name", ROWS)
def test_an_operation_gives_what_jax_gives(name: str, tmp_path: Path):
    row = ROWS[name]
    report = gx.export.onnx(
        tmp_path / "one.onnx",
        row.function,
        *row.inputs,
        constraints=row.constraints,
        opset=row.opset,
        tolerance=row.tolerance,
    )
    assert len(report.sizes) == 2 or not any(one.names for one in row.inputs)


def operations_of(program: Any) -> set[str]:
    """The operations of a program and of those in it."""
    found = set()
    for equation in program.eqns:
        found.add(equation.primitive.name)
        for value in equation.params.values():
            for one in value if isinstance(value, tuple | list) else [value]:
                inner = getattr(one, "jaxpr", one)
                found |= operations_of(inner) if hasattr(inner, "eqns") else set()
    return found


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")
def test_every_rule_has_a_row():
    found: set[str] = set()
    for row in ROWS.values():
        signature = Signature(row.function, *row.inputs, constraints=row.constraints)
        found |= operations_of(trace(signature).program.opened[0])
    assert set(RULES) - found <= UNSEEN
