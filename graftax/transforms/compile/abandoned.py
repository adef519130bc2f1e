"""Variables that a function makes and nobody keeps: compiled, all of its calls would share one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from graftax.core.errors import StateError

if TYPE_CHECKING:
    from graftax.backend.program import Program
    from graftax.variables.state.storage import Storage


def refuse_abandoned(program: Program, since: int, name: str) -> None:
    """Raise if a program reads or writes a Variable that its trace has made, and that is gone with it.

    Args:
        program: The program.
        since: What `next_number` of the storages gave before the trace.
        name: The name of the function.

    Raises:
        StateError: there is one.
    """
    for storage in cast("list[Storage]", [*program.read_only, *program.written]):
        if storage.is_abandoned(since):
            raise StateError(
                f"{name} makes a Variable of shape {tuple(storage.buffer.shape)} that nobody keeps",
                "uncompiled, each call would make a new one; compiled, all calls would share one",
                "make it, or the layer that has it, outside and keep it, in an attribute for example: "
                "self.dense = Dense(4) in __init__; what lives for one call is an array",
            )
