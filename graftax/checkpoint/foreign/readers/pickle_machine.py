"""An interpreter for the few pickle instructions that describe the tensors of a torch file; no unpickler is used.

Nothing that a file names is ever imported or called: the functions that torch writes there are replaced by records of
graftax, and everything else is refused. Python's own unpickler would also let a file allocate any amount of memory.

Source: the instructions as `pickletools` documents them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from graftax.checkpoint.foreign.readers.wrong_content import AGAIN
from graftax.core.errors import CorruptMetadata, UnsafeCheckpoint

_MOST = 1 << 23  # the most instructions, which also limits the number of objects


class Global(NamedTuple):
    """A name that the file refers to. It is never looked up."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class Stored(NamedTuple):
    """An object that the file stores beside the pickle, given by its persistent id."""

    reference: Any


_MARK = object()
Call = Callable[[Global, tuple[Any, ...]], Any]


class PickleMachine:
    """The interpreter of one pickle.

    Args:
        data: Its bytes.
        path: The file, for messages.
        call: Returns the result of calling a name with arguments; raises for unknown names.
    """

    def __init__(self, data: bytes, path: str, call: Call) -> None:
        self._data = data
        self._path = path
        self._call = call
        self._at = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        """Return the object that the pickle describes.

        Raises:
            CorruptMetadata: it is damaged.
            UnsafeCheckpoint: it has an instruction that does not occur in files of tensors.
        """
        try:
            for _ in range(_MOST):
                code = self._take(1)
                if code == b".":
                    return self._stack.pop()
                step = _STEPS.get(code)
                if step is None:
                    raise UnsafeCheckpoint(
                        f"{self._path} has Python objects in it, not only tensors (instruction {code!r} of its pickle)",
                        "to rebuild such objects, such as a whole model, could run code of the file",
                        _INSTEAD,
                    )
                step(self)
        except (IndexError, ValueError, TypeError, KeyError, AttributeError, struct.error, OverflowError) as error:
            if isinstance(error, CorruptMetadata):
                raise
            raise CorruptMetadata(
                f"the pickle in {self._path} is damaged at byte {self._at:,}",
                f"{type(error).__name__}: {error}",
                AGAIN,
            ) from None
        raise CorruptMetadata(f"the pickle in {self._path} is damaged", "it has no end", AGAIN)

    # --- the stack ----------------------------------------------------------------------------------------------------

    def _take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise CorruptMetadata(f"the pickle in {self._path} is damaged", "it ends too early", AGAIN)
        self._at += count
        return self._data[self._at - count : self._at]

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._take(struct.calcsize(form)))[0])

    def _line(self) -> str:
        end = self._data.index(b"\n", self._at)
        text = self._data[self._at : end].decode("ascii")
        self._at = end + 1
        return text

    def _push(self, value: object) -> None:
        self._stack.append(value)

    def _pop_to_mark(self) -> list[Any]:
        for i in range(len(self._stack) - 1, -1, -1):
            if self._stack[i] is _MARK:
                found = self._stack[i + 1 :]
                del self._stack[i:]
                return found
        raise CorruptMetadata(
            f"the pickle in {self._path} is damaged", "an instruction needs a mark that is missing", AGAIN
        )

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            raise IndexError("the stack is too short")
        found = tuple(self._stack[-count:])
        del self._stack[-count:]
        self._push(found)

    def _get(self, key: int) -> None:
        self._push(self._memo[key])

    def _put(self, key: int) -> None:
        self._memo[key] = self._stack[-1]

    def _append(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise TypeError("values are appended to something that is not a list")
        target.extend(values)

    def _set(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not dict:
            raise TypeError("items are set in something that is not a dict")
        if len(values) % 2:
            raise ValueError("a key without a value")
        target.update(zip(values[::2], values[1::2], strict=True))

    def _reduce(self) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if type(arguments) is not tuple or not isinstance(function, Global):
            raise TypeError("a call of something that is not a name")
        self._push(self._call(function, arguments))

    def _build(self) -> None:
        """Ignore the attributes of an object: torch adds some to its dicts, which are not needed for tensors."""
        state, target = self._stack.pop(), self._stack[-1]
        if type(target) is not dict or type(state) is not dict:
            raise UnsafeCheckpoint(
                f"{self._path} has Python objects in it, not only tensors (its pickle sets the state of one)",
                "to rebuild such objects, such as a whole model, could run code of the file",
                _INSTEAD,
            )

    def _setitem(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set([key, value])

    def _push_global(self) -> None:
        module = self._line()
        self._push(Global(module, self._line()))

    def _push_long(self) -> None:
        self._push(int.from_bytes(self._take(self._number("<B")), "little", signed=True))

    def _dict(self) -> None:
        found: dict[Any, Any] = {}
        values = self._pop_to_mark()
        self._push(found)
        self._set(values)


_INSTEAD = (
    "torch.save(model.state_dict(), path) in place of torch.save(model, path); in the program that has the class of "
    "the model: torch.save(torch.load(path, weights_only=False).state_dict(), new_path), if you trust the file"
)

_STEPS: dict[bytes, Callable[[Any], None]] = {
    b"\x80": lambda m: m._take(1),
    b"}": lambda m: m._push({}),
    b"]": lambda m: m._push([]),
    b")": lambda m: m._push(()),
    b"(": lambda m: m._push(_MARK),
    b"N": lambda m: m._push(None),
    b"\x88": lambda m: m._push(True),
    b"\x89": lambda m: m._push(False),
    b"K": lambda m: m._push(m._number("<B")),
    b"M": lambda m: m._push(m._number("<H")),
    b"J": lambda m: m._push(m._number("<i")),
    b"\x8a": lambda m: m._push_long(),
    b"G": lambda m: m._push(struct.unpack(">d", m._take(8))[0]),
    b"X": lambda m: m._push(m._take(m._number("<I")).decode()),
    b"q": lambda m: m._put(m._number("<B")),
    b"r": lambda m: m._put(m._number("<I")),
    b"h": lambda m: m._get(m._number("<B")),
    b"j": lambda m: m._get(m._number("<I")),
    b"t": lambda m: m._push(tuple(m._pop_to_mark())),
    b"\x85": lambda m: m._tuple(1),
    b"\x86": lambda m: m._tuple(2),
    b"\x87": lambda m: m._tuple(3),
    b"a": lambda m: m._append([m._stack.pop()]),
    b"e": lambda m: m._append(m._pop_to_mark()),
    b"s": lambda m: m._setitem(),
    b"u": lambda m: m._set(m._pop_to_mark()),
    b"l": lambda m: m._push(m._pop_to_mark()),
    b"d": lambda m: m._dict(),
    b"c": lambda m: m._push_global(),
    b"R": lambda m: m._reduce(),
    b"Q": lambda m: m._push(Stored(m._stack.pop())),
    b"b": lambda m: m._build(),
    b"0": lambda m: m._stack.pop(),
}
