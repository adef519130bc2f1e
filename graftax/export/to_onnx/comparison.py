"""A file that was written against the function itself, at two values of every free size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ExportMismatch
from graftax.core.typedefs import unwrap
from graftax.export.output import form_of
from graftax.export.signature import Signature, function_of
from graftax.export.spec import Spec
from graftax.export.to_onnx.messages import Numbers
from graftax.export.to_onnx.runtime import Session
from graftax.export.trial_inputs import made_up, trial_specs
from graftax.export.trial_sizes import numbers_of, trials_of_sizes

HALF_PRECISION = 1e-2
"""How far a number may be off that is computed in half precision, in units of the largest magnitude, or of 1."""
TOLERANCES = {"float32": 1e-5, "float16": HALF_PRECISION, "float64": 1e-5}
"""The same for a result of this dtype."""
INTEGER_PRODUCTS = 0.1
"""The same for a file with products of integers."""


class Compared(NamedTuple):
    """What a comparison found: the sizes at which the file ran, and the largest error, in the units of tolerances."""

    sizes: list[dict[str, int]]
    error: float


def compare(
    session: Session,
    signature: Signature,
    names: Sequence[str],
    tolerance: float | None,
    like: list[Numbers] | None = None,
) -> Compared:
    """Run the file and the function, and compare all results.

    Args:
        session: The file.
        signature: The function, and what it takes.
        names: Those of the results.
        tolerance: How far a number may be off; None for what its dtype allows.
        like: Inputs in place of the examples, for a file that is made for such. Defaults to None.

    Raises:
        ExportMismatch: a result differs.
        ExportError: no sizes fulfil the constraints.
    """
    worst = 0.0
    seen = []
    for values, inputs in trials(signature, like):
        wanted = expected_results(signature, inputs)
        got = session.run(dict(zip(signature.names, inputs, strict=True)), names)
        for name, one, other in zip(names, wanted, got, strict=True):
            worst = max(worst, _difference(name, one, other, values, tolerance))
        seen.append(values)
    return Compared(seen, worst)


def trials(signature: Signature, like: list[Numbers] | None = None) -> Iterator[tuple[dict[str, int], list[Numbers]]]:
    """Yield sizes with inputs of these: the examples, if there are, and two values of every free size, where two fit.

    Args:
        signature: What the function takes.
        like: Inputs in place of examples. Defaults to None.

    Raises:
        ExportError: no sizes fulfil the constraints.
    """
    example = like or signature.example
    if example is not None:
        given = [(spec.shape, one.shape) for spec, one in zip(signature.specs, example, strict=True)]
        pairs = ((name, size) for names, sizes in given for name, size in zip(names, sizes, strict=True))
        yield {name: size for name, size in pairs if isinstance(name, str)}, example
    likes = example or [None] * len(signature.specs)
    specs = trial_specs(signature)
    for seed, values in enumerate(trials_of_sizes(signature, *_SIZES), 2):
        shapes = [numbers_of(spec.shape, values) for spec in specs]
        yield values, [_draw_input(*one, seed) for one in zip(specs, shapes, likes, strict=True)]


_SIZES = (2, 5)


def _draw_input(spec: Spec, shape: tuple[int, ...], like: Numbers | None, seed: int) -> Numbers:
    """Return an input: of an example a part, or more of the same, since it knows which numbers there are."""
    if like is None or like.size == 0:
        return made_up(spec, shape, seed)
    part: Numbers = like
    for axis, size in enumerate(shape):
        part = np.take(part, np.arange(size) % part.shape[axis], axis)
    return part


def expected_results(signature: Signature, inputs: Sequence[Numbers]) -> list[Numbers]:
    """Return what the function itself computes."""
    arrays = registry.current().arrays
    values = iter([arrays.asarray(one) for one in inputs])
    given = [
        tree.map_structure(lambda leaf: None if leaf is None else next(values), one) for one in signature.structure
    ]
    leaves: list[Any] = []
    form_of(function_of(signature.fn)(*given), leaves)
    return [arrays.to_numpy(arrays.asarray(unwrap(one))) for one in leaves]


def _difference(name: str, expected: Numbers, got: Numbers, at: Mapping[str, int], tolerance: float | None) -> float:
    """Return how far a result is off; raise if that is too far."""
    said = f"{name!r} at {', '.join(f'{key}={size}' for key, size in at.items()) or 'the sizes of the Specs'}"
    if expected.shape != got.shape or expected.dtype != got.dtype:
        raise ExportMismatch(
            f"{said}: {got.dtype}{list(got.shape)} from the file, {expected.dtype}{list(expected.shape)} from the "
            "function",
            "the two have to agree; the file was deleted. This is a mistake of graftax, not of yours",
            "gx.export.save in place of gx.export.onnx; please report this message with the function",
        )
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind != "f":
        far = np.asarray(expected != got)
        allowed, unit = 0.0, 1.0
    else:
        one, other = (array.astype("float64") for array in (expected, got))
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        with np.errstate(invalid="ignore"):
            far = np.where(same, 0, np.nan_to_num(np.abs(one - other), nan=np.inf))
        finite = np.abs(one[np.isfinite(one)])
        unit = max(1.0, float(finite.max()) if finite.size else 1.0)
        allowed = TOLERANCES.get(str(expected.dtype), 0.0) if tolerance is None else tolerance
    error = float(far.max()) / unit
    if error > allowed:
        place = np.unravel_index(int(far.argmax()), far.shape)
        raise ExportMismatch(
            f"{said}, element {[int(i) for i in place]}: {got[place]} from the file, {expected[place]} from the "
            "function",
            f"they differ by {error:.2g} of the largest magnitude, and {allowed:g} is allowed; the file was deleted",
            f"tolerance={_round_up(error):g}, if this error is small enough for you; gx.export.save, which "
            "writes the program itself, and so computes what the function does",
        )
    return error


def _round_up(error: float) -> float:
    return float(f"{error * 1.5:.0e}") if 0 < error < math.inf else 1.0
