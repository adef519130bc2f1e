"""The table, and the page of the documentation that holds it."""

import os
import platform
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from benchmarks import (
    call_overhead,
    eager_call,
    first_call,
    fit,
    formulations,
    jacobian,
    many_variables,
    on_batch,
    op_by_op,
    optimizer_update,
    realistic_step,
    training_step,
)
from benchmarks.harness import GRAFTAX, JITTED, KERAS, PEERS, TORCH, Result, Work

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin: what python -m benchmarks prints -->", "<!-- end -->"

WORKS: list[Work] = [
    work
    for family in (
        training_step,
        fit,
        on_batch,
        realistic_step,
        optimizer_update,
        many_variables,
        first_call,
        eager_call,
        call_overhead,
        formulations,
        jacobian,
        op_by_op,
    )
    for work in family.WORKS
]
COLUMNS = {GRAFTAX: "graftax", JITTED: "`jax.jit`", KERAS: "Keras 3 on JAX", TORCH: "PyTorch"}
HEADER = f"| work | hand-written JAX | µs | {' | '.join(COLUMNS.values())} |"
RULE = "|---|---|---:|" + "---:|" * len(COLUMNS)
NOT_APPLICABLE, NOT_INSTALLED = "–", "not installed"


def installed() -> tuple[str, ...]:
    """The columns that can be measured here."""
    return tuple(name for name in COLUMNS if name not in PEERS or find_spec(name) is not None)


def row(work: Work, result: Result) -> str:
    cells = []
    for column in COLUMNS:
        if column not in work.contestants:
            cells.append(NOT_APPLICABLE)
        else:
            cells.append(f"{result.ratios[column]:.2f}" if column in result.ratios else NOT_INSTALLED)
    return f"| {work.name} | {work.reference} | {result.microseconds:,.0f} | {' | '.join(cells)} |"


def machine() -> str:
    """Where the table was measured."""
    names = ("jax", "numpy", *(name for name in PEERS if find_spec(name) is not None))
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    return f"{processor()}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}."


def processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def missing() -> str:
    """What could not be measured."""
    absent = [name for name in PEERS if find_spec(name) is None]
    return f"Not installed, so not measured: {', '.join(absent)}." if absent else "All peers were installed."


def page_with(lines: list[str], page: str) -> str:
    """The page with these lines between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, *lines, END]) + after
