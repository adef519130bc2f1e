"""A file that was written against the function itself, at two values of every free size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentError, ExportMismatch
from graftax.core.typedefs import unwrap
from graftax.export import sizes
from graftax.export.output import form_of
from graftax.export.signature import Signature, function_of
from graftax.export.spec import Spec
from graftax.export.to_onnx.messages import Numbers
from graftax.export.to_onnx.runtime import Session

TOLERANCES = {"float32": 1e-5, "float16": 1e-2, "float64": 1e-5}
"""How far a number may be off, in units of the largest magnitude of the result, or of 1."""
INTEGER_PRODUCTS = 0.1
"""The same for a file with products of integers."""


class Compared(NamedTuple):
    """What a comparison found: the sizes at which the file ran, and the largest error, in the units of tolerances."""

    sizes: list[dict[str, int]]
    error: float


def compare(session: Session, signature: Signature, names: Sequence[str], tolerance: float | None) -> Compared:
    """Run the file and the function, and compare all results.

    Args:
        session: The file.
        signature: The function, and what it takes.
        names: Those of the results.
        tolerance: How far a number may be off; None for what its dtype allows.

    Raises:
        ExportMismatch: a result differs.
        ArgumentError: no sizes fulfil the constraints.
    """
    worst = 0.0
    seen = []
    for values, inputs in trials(signature):
        wanted = expected(signature, inputs)
        got = session.run(dict(zip(signature.names, inputs, strict=True)), names)
        for name, one, other in zip(names, wanted, got, strict=True):
            worst = max(worst, _difference(name, one, other, values, tolerance))
        seen.append(values)
    return Compared(seen, worst)


def trials(signature: Signature) -> Iterator[tuple[dict[str, int], list[Numbers]]]:
    """Yield sizes with inputs of these: two, and those of the examples, if there are."""
    rng = np.random.default_rng(0)
    example = signature.example
    for values in assignments(signature.free, signature.constraints):
        shapes = [tuple(sizes.value_of(size, values) for size in spec.shape) for spec in signature.specs]
        likes = example or [None] * len(shapes)
        yield values, [_drawn(rng, *one) for one in zip(signature.specs, shapes, likes, strict=True)]
    if example is not None:
        yield {"batch": example[0].shape[0]} if signature.free else {}, list(example)


def assignments(names: Sequence[str], constraints: Sequence[str]) -> list[dict[str, int]]:
    """Return two values for each size that fulfil the constraints, all as different as that allows.

    Raises:
        ArgumentError: none were found.

    Example:
        >>> assignments(["batch", "time"], ["time >= 2"])
        [{'batch': 2, 'time': 3}, {'batch': 5, 'time': 4}]
    """
    if not names:
        return [{}]
    found: list[dict[str, int]] = []
    for ways in (_DIFFERENT, range(1, 65)):
        for numbers in itertools.islice(_spread(len(names), ways), _TRIES):
            values = dict(zip(names, numbers, strict=True))
            fits = all(sizes.holds(one, values) for one in constraints)
            if fits and not any(one[name] == values[name] for one in found for name in names):
                found.append(values)
                if len(found) == 2:
                    return found
    if found:
        return found
    raise ArgumentError(
        f"constraints={list(constraints)!r} between {', '.join(names)}",
        "no sizes up to 64 were found that fulfil them, to compare at",
        "check=False, or other constraints",
    )


_DIFFERENT = (2, 3, 5, 4, 7, 6, 9, 8, 11, 12, 13, 16)
_TRIES = 20_000


def _spread(count: int, ways: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield numbers for sizes, in an order in which the first ones differ from each other."""
    for start in range(0, len(ways), max(count, 1)):
        yield tuple(ways[(start + i) % len(ways)] for i in range(count))
    yield from itertools.product(ways, repeat=count)


def _drawn(rng: np.random.Generator, spec: Spec, shape: tuple[int, ...], like: Numbers | None) -> Numbers:
    """Return an input: numbers of the example, or drawn within the bounds; without bounds integers are 0 and 1."""
    if like is not None and like.size:
        return np.asarray(rng.choice(like.reshape(-1), shape), like.dtype)
    if spec.dtype == "bool":
        return np.asarray(rng.random(shape) < 0.7)
    if spec.dtype.startswith("float"):
        low, high = spec.bounds or (-math.inf, math.inf)
        return np.clip(rng.normal(size=shape), low, high).astype(spec.dtype)
    low, high = spec.bounds or (0, 1)
    return np.asarray(rng.integers(int(low), int(high), shape, endpoint=True), spec.dtype)


def expected(signature: Signature, inputs: Sequence[Numbers]) -> list[Numbers]:
    """Return what the function itself computes."""
    arrays = registry.current().arrays
    values = iter([arrays.asarray(one) for one in inputs])
    given = [
        tree.map_structure(lambda leaf: None if leaf is None else next(values), one) for one in signature.structure
    ]
    leaves: list[Any] = []
    form_of(function_of(signature.fn)(*given), leaves)
    return [arrays.to_numpy(arrays.asarray(unwrap(one))) for one in leaves]


def _difference(name: str, wanted: Numbers, got: Numbers, at: Mapping[str, int], tolerance: float | None) -> float:
    """Return how far a result is off; raise if that is too far."""
    said = f"{name!r} at {', '.join(f'{key}={size}' for key, size in at.items()) or 'the sizes of the Specs'}"
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        raise ExportMismatch(
            f"{said}: {got.dtype}{list(got.shape)} from the file, {wanted.dtype}{list(wanted.shape)} from the function",
            "what was written computes something else; nothing is left of it",
            "gx.export.save, and a report of this message: it is a mistake of the writer",
        )
    if wanted.size == 0:
        return 0.0
    if wanted.dtype.kind != "f":
        far = np.asarray(wanted != got)
        allowed, unit = 0.0, 1.0
    else:
        one, other = (array.astype("float64") for array in (wanted, got))
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        with np.errstate(invalid="ignore"):
            far = np.where(same, 0, np.nan_to_num(np.abs(one - other), nan=np.inf))
        finite = np.abs(one[np.isfinite(one)])
        unit = max(1.0, float(finite.max()) if finite.size else 1.0)
        allowed = TOLERANCES.get(str(wanted.dtype), 0.0) if tolerance is None else tolerance
    error = float(far.max()) / unit
    if error > allowed:
        place = np.unravel_index(int(far.argmax()), far.shape)
        raise ExportMismatch(
            f"{said}, element {[int(i) for i in place]}: {got[place]} from the file, {wanted[place]} from the function",
            f"{error:.2g} of the largest magnitude is more than {allowed:g}; nothing is left of the file",
            f"tolerance={_rounded_up(error):g} if that is close enough; gx.export.save computes as JAX does",
        )
    return error


def _rounded_up(error: float) -> float:
    return float(f"{error * 1.5:.0e}") if 0 < error < math.inf else 1.0
