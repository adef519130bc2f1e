"""One trace of a compiled function, and what must stay as it was for it to be valid."""

from __future__ import annotations

from itertools import islice
from typing import Any, cast

from graftax import user_line
from graftax.backend.protocol import Program, Transforms
from graftax.transforms.guard import Guard
from graftax.transforms.state import CompileFrame
from graftax.variables.storage import Moves, Storage, together


class Entry(Guard):
    """One trace, and what has to stay as it was for the trace to be valid."""

    def __init__(
        self, program: Program, frame: CompileFrame, out_structure: Any, results: int, statics: list[Any]
    ) -> None:
        self.program = program
        self.out_structure = out_structure
        self.results = results  # how many; new values come after them
        self.written = cast("list[Storage]", list(program.written))
        self.donated = cast("list[Storage]", list(program.donated))
        self.kept = cast("list[Storage]", list(program.kept))
        self.statics = statics  # kept alive, so that their identity stays theirs
        self.fresh = True  # not run yet
        self._together = self.donated == self.written and len(self.written) > 1
        self._buffers: list[Any] = []
        self._moves = -1
        self._takes = 0
        super().__init__(frame.touched.values())

    def buffers(self) -> list[Any] | None:
        """The list that holds the buffers of all that is assigned, if all of it is read, too; None otherwise."""
        if self._together and self._moves != Moves.count:
            if not all(storage.place[0] is self._buffers for storage in self.written):
                self._takes += 1
                self._together = self._takes <= _OFTEN  # another function takes them again and again
                self._buffers = together(self.written) if self._together else []
            self._moves = Moves.count
        return self._buffers if self._together else None

    def warn_of_leaks(self, transforms: Transforms, function: str) -> None:
        """Warn of attributes that hold values of the trace, which are of no use after it."""
        level = transforms.level()
        for node, name, value in self.attributes():
            held = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,)
            if any(transforms.leaks(one, level) for one in islice(held, _LOOKED_AT)):
                user_line.warn(
                    f"{node.path or type(node).__name__}.{name} keeps a traced value of {function}: it has no numbers, "
                    "and using it after the call fails. Return it from the function, or keep it in a Variable: "
                    f"self.{name}.assign(...).",
                )


_LOOKED_AT = 1000  # elements of a container, at each trace


_OFTEN = 3  # times that the buffers of a trace are put into one list, before each stays where it is
