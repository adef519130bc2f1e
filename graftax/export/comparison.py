"""Comparison: what was exported computes what its function computes here, at several sizes."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ExportError, ExportMismatch
from graftax.export import run
from graftax.export.manifest import ArtefactError, sizes_in
from graftax.export.report import Checked
from graftax.export.signature import Signature
from graftax.export.spec import Spec
from graftax.export.tracing import Traced, trace
from graftax.export.trial_inputs import made_up, trial_specs
from graftax.export.trial_sizes import numbers_of, trials_of_sizes
from graftax.variables.state.storage import Storage

TOLERANCE = 1e-5
HALF_TOLERANCE = 1e-2
_SIZES = (3, 1)


class Trial(NamedTuple):
    """Inputs that a program was tried on, and its results."""

    inputs: list[Any]
    results: list[Any]


def compare(
    name: str, traced: Traced, function: run.Function, values: Mapping[str, Any], names: Callable[[Storage], str]
) -> tuple[Checked, Trial]:
    """Compare a program as it was written with the function itself, without changing anything.

    Args:
        name: That of the signature.
        traced: The trace from which the program was made.
        function: The program, loaded.
        values: Those of the artefact.
        names: What values are called.

    Returns:
        At which sizes, and the largest difference; a trial on made-up inputs.

    Raises:
        ExportMismatch: something differs by more than rounding.
    """
    signature = traced.signature
    tried = trials_of_sizes(signature, *_SIZES)
    trials = [
        ([made_up(one, numbers_of(one.shape, sizes)) for one in trial_specs(signature)], sizes) for sizes in tried
    ]
    first = trials[0][0]
    if (example := signature.example) is not None:
        given = sizes_in(function.about["inputs"], [one.shape for one in example], signature.constraints)
        trials.insert(0, (example, given))
    worst, results = 0.0, {}
    for inputs, sizes in trials:
        leaves = [registry.current().arrays.asarray(one) for one in inputs]
        try:
            out, new = function.run_flat(values, leaves)
        except ArtefactError as error:  # of what was assumed of sizes, and does not hold for these
            if "refin" not in str(error):
                raise
            raise _not_for_all(name, sizes, error) from error
        live = trace(fix_shapes(signature, [one.shape for one in inputs]))
        donated, read_only = ([one.buffer for one in cells] for cells in (live.donated, live.read_only))
        wanted = live.program.run(donated, read_only, leaves)
        after = dict(zip(live.written, wanted[len(live.results) :], strict=True))
        pairs = list(zip(traced.results, wanted[: len(live.results)], out, strict=True))
        pairs += [(names(one), after[one], value) for one, value in zip(traced.written, new, strict=True)]
        for output, expected, got in pairs:
            said, halves = f"{name}: {output}", lambda: computes_in_half(function)
            worst = max(worst, difference(said, np.asarray(expected), np.asarray(got), halves))
        results[id(inputs)] = list(map(np.asarray, out))
    return Checked(tuple(sizes for _, sizes in trials), worst), Trial(first, results[id(first)])


def _not_for_all(name: str, sizes: Mapping[str, int], error: Exception) -> ExportError:
    """Return the error for a program that does not compile for some sizes, as where halves of odd ones are taken."""
    wrong = error.__cause__ or error
    why = re.search(r"error: ([^\n]*)", str(wrong.__cause__ or wrong))
    return ExportError(
        f"{name} at {', '.join(f'{one} = {size}' for one, size in sizes.items())}",
        f"no program can be compiled for these sizes: {why[1] if why else str(error).partition(chr(10))[0]}",
        'a Spec in which they cannot be, such as "2*n" for what is halved; or constraints=["mod(n, 2) == 0"]',
    )


def computes_in_half(function: run.Function) -> bool:
    """Tell whether a program has arrays of half precision, whose rounding is seen in results of any dtype."""
    return _HALF.search(function.exported.mlir_module()) is not None


_HALF = re.compile(r"[x<](b?f16|f8\w+)>")


def difference(
    name: str, expected: np.ndarray[Any, Any], got: np.ndarray[Any, Any], halves: Callable[[], bool] = lambda: False
) -> float:
    """Return how far two arrays are apart, as a part of the largest number.

    Args:
        name: What they are, for the message.
        expected: What the function computes.
        got: What the program computes.
        halves: Tells whether they are computed from numbers of half precision; asked where this matters. Defaults to
            no.

    Raises:
        ExportMismatch: shapes or dtypes differ, or numbers by more than rounding.
    """
    if expected.shape != got.shape or expected.dtype != got.dtype:
        raise ExportMismatch(
            f"{name} is {got.dtype}{list(got.shape)}, and {expected.dtype}{list(expected.shape)} here",
            "the program computes something else than the function",
            "please report this, with the function",
        )
    if expected.dtype == got.dtype and expected.tobytes() == got.tobytes():
        return 0.0
    kind = np.complex128 if expected.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore"):  # of signalling nans, and of infinities
        a, b = expected.astype(kind), got.astype(kind)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        away = np.where(same, 0.0, np.abs(a - b))
    largest = max(1.0, float(np.max(np.abs(a), where=np.isfinite(a), initial=1.0)))
    error = float(np.max(np.where(np.isnan(away), np.inf, away))) / largest
    allowed = 0.0 if expected.dtype.kind in "iub" else TOLERANCE
    if error > allowed > 0 and (expected.dtype.itemsize <= 2 or halves()):
        allowed = HALF_TOLERANCE
    if error > allowed:
        where = tuple(int(i) for i in np.unravel_index(np.argmax(np.where(np.isnan(away), np.inf, away)), a.shape))
        raise ExportMismatch(
            f"{name}{list(where)} is {got[where]}, and {expected[where]} here",
            f"they differ by {error:.1e} of the largest number, and rounding explains {allowed:.0e}",
            "nothing was written; find the part that differs by exporting parts, and please report it",
        )
    return error


def fix_shapes(signature: Signature, shapes: Sequence[tuple[int, ...]]) -> Signature:
    """Return a signature for these very shapes, its expressions live."""
    specs = iter(Spec(shape, spec.dtype) for shape, spec in zip(shapes, signature.specs, strict=True))
    found = copy.copy(signature)
    found.structure = tree.map_structure(lambda leaf: None if leaf is None else next(specs), signature.structure)
    found.constraints, found.fold = (), signature.assigns
    return found


def computes_rows(traced: Traced, function: run.Function, values: Mapping[str, Any], trial: Trial) -> bool:
    """Return whether each row is computed for itself: more rows, and others, change nothing of the first ones."""
    signature = traced.signature
    firsts = {spec.shape[0] if spec.shape else None for spec in signature.specs}
    outputs = function.about["outputs"]
    firsts |= {one["shape"][0] if one["shape"] else None for one in outputs}
    row = next(iter(firsts), None)
    if len(firsts) != 1 or not isinstance(row, str) or not row.isidentifier() or signature.assigns or not outputs:
        return False
    if any(row in str(size) for spec in signature.specs for size in spec.shape[1:]):
        return False
    if any(re.search(rf"\b{row}\b", one) for one in signature.constraints):
        return False
    others = [made_up(spec, one.shape, seed=1) for spec, one in zip(trial_specs(signature), trial.inputs, strict=True)]
    count = len(trial.inputs[0])
    more = [np.concatenate([one, other[:1]]) for one, other in zip(trial.inputs, others, strict=True)]
    changed = [np.concatenate([one[:1], other[1:]]) for one, other in zip(trial.inputs, others, strict=True)]
    for inputs, same in ((more, count), (changed, 1)):
        out, _ = function.run_flat(values, [registry.current().arrays.asarray(one) for one in inputs])
        try:
            for expected, got in zip(trial.results, out, strict=True):
                difference("rows", expected[:same], np.asarray(got)[:same])
        except ExportMismatch:
            return False
    return True
