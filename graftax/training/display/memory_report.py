"""The memory that training of a model needs, computed before a step runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftax.core import tree
from graftax.core.errors import StateError
from graftax.core.short_traceback import door
from graftax.training.batch import unpack
from graftax.training.display.summary_table import Summary, bytes_text
from graftax.training.first_step import FirstStep
from graftax.training.objectives import require_objectives
from graftax.training.sources.host_batches import host_batch
from graftax.training.trainable_model import TrainableModel
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.transforms.py_function import ArraySpec


class MemoryReport(NamedTuple):
    """The memory of one training step, in bytes.

    Example:
        >>> MemoryReport(weights=8, slots=16, other=0, batch=4, in_between=2, peak=30).slots
        16
    """

    weights: int
    """Weights and moving statistics."""
    slots: int
    """Slots and other Variables of the optimizer."""
    other: int
    """Metrics and seeds."""
    batch: int
    """The input batch."""
    in_between: int
    """Activations, gradients and other temporary memory of the compiled step."""
    peak: int
    """The peak of the total memory, as computed by the compiler."""

    def __str__(self) -> str:
        rows = zip(("weights", "optimizer", "other state", "batch", "in between", "at once"), self, strict=True)
        return "\n".join(f"{name:<12}{bytes_text(size)}" for name, size in rows)


@door
def memory_report(model: TrainableModel, batch: object) -> MemoryReport:
    """Return the memory that a training step needs. The step is compiled for this, but not run.

    To get the report before memory is allocated for the weights, pass the result of `build_abstract`.

    Args:
        model: A compiled model; it is built if necessary.
        batch: A batch as in training: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``; each part may be an `ArraySpec`
            instead of an array.

    Raises:
        StateError: the model is not compiled, or its steps run uncompiled.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(3)])
        >>> model.compile("adam", "mse")
        >>> report = memory_report(model, (np.ones((8, 4), "float32"), np.ones((8, 3), "float32")))
        >>> report.weights, report.batch
        (60, 224)
        >>> large = gx.Sequential([gx.layers.Dense(100_000), gx.layers.Dense(1)])
        >>> large.compile("adam", "mse")
        >>> x, y = gx.ArraySpec((8, 50_000)), gx.ArraySpec((8, 1))
        >>> memory_report(gx.build_abstract(large, x), (x, y)).slots > 40_000_000_000
        True
    """
    given = host_batch(*unpack(tree.map_structure(_outline, batch)))
    step = model._gx_compiled_step("train_step")
    if not isinstance(step, CompiledFunction):
        raise StateError(
            f"memory_report of {type(model).__name__}, whose steps are not compiled",
            "what a step holds is known to the compiler",
            "model.compile(...) without run_eagerly, on a backend that compiles",
        )
    ready = FirstStep(model, require_objectives(model), builds=model._gx_has_own("train_step"))
    ready.prepare(step, given, [given])
    memory = step.lower(given).memory
    summary = Summary(model)
    size = sum(part.nbytes for part in _arrays(given))
    metrics = sum(int(v.size) * 4 for metric in model.metrics for v in metric.variables)
    return MemoryReport(
        int(summary.bytes),
        int(summary.optimizer_bytes),
        int(summary.other_bytes) + metrics,
        size,
        memory.temporary,
        memory.peak,
    )


def _outline(part: object) -> object:
    return part.zeros() if isinstance(part, ArraySpec) else part


def _arrays(structure: object) -> list[Any]:
    if isinstance(structure, dict):
        return [one for part in structure.values() for one in _arrays(part)]
    if isinstance(structure, list | tuple):
        return [one for part in structure for one in _arrays(part)]
    return [] if structure is None else [structure]
