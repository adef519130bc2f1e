"""check: replay the trials that lie in an artefact, here and now."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.core.errors import ExportError
from graftax.core.short_traceback import door
from graftax.export import run
from graftax.export.comparison import computes_in_half, difference
from graftax.export.loading import convert_errors, load
from graftax.export.manifest import damaged_error


class CheckReport(NamedTuple):
    """Which programs were replayed.

    Example:
        >>> print(CheckReport({"predict": 0.0, "score": 2e-7}, ("train_step",)))
        predict: equal bits
        score: within 2.0e-07
        train_step: no trial is stored
    """

    errors: Mapping[str, float]
    """The largest difference of each, as a part of the largest number of its array; 0 for equal bits."""
    without: tuple[str, ...]
    """Programs without a stored trial."""

    def __str__(self) -> str:
        lines = [
            f"{name}: {'equal bits' if error == 0 else f'within {error:.1e}'}" for name, error in self.errors.items()
        ]
        return "\n".join([*lines, *(f"{name}: no trial is stored" for name in self.without)])


@door
def check(path: str | os.PathLike[str]) -> CheckReport:
    """Check every file of an artefact, and run each program on what it was tried on when it was written.

    Raises:
        ExportError: a file is damaged, or there is no trial at all.
        ExportMismatch: a program computes something else than then.

    Example:
        >>> import tempfile, graftax as gx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = gx.export.save(f"{folder}/double", lambda x: 2 * x, gx.export.Spec("n"))
        ...     print(check(f"{folder}/double"))
        predict: equal bits
    """
    artefact = load(path)
    files = artefact.manifest["files"]
    with convert_errors():
        for name, sha256 in files.items():
            run.check_hash(artefact.path, name, run.read_bytes(artefact.path, name), sha256)
        stored = run.tensors(artefact.path, "examples.safetensors") if "examples.safetensors" in files else {}
        errors = {
            name: _replay(artefact.path, name, function, artefact.values, stored)
            for name, function in artefact.signatures.items()
            if any(key.startswith(f"{name}/outputs/") for key in stored)
        }
    if not errors:
        raise ExportError(f"the artefact {artefact.path!r}", "it was written without trials", "check=True in save")
    return CheckReport(errors, tuple(name for name in artefact.signatures if name not in errors))


def _replay(
    path: str,
    name: str,
    function: run.Function,
    values: Mapping[str, Any],
    stored: Mapping[str, np.ndarray[Any, Any]],
) -> float:
    parts = {"inputs": len(function.about["inputs"]), "outputs": len(function.about["outputs"])}
    lacking = [
        key for part, count in parts.items() for i in range(count) if (key := f"{name}/{part}/{i}") not in stored
    ]
    if lacking:
        raise damaged_error(path, f"examples.safetensors has no {', '.join(lacking)}")
    inputs = [np.array(stored[f"{name}/inputs/{i}"]) for i in range(parts["inputs"])]
    out, _ = function.run_flat(values, [*map(registry.current().arrays.asarray, inputs)])
    outputs = function.about["outputs"]
    return max(
        (
            difference(
                f"{name}: {about['name']}",
                np.array(stored[f"{name}/outputs/{i}"]),
                np.asarray(one),
                lambda: computes_in_half(function),
            )
            for i, (about, one) in enumerate(zip(outputs, out, strict=True))
        ),
        default=0.0,
    )
