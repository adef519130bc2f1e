"""Tracing a signature: the function becomes a program with free sizes, with Variables as inputs and outputs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from graftax.backend import registry, traced_checks
from graftax.backend.exporting import Exporting, Size
from graftax.backend.program import Lift, Program
from graftax.core import tree
from graftax.core.errors import ArgumentError, ExportError, StateError
from graftax.core.free_sizes import is_free
from graftax.core.typedefs import unwrap
from graftax.export.folding import Folded, Folding
from graftax.export.manifest import size_of
from graftax.export.output import Form, form_of, leaf_names
from graftax.export.signature import Signature, function_of
from graftax.layers.building import unbuilt_below
from graftax.layers.layer import Layer
from graftax.reparam.base import Reparam
from graftax.transforms.compile.key import SCALARS, is_static
from graftax.transforms.compile.reach import find_modules
from graftax.transforms.lifting.frames import Abstract, CompileFrame
from graftax.variables.state.storage import Storage, frames, next_number, stand_ins


class Input(NamedTuple):
    """One array input."""

    name: str
    shape: tuple[Size, ...]
    dtype: str
    bounds: tuple[float, float] | None


class Traced:
    """A traced signature.

    Args:
        signature: The signature.
        inputs: The input arrays.
        leaves: The abstract inputs of the trace.
        program: The program: a function of the values of ``program.read`` and the inputs that returns the results and
            the values of ``program.written``.
        output: The structure of the results.
        folded: The values of folded expressions, which are part of ``program.read``.
        left_out: The checks that the program does not have.
    """

    def __init__(
        self,
        signature: Signature,
        inputs: list[Input],
        leaves: list[Any],
        program: Program,
        output: Form,
        folded: dict[Storage, Reparam],
        left_out: list[str],
    ) -> None:
        self.signature = signature
        self.inputs = inputs
        self.leaves = leaves
        self.program = program
        self.output = output
        self.folded = folded
        self.left_out = left_out

    @property
    def results(self) -> list[str]:
        """Return the names of the results."""
        return leaf_names(self.output)

    @property
    def donated(self) -> list[Storage]:
        """Return the Variables that are read and assigned."""
        return cast("list[Storage]", list(self.program.donated))

    @property
    def read_only(self) -> list[Storage]:
        """Return the Variables that are only read."""
        return cast("list[Storage]", list(self.program.read_only))

    @property
    def written(self) -> list[Storage]:
        """Return the Variables that are assigned."""
        return cast("list[Storage]", list(self.program.written))


def trace(
    signature: Signature,
    moving: frozenset[Storage] = frozenset(),
    integers: bool = False,
    known_folded: Folded | None = None,
) -> Traced:
    """Trace the function of a signature, with weights as inputs; only folded expressions are computed.

    Args:
        signature: The function, with its inputs.
        moving: The Variables that other programs of the artefact assign; expressions of these are not folded. Defaults
            to none.
        integers: Whether expressions that store integers are folded, too. Defaults to False.
        known_folded: The values of expressions folded in other programs of the artefact. Defaults to None: none.

    Raises:
        ExportError: the function branches on a free size, calls Python, or assigns Variables without
            ``assigns=True``.
        StateError: it creates a Variable that no object holds, or calls a layer that was never adapted.
        BackendCapabilityError: the backend cannot export.
    """
    backend = registry.current()
    exporting, fn = backend.exporting, function_of(signature.fn)
    if frames.top is not None:
        raise StateError(
            "an export inside of a function that is compiled or differentiated",
            "there the Variables have no values yet",
            "export outside",
        )
    _build(exporting, signature, fn)
    inputs = [
        Input(name, spec.shape, _dtype(spec.dtype), spec.bounds)
        for name, spec in zip(signature.names, signature.specs, strict=True)
    ]
    leaves = exporting.free_inputs([(one.shape, one.dtype) for one in inputs], signature.constraints)
    folding = Folding(signature.fold, Folded() if known_folded is None else known_folded, moving, integers)
    found: dict[str, Any] = {}
    left_out: list[str] = []
    before: list[Callable[[], None]] = []  # what a run of the program in Python would begin with, and may raise

    def run(lift: Lift, leaves: list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
        frame = CompileFrame(lift)
        with (
            frames.replaced((frame,)),
            traced_checks.traces.entered(traced_checks.EXPORTED),
            traced_checks.before_runs.entered(before),
            traced_checks.leaving_out.entered(left_out.append),
            stand_ins.replaced(() if signature.assigns else (folding,)),
        ):
            out = fn(*_arguments(signature, leaves))
            results: list[Any] = []
            found.update(output=form_of(out, results), frame=frame)
            results = [_result(one) for one in results]
        # outputs of the run other than results, such as added losses that are not used, are dropped
        written = [(one, value) for one, value in frame.last_values() if not one.passing or one in lift.cells]
        return results, cast("list[tuple[Any, Any]]", written)

    since = next_number()
    program = backend.compiling.trace(run, leaves)
    for look in before:
        look()
    output: Form = found["output"]
    makes: bool = found["frame"].seen.makes_modules
    found.clear()  # the frame may hold the last references to layers and Variables, which are freed with it
    if makes:
        gc.collect()  # a caught exception may hold them in a reference cycle
    folding.check()
    _check_owned(program, since)
    if program.written and not signature.assigns:
        raise _assignment_error(signature, cast("list[Storage]", list(program.written)))
    folded = {
        one: folding.folded[one] for one in cast("list[Storage]", list(program.read_only)) if one in folding.folded
    }
    checks = list(dict.fromkeys(left_out))
    return Traced(signature, inputs, leaves, program, output, folded, checks)


def _dtype(dtype: str) -> str:
    """Return the dtype that an array of the backend has."""
    found = registry.current().arrays.canonical_dtype(dtype)
    if found != dtype:
        raise ArgumentError(f"Spec(..., {dtype!r})", f"arrays have 32 bits here, {found}", f"Spec(..., {found!r})")
    return dtype


def _build(exporting: Exporting, signature: Signature, fn: Callable[..., Any]) -> None:
    """Build layers without weights, with size 2 for each free axis."""
    modules, _ = find_modules((signature.fn,))
    if not any(unbuilt_below(module) for module in modules):  # type: ignore[arg-type]
        return
    values = dict.fromkeys(signature.free, _BUILT_FOR)
    shapes = [tuple(size_of(size, values) for size in spec.shape) for spec in signature.specs]
    leaves = [exporting.outline(shape, _dtype(s.dtype)) for shape, s in zip(shapes, signature.specs, strict=True)]

    def run(*given: Any) -> Any:
        with (
            frames.entered(Abstract(frames.top, exporting.level())),
            traced_checks.traces.entered(traced_checks.EXPORTED),
        ):
            results: list[Any] = []
            form_of(fn(*_arguments(signature, list(given))), results)
            return [_result(one) for one in results]

    exporting.eval_shape(run, *leaves)


_BUILT_FOR = 2


def _arguments(signature: Signature, leaves: list[Any]) -> tuple[Any, ...]:
    """Return the arguments of the function, in their structures."""
    values = iter(leaves)
    return tuple(
        tree.map_structure(lambda leaf: None if leaf is None else next(values), one) for one in signature.structure
    )


def _result(value: object) -> Any:
    value = unwrap(value)
    if is_free(value):
        return registry.current().arrays.asarray(value)
    if is_static(value) and not isinstance(value, SCALARS):
        raise ExportError(
            f"the function returned {value!r:.60} of type {type(value).__name__}",
            "an exported function returns arrays, numbers, None, and nested lists, tuples and dicts of these",
            "return only those",
        )
    return registry.current().arrays.asarray(value)


def _check_owned(program: Program, since: int) -> None:
    for storage in cast("list[Storage]", [*program.read_only, *program.written]):
        if storage.is_abandoned(since):
            raise StateError(
                f"the function makes a Variable of shape {tuple(storage.buffer.shape)} that nobody keeps",
                "in Python it would be new at every call, and in the artefact it would keep its value",
                "make it, or the layer that has it, outside and keep it: self.dense = Dense(4) in __init__",
            )


def _assignment_error(signature: Signature, written: list[Storage]) -> ExportError:
    paths = [one.path for one in written]
    shown = f"{', '.join(paths[:8])}{f' and {len(paths) - 8} more' if len(paths) > 8 else ''}"
    if isinstance(signature.fn, Layer):
        return ExportError(
            f"{type(signature.fn).__name__} assigns {shown}, with training=False, too",
            "an artefact that only computes would lose these",
            "`if training:` before the assignment, if it is for training; for state that moves at each call "
            "assigns=True in model.export(path), or in Signature(model, ...)",
        )
    if all(getattr(one.user, "role", "") == "seed" for one in written):
        return ExportError(
            f"the function draws random numbers, and so assigns {shown}",
            "an artefact that only computes would not keep this state, and would draw the same numbers in every run",
            "model(x, training=False), or the random numbers as an input; for gx.export.save, Signature(..., "
            "assigns=True), which keeps the state",
        )
    return ExportError(
        f"the function assigns {shown}",
        "an artefact that only computes would lose these values; most layers assign in training mode only",
        "model(x, training=False) in the function; for gx.export.save, Signature(..., assigns=True), as for a training "
        "step",
    )
