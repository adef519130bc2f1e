"""The function update: replaces the values of an artefact by those of a checkpoint, and keeps its programs."""

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
from graftax.export.loading import convert_errors, load
from graftax.export.saving import write_examples, write_manifest
from graftax.export.stored_values import Codes, GridKind, arrays_of, describe, round_to_grid
from graftax.export.writing import publish


class UpdateReport(NamedTuple):
    """What was updated.

    Example:
        >>> print(UpdateReport("net", 4))
        net: 4 values updated
    """

    path: str
    values: int
    rounded: tuple[str, ...] = ()
    """Paths of weights that the checkpoint has as they were before rounding, and the artefact as integers."""

    def __str__(self) -> str:
        rounded = f", {len(self.rounded)} of them rounded to their grid" if self.rounded else ""
        return f"{self.path}: {self.values} values updated{rounded}"


def update(path: str | os.PathLike[str], checkpoint: str | os.PathLike[str]) -> UpdateReport:
    """Replace the values of an artefact by those of a checkpoint, by path, and compute the stored trials again.

    A weight that is stored as integers stays so: it takes the integers of `Int8` or `Int4` again; or an array, that
    which `FakeQuant` rounds included, which is rounded to the grid that follows from it.

    Args:
        path: The artefact, which is replaced as a whole.
        checkpoint: A checkpoint that has an array of the same shape and dtype for each value.

    Raises:
        MatchError: an array is missing or differs in shape or dtype; nothing is changed.
        ExportError: the artefact is damaged, or its weights are inside of the programs.
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
        sources = {name: _source(artefact, name, arrays) for name in given}
        wrong = [
            text
            for name, value in given.items()
            if (text := _misfit(artefact, name, sources[name], value, arrays)) is not None
        ]
        if wrong:
            raise MatchError(
                f"{len(wrong)} of {len(artefact.values)} values:\n    " + "\n    ".join(wrong[:20]),
                f"the programs of {path} take values of these paths, shapes and dtypes",
                "a checkpoint of the same roots; or graftax export save once more, where the program has changed",
            )
        new = {name: np.array(arrays[sources[name]]) for name in given}
    kinds = {name: kind for name in given if name in artefact.integers and (kind := _kind(artefact, name)) is not None}
    onto_grid = {name: round_to_grid(new[name], kind) for name, kind in kinds.items()}
    if lost := [name for name, (_, codes) in onto_grid.items() if codes is None]:
        raise MatchError(
            f"{', '.join(lost)} of the checkpoint",
            f"the artefact {path!r} stores integers there, and no integers give exactly these numbers",
            "graftax export save once more",
        )
    for name, (value, codes) in onto_grid.items():
        new[name] = value
        integers |= {name: codes} if codes is not None else {}
    manifest, files = artefact.manifest, artefact.manifest["files"]
    for name, codes in integers.items():
        new.setdefault(name, run.numbers(manifest["values"][name], *codes.parts.values()))
    manifest["values"] = {name: describe(new[name], integers.get(name)) for name in artefact.values}
    values = {name: registry.current().arrays.asarray(value) for name, value in new.items()}
    with convert_errors():
        contents = {
            name: bytes(run.check_hash(path, name, run.read_bytes(path, name), digest))
            for name, digest in files.items()
        }
        stored = run.tensors(path, "examples.safetensors") if "examples.safetensors" in files else {}
        contents.pop("examples.safetensors", None)
        examples = {name: np.array(one) for name, one in stored.items()}
        for name, function in artefact.signatures.items():
            examples |= _trial_again(name, function, values, examples)
    with publish(path, overwrite=True) as folder:
        for name, data in contents.items():
            file = Path(folder, *name.split("/"))
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
        Path(folder, "weights.safetensors").write_bytes(b"".join(run.encode(arrays_of(new, integers))))
        if examples:
            write_examples(folder, manifest, examples)
        write_manifest(folder, manifest)
    return UpdateReport(path, len(new), tuple(onto_grid))


def _integers(artefact: run.Artefact, name: str, arrays: Mapping[str, Any]) -> Codes | None:
    """Return the integers and steps of a checkpoint in place of those that an artefact has; None where they differ."""
    parts = artefact.integers[name]
    found = [arrays.get(f"{name}/{part}") for part in ("codes", "scale")]
    for part, one in zip(parts, found, strict=False):
        if one is None or (tuple(one.shape), one.dtype) != (part.shape, part.dtype):
            return None
    codes = Codes(np.array(found[0]), np.array(found[1]), None, _kind(artefact, name))
    return codes if len(parts) == len(found) else None


def _kind(artefact: run.Artefact, name: str) -> GridKind | None:
    """Return how the grid of a value follows from other weights; None where the artefact does not say."""
    grid = artefact.manifest["values"][name].get("grid")
    return None if grid is None else GridKind(**{key: grid[key] for key in GridKind._fields})


def _source(artefact: run.Artefact, name: str, arrays: Mapping[str, Any]) -> str:
    """Return the path of what becomes a value; of an expression that rounds this is its base."""
    base = f"{name}/base"
    is_rounded = name in artefact.integers and name not in arrays and _kind(artefact, name) is not None
    return base if is_rounded and base in arrays else name


def _misfit(artefact: run.Artefact, name: str, source: str, value: Any, arrays: Mapping[str, Any]) -> str | None:
    if name in artefact.integers and source in arrays and _kind(artefact, name) is None:
        return f"{name}: the artefact has integers there, and does not say of which grid; the checkpoint has an array"
    if source not in arrays:
        parts = [path for path in arrays if path.startswith(f"{name}/")]
        if parts:
            return f"{name}: the checkpoint has its parts {', '.join(parts[:3])}, and it was computed at the export"
        return f"{name}: the checkpoint has no such array"
    found = arrays[source]
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
    out, _ = function.run_flat(values, [registry.current().arrays.asarray(one) for one in inputs])
    return {f"{name}/outputs/{i}": np.asarray(one) for i, one in enumerate(out)}
