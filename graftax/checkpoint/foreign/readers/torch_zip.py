"""``torch.save(model.state_dict(), path)``: a zip archive of a pickle and a file for each storage; needs no torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray, from_bytes
from graftax.checkpoint.foreign.definition_order import is_definition_order
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.readers.pickle_machine import Global, PickleMachine, Stored
from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN, unreadable_error
from graftax.checkpoint.foreign.readers.zip_archive import ZipArchive
from graftax.core.errors import CorruptMetadata, LimitExceeded, NotACheckpoint, TruncatedFile, UnsafeCheckpoint
from graftax.core.typedefs import Shape

_LIMIT = 256 << 20  # the largest pickle in bytes
_DEPTH = 16
_WRAPPERS = ("state_dict", "model_state_dict", "model", "module", "weights")
_OF_TRAINING = re.compile(
    r"(^|_)(optim|lr_|sched|scaler|rng|random|amp$|callbacks|loops|hparams|hyper_?param|config|args)"
)
_EXPANDED = 1 << 26  # elements that a tensor may have at most if it repeats those of its storage
_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "Float8_e4m3fnStorage": "float8_e4m3fn",
    "Float8_e5m2Storage": "float8_e5m2",
}


class _Tensor(NamedTuple):
    key: str
    dtype: str
    elements: int  # the number of elements of the storage
    offset: int
    shape: Shape
    strides: Shape


def read_torch(path: str) -> ForeignFile:
    """Return the tensors of a file that ``torch.save`` wrote. Nested dicts are flattened, with names joined by dots.

    Args:
        path: The file.

    Raises:
        NotACheckpoint: there is no file, or it has another format.
        UnsafeCheckpoint: it has more than tensors, numbers and text.
        CorruptCheckpoint: it is damaged.
    """
    begin = RegularFile(path).bytes(0, min(RegularFile(path).size, 2)).tobytes()
    if begin != b"PK":
        if begin[:1] == b"\x80":
            raise UnsafeCheckpoint(
                f"{path} is a pickle that is not in a zip archive",
                "torch wrote such files before version 1.6, and other programs do; to read them could run code",
                "torch.save(torch.load(path, weights_only=True), new_path)",
            )
        raise unreadable_error(
            path, "a file of torch.save", "torch.save writes a zip archive, and this is none", NotACheckpoint
        )
    archive = ZipArchive(path)
    try:
        roots = [name[: -len("data.pkl")] for name in archive.names if name.endswith("data.pkl")]
        if len(roots) != 1:
            raise NotACheckpoint(
                f"{path} is a zip archive without data.pkl",
                "torch.save writes an archive with one data.pkl",
                "torch.save(model.state_dict(), path); for an .npz or .keras file, its own ending",
            )
        (root,) = roots
        order = archive.read(f"{root}byteorder", 16) if f"{root}byteorder" in archive.names else b"little"
        if order != b"little":
            raise NotACheckpoint(
                f"{path} has the byte order {order!r:.20}",
                "only files with the byte order b'little' are read",
                "torch.save(torch.load(path, weights_only=True), new_path) on a little-endian machine",
            )
        if archive.size(f"{root}data.pkl") > _LIMIT:
            raise LimitExceeded(
                f"data.pkl in {path} has {archive.size(f'{root}data.pkl'):,} bytes",
                f"at most {_LIMIT:,} are read; names and shapes of tensors need far less",
                "torch.save(model.state_dict(), path), without other objects",
            )
        found = PickleMachine(archive.read(f"{root}data.pkl", _LIMIT), path, _calls(path)).run()
        chosen, notes = _weights(found, path)
        arrays = {name: _array(archive, root, name, tensor) for name, tensor in _flatten(chosen, path).items()}
    except BaseException:
        archive.close()
        raise
    if not arrays:
        archive.close()
        raise NotACheckpoint(
            f"{path} has no tensors",
            "the file is readable, and there is no tensor in it",
            "torch.save(model.state_dict(), path)",
        )
    in_order = is_definition_order(list(arrays))
    return ForeignFile(path, arrays, "torch", keeps_order=in_order, notes=notes, close=archive.close)


def _calls(path: str) -> Callable[[Global, tuple[Any, ...]], Any]:
    def call(function: Global, arguments: tuple[Any, ...]) -> Any:
        name = str(function)
        if name == "collections.OrderedDict":
            return dict(*arguments) if not arguments or type(arguments[0]) is dict else dict(_pairs(arguments[0]))
        if name == "torch.Size":
            return tuple(*arguments)
        if name == "torch.device":
            return str(arguments)
        if name == "torch._utils._rebuild_parameter":
            return arguments[0]
        if name == "torch._utils._rebuild_tensor_v2":
            return _tensor(path, *arguments[:4])
        raise UnsafeCheckpoint(
            f"{path} has an object of {name:.200}",
            "only tensors, numbers, text, dicts and lists are read; to rebuild other objects could run code",
            "torch.save(model.state_dict(), path), in place of the model or other objects",
        )

    return call


def _pairs(value: object) -> Any:
    if type(value) is not list:
        raise TypeError("an OrderedDict is made of pairs")
    return value


def _tensor(path: str, storage: Any, offset: Any, shape: Any, strides: Any) -> _Tensor:
    reference = storage.reference if isinstance(storage, Stored) else None
    if type(reference) is not tuple or len(reference) != 5 or reference[0] != "storage":
        raise CorruptMetadata(
            f"a tensor in {path}",
            "its storage is described in another way than torch does: the file was damaged or forged",
            AGAIN,
        )
    _, kind, key, _, count = reference
    dtype = _STORAGES.get(kind.name) if isinstance(kind, Global) and kind.module == "torch" else None
    if dtype is None:
        raise CorruptMetadata(
            f"a tensor in {path} with a storage of {kind}",
            f"the storages that are read are {', '.join(_STORAGES)}",
            "tensor.to(torch.float32) before torch.save",
        )
    sizes = [offset, count, *shape, *strides]
    if type(key) is not str or any(type(n) is not int or not 0 <= n < 1 << 62 for n in sizes):
        raise CorruptMetadata(
            f"a tensor in {path} with sizes and strides {sizes!r:.100}",
            "they are integers of at least 0: the file was damaged or forged",
            AGAIN,
        )
    if len(shape) != len(strides) or len(shape) > 32:
        raise CorruptMetadata(
            f"a tensor in {path} of shape {shape!r:.100} with strides {strides!r:.100}",
            "each axis has one size and one stride, and there are at most 32 axes: the file was damaged or forged",
            AGAIN,
        )
    size = prod(shape)
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if size else -1
    if last >= count or size > (max(count, _EXPANDED) if 0 in strides else count):
        raise CorruptMetadata(
            f"a tensor of shape {tuple(shape)} in {path}",
            f"its storage has only {count:,} elements: the file was damaged or forged",
            AGAIN,
        )
    return _Tensor(key, dtype, count, offset, tuple(shape), tuple(strides))


def _weights(content: object, path: str) -> tuple[Any, tuple[str, ...]]:
    """Return the state dict: the whole, or the entry that holds it in a checkpoint of a training loop."""
    if type(content) is not dict:
        raise NotACheckpoint(
            f"{path} has one value of type {type(content).__name__}",
            "a state dict is a dict of names and tensors",
            "torch.save(model.state_dict(), path)",
        )
    inner = [name for name in _WRAPPERS if type(content.get(name)) is dict and _flatten(content[name], path)]
    beside = {key: value for key, value in content.items() if inner != [key]}
    if len(inner) != 1 or any(_has_weights(key, value, path) for key, value in beside.items()):
        return content, ()  # of an average, or of another part of the model: names say which is meant
    others = ", ".join(map(repr, beside))
    return content[inner[0]], (f"took {inner[0]!r}" + (f"; left {others:.200}" if others else ""),)


def _has_weights(key: object, value: Any, path: str) -> bool:
    """Return True for an entry beside the state dict that has weights, too, and is no state of the training loop."""
    if _OF_TRAINING.search(str(key)) or (type(value) is dict and value.keys() >= {"state", "param_groups"}):
        return False
    return any(tensor.shape for tensor in _flatten(value, path).values())


def _flatten(value: Any, path: str, prefix: str = "", depth: int = 0) -> dict[str, _Tensor]:
    if isinstance(value, _Tensor):
        return {prefix: value}
    if depth > _DEPTH:
        raise UnsafeCheckpoint(
            f"{path} has dicts in dicts, deeper than {_DEPTH} levels",
            "no state dict has so many; the file was damaged or forged",
            "torch.save(model.state_dict(), path)",
        )
    found: dict[str, _Tensor] = {}
    items = value.items() if type(value) is dict else enumerate(value) if type(value) in (list, tuple) else ()
    for key, item in items:
        if type(key) is str or type(key) is int:
            found |= _flatten(item, path, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    return found


def _array(archive: ZipArchive, root: str, name: str, tensor: _Tensor) -> ForeignArray:
    entry = f"{root}data/{tensor.key}"
    size = tensor.elements * host_dtype(tensor.dtype).itemsize
    if entry not in archive.names or archive.size(entry) != size:
        there = f"has {archive.size(entry):,} bytes" if entry in archive.names else "is missing"
        raise TruncatedFile(
            f"the storage of {name!r:.100} in {archive.path} {there}", f"the tensor needs {size:,} bytes", AGAIN
        )

    def read() -> HostArray:
        whole = from_bytes(np.frombuffer(archive.read(entry, size), np.uint8), tensor.dtype, (tensor.elements,))
        strides = [step * whole.itemsize for step in tensor.strides]
        return np.lib.stride_tricks.as_strided(whole[tensor.offset :], tensor.shape, strides, writeable=False)

    memory = (archive.path, tensor.key, tensor.offset, tensor.shape, tensor.strides)
    return ForeignArray(name, tensor.shape, tensor.dtype, read, memory)
