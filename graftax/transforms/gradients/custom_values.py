"""A function with a gradient of its own whose Python asks for values: it runs with them, and its rule is kept."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from graftax.backend import registry
from graftax.core import foreign_errors
from graftax.core.dtypes import is_inexact
from graftax.core.errors import CompileError, GradientError
from graftax.core.typedefs import Array
from graftax.transforms.gradients.custom_rule import CustomRule, assignment_error, is_differentiated_around
from graftax.transforms.gradients.custom_state import GradientFrame, Reading, Stopped, move_on
from graftax.transforms.lifting.frames import Around, Substitution
from graftax.transforms.lifting.streams import is_stream
from graftax.variables.state.storage import Storage, frames

T = TypeVar("T")


class _Ran(NamedTuple):
    level: Any
    leaves: list[Any]
    grad_fn: Callable[..., Any]
    values: list[Any]
    state: dict[Storage, Array]  # as the function left it


class ByValues:
    """One call, for which Python decides by values; only where operations run at once."""

    def __init__(self, rule: CustomRule) -> None:
        self._rule = rule
        self._context = contextvars.copy_context()  # the way back may be gone later, out of all scopes of the call
        self._storages: list[Storage] = []
        self._ran: _Ran | None = None

    def run(self) -> list[Any]:
        """Return the arrays of the value; what is assigned on the way takes effect, and carries its gradient."""
        looking = self._look()
        self._storages = list(looking.found)
        leaves = self._with_rule([*looking.found.values(), *self._rule.values])
        looking.commit()
        for storage in self._storages:
            if is_stream(storage) and storage not in looking.written:  # grad_fn draws from it
                move_on(storage)
        return leaves

    def _look(self) -> Reading:
        """Return what is read, and what is assigned."""
        stop = registry.current().arrays.stop_gradient
        # which Variables are read is not known before a run, and all of them have to be inputs of the rule
        found = Reading(Around())
        try:  # with what is differentiated, of which comparisons have values
            with frames.entered(found):
                _, grad_fn = self._rule.call(self._rule.values)
        except Exception as error:
            if not isinstance(foreign_errors.translate(error) or error, CompileError):
                raise
            found = Stopped(Around())
            with frames.entered(found):
                _, grad_fn = self._rule.call([stop(value) for value in self._rule.values])
            if assigned := [s for s in found.written if is_inexact(s.buffer.dtype)]:
                raise GradientError(
                    f"{self._rule.name}, a function with a gradient of its own whose Python asks for values, assigns "
                    f"{assigned[0].path!r}",
                    "where it is differentiated, what is assigned carries a gradient, and a number has none",
                    "ops.where(condition, a, b) in place of Python's if; or return the value, and assign it outside",
                ) from error
        self._rule.note_read(found.found, grad_fn)
        return found

    def _with_rule(self, inputs: list[Any]) -> list[Any]:
        transforms = registry.current().gradients
        refused = [*[None] * len(self._storages), *self._rule.refusals()]
        return transforms.custom_vjp(self._function, self._forward, self._backward, inputs, refused)

    def _function(self, inputs: list[Any]) -> list[Any]:
        return self._run(inputs).leaves

    def _forward(self, inputs: list[Any]) -> tuple[list[Any], list[Any], _Ran]:
        ran = self._run(inputs)
        leaves = ran.leaves
        if is_differentiated_around(inputs):
            around = ByValues(self._rule)
            around._storages = self._storages
            leaves = around._with_rule(inputs)
        return leaves, [], ran

    def _run(self, inputs: list[Any]) -> _Ran:
        """Return the run with the values of the call; a tape asks for it again."""
        transforms = registry.current().gradients
        if transforms.staged_within(None):  # a tape looks whether this can be written down
            raise CompileError(
                f"{self._rule.name} asks for values",
                "there are none while a program is traced",
                "a call outside",
            )
        level = transforms.level()
        if self._ran is None:
            count = len(self._storages)
            given = zip(self._storages, inputs[:count], strict=True)
            frame = Substitution(frames.top, given, level)
            leaves, grad_fn = self._run_in_frame(frame, lambda: self._rule.call(inputs[count:]))
            state = {**dict(zip(self._storages, inputs[:count], strict=True)), **frame.written}
            self._ran = _Ran(level, leaves, grad_fn, inputs[count:], state)
        elif self._ran.level is not level:
            raise GradientError(
                f"a gradient of the gradient of {self._rule.name}, a function with a gradient of its own whose Python "
                "asks for values",
                "a tape has kept the one run in which they were known, and nothing tells how that depends on them",
                "ops.where(condition, a, b), graftax.cond or graftax.while_loop in it in place of Python's if and "
                "while; or take the inner gradient inside of tape.stop_recording() of the outer tape",
            )
        return self._ran

    def _backward(self, _: list[Any], ran: _Ran, dys: list[Any]) -> list[Any]:
        frame = GradientFrame(ran.state)
        zeros = registry.current().arrays.numpy.zeros
        ys = [
            zeros(leaf.shape, leaf.dtype) if is_inexact(leaf.dtype) and dy is None else leaf if dy is None else dy
            for leaf, dy in zip(ran.leaves, dys, strict=True)
        ]
        gradients = self._run_in_frame(frame, lambda: self._rule.gradients(ran.grad_fn, ys, ran.values, self._storages))
        for storage in frame.written:
            if not is_stream(storage):
                raise assignment_error(self._rule, storage)
            if storage not in self._storages:
                move_on(storage)
        return gradients

    def _run_in_frame(self, frame: Substitution, function: Callable[[], T]) -> T:
        """Run in a frame, all other scopes as they were at the call."""
        stack = (*frames.items, frame)

        def run() -> T:
            with frames.replaced(stack):
                return function()

        return self._context.copy().run(run)
