"""One trace of a compiled function, and what must stay as it was for it to be valid."""

from __future__ import annotations

from typing import Any, cast

from graftax.backend.protocol import Program
from graftax.transforms.guard import Guard
from graftax.transforms.state import CompileFrame
from graftax.variables.storage import Storage


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
        super().__init__(frame.touched.values())
