"""The function save: exports functions with their weights as an artefact, which runs without graftax."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from graftax.backend import registry
from graftax.backend.exporting import ExportedProgram
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.export import run
from graftax.export.comparison import Trial, compare, computes_rows
from graftax.export.first_call import signature_of
from graftax.export.folding import Folded
from graftax.export.loader_source import loader_source
from graftax.export.manifest import FORMAT, digest_of
from graftax.export.naming import DEFAULT, Names, checked_roots
from graftax.export.output import form_of
from graftax.export.report import Checked, ExportReport, SignatureReport
from graftax.export.signature import InputLike, Signature
from graftax.export.stored_values import Codes, arrays_of, codes_of, describe
from graftax.export.tracing import Traced, trace
from graftax.export.writing import check_place, publish, size_of_files
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import Storage

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
_RESERVED = ("values", "signatures", "manifest", "path", "save_values")
_LARGE = 1_000_000

Functions = Module | Callable[..., Any] | Signature | Mapping[str, Signature]


@door
def save(
    path: str | os.PathLike[str],
    functions: Functions,
    *inputs: InputLike,
    roots: Module | Mapping[str, Module] | None = None,
    platforms: Sequence[str] = ("cpu", "cuda", "tpu"),
    vjp_order: int = 0,
    weights: Literal["apart", "inside"] = "apart",
    check: bool = True,
    overwrite: bool = False,
) -> ExportReport:
    """Export functions with their weights as an artefact: a folder, or a zip, that needs only JAX to run.

    Each function becomes a program. Variables that it reads become inputs of the program, and those that it assigns
    become outputs, too, so a whole training step can be exported. The values are stored once for all programs. The
    artefact is loaded again and compared with the functions; if it differs, it is deleted.

    Args:
        path: A folder, or a file that ends in ``.zip``.
        functions: A Module or a function, which is then called ``predict``; a `Signature`; or several by name.
        *inputs: The inputs of a Module or function, as for `Signature`. A Module that was called needs none.
        roots: Modules at which the paths of values begin, as in a `Checkpoint`; a single Module is called ``model``.
            Defaults to None: the exported Module, or no root.
        platforms: The platforms that the programs can run on. Defaults to ``("cpu", "cuda", "tpu")``.
        vjp_order: How many times they can be differentiated with respect to values and inputs. Defaults to 0.
        weights: ``"apart"``, or ``"inside"`` of the programs, for speed at small batches. Defaults to ``"apart"``.
        check: Whether to compare the artefact with the functions. Defaults to True.
        overwrite: Whether an existing artefact is replaced. Defaults to False.

    Returns:
        A report of what was written, compared and left out.

    Raises:
        ExportError: a function branches on a free size, calls Python, or assigns Variables without ``assigns=True``.
        ExportMismatch: the artefact computes other values than a function.
        DestinationExists: something exists at the path already.
        NotBuiltError: a Module without inputs has not been called.
        ArgumentError: a name or a platform is invalid, or nothing of a root is read.
        BackendCapabilityError: the backend cannot export.

    Example:
        >>> import tempfile, numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(4, "relu"), gx.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = gx.export.save(f"{folder}/net", model, gx.export.Spec("batch 3"))
        ...     artefact = gx.export.load(f"{folder}/net")
        >>> artefact.predict(np.ones((5, 3), "float32")).shape, report.values
        ((5, 2), 4)
    """
    path = os.fspath(path)
    signatures = _signatures(functions, inputs)
    if roots is None and isinstance(functions, Module):
        roots = {DEFAULT: functions}
    found = checked_roots({} if roots is None else roots, f"graftax.export.save({path!r}, ..., roots=model)")
    options = Options(_platforms(platforms), _order(vjp_order), _check_weights(weights, signatures))
    check_place(path, overwrite)
    # programs that only read come last: expressions of Variables that others assign are not folded in them
    order = sorted(signatures, key=lambda name: not signatures[name].assigns)
    traced: dict[str, Traced] = {}
    moving: frozenset[Storage] = frozenset()
    known = Folded()
    for name in order:
        traced[name] = trace(signatures[name], moving, integers=not options.inside, known_folded=known)
        moving |= frozenset(traced[name].written)
    artefact = _Artefact({name: traced[name] for name in signatures}, Names(found), options)
    with publish(path, overwrite) as folder:
        artefact.write(folder)
        checked = artefact.compare(folder) if check and options.runs_here else {}
    return artefact.report(path, checked)


class Options(NamedTuple):
    """The settings for writing programs."""

    platforms: tuple[str, ...]
    vjp_order: int
    inside: bool

    @property
    def runs_here(self) -> bool:
        """Tell whether this machine is one of the platforms."""
        return registry.current().devices.list()[0].partition(":")[0].replace("gpu", "cuda") in self.platforms


class _Artefact:
    """An artefact that is being written."""

    def __init__(self, traced: Mapping[str, Traced], names: Names, options: Options) -> None:
        self.traced, self.names, self.options = traced, names, options
        self.storages: dict[str, Storage] = {}
        for one in traced.values():
            for storage in (*one.donated, *one.read_only, *one.written):
                self.storages[names(storage)] = storage
        names.check_used(self.storages.values())
        if options.inside:
            self.storages = {}
        self.integers: dict[str, Codes] = {}
        self.programs: dict[str, ExportedProgram] = {}
        self.manifest: dict[str, Any] = {}

    def write(self, folder: str) -> None:
        """Write all files into a folder."""
        exporting = registry.current().exporting
        arrays = registry.current().arrays
        os.mkdir(os.path.join(folder, "functions"))
        files: dict[str, str] = {}

        def put(name: str, parts: Sequence[bytes]) -> None:
            with open(os.path.join(folder, *name.split("/")), "wb") as file:
                file.writelines(parts)
            digest = hashlib.sha256()
            for part in parts:
                digest.update(part)
            files[name] = digest.hexdigest()

        for name, one in self.traced.items():
            program = self.programs[name] = exporting.export(one.program, one.leaves, len(one.results), *self.options)
            put(f"functions/{name}.jax", [program.program])
            put(f"functions/{name}.stablehlo", [program.portable])
        put("run.py", [loader_source()])
        values = {name: arrays.to_numpy(storage.buffer) for name, storage in self.storages.items()}
        folded = {storage: node for one in self.traced.values() for storage, node in one.folded.items()}
        for name, storage in self.storages.items():
            if (codes := codes_of(folded.get(storage), values[name])) is not None:
                self.integers[name] = codes
        put("weights.safetensors", run.encode(arrays_of(values, self.integers)))
        del files["weights.safetensors"]  # each value has a hash of its own, so that some may be read alone
        self.manifest = {
            "format": FORMAT,
            "graftax": sys.modules["graftax"].__version__,
            **exporting.versions(),
            "calling_convention": next(iter(self.programs.values())).convention,
            "platforms": list(self.options.platforms),
            "vjp_order": self.options.vjp_order,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "signatures": {name: self._describe(name) for name in self.traced},
            "values": {name: describe(value, self.integers.get(name)) for name, value in values.items()},
            "files": files,
        }
        write_manifest(folder, self.manifest)

    def _describe(self, name: str) -> dict[str, Any]:
        one, program = self.traced[name], self.programs[name]
        signature, count = one.signature, 0
        arguments = []
        for argument, structure in zip(signature.arguments, signature.structure, strict=True):
            leaves: list[Any] = [None] * count
            arguments.append({"name": argument, "form": form_of(structure, leaves)})
            count = len(leaves)
        outputs = zip(one.results, program.results, strict=True)
        inside = self.options.inside
        return {
            "arguments": arguments,
            "inputs": [{**each._asdict(), "shape": list(each.shape)} for each in one.inputs],
            "output": one.output,
            "outputs": [{"name": n, "shape": list(each.shape), "dtype": each.dtype} for n, each in outputs],
            "constraints": list(signature.constraints),
            "assigns": signature.assigns,
            "writes_read": [self.names(storage) for storage in one.donated],
            "reads": [] if inside else [self.names(storage) for storage in one.read_only],
            "writes": [self.names(storage) for storage in one.written],
            "folded": [self.names(storage) for storage in one.folded],
            "left_out": one.left_out,
            "rows": False,
        }

    def compare(self, folder: str) -> dict[str, Checked]:
        """Load the written artefact, compare it, and store the trials, which `check` can replay."""
        artefact = run.load(folder)
        found: dict[str, Checked] = {}
        examples: dict[str, Any] = {}
        for name, one in self.traced.items():
            function = artefact.signatures[name]
            found[name], trial = compare(name, one, function, artefact.values, self.names)
            about = self.manifest["signatures"][name]
            about["rows"] = computes_rows(one, function, artefact.values, trial)
            about["checked"] = {"sizes": list(found[name].sizes), "error": found[name].error}
            examples |= examples_of(name, trial)
        write_examples(folder, self.manifest, examples)
        write_manifest(folder, self.manifest)
        return found

    def report(self, path: str, checked: Mapping[str, Checked]) -> ExportReport:
        """Return the report."""
        signatures = {}
        for name, one in self.traced.items():
            about = self.manifest["signatures"][name]
            large = tuple(f"{each.dtype}{list(each.shape)}" for each in one.program.constants if each.nbytes > _LARGE)
            size = len(self.programs[name].program)
            signatures[name] = SignatureReport(
                size, checked.get(name), tuple(about["folded"]), tuple(one.left_out), large, about["rows"]
            )
        read = [
            self.names(storage)
            for one in self.traced.values()
            for storage in (*one.donated, *one.read_only, *one.written)
        ]
        unread = tuple(self.names.unread(read))
        return ExportReport(path, size_of_files(path), signatures, len(self.storages), unread, tuple(self.integers))


def examples_of(name: str, trial: Trial) -> dict[str, Any]:
    """Return the arrays of a trial by name."""
    inputs = {f"{name}/inputs/{i}": one for i, one in enumerate(trial.inputs)}
    return {**inputs, **{f"{name}/outputs/{i}": one for i, one in enumerate(trial.results)}}


def write_examples(folder: str, manifest: dict[str, Any], examples: Mapping[str, Any]) -> None:
    """Write the trials for `check`, and add their hash to the manifest."""
    data = b"".join(run.encode(examples))
    Path(folder, "examples.safetensors").write_bytes(data)
    manifest["files"]["examples.safetensors"] = hashlib.sha256(data).hexdigest()


def write_manifest(folder: str, manifest: dict[str, Any]) -> None:
    """Write the manifest, which holds its own hash."""
    manifest["sha256"] = digest_of(manifest)
    Path(folder, "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


# --- arguments --------------------------------------------------------------------------------------------------------


def _signatures(functions: Any, inputs: tuple[InputLike, ...]) -> dict[str, Signature]:
    if isinstance(functions, Signature) or (isinstance(functions, Mapping) and not isinstance(functions, Module)):
        if inputs:
            raise ArgumentError(
                f"{len(inputs)} inputs beside signatures",
                "a signature has its own inputs",
                "Signature(fn, *inputs), and no inputs after it",
            )
        found = functions if isinstance(functions, Mapping) else {"predict": functions}
    else:
        return {"predict": signature_of(functions, *inputs)}
    for name, one in found.items():
        if not isinstance(one, Signature):
            raise ArgumentTypeError(
                f"functions[{name!r}] of type {type(one).__name__}",
                "of several functions each is a Signature",
                f'{{{name!r}: graftax.export.Signature(fn, graftax.export.Spec("batch 8"))}}',
            )
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name) or name in _RESERVED:
            raise ArgumentError(
                f"a program called {name!r}",
                "its name is that of an attribute of the artefact and of a file: a word, and none of "
                f"{', '.join(_RESERVED)}",
                '"predict"',
            )
    if not found:
        raise ArgumentError("no functions", "there is nothing to export", "a Module, or signatures by name")
    return dict(found)


def _platforms(platforms: Sequence[str]) -> tuple[str, ...]:
    given = (platforms,) if isinstance(platforms, str) else tuple(platforms)
    if not given or any(one not in PLATFORMS for one in given) or len(set(given)) < len(given):
        raise ArgumentError(f"platforms={platforms!r}", f"known are {', '.join(PLATFORMS)}, each once", '("cpu",)')
    return given


def _order(vjp_order: int) -> int:
    if type(vjp_order) is not int or not 0 <= vjp_order <= 5:
        raise ArgumentError(f"vjp_order={vjp_order!r}", "it is how often to differentiate, from 0 to 5", "vjp_order=1")
    return vjp_order


def _check_weights(weights: str, signatures: Mapping[str, Signature]) -> bool:
    if weights not in ("apart", "inside"):
        raise ArgumentError(f"weights={weights!r}", "weights are apart or inside", 'weights="apart"')
    assigning = [name for name, one in signatures.items() if one.assigns]
    if weights == "inside" and assigning:
        raise ArgumentError(
            f'weights="inside" with {", ".join(assigning)}, which assigns',
            "what changes cannot be a part of the programs",
            'weights="apart", or an artefact of its own for what only computes',
        )
    return weights == "inside"
