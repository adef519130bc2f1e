"""One call of a function with a gradient of its own: what it reads becomes an input, what it assigns an output.

Its Python, that of its ``grad_fn`` included, runs at the call: differentiated or compiled, what it computes is written
down there, so that nothing that changes around it afterwards matters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from graftax.backend import registry
from graftax.core.dtypes import is_inexact
from graftax.core.errors import CompileError, GradientError
from graftax.transforms.gradients.custom_rule import (
    CustomRule,
    assignment_error,
    closure_error,
    is_differentiated_around,
    missing_rule_error,
)
from graftax.transforms.gradients.custom_state import GradientFrame, Reading, move_on
from graftax.transforms.gradients.custom_values import ByValues
from graftax.transforms.lifting.frames import Around
from graftax.transforms.lifting.lifted import assign
from graftax.transforms.lifting.parts import Part
from graftax.transforms.lifting.streams import is_stream
from graftax.variables.added_loss import AddedLoss
from graftax.variables.state.storage import Storage, frames


def run(rule: CustomRule) -> Any:
    """Return the value of the function; what it assigns on the way takes effect."""
    transforms = registry.current().gradients
    if transforms.eager():
        leaves = _run_undifferentiated(rule)
    else:
        try:
            leaves = _Written(rule).run()
        except CompileError:  # its Python asks for values: there may be some
            if transforms.staged_within(None):
                raise
            leaves = ByValues(rule).run()
    return rule.value(leaves)


def _run_undifferentiated(rule: CustomRule) -> list[Any]:
    """Run the function where nobody differentiates."""
    frame = Reading(Around())
    with frames.entered(frame):
        leaves, grad_fn = rule.call(rule.values)
        rule.note_read(frame.found, grad_fn)
    frame.commit()
    return leaves


class _Written:
    """The function and its rule written down as programs; the Python runs once, here."""

    def __init__(self, rule: CustomRule) -> None:
        self._rule = rule
        self._back: Any = None
        self._has_gradient: list[bool] = []
        # one program gives the value and what the rule needs: whoever wants the value alone runs a part of it
        self._part = Part("custom_gradient", self._value_and_residuals, rule.values)
        results, kept = (len(outline.leaves) for outline in self._part.outlines)
        self._results = results
        self._kept = kept
        self._counts = len(self._part.constants), len(self._part.found)

    def _value_and_residuals(self, values: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the arrays of the value, and those that the rule needs besides gradients."""
        rule, inside = self._rule, frames.top
        leaves, grad_fn = rule.call(values)
        found: dict[Storage, Any] = inside.found  # type: ignore[union-attr]
        rule.note_read(found, grad_fn)
        read = list(found)

        def pull(_: object, dys: list[Any]) -> list[Any]:
            given = iter(dys)
            # an integer has no gradient that could come in; the rule gets something of its shape all the same
            ys = [next(given) if is_inexact(leaf.dtype) else leaf for leaf in leaves]
            frame = GradientFrame({})
            with frames.entered(frame):
                gradients = rule.gradients(grad_fn, ys, values, read)
            for storage in frame.written:
                # a stream that moves there is none of the function's: `run` lets it continue elsewhere
                if not is_stream(storage):
                    raise assignment_error(rule, storage)
            # None is zero, which costs nothing, where an array of zeros would be computed with
            self._has_gradient = [gradient is not None for gradient in gradients]
            return [gradient for gradient in gradients if gradient is not None]

        self._back, kept = registry.current().control_flow.stage(
            pull, [leaf for leaf in leaves if is_inexact(leaf.dtype)]
        )
        self._read = read
        return leaves, kept

    def run(self) -> list[Any]:
        part = self._part
        found = list(part.found.values())
        inputs = [*part.constants, *found, *self._rule.values]
        leaves = self._with_rule(inputs)
        if part.written:
            # not through the rule: what is assigned carries the gradient of how it was computed
            first = self._results + self._kept
            program = part.program.only(range(first, first + len(part.written)), effects=False)
            after = program.run(part.constants, found, self._rule.values)
            assign(part.written, map(registry.current().arrays.asarray, after))
        for storage in part.found:
            if is_stream(storage) and storage not in part.written:  # grad_fn draws from it
                move_on(storage)
        return leaves

    def _with_rule(self, inputs: list[Any]) -> list[Any]:
        transforms = registry.current().gradients
        return transforms.custom_vjp(self._function, self._forward, self._backward, inputs, self._refusals())

    def _refusals(self) -> list[Callable[[], GradientError] | None]:
        """Return for each input what gives the error if it is differentiated, where the rule says nothing about it."""
        by_rule = {variable._storage for variable in self._rule.variables}
        read = set(self._read)
        return [
            *[partial(closure_error, self._rule)] * len(self._part.constants),
            *(
                None
                if s in by_rule or s not in read or isinstance(s.user, AddedLoss)
                else partial(missing_rule_error, self._rule, s)
                for s in self._part.found
            ),
            *self._rule.refusals(),
        ]

    def _run(self, inputs: list[Any], count: int) -> list[Any]:
        """Return the first results of the program."""
        program, constants, found = self._part.program, *self._counts
        if count < len(program.results):
            program = program.only(range(count))
        return program.run(inputs[:constants], inputs[constants : constants + found], inputs[constants + found :])

    def _function(self, inputs: list[Any]) -> list[Any]:
        return self._run(inputs, self._results)

    def _forward(self, inputs: list[Any]) -> tuple[list[Any], list[Any], None]:
        # the kept arrays are results of the program, so that nothing is computed again on the way back
        results = self._run(inputs, self._results + self._kept)
        leaves, kept = results[: self._results], results[self._results :]
        if is_differentiated_around(inputs):
            leaves = self._with_rule(inputs)  # so that second derivatives meet the rule again
        return leaves, kept, None

    def _backward(self, residuals: list[Any], _: None, dys: list[Any]) -> list[Any]:
        given = [dy for dy in dys if dy is not None]
        gradients = iter(self._back.run(residuals, [], given))
        constants, found = self._counts
        by_rule = [next(gradients) if one else None for one in self._has_gradient]
        read, values = by_rule[: len(self._read)], by_rule[len(self._read) :]
        return [*[None] * constants, *read, *[None] * (found - len(read)), *values]
