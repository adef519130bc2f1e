#!/usr/bin/env python3
"""Load and run an exported program with jax, numpy and flatbuffers alone; a copy of this file lies in every artefact.

In Python:    import run; model = run.load("."); y = model.predict(x)
In a shell:   python run.py . predict x=x.npy out.npz
"""

from __future__ import annotations

import ast
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


class ArtefactError(RuntimeError):
    """An artefact that cannot be read, or a call of it that does not fit: what came, why not, what instead."""

    def __str__(self) -> str:
        return "{}\n  why: {}\n  instead: {}".format(*self.args)


class ArtefactTypeError(ArtefactError, TypeError):
    """An argument of another kind than the input takes."""


def raw(path: str, name: str) -> np.ndarray[Any, Any]:
    """Return the bytes of a file in an artefact, a folder or an uncompressed zip; mapped, not read."""
    file, start = os.path.join(path, *name.split("/")), 0
    try:
        if os.path.isfile(path):
            with zipfile.ZipFile(path) as archive, open(path, "rb") as whole:
                one = archive.getinfo(name)
                if one.compress_type != zipfile.ZIP_STORED or one.file_size != one.compress_size:
                    raise _damaged(path, f"{name} is compressed")
                whole.seek(one.header_offset + 26)
                file, size = path, one.file_size
                start = one.header_offset + 30 + sum(int.from_bytes(whole.read(2), "little") for _ in range(2))
        else:
            size = os.path.getsize(file)
        return np.memmap(file, "uint8", "r", start, (size,)) if size else np.zeros(0, "uint8")
    except (zipfile.BadZipFile, KeyError, OSError, ValueError) as error:
        raise _damaged(path, f"the file {name} is missing or cannot be read") from error


def tensors(path: str, name: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of a ``.safetensors`` file in an artefact; mapped, not read; all bounds are checked."""
    data, found = raw(path, name), {}
    size = int.from_bytes(bytes(data[:8]), "little")
    if len(data) < 8 or size > min(len(data) - 8, 100_000_000):
        raise _damaged(path, f"the header of {name} ends beyond it")
    try:
        for key, about in json.loads(bytes(data[8 : 8 + size])).items():
            if key != "__metadata__":
                dtype, shape, (first, last) = jnp.dtype(_TYPES[about["dtype"]]), about["shape"], about["data_offsets"]
                fits = all(type(one) is int and one >= 0 for one in (*shape, first, last)) and first <= last
                if not fits or 8 + size + last > len(data) or last - first != math.prod(shape) * dtype.itemsize:
                    raise _damaged(path, f"{name} says that {key!r} lies outside of it")
                found[key] = data[8 + size + first : 8 + size + last].view(dtype).reshape(shape)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, f"the header of {name} cannot be read") from error
    return found


def checked(path: str, name: str, data: np.ndarray[Any, Any], sha256: object) -> np.ndarray[Any, Any]:
    """Return bytes or an array that have this hash; raise for others."""
    if hashlib.sha256(np.ascontiguousarray(data).reshape(-1).view("uint8").data).hexdigest() != sha256:
        raise _damaged(path, f"{name} is not what was written")
    return data


def numbers(about: Mapping[str, Any], codes: Any, scale: Any, zero: Any = 0) -> Any:
    """Return the numbers that integers stand for; two of up to 4 bits lie in a byte."""
    if codes.dtype == "uint8":
        pairs = (np if isinstance(codes, np.ndarray) else jnp).stack([codes & 15, codes >> 4], -1)
        codes = pairs.reshape(-1)[: math.prod(about["shape"])].astype("int8") - 8
    return ((codes.reshape(about["shape"]).astype(scale.dtype) - zero) * scale).astype(about["dtype"])


def _damaged(path: str, what: str) -> ArtefactError:
    return ArtefactError(f"the artefact {path!r}", what, "another copy of it, or graftax export save anew")


def size_of(size: int | str | ast.AST, values: Mapping[str, int]) -> int:
    """Return the number that a size is, or whether a constraint holds, where names have these values."""
    if isinstance(size, int):
        return size
    node = size if isinstance(size, ast.AST) else ast.parse(str(size).strip(), mode="eval").body
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -size_of(node.operand, values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        a, b = (size_of(one, values) for one in node.args)
        return {"max": max(a, b), "min": min(a, b), "floordiv": a // (b or 1), "mod": a % (b or 1)}[node.func.id]
    if not isinstance(node, ast.BinOp | ast.Compare):
        raise KeyError("no expression of sizes")
    a, b = (size_of(one, values) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
    made = {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b, ast.GtE: a >= b, ast.LtE: a <= b, ast.Eq: a == b}
    return made[type(node.op if isinstance(node, ast.BinOp) else node.ops[0])]


def sizes_in(inputs: Sequence[Any], shapes: Sequence[tuple[int, ...]], constraints: Sequence[str]) -> dict[str, int]:
    """Return the sizes that shapes give to names; raise where an input has another shape than the manifest says."""
    values, where, places = dict[str, int](), dict[str, str](), []
    for about, shape in zip(inputs, shapes, strict=True):
        if len(shape) != len(about["shape"]):
            raise _misfit(about, shape, f"it has {len(about['shape'])} axes")
        places += [(about, shape, axis, size) for axis, size in enumerate(about["shape"])]
    for about, shape, axis, size in sorted(places, key=lambda place: not str(place[3]).isidentifier()):
        have = shape[axis]
        if isinstance(size, str):
            unknown = [one for one in re.findall(r"[A-Za-z_]\w*(?!\w*\()", size) if one not in values]
            for one in unknown[:1]:  # of a line through the values at 0 and 1
                at = [size_of(size, {**dict.fromkeys(unknown, 1), **values, one: n}) for n in (0, 1)]
                values[one] = (have - at[0]) // ((at[1] - at[0]) or 1)
                where[one] = f", as in {about['name']!r}, axis {axis}"
        wanted = size_of(size, values)
        if wanted != have:
            raise _misfit(about, shape, f"axis {axis} is {have}, and {size} is {wanted}{where.get(str(size), '')}")
        if have < 1 and isinstance(size, str):
            raise _misfit(about, shape, f"axis {axis} is empty, and {size} is at least 1")
    for one in constraints:
        if not size_of(one, values):
            raise ArtefactError(f"inputs of sizes {values}", f"the program was written for {one}", f"inputs with {one}")
    return values


def _misfit(about: Mapping[str, Any], shape: Sequence[int], what: str) -> ArtefactError:
    wanted = " ".join(map(str, about["shape"]))
    return ArtefactError(f"the input {about['name']!r} of shape {list(shape)}", what, f"an array of shape [{wanted}]")


class Function:
    """A program of an artefact: call it like the function that was exported; what it assigns is then in the values."""

    def __init__(self, artefact: Artefact, name: str, exported: Any) -> None:
        self.name, self.about, self.exported = name, artefact.manifest["signatures"][name], exported
        self._values, self._stored = artefact.values, artefact.manifest["values"]
        self._fitting: set[Any] = set()

        def run(donated: list[Any], kept: list[Any], leaves: list[Any]) -> Any:
            pairs = zip(self.about["reads"], kept, strict=True)
            kept = [numbers(self._stored[path], *one) if isinstance(one, tuple) else one for path, one in pairs]
            return exported.call(donated, kept, leaves)

        self._run, self._pure = jax.jit(run, donate_argnums=0), jax.jit(run)  # else a call would cost milliseconds

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Run it on the artefact's values, and update these if it assigns; if it raises, nothing is changed."""
        out, new = self._run(*self._lists(self._values), self.leaves(*args, **named))
        self._values.update(zip(self.about["writes"], new, strict=True))
        return _built(self.about["output"], out)

    def pure(self, values: Mapping[str, Any], /, *args: Any, **named: Any) -> tuple[Any, dict[str, Any]]:
        """Return the results and all values after the call; nothing is changed, so JAX may transform it."""
        out, new = self.flat(values, self.leaves(*args, **named))
        return _built(self.about["output"], out), {**values, **dict(zip(self.about["writes"], new, strict=True))}

    def flat(self, values: Mapping[str, Any], leaves: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return results and new values as lists, for inputs as `leaves` gives them."""
        return tuple(self._pure(*self._lists(values), leaves))

    def leaves(self, /, *args: Any, **named: Any) -> list[Any]:
        """Return the inputs as the program takes them; raise for what does not fit."""
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
        if (shapes := tuple(tuple(one.shape) for one in arrays)) not in self._fitting:
            sizes_in(inputs, shapes, self.about["constraints"])
            self._fitting.add(shapes)
        return arrays

    def _lists(self, values: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        try:
            read = [values[path] if path in values else self._kept(values, path) for path in self.about["reads"]]
            return [values[path] for path in self.about["writes_read"]], read
        except KeyError as error:
            raise ArtefactError(f"{self.name} without the value {error}", "it reads it", "artefact.values") from error

    def _kept(self, values: Mapping[str, Any], path: str) -> tuple[Any, ...]:
        return tuple(values[f"{path}/{part}"] for part in self._stored[path].get("integers", {"": path}))

    def __repr__(self) -> str:
        shown = (f"{one['name']}: {one['dtype']}[{' '.join(map(str, one['shape']))}]" for one in self.about["inputs"])
        return f"<{self.name}({', '.join(shown)})>"


def _spread(form: Any, value: Any, found: list[Any], name: str) -> None:
    """Put the leaves of a structure where its form says."""
    if isinstance(form, int):
        found[form] = value
    elif form is not None or value is not None:
        value = value._asdict() if hasattr(value, "_asdict") else value
        parts = enumerate(value if isinstance(value, list | tuple) else ())
        given = value if isinstance(value, Mapping) else dict(parts)
        wanted = form if isinstance(form, dict) else {str(i): one for i, one in enumerate(form or ())}
        if form is None or {*map(str, given)} != {*wanted}:
            got = list(given) or type(value).__name__
            raise ArtefactTypeError(f"the argument {name!r} with {got}", "it has other parts", f"{list(wanted)}")
        for key, one in given.items():
            _spread(wanted[str(key)], one, found, f"{name}/{key}")


def _built(form: Any, leaves: Sequence[Any]) -> Any:
    if isinstance(form, dict):
        return {key: _built(part, leaves) for key, part in form.items()}
    return None if form is None else leaves[form] if isinstance(form, int) else [_built(part, leaves) for part in form]


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
        try:
            self.manifest: dict[str, Any] = json.loads(bytes(raw(self.path, "manifest.json")))
            format_, signatures, hashes = (self.manifest[key] for key in ("format", "signatures", "values"))
            if format_ != 1:
                raise ArtefactError(f"the artefact {self.path!r}", f"its format is {format_}, not 1", "a newer run.py")
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
                self._read(one, hashes[one], arrays, integers == "keep")
            self.signatures = {name: self._function(name) for name in chosen}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _damaged(self.path, f"its manifest cannot be followed: {error!r:.200}") from error

    def _read(self, path: str, about: Mapping[str, Any], arrays: Mapping[str, Any], keep: bool) -> None:
        """Read a value; of one that is stored as integers these are kept, or numbers are made of them now."""
        parts = {f"{path}/{part}": one for part, one in about.get("integers", {}).items()} or {path: about}
        found = {name: checked(self.path, name, arrays[name], one["sha256"]) for name, one in parts.items()}
        if "integers" in about:
            self.integers[path] = list(found.values())
            found = found if keep else {path: numbers(about, *found.values())}
        self.values.update((name, jnp.array(one)) for name, one in found.items())

    def _function(self, name: str) -> Function:
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            raise _damaged(self.path, f"a program is called {name!r}")
        file = f"functions/{name}.jax"
        code = bytearray(checked(self.path, file, raw(self.path, file), self.manifest["files"][file]))
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
        return Function(self, name, exported)

    def __repr__(self) -> str:
        return f"Artefact({self.path!r}: {', '.join(map(repr, self.signatures.values()))}; {len(self.values)} values)"

    def __getattr__(self, name: str) -> Function:
        if name in self.__dict__.get("signatures", ()):
            return self.signatures[name]
        raise AttributeError(f"the artefact has no {name!r}; it has {', '.join(self.__dict__.get('signatures', ()))}")

    def save_values(self, path: Path) -> None:
        """Write the values as they are now to a ``.safetensors`` file."""
        with open(path, "wb") as file:
            file.writelines(encoded(self.values))


def encoded(arrays: Mapping[str, Any]) -> list[bytes]:
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
        np.savez(out, *jax.tree.leaves(load(path, only=name).signatures[name](**inputs)))
    except (ArtefactError, OSError, ValueError, KeyError) as error:
        beats = f"run.py {' '.join(words)}", error, "python run.py FOLDER PROGRAM name=in.npy ... out.npz"
        raise SystemExit(str(error if isinstance(error, ArtefactError) else ArtefactError(*beats))) from error


if __name__ == "__main__":
    main(*sys.argv[1:])
