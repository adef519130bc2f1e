"""``graftax export show ART``: what a manifest says, read without an array library."""

import os
from argparse import Namespace
from importlib import import_module
from typing import Any

from graftax.cli.output import escape_control, print_json, print_table, size
from graftax.core.errors import ExportError
from graftax.export.manifest import ArtefactError, manifest_from


def run(options: Namespace) -> int:
    """Print programs, inputs and outputs, values."""
    manifest = manifest_of(options.artefact)
    if options.json:
        print_json(manifest)
    else:
        _print(options.artefact, manifest)
    return 0


def manifest_of(path: str) -> dict[str, Any]:
    """Return the manifest of an artefact, a folder or a zip.

    Raises:
        ExportError: there is none, or it cannot be read.
    """
    try:
        if os.path.isfile(path):
            text = import_module("zipfile").Path(path, "manifest.json").read_bytes()  # lazy: it takes long to import
        else:
            with open(os.path.join(path, "manifest.json"), "rb") as file:
                text = file.read()
        return manifest_from(path, text)
    except ArtefactError as error:
        raise ExportError(*error.args) from error
    except Exception as error:  # what is wrong with a zip has a class of zipfile, which may not be imported
        raise ExportError(
            f"the artefact {path!r}",
            "there is no artefact: no manifest.json in a folder or a zip of that name",
            "the path that graftax export save was given",
        ) from error


def _print(path: str, manifest: dict[str, Any]) -> None:
    values = manifest["values"]
    count = sum(_bytes(one) for one in values.values())
    written = ", ".join(f"{name} {manifest[name]}" for name in ("graftax", "jax") if name in manifest)
    print(f"{path}: {len(manifest['signatures'])} programs, {len(values)} values, {size(count)}")
    platforms = ", ".join(manifest["platforms"])
    print(escape_control(f"written {manifest['created']} by {written}, for {platforms}"))
    for name, one in manifest["signatures"].items():
        arguments = ", ".join(argument["name"] for argument in one["arguments"])
        moves = f", assigns {len(one['writes'])}" if one["assigns"] else ""
        reads = len(one["reads"]) + len(one["writes_read"])
        print(f"\n{escape_control(name)}({escape_control(arguments)})  reads {reads}{moves}")
        rows = [("in", *_leaf_row(each), _bounds(each)) for each in one["inputs"]]
        rows += [("out", *_leaf_row(each), "") for each in one["outputs"]]
        print_table(rows, indent="  ")
        if one["constraints"]:
            print(f"  where {escape_control(', '.join(one['constraints']))}")


def _leaf_row(leaf: dict[str, Any]) -> tuple[str, str, str]:
    return escape_control(leaf["name"]), leaf["dtype"], f"[{escape_control(' '.join(map(str, leaf['shape'])))}]"


def _bounds(leaf: dict[str, Any]) -> str:
    return f"from {leaf['bounds'][0]} to {leaf['bounds'][1]}" if leaf["bounds"] else ""


def _bytes(leaf: dict[str, Any]) -> int:
    count = 1
    for each in leaf["shape"]:
        count *= each
    digits = "".join(c for c in leaf["dtype"].partition("_")[0] if c.isdigit())
    return count * max(1, int(digits or 8) // 8)
