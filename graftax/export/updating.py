"""update: new values for an artefact, from a checkpoint; its programs stay as they are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.checkpoint.saved_arrays import read
from graftax.core.errors import ExportError, MatchError
from graftax.export import run
from graftax.export.loading import load, reading
from graftax.export.saving import write_examples, write_manifest
from graftax.export.stored_values import Codes, arrays_of, described
from graftax.export.writing import published


class UpdateReport(NamedTuple):
    """What was updated.

    Example:
        >>> print(UpdateReport("net", 4))
        net: 4 values updated
    """

    path: str
    values: int

    def __str__(self) -> str:
        return f"{self.path}: {self.values} values updated"


def update(path: str | os.PathLike[str], checkpoint: str | os.PathLike[str]) -> UpdateReport:
    """Give an artefact the values of a checkpoint, found by path; the stored trials are computed anew.

    A weight that is stored as integers takes the integers of `Int8` or `Int4` again, or an array, and is then one.

    Args:
        path: The artefact; it is replaced as a whole.
        checkpoint: A checkpoint that has an array for each value, of its shape and dtype.

    Raises:
        MatchError: it lacks one, or one differs; nothing is changed.
        ExportError: the artefact is damaged, or has its weights inside of the programs.
    """
    path = os.fspath(path)
    artefact = load(path)
    if not artefact.values:
        raise ExportError(
            f"the artefact {path!r} has no values of its own",
            "its weights are inside of the programs, or there are none",
            'an artefact that was saved with weights="apart"',
        )
    with read(checkpoint) as arrays:
        integers = {name: found for name in artefact.integers if (found := _integers(artefact, name, arrays))}
        given = {name: value for name, value in artefact.values.items() if name not in integers}
        wrong = [text for name, value in given.items() if (text := _misfit(name, value, arrays)) is not None]
        if wrong:
            raise MatchError(
                f"{len(wrong)} of {len(artefact.values)} values:\n    " + "\n    ".join(wrong[:20]),
                f"the programs of {path} take values of these paths, shapes and dtypes",
                "a checkpoint of the same roots; or graftax export save anew, where the program has changed",
            )
        new = {name: np.array(arrays[name]) for name in given}
    manifest, files = artefact.manifest, artefact.manifest["files"]
    new |= {name: run.numbers(manifest["values"][name], *codes.parts.values()) for name, codes in integers.items()}
    manifest["values"] = {name: described(new[name], integers.get(name)) for name in artefact.values}
    values = {name: registry.current().arrays.asarray(value) for name, value in new.items()}
    with reading():
        contents = {name: bytes(run.checked(path, name, run.raw(path, name), digest)) for name, digest in files.items()}
        stored = run.tensors(path, "examples.safetensors") if "examples.safetensors" in files else {}
        contents.pop("examples.safetensors", None)
        examples = {name: np.array(one) for name, one in stored.items()}
        for name, function in artefact.signatures.items():
            examples |= _trial_again(name, function, values, examples)
    with published(path, overwrite=True) as folder:
        for name, data in contents.items():
            file = Path(folder, *name.split("/"))
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
        Path(folder, "weights.safetensors").write_bytes(b"".join(run.encoded(arrays_of(new, integers))))
        if examples:
            write_examples(folder, manifest, examples)
        write_manifest(folder, manifest)
    return UpdateReport(path, len(new))


def _integers(artefact: run.Artefact, name: str, arrays: Mapping[str, Any]) -> Codes | None:
    """Return the integers and steps of a checkpoint in place of those that an artefact has; None where they differ."""
    parts = artefact.integers[name]
    found = [arrays.get(f"{name}/{part}") for part in ("codes", "scale")]
    for part, one in zip(parts, found, strict=False):
        if one is None or (tuple(one.shape), one.dtype) != (part.shape, part.dtype):
            return None
    return Codes(np.array(found[0]), np.array(found[1]), None) if len(parts) == len(found) else None


def _misfit(name: str, value: Any, arrays: Mapping[str, Any]) -> str | None:
    if name not in arrays:
        parts = [path for path in arrays if path.startswith(f"{name}/")]
        if parts:
            return f"{name}: the checkpoint has its parts {', '.join(parts[:3])}, and it was computed at the export"
        return f"{name}: the checkpoint has no such array"
    found = arrays[name]
    if (tuple(found.shape), found.dtype.name) != (tuple(value.shape), value.dtype.name):
        return (
            f"{name}: {found.dtype.name}{list(found.shape)}, and {value.dtype.name}{list(value.shape)} in the artefact"
        )
    return None


def _trial_again(
    name: str, function: run.Function, values: Mapping[str, Any], examples: Mapping[str, Any]
) -> dict[str, Any]:
    inputs = [examples.get(f"{name}/inputs/{i}") for i in range(len(function.about["inputs"]))]
    if any(one is None for one in inputs):
        return {}
    out, _ = function.flat(values, [registry.current().arrays.asarray(one) for one in inputs])
    return {f"{name}/outputs/{i}": np.asarray(one) for i, one in enumerate(out)}
