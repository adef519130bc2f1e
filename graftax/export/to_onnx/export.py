"""onnx: a function as a file for ONNX Runtime."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from graftax.backend import registry
from graftax.core.argument_kinds import checked_flag
from graftax.core.errors import ArgumentError, ArgumentTypeError, DestinationExists, ExportError
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door
from graftax.export.first_call import signature_of
from graftax.export.signature import InputLike, Signature
from graftax.export.to_onnx import calibration as calibrating
from graftax.export.to_onnx import comparison, external, messages, writing
from graftax.export.to_onnx.integers import Integers
from graftax.export.to_onnx.messages import Numbers
from graftax.export.to_onnx.report import OnnxReport
from graftax.export.to_onnx.runtime import Session, library
from graftax.export.to_onnx.sizes import message_sizes
from graftax.export.to_onnx.writing import Written
from graftax.export.tracing import Traced, trace
from graftax.variables.graph.module import Module

_LARGEST = 2**31 - 2**20
"""Bytes that one file can have, some of them for the graph."""


class _Plan(NamedTuple):
    """What was asked for."""

    weights: str
    opset: int
    check: bool
    tolerance: float | None
    overwrite: bool


@door
def onnx(
    path: str | os.PathLike[str],
    function: Callable[..., Any] | Module | Signature,
    *inputs: InputLike,
    constraints: Sequence[str] = (),
    fold: bool | SelectorLike = True,
    products: Literal["float32", "int8"] = "float32",
    calibration: Iterable[Any] | None = None,
    weights: Literal["inside", "apart"] = "inside",
    opset: int = 17,
    check: bool = True,
    tolerance: float | None = None,
    overwrite: bool = False,
) -> OnnxReport:
    """Export a function with its weights as an ONNX file, for other languages, and compare the two.

    The file is run with two values of every free size. If a result differs, this raises, and the file is deleted.

    Args:
        path: The file.
        function: A function, a Module, which stands for its call with ``training=False``, or a `Signature`.
        *inputs: The inputs, as for `Signature`: Specs or examples. A Module that was called needs none.
        constraints: Constraints on sizes, such as ``"time >= 2"``. Defaults to none.
        fold: Whether weights that are expressions are computed at the export, or a selector of such weights. Defaults
            to True.
        products: ``"int8"`` uses integer products for weights on a grid of at most 8 bits, such as those of `Int8` or a
            trained `FakeQuant`; activations are quantized when the file runs. Defaults to ``"float32"``: all products
            use floating numbers.
        calibration: With ``products="int8"``: batches of inputs, arrays or tuples of these. The ranges of activations
            on them are stored in the file, and weights that are not on a grid are quantized, too. Defaults to None.
        weights: ``"apart"`` writes them to ``<name>.safetensors`` beside the file, except those in the
            ``weights.safetensors`` of an artefact in the same folder, which are used from there. Defaults to
            ``"inside"``.
        opset: The version of the ONNX operator set, at least 17. Defaults to 17.
        check: Whether to compare the results, which needs onnxruntime. Defaults to True.
        tolerance: The largest error of a result, relative to its largest magnitude or to 1. Defaults to 1e-5, to 1e-2
            if anything is computed in half precision, and to 0.1 with integer products.
        overwrite: Whether a file at ``path`` is replaced. Defaults to False.

    Returns:
        A report with sizes, operators, and the error of the file.

    Raises:
        ExportError: an operation has no counterpart in ONNX; the message names it, its layer and the user's line.
        ExportMismatch: the file computes other values than the function.
        DestinationExists: something exists at the path already.
        MissingLibraryError: onnxruntime is not installed, and ``check`` is True.
        ArgumentError: an option has an unknown value, or would have no effect.

    Example:
        >>> import tempfile, graftax as gx
        >>> layer = gx.layers.Dense(2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = gx.export.onnx(f"{folder}/dense.onnx", layer, gx.export.Spec("batch 8"), check=False)
        >>> report.inputs, report.operators["MatMul"]
        ({'x': 'float32[batch, 8]'}, 1)
    """
    plan = _check_options(products, calibration, weights, opset, check, tolerance, overwrite)
    target = _target(path)
    signature = _signature(function, inputs, constraints, fold)
    if target.exists() and not overwrite:
        raise DestinationExists(f"{target}", "a file with this name exists already", "another path, or overwrite=True")
    if check or calibration is not None:
        library(", or check=False" if calibration is None else "")
    traced = trace(signature)
    with _stage(target) as folder:
        batches = None if calibration is None else calibrating.batches_of(calibration, signature)
        integers = _integers(products, batches, traced, plan, folder)
        written = writing.write(traced, registry.current().exporting.equations, integers, plan.opset)
        if products == "int8" and not integers.written:
            raise _no_integers(traced)
        size = _put(written, folder, target, plan)
        report = _report(target, size, written, traced, integers)
        if check:
            allowed = _tolerance_for(tolerance, products, written)
            session, like = Session(folder / target.name), None if batches is None else batches[0]
            found = comparison.compare(session, signature, list(written.kinds), allowed, like)
            report = _report(target, size, written, traced, integers, found)
    return report


def _tolerance_for(tolerance: float | None, products: str, written: Written) -> float | None:
    """Return how far results may be off; None for what their dtypes allow."""
    if tolerance is not None:
        return tolerance
    if products == "int8":
        return comparison.INTEGER_PRODUCTS
    return comparison.HALF_PRECISION if written.file.halves else None


def _target(path: object) -> Path:
    """Return the path of the file; raise if another argument stands in its place."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(
            f"gx.export.onnx() got a {type(path).__name__} as its first argument, path",
            "the path of the file comes first, then the function",
            'gx.export.onnx("model.onnx", model, gx.export.Spec("batch 8"))',
        )
    return Path(path)


def _check_options(
    products: str, calibration: object, weights: str, opset: int, check: bool, tolerance: float | None, overwrite: bool
) -> _Plan:
    """Raise for options that are none, or have no effect."""
    for name, value, choices in (
        ("products", products, ("float32", "int8")),
        ("weights", weights, ("inside", "apart")),
    ):
        if value not in choices:
            allowed = " or ".join(map(repr, choices))
            raise ArgumentError(f"{name}={value!r}", f"{name} is {allowed}", f"{name}={choices[0]!r}")
    if calibration is not None and products != "int8":
        raise ArgumentError(
            f"calibration= with products={products!r}",
            "the ranges that calibration measures are used for integer products only",
            'products="int8", or leave calibration= out',
        )
    if isinstance(opset, bool) or not isinstance(opset, int) or opset < 17:
        raise ArgumentError(
            f"opset={opset!r}", "the version of the ONNX operators is an integer of at least 17", "opset=17"
        )
    if tolerance is not None and not check:
        raise ArgumentError(
            f"tolerance={tolerance!r} with check=False",
            "without the check nothing is compared, and a tolerance has no effect",
            "leave tolerance= out, or check=True",
        )
    if tolerance is not None and not (isinstance(tolerance, int | float) and tolerance >= 0):
        raise ArgumentError(f"tolerance={tolerance!r}", "the tolerance is a number of at least 0", "tolerance=1e-4")
    return _Plan(weights, opset, checked_flag("check", check), tolerance, checked_flag("overwrite", overwrite))


def _signature(
    function: Any, inputs: Sequence[InputLike], constraints: Sequence[str], fold: bool | SelectorLike
) -> Signature:
    if not isinstance(function, Signature):
        return signature_of(function, *inputs, constraints=constraints, fold=fold)
    if inputs or constraints or fold is not True:
        raise ArgumentError(
            f"{function!r} with inputs, constraints= or fold= beside it",
            "a Signature has these itself",
            "gx.export.onnx(path, gx.export.Signature(fn, ..., constraints=[...]))",
        )
    if function.assigns:
        raise ExportError(
            f"{function!r}",
            "the function assigns Variables, and an ONNX file keeps no values from one run to the next",
            "gx.export.save for a training step; for ONNX, a function that returns the new values",
        )
    return function


def _integers(
    products: str, batches: list[list[Numbers]] | None, traced: Traced, plan: _Plan, folder: Path
) -> Integers:
    """Return which products are of integers; on calibration data the file runs once before."""
    if batches is None:
        return Integers(products == "int8")
    watching = Integers(observes=True)
    written = writing.write(traced, registry.current().exporting.equations, watching, plan.opset)
    observed = tuple(dict.fromkeys(name for pair in watching.seen.values() for name in pair))
    path = folder / "calibration.onnx"
    arrays, data, _ = external.place(written.arrays, folder, "calibration.safetensors")
    (folder / "calibration.safetensors").write_bytes(data)
    path.write_bytes(written.model(arrays, _version(), {}, observed))
    ranges = calibrating.ranges_of(path, watching.seen, traced.signature.names, batches)
    path.unlink()
    (folder / "calibration.safetensors").unlink()
    return Integers(products=True, rounds=True, ranges=ranges)


def _no_integers(traced: Traced) -> ExportError:
    return ExportError(
        f'products="int8" of {traced.signature!r}',
        "no weight of a product is stored in 8 bits or fewer, so no product of integers would be exact",
        'gx.graft(model, gx.reparam.Int8(), where="**/kernel") before the export, or calibration=[x[:64]], with which '
        "all weights are rounded to 8 bits",
    )


def _put(written: Written, folder: Path, target: Path, plan: _Plan) -> int:
    """Write the file, and what lies beside it, into a folder; return the bytes of both."""
    own = f"{target.stem}.safetensors"
    if plan.weights == "apart":
        if own == external.SHARED:
            own = f"{target.stem}.onnx.safetensors"
        arrays, data, shared = external.place(written.arrays, target.parent, own)
        if data:
            if (target.parent / own).exists() and not plan.overwrite:
                raise DestinationExists(
                    f"{target.parent / own}, for the weights",
                    "a file with this name exists already",
                    "another path, or overwrite=True",
                )
            (folder / own).write_bytes(data)
        for name in shared:  # only to be compared
            _borrow(target.parent / name, folder / name)
    else:
        if (total := sum(array.nbytes for _, array in written.arrays)) > _LARGEST:
            raise ExportError(
                f"weights of {total / 1e9:.1f} GB in one file",
                "an ONNX file has at most 2 GB",
                'weights="apart", which writes them to a file beside it',
            )
        arrays, data = [messages.tensor(*one) for one in written.arrays], b""
    content = written.model(arrays, _version(), {})
    (folder / target.name).write_bytes(content)
    return len(content) + len(data)


def _borrow(source: Path, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError:  # another file system
        shutil.copy(source, place)


def _version() -> str:
    return str(sys.modules["graftax"].__version__)


@contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """Give a folder beside the target; what is in it in the end takes its place, unless the block raises."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder
        for one in sorted(folder.iterdir(), key=lambda one: one.name == target.name):  # the model last
            if one.name != external.SHARED:
                one.replace(target.parent / one.name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _report(
    target: Path,
    size: int,
    written: Written,
    traced: Traced,
    integers: Integers,
    comparison_result: comparison.Compared | None = None,
) -> OnnxReport:
    kinds = {
        one.name: f"{one.dtype}[{', '.join(map(str, message_sizes(leaf.shape)))}]"
        for one, leaf in zip(traced.inputs, traced.leaves, strict=True)
    }
    return OnnxReport(
        path=str(target),
        bytes=size,
        opset=written.file.opset,
        inputs=kinds,
        outputs=written.kinds,
        operators=dict(written.file.operators.most_common()),
        sizes=() if comparison_result is None else tuple(comparison_result.sizes),
        error=0.0 if comparison_result is None else comparison_result.error,
        integer_products=integers.written,
        folded=tuple(one.path for one in traced.folded),
        left_out=tuple(traced.left_out),
    )
