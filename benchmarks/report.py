"""The table, and the page of the documentation that holds it."""

import os
import platform
import shutil
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
    layer_formulations,
    many_variables,
    on_batch,
    op_by_op,
    optimizer_update,
    realistic_step,
    training_step,
)
from benchmarks.harness import COMPILED, GRAFTAX, JITTED, KERAS, NNX, PEERS, TORCH, Result, Times, Work

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
        layer_formulations,
        jacobian,
        op_by_op,
    )
    for work in family.WORKS
]
COLUMNS = {
    GRAFTAX: "graftax",
    JITTED: "`jax.jit`",
    NNX: "Flax NNX",
    KERAS: "Keras 3 on JAX",
    TORCH: "PyTorch",
    COMPILED: "`torch.compile`",
}
HEADER = f"| work | hand-written JAX | µs | {' | '.join(COLUMNS.values())} |"
RULE = "|---|---|---:|" + "---:|" * len(COLUMNS)
NOT_APPLICABLE, NOT_INSTALLED = "–", "not installed"


def installed() -> tuple[str, ...]:
    """The columns that can be measured here."""
    return tuple(name for name in COLUMNS if name not in absent())


def absent() -> list[str]:
    """The peers that cannot be measured here."""
    missing = [name for name, package in PEERS.items() if find_spec(package) is None]
    if COMPILED not in missing and shutil.which("g++") is None:
        missing.append(COMPILED)  # which writes C++
    return missing


def row(work: Work, result: Result) -> str:
    cells = []
    for column in COLUMNS:
        if column not in work.contestants:
            cells.append(NOT_APPLICABLE)
        else:
            cells.append(ratios(result.ratios[column]) if column in result.ratios else NOT_INSTALLED)
    median, *others = (f"{seconds * 1e6:,.0f}" for seconds in result.reference)
    return f"| {work.name} | {work.reference} | {median} ({', '.join(others)}) | {' | '.join(cells)} |"


def ratios(found: Times) -> str:
    """A cell: the median, and in brackets the ratios of the least times and of the processor times."""
    median, *others = (f"{ratio:.2f}" for ratio in found)
    return f"{median} ({', '.join(others)})"


def machine() -> str:
    """Where the table was measured."""
    names = ("jax", "numpy", *dict.fromkeys(name for name in PEERS.values() if find_spec(name) is not None))
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
    return f"Not installed, so not measured: {', '.join(absent())}." if absent() else "All peers were installed."


def page_with(lines: list[str], page: str, begin: str = BEGIN) -> str:
    """The page with these lines between its markers."""
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(END)
    return "\n".join([before + begin, *lines, END]) + after
