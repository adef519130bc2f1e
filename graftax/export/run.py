#!/usr/bin/env python3
"""Load and run an exported program with jax, numpy and flatbuffers alone; a copy of this file lies in every artefact.

In Python:    import run; model = run.load("."); y = model.predict(x)
In a shell:   python run.py . predict x=x.npy out.npz
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, export

from graftax.export.manifest import ArtefactError, damaged_error, is_count, manifest_from, misfit, sizes_in

_TYPES = {f"{kind[0].upper()}{n}": f"{kind}{n}" for kind in ("float", "int", "uint") for n in (8, 16, 32, 64)}
_TYPES |= {"BF16": "bfloat16", "BOOL": "bool", "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
_STABLE = re.compile(  # functions of the host that a program may call
    r"(Sharding|SPMD(FullToShard|ShardToFull)Shape|annotate_device_placement|shape_assertion|tpu_custom_call|ApproxTopK"
    r"|TopK|topk|Qr|Eigh|Lu|ProductOfElementaryHouseholderReflectors|xla\.sdy\.\w+|(stablehlo\.dynamic|threefry)\w*"
    r"|(lapack|blas|cusolver|cublas|cudnn|cu|hipsolver|hipblas|hip)_\w+|(mhlo|chlo|__gpu\$)[\w.$]+)$"
)
_CALLED = re.compile(r'custom_call @(?:"([^"]*)"|([\w.$]+))|call_target_name\s*=\s*"([^"]*)"')
_LACKING, _TALKS = object(), re.compile(r"\bstablehlo\.(infeed|outfeed|send|recv)\b")
Path = str | os.PathLike[str]
Names = str | Sequence[str] | None


class ArtefactTypeError(ArtefactError, TypeError):
    """An argument of another kind than the input takes."""


def read_bytes(path: str, name: str) -> np.ndarray[Any, Any]:
    """Return the bytes of a file in an artefact, a folder or an uncompressed zip; mapped, not read."""
    file, start = os.path.join(path, *name.split("/")), 0
    try:
        if os.path.isfile(path):
            with zipfile.ZipFile(path) as archive, open(path, "rb") as whole:
                one = archive.getinfo(name)
                if one.compress_type != zipfile.ZIP_STORED or one.file_size != one.compress_size:
                    raise damaged_error(path, f"{name} is compressed")
                whole.seek(one.header_offset + 26)
                file, size = path, one.file_size
                start = one.header_offset + 30 + sum(int.from_bytes(whole.read(2), "little") for _ in range(2))
        else:
            size = os.path.getsize(file)
        return np.memmap(file, "uint8", "r", start, (size,)) if size else np.zeros(0, "uint8")
    except (zipfile.BadZipFile, KeyError, OSError, ValueError) as error:
        raise damaged_error(path, f"the file {name} is missing or cannot be read") from error


def tensors(path: str, name: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of a ``.safetensors`` file in an artefact; mapped, not read; all bounds are checked."""
    data, found = read_bytes(path, name), {}
    size = int.from_bytes(bytes(data[:8]), "little")
    if len(data) < 8 or size > min(len(data) - 8, 100_000_000):
        raise damaged_error(path, f"the header of {name} ends beyond it")
    try:
        head = json.loads(bytes(data[8 : 8 + size]))
        head.pop("__metadata__", None)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise damaged_error(path, f"the header of {name} cannot be read") from error
    if wrong := misfit(head, {str: {"dtype": _TYPES.__contains__, "shape": [is_count], "data_offsets": _are_offsets}}):
        raise damaged_error(path, f"the header of {name} cannot be read: {wrong}")
    for key, about in head.items():
        dtype, (first, last) = jnp.dtype(_TYPES[about["dtype"]]), about["data_offsets"]
        if 8 + size + last > len(data) or last - first != math.prod(about["shape"]) * dtype.itemsize:
            raise damaged_error(path, f"{name} says that {key!r} lies outside of it")
        found[key] = data[8 + size + first : 8 + size + last].view(dtype).reshape(about["shape"])
    return found


def _are_offsets(pair: Any) -> bool:
    first, last = pair
    return is_count(first) and is_count(last) and first <= last


def check_hash(path: str, name: str, data: np.ndarray[Any, Any], sha256: object) -> np.ndarray[Any, Any]:
    """Return bytes or an array that have this hash; raise for others."""
    if hashlib.sha256(np.ascontiguousarray(data).reshape(-1).view("uint8").data).hexdigest() != sha256:
        raise damaged_error(path, f"{name} is not what was written")
    return data


def numbers(about: Mapping[str, Any], codes: Any, scale: Any, zero: Any = 0) -> Any:
    """Return the numbers that integers stand for; two of up to 4 bits lie in a byte."""
    if codes.dtype == "uint8":
        pairs = (np if isinstance(codes, np.ndarray) else jnp).stack([codes & 15, codes >> 4], -1)
        codes = pairs.reshape(-1)[: math.prod(about["shape"])].astype("int8") - 8
    return ((codes.reshape(about["shape"]).astype(scale.dtype) - zero) * scale).astype(about["dtype"])


class Function:
    """A program of an artefact: call it like the function that was exported; what it assigns is then in the values."""

    def __init__(self, artefact: Artefact, name: str, exported: Any) -> None:
        self.name, self.about, self.exported = name, artefact.manifest["signatures"][name], exported
        self._values, self._stored = artefact.values, artefact.manifest["values"]
        self._moved, self._read, self._writes = (self.about[key] for key in ("writes_read", "reads", "writes"))
        forms, inputs = [one["form"] for one in self.about["arguments"]], self.about["inputs"]
        self._plain = forms == [*range(len(inputs))] and all(one["bounds"] is None for one in inputs)
        self._fitting: set[Any] = set()

        def run(donated: list[Any], kept: list[Any], leaves: list[Any]) -> Any:
            pairs = zip(self._read, kept, strict=True)
            kept = [numbers(self._stored[path], *one) if isinstance(one, tuple) else one for path, one in pairs]
            return exported.call(donated, kept, leaves)

        self._run, self._pure = jax.jit(run, donate_argnums=0), jax.jit(run)  # else a call would cost milliseconds

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Run it on the artefact's values, and update these if it assigns; if it raises, nothing is changed."""
        out, new = self._run_program(self._run, self._values, self.leaves(*args, **named))
        if new:
            self._values.update(zip(self._writes, new, strict=True))
        return _build(self.about["output"], out)

    def pure(self, values: Mapping[str, Any], /, *args: Any, **named: Any) -> tuple[Any, dict[str, Any]]:
        """Return the results and all values after the call; nothing is changed, so JAX may transform it."""
        out, new = self.run_flat(values, self.leaves(*args, **named))
        return _build(self.about["output"], out), {**values, **dict(zip(self._writes, new, strict=True))}

    def run_flat(self, values: Mapping[str, Any], leaves: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return results and new values as lists, for inputs as `leaves` gives them."""
        return self._run_program(self._pure, values, leaves)

    def _run_program(self, program: Any, values: Mapping[str, Any], leaves: list[Any]) -> tuple[list[Any], list[Any]]:
        try:
            moved, read = [values[path] for path in self._moved], [values[path] for path in self._read]
        except KeyError:  # of a value that is there as integers, or is not there
            moved, read = ([self._stored_value(values, path) for path in part] for part in (self._moved, self._read))
        try:
            return tuple(program(moved, read, leaves))
        except (ValueError, TypeError) as error:  # of values that the caller has changed, or sizes that cannot be
            came = f"{self.name} with {', '.join(f'{one.dtype}{list(one.shape)}' for one in leaves) or 'no inputs'}"
            why = f"the program refuses these shapes, or a value that it reads: {error!s:.300}"
            raise ArtefactError(came, why, "other sizes, or values as they were loaded") from error

    def leaves(self, /, *args: Any, **named: Any) -> list[Any]:
        """Return the inputs as the program takes them; raise for what does not fit."""
        if self._plain and not named and _kinds(args) in self._fitting:
            return [*args]
        here, known = jax.default_backend().replace("gpu", "cuda"), self.exported.platforms
        if here not in known:
            raise ArtefactError(f"{self.name} on {here}", f"it was written for {', '.join(known)}", "an export for it")
        arguments, inputs = self.about["arguments"], self.about["inputs"]
        names = [one["name"] for one in arguments]
        usage = f"{self.name}({', '.join(names)})"
        if len(args) > len(names) or any(name in named for name in names[: len(args)]):
            raise ArtefactTypeError(f"{len(args)} arguments and {list(named)}", f"it takes {names}, each once", usage)
        named = {key: one for key, one in named.items() if one is not None or key in names}  # None holds no array
        named.update(zip(names, args, strict=False))
        found = [named.pop(one["name"], _LACKING) if one["name"] not in names else _LACKING for one in inputs]
        for one in arguments:
            if one["name"] in named:
                _spread(one["form"], named.pop(one["name"]), found, one["name"])
        lacking = [one["name"] for one, value in zip(inputs, found, strict=True) if value is _LACKING]
        if lacking or named:
            got = f"without {lacking}" if lacking else f"with {list(named)}"
            raise ArtefactTypeError(f"{self.name} {got}", f"it takes {names}", usage)
        arrays = [_array(one, value) for one, value in zip(inputs, found, strict=True)]
        if (kinds := _kinds(arrays)) not in self._fitting:
            sizes_in(inputs, [tuple(one.shape) for one in arrays], self.about["constraints"])
            self._fitting.add(kinds)
        return arrays

    def _stored_value(self, values: Mapping[str, Any], path: str) -> tuple[Any, ...]:
        parts = [f"{path}/{part}" for part in self._stored[path].get("integers", ())]
        if path not in values and not (parts and {*parts} <= {*values}):
            raise ArtefactError(f"{self.name} without the value {path!r}", "the program reads it", "artefact.values")
        return values[path] if path in values else tuple(values[part] for part in parts)

    def __repr__(self) -> str:
        shown = (f"{one['name']}: {one['dtype']}[{' '.join(map(str, one['shape']))}]" for one in self.about["inputs"])
        return f"<{self.name}({', '.join(shown)})>"


def _kinds(arrays: Sequence[Any]) -> Any:
    """Return what decides whether arrays fit, as far as they are arrays of JAX or NumPy."""
    return tuple([(one.shape, one.dtype) if isinstance(one, jax.Array | np.ndarray) else None for one in arrays])


def _spread(form: Any, value: Any, leaves: list[Any], name: str) -> None:
    """Put the leaves of a structure where its form says."""
    if isinstance(form, int):
        leaves[form] = value
    elif form is not None or value is not None:
        value = value._asdict() if hasattr(value, "_asdict") else value
        parts = enumerate(value if isinstance(value, list | tuple) else ())
        given = value if isinstance(value, Mapping) else dict(parts)
        wanted = form if isinstance(form, dict) else {str(i): one for i, one in enumerate(form or ())}
        if form is None or {*map(str, given)} != {*wanted}:
            got = list(given) or type(value).__name__
            raise ArtefactTypeError(f"the argument {name!r} with {got}", "it has other parts", f"{list(wanted)}")
        for key, one in given.items():
            _spread(wanted[str(key)], one, leaves, f"{name}/{key}")


def _build(form: Any, leaves: Sequence[Any]) -> Any:
    if isinstance(form, dict):
        return {key: _build(part, leaves) for key, part in form.items()}
    return None if form is None else leaves[form] if isinstance(form, int) else [_build(part, leaves) for part in form]


def _array(about: Mapping[str, Any], value: Any) -> Any:
    """Return an input in its dtype, converted within a kind of numbers only."""
    dtype, name = jnp.dtype(about["dtype"]), about["name"]
    array = value if isinstance(value, jax.Array) else np.asarray(value)
    have, want = ("same", "same") if array.dtype == dtype else (_kind(array.dtype), _kind(dtype))
    plain = type(value) in (int, list, tuple) and (have, want) == ("integers", "floats")
    if have is None or (have != want and not plain):
        came = f"the input {name!r} of dtype {array.dtype}"
        raise ArtefactTypeError(came, f"it takes {want}: {dtype}", f"an array of {dtype}")
    if array.size and not isinstance(array, core.Tracer):
        low, high = about["bounds"] or (-math.inf, math.inf)
        if want == "integers":
            low, high = max(low, np.iinfo(dtype).min), min(high, np.iinfo(dtype).max)
        if (math.isfinite(low) or math.isfinite(high)) and not (array.min() >= low and array.max() <= high):
            came = f"the input {name!r} with values from {array.min()} to {array.max()}"
            raise ArtefactError(came, f"it takes values from {low} to {high}", "values within these bounds")
    if array.dtype == dtype or isinstance(array, core.Tracer):
        return array if array.dtype == dtype else array.astype(dtype)
    with np.errstate(over="ignore"):
        new = array.astype(dtype)
    if want in ("floats", "complex") and (np.isfinite(array) & ~np.isfinite(new)).any():
        raise ArtefactError(f"the input {name!r} with numbers beyond {dtype}", "they would be infinite", "smaller ones")
    return new


def _kind(dtype: Any) -> str | None:
    kinds = {"truth values": np.bool_, "integers": np.integer, "floats": np.floating, "complex": np.complexfloating}
    return next((name for name, kind in kinds.items() if jnp.issubdtype(dtype, kind)), None)


def _is_consistent(exported: Any, about: Mapping[str, Any], *lists: Sequence[Sequence[Mapping[str, Any]]]) -> bool:
    """Tell whether the arrays of a program are in number, dtypes and shapes what a manifest says."""
    scope = export.SymbolicScope(tuple(about["constraints"]))  # by which a size may be a number

    def shape_of(sizes: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(export.symbolic_shape(f"({', '.join(map(str, sizes))},)" if sizes else "", scope=scope))

    (taken, _), given = (
        jax.tree.unflatten(tree, avals)
        for tree, avals in ((exported.in_tree, exported.in_avals), (exported.out_tree, exported.out_avals))
    )
    pairs = [pair for side in zip(lists, (taken, given), strict=True) for pair in zip(*side, strict=True)]
    return all(
        one["dtype"] == aval.dtype.name and shape_of(one["shape"]) == shape_of(aval.shape)
        for wanted, avals in pairs
        for one, aval in zip(wanted, avals, strict=True)
    )


def strange_calls(text: str) -> list[str]:
    """Return what a program calls on the host and may not."""
    called = {next(filter(None, groups), "") for groups in _CALLED.findall(text)}
    return sorted(one for one in called if not _STABLE.match(one)) + sorted({*_TALKS.findall(text)})


class Artefact:
    """What `load` returns: the values, the programs, which are attributes, too, and the manifest.

    Args:
        path: Where it lies.
        only: Names, or patterns such as ``"predict*"``, of the programs that are read. Defaults to None, all.
        integers: ``"keep"`` for values that stay the integers as which they are stored. Defaults to ``"numbers"``.
    """

    def __init__(self, path: Path, only: Names = None, integers: str = "numbers") -> None:
        self.path = os.fspath(path)
        if integers not in ("numbers", "keep"):
            raise ArtefactError(f"integers={integers!r}", "they become numbers once, or are kept", 'integers="keep"')
        self.manifest = manifest_from(self.path, bytes(read_bytes(self.path, "manifest.json")))
        signatures, values = self.manifest["signatures"], self.manifest["values"]
        wanted = ["*"] if only is None else [only] if isinstance(only, str) else list(only)
        vain = [one for one in wanted if not any(fnmatchcase(name, one) for name in signatures)]
        if vain:
            raise ArtefactError(f"only={vain}", "no program is called so", f"names of {', '.join(signatures)}")
        chosen = [name for name in signatures if any(fnmatchcase(name, one) for one in wanted)]
        read = {p: 0 for name in chosen for part in ("reads", "writes_read") for p in signatures[name][part]}
        arrays = tensors(self.path, "weights.safetensors") if read else {}
        self.values: dict[str, jax.Array] = {}
        self.integers: dict[str, list[np.ndarray[Any, Any]]] = {}
        for one in read:
            self._read(one, values[one], arrays, integers == "keep")
        self.signatures = {name: self._function(name) for name in chosen}

    def _read(self, path: str, about: Mapping[str, Any], arrays: Mapping[str, Any], keep: bool) -> None:
        """Read a value; of one that is stored as integers these are kept, or numbers are made of them now."""
        parts = {f"{path}/{part}": one for part, one in about.get("integers", {}).items()} or {path: about}
        found = {}
        for name, one in parts.items():
            if name not in arrays or [arrays[name].dtype.name, [*arrays[name].shape]] != [one["dtype"], one["shape"]]:
                raise damaged_error(self.path, f"weights.safetensors has no {name!r} of {one['dtype']}{one['shape']}")
            found[name] = check_hash(self.path, name, arrays[name], one["sha256"])
        if "integers" in about:
            self.integers[path] = list(found.values())
            try:
                made = numbers(about, *found.values())
            except (ValueError, TypeError) as error:
                raise damaged_error(self.path, f"no numbers can be made of the integers of {path!r}") from error
            if made.shape != tuple(about["shape"]):
                raise damaged_error(self.path, f"the integers of {path!r} stand for numbers of shape {[*made.shape]}")
            found = found if keep else {path: made}
        self.values.update((name, jnp.array(one)) for name, one in found.items())

    def _function(self, name: str) -> Function:
        file, about = f"functions/{name}.jax", self.manifest["signatures"][name]
        code = bytearray(check_hash(self.path, file, read_bytes(self.path, file), self.manifest["files"].get(file)))
        try:
            exported = export.deserialize(code)
            text = exported.mlir_module()
        except ImportError as error:
            why = f"programs are read with it, and jax does not bring it: {error}"
            raise ArtefactError(f"no flatbuffers to load {self.path!r}", why, "pip install flatbuffers") from error
        except Exception as error:  # whatever another version of jax makes of it
            written, here = self.manifest["jax"], jax.__version__
            why = f"{name} was written by jax {written}, and this is jax {here}, which cannot read it: {error!r:.200}"
            ways = f"pip install jax=={written}; or graftax export save TARGET ART --from CKPT, with this jax"
            raise ArtefactError(f"the artefact {self.path!r}", why, ways) from error
        if strange := strange_calls(text):
            raise ArtefactError(f"{name} of {self.path!r}", f"it calls {strange} on the host", "only what you trust")
        values = self.manifest["values"]
        moved, kept, new = ([values[path] for path in about[part]] for part in ("writes_read", "reads", "writes"))
        try:
            agree = _is_consistent(exported, about, [moved, kept, about["inputs"]], [about["outputs"], new])
        except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):  # of numbers of arrays
            agree = False
        if not agree:
            raise damaged_error(self.path, f"its manifest describes another program than that of {name}")
        return Function(self, name, exported)

    def __repr__(self) -> str:
        return f"Artefact({self.path!r}: {', '.join(map(repr, self.signatures.values()))}; {len(self.values)} values)"

    def __getattr__(self, name: str) -> Function:
        if name in self.__dict__.get("signatures", ()):
            return self.signatures[name]
        raise AttributeError(f"the artefact has no {name!r}; it has {', '.join(self.__dict__.get('signatures', ()))}")

    def __call__(self, *_args: object, **_named: object) -> None:
        """Raise, since it holds programs, each with a name."""
        name, why = next(iter(self.signatures), "predict"), f"it holds programs: {', '.join(self.signatures)}"
        raise ArtefactTypeError(f"a call of the artefact {self.path!r}", why, f"load({self.path!r}).{name}(x)")

    def save_values(self, path: Path) -> None:
        """Write the values as they are now to a ``.safetensors`` file."""
        with open(path, "wb") as file:
            file.writelines(encode(self.values))


def encode(arrays: Mapping[str, Any]) -> list[bytes]:
    """Return the parts of a ``.safetensors`` file with these arrays, larger elements first, so that all lie aligned."""
    names = {dtype: name for name, dtype in _TYPES.items()}
    order = sorted(((key, np.asarray(one)) for key, one in arrays.items()), key=lambda pair: -pair[1].dtype.itemsize)
    head, start = {}, 0
    for key, one in order:
        head[key] = {"dtype": names[one.dtype.name], "shape": one.shape, "data_offsets": [start, start + one.nbytes]}
        start += one.nbytes
    text = json.dumps(head).encode() + b" " * (-len(json.dumps(head)) % 8)
    return [len(text).to_bytes(8, "little"), text, *(np.ascontiguousarray(one).tobytes() for _, one in order)]


def load(path: Path = ".", only: Names = None, cache: str | None = None, integers: str = "numbers") -> Artefact:
    """Return the artefact at a path; with a folder as ``cache`` JAX keeps what it compiles, for later processes.

    The other arguments are those of `Artefact`.
    """
    for setting in ("jax_compilation_cache_dir", cache), ("jax_persistent_cache_min_compile_time_secs", 0.0):
        if cache is not None:
            jax.config.update(*setting)
    return Artefact(path, only, integers)


def main(*words: str) -> None:
    """Run one program on files: ``name=in.npy`` for each input, then the ``.npz`` that its results go to."""
    try:
        path, name, *files, out = words
        inputs = {one.partition("=")[0]: np.load(one.partition("=")[2], allow_pickle=False) for one in files}
        found = [np.asarray(one) for one in jax.tree.leaves(load(path, only=name).signatures[name](**inputs))]
        np.savez(out, *(one if one.dtype.isbuiltin == 1 else one.astype("float32") for one in found))  # as bfloat16
    except (ArtefactError, OSError, ValueError, KeyError) as error:
        beats = f"run.py {' '.join(words)}", error, "python run.py FOLDER PROGRAM name=in.npy ... out.npz"
        raise SystemExit(str(error if isinstance(error, ArtefactError) else ArtefactError(*beats))) from error


if __name__ == "__main__":
    main(*sys.argv[1:])
