"""What a manifest may say: read, held against its schema, its sizes as numbers; in need of Python alone.

`run` is what uses it; in an artefact both are one file.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

FORMAT = 1

_FAULTS = (ValueError, KeyError, TypeError, AttributeError, SyntaxError, ArithmeticError, RecursionError, MemoryError)
_DTYPES = {f"{kind}{n}" for kind in ("int", "uint") for n in (2, 4, 8, 16, 32, 64)} | {
    "bool",
    "complex64",
    "complex128",
}
_DTYPES |= {
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e8m0fnu",
}
_DTYPES |= {f"float8_{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e4m3b11fnuz", "e5m2", "e5m2fnuz")}
_EXPRESSION = re.compile(r"[\w+*(),<>=^ -]{1,2000}", re.ASCII)
_FILE = re.compile(r"(functions/)?\w[\w.]*", re.ASCII)
_MISSING = object()


class ArtefactError(RuntimeError):
    """An artefact that cannot be read, or a call of it that does not fit: what came, why not, what instead."""

    def __str__(self) -> str:
        return "{}\n  why: {}\n  instead: {}".format(*self.args)


def damaged_error(path: str, reason: str) -> ArtefactError:
    """Return the error for an artefact that is not as it was written."""
    return ArtefactError(f"the artefact {path!r}", reason, "another copy of it, or graftax export save once more")


def manifest_from(path: str, data: bytes) -> dict[str, Any]:
    """Return a manifest in which everything is as it should be, as far as can be told without the programs.

    Raises:
        ArtefactError: it is no JSON, another format, not what was written, or says what cannot be.
    """
    try:
        manifest: dict[str, Any] = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged_error(path, f"its manifest cannot be followed: it is no JSON, {error!r:.100}") from error
    if isinstance(manifest, dict) and manifest.get("format", FORMAT) != FORMAT:
        told = f"its format is {manifest['format']!r:.40}, not {FORMAT}"
        raise ArtefactError(f"the artefact {path!r}", told, "a newer graftax, or the run.py that lies in it")
    if wrong := misfit(manifest, _MANIFEST):
        raise damaged_error(path, f"its manifest cannot be followed: {wrong}")
    if manifest.get("sha256", _MISSING) not in (_MISSING, digest_of(manifest)):
        raise damaged_error(path, "its manifest is not what was written")
    for name, about in manifest["signatures"].items():
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            raise damaged_error(path, f"a program is called {name!r}")
        if wrong := _contradiction(about, manifest["values"]):
            raise damaged_error(path, f"its manifest cannot be followed: signatures/{name} has {wrong}")
    return manifest


def digest_of(manifest: Mapping[str, Any]) -> str:
    """Return the hash of a manifest, which it holds itself."""
    rest = {key: one for key, one in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


# --- the schema -------------------------------------------------------------------------------------------------------


def misfit(value: object, schema: Any, where: str = "") -> str:
    """Return which part is not what a schema says, and what is there; nothing if all is right.

    Args:
        value: What JSON gave.
        schema: A type; a function that is true of what is right; a list of one schema for all elements; a dict of
            schemas by key, all of which have to be there, or of one for all keys under ``str``. What is not spoken of
            may be anything.
        where: The path of the value.

    Example:
        >>> misfit({"a": [1, "2"]}, {"a": [int]})
        "a/1 is '2'"
    """
    parts: list[tuple[Any, Any, str]] = []
    if type(schema) is list and type(value) is list:
        parts = [(one, schema[0], str(i)) for i, one in enumerate(value)]
    elif type(schema) is dict and type(value) is dict:
        known = dict.fromkeys(value, schema[str]) if str in schema else schema
        parts = [(value.get(key, _MISSING), one, key) for key, one in known.items()]
    else:
        try:
            fits = type(value) is schema if isinstance(schema, type) else callable(schema) and bool(schema(value))
        except _FAULTS:
            fits = False
        return "" if fits else f"{where or 'all'} is {'missing' if value is _MISSING else f'{value!r:.60}'}"
    return next(filter(None, (misfit(one, kind, f"{where}/{key}".lstrip("/")) for one, kind, key in parts)), "")


def is_count(one: object) -> bool:
    """Tell whether it is a number of things."""
    return type(one) is int and 0 <= one < 2**63


def _is_size(one: Any) -> bool:
    """Tell whether it is a number, or an expression of sizes."""
    return is_count(one) or (bool(_EXPRESSION.fullmatch(one)) and type(size_of(one, defaultdict(int))) is int)


def _is_constraint(one: Any) -> bool:
    return type(one) is str and bool(_EXPRESSION.fullmatch(one)) and type(size_of(one, defaultdict(int))) is bool


def _is_result(one: Any) -> bool:
    """Tell whether it is the size of a result, which JAX may have written in other ways, too."""
    return is_count(one) or bool(_EXPRESSION.fullmatch(one))


def _is_dtype(one: object) -> bool:
    return one in _DTYPES


def _are_bounds(one: Any) -> bool:
    return one is None or ({*map(type, one)} <= {int, float} and len(one) == 2 and float(one[0]) <= float(one[1]))


def _leaves_of(form: Any) -> list[Any]:
    """Return the leaves of a structure, which are numbers of arrays."""
    if type(form) is not dict and type(form) is not list:
        return [] if form is None else [form]
    return [one for part in (form.values() if type(form) is dict else form) for one in _leaves_of(part)]


def _is_form(one: object) -> bool:
    return all(map(is_count, _leaves_of(one)))


def _is_value(one: Any) -> bool:
    """Tell whether it describes a value: an array with its hash, or the integers that stand for one."""
    if "integers" not in one:
        return not misfit(one, {**_ARRAY, "sha256": str})
    parts = one["integers"]
    known = [*parts] in (["codes", "scale"], ["codes", "scale", "zero"])
    fits = not misfit(one.get("grid", _GRID_OF_INT8), {"bits": _are_bits, "per": _is_per, "symmetric": bool})
    return known and fits and not misfit(one, _ARRAY) and not misfit(parts, {str: {**_ARRAY, "sha256": str}})


def _are_bits(one: object) -> bool:
    return type(one) is int and 2 <= one <= 16


def _is_per(one: object) -> bool:
    return one in ("tensor", "channel")


def _are_files(one: Any) -> bool:
    return all(_FILE.fullmatch(name) and type(digest) is str for name, digest in one.items())


_GRID_OF_INT8 = {"bits": 8, "per": "channel", "symmetric": True}
_ARRAY = {"dtype": _is_dtype, "shape": [is_count]}
_PROGRAM = {
    "arguments": [{"name": str, "form": _is_form}],
    "inputs": [{"name": str, "dtype": _is_dtype, "shape": [_is_size], "bounds": _are_bounds}],
    "output": _is_form,
    "outputs": [{"name": str, "dtype": _is_dtype, "shape": [_is_result]}],
    "constraints": [_is_constraint],
    "assigns": bool,
    "rows": bool,
    "reads": [str],
    "writes_read": [str],
    "writes": [str],
}
_MANIFEST = {
    "format": int,
    "jax": str,
    "platforms": [str],
    "created": str,
    "signatures": {str: _PROGRAM},
    "values": {str: _is_value},
    "files": _are_files,
}


def _contradiction(about: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return what contradicts itself in what is said of a program; nothing if all is right."""
    inputs, outputs, writes = about["inputs"], about["outputs"], about["writes"]
    arguments, read = about["arguments"], [*about["reads"], *about["writes_read"]]
    given = sorted(one for argument in arguments for one in _leaves_of(argument["form"]))
    names = [[one["name"] for one in arguments], [one["name"] for one in inputs], read, writes]
    firsts = {str(one["shape"][:1]) for one in (*inputs, *outputs)}
    known = {name for one in inputs for size in one["shape"] for name in names_in(size)}
    tried = about.get("checked", {"sizes": []})
    return next(
        told
        for told, wrong in {
            "other numbers of inputs than arguments have": given != [*range(len(inputs))],
            "other numbers of results than its output has": sorted(_leaves_of(about["output"]))
            != [*range(len(outputs))],
            "a name twice": any(len({*one}) < len(one) for one in names),
            "a value that there is not": not {*read, *writes} <= {*values},
            "integers that change": any("integers" in values.get(path, {}) for path in writes),
            "a value that is given away and not assigned": not {*about["writes_read"]} <= {*writes},
            "values that it writes, and does not assign": bool(writes) and not about["assigns"],
            "rows that are none": about["rows"] and (len(firsts) != 1 or not names_in(next(iter(firsts))[2:-2])),
            "a constraint of a size that there is not": any(
                not {*names_in(one)} <= known for one in about["constraints"]
            ),
            "bounds of values without an order": any(
                one["bounds"] and one["dtype"] in ("bool", "complex64", "complex128") for one in inputs
            ),
            "trials of other sizes": bool(
                misfit(tried, {"sizes": [{str: is_count}]}) or any({*one} != known for one in tried["sizes"])
            ),
            "": True,
        }.items()
        if wrong
    )


# --- sizes ------------------------------------------------------------------------------------------------------------


def names_in(size: int | str) -> list[str]:
    """Return the names in an expression of sizes, in order."""
    return re.findall(r"[A-Za-z_]\w*(?!\w*\()", size) if isinstance(size, str) else []


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
            raise _unfit(about, shape, f"it has {len(about['shape'])} axes")
        places += [(about, shape, axis, size) for axis, size in enumerate(about["shape"])]
    for about, shape, axis, size in sorted(places, key=lambda place: not str(place[3]).isidentifier()):
        have = shape[axis]
        if isinstance(size, str):
            unknown = {*names_in(size)} - {*values}
            if len(unknown) > 1:
                raise _unfit(about, shape, f"{size} leaves open what {' and '.join(sorted(unknown))} are")
            for one in unknown:  # of a line through the values at 0 and 1
                at = [size_of(size, {**values, one: n}) for n in (0, 1)]
                values[one] = (have - at[0]) // ((at[1] - at[0]) or 1)
                where[one] = f", as in {about['name']!r}, axis {axis}"
        wanted = size_of(size, values)
        if wanted != have:
            raise _unfit(about, shape, f"axis {axis} is {have}, and {size} is {wanted}{where.get(str(size), '')}")
        if have < 1 and isinstance(size, str):
            raise _unfit(about, shape, f"axis {axis} is empty, and {size} is at least 1")
    for one in constraints:
        if not size_of(one, values):
            raise ArtefactError(f"inputs of sizes {values}", f"the program was written for {one}", f"inputs with {one}")
    return values


def _unfit(about: Mapping[str, Any], shape: Sequence[int], reason: str) -> ArtefactError:
    wanted = " ".join(map(str, about["shape"]))
    return ArtefactError(f"the input {about['name']!r} of shape {list(shape)}", reason, f"an array of shape [{wanted}]")
