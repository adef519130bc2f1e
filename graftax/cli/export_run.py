"""``graftax export run ART [SIGNATURE] name=in.npy ... out.npz``."""

from argparse import Namespace
from typing import Any

import numpy as np

from graftax.backend.host import in_dtype_of_numpy
from graftax.cli.output import print_json, print_table
from graftax.core.errors import ArgumentError, ExportError
from graftax.export.loading import load
from graftax.export.manifest import ArtefactError
from graftax.export.output import leaf_names


def run(options: Namespace) -> int:
    """Run one program on files; print its results, or write them."""
    words = list(options.files)
    name = words.pop(0) if words and "=" not in words[0] and not words[0].endswith(".npz") else None
    out = words.pop() if words and "=" not in words[-1] else None
    if out is not None and not out.endswith(".npz"):
        raise ArgumentError(f"results to {out!r}", "they are written to an .npz", "out.npz")
    artefact = load(options.artefact, only=name)
    if name is None and len(artefact.signatures) > 1:
        names = ", ".join(artefact.signatures)
        raise ArgumentError(f"{options.artefact} without a program", f"it has {names}", "the name after the artefact")
    function = next(iter(artefact.signatures.values()))
    inputs = _inputs(words)
    wanted = [one["name"] for one in function.about["inputs"]]
    if {*inputs} != {*wanted}:
        raise ArgumentError(
            f"inputs called {', '.join(inputs)}" if inputs else "no inputs",
            f"{function.name} takes {', '.join(wanted) or 'none'}",
            " ".join(f"{one}=FILE.npy" for one in wanted) or "no file",
        )
    try:
        results = function(**inputs)
    except ArtefactError as error:
        raise ArgumentError(*error.args) from error
    arrays: dict[str, Any] = {}
    for path, value in zip(leaf_names(function.about["output"]), _leaves(results), strict=True):
        arrays[path] = np.asarray(value)
    if out is not None:
        files: dict[str, Any] = {path: in_dtype_of_numpy(one) for path, one in arrays.items()}
        np.savez(out, **files)
    if options.json:
        print_json({path: {"dtype": one.dtype.name, "shape": list(one.shape)} for path, one in arrays.items()})
    elif out is not None:
        print_table([(path, one.dtype.name, str(list(one.shape))) for path, one in arrays.items()])
    else:
        for path, one in arrays.items():
            print(f"{path}:\n{one}")
    return 0


def _inputs(words: list[str]) -> dict[str, Any]:
    inputs = {}
    for word in words:
        name, sign, file = word.partition("=")
        if not sign:
            raise ArgumentError(f"{word!r} among the inputs", "an input is a name and a file", "x=x.npy")
        try:
            found = np.load(file, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ExportError(
                f"the input {word!r}", f"{file} holds no array: {error}", "a file of numpy.save"
            ) from error
        if not isinstance(found, np.ndarray):
            found.close()
            raise ArgumentError(f"the input {word!r}", "it has several arrays", "a file of numpy.save")
        inputs[name] = found
    return inputs


def _leaves(value: object) -> list[Any]:
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [leaf for part in parts for leaf in _leaves(part)]
    return [] if value is None else [value]
