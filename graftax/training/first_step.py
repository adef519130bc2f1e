"""The preparation of a step: the model is built, the step is traced, and its batch is checked on the host."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import signature
from typing import Any

from graftax.core import tree
from graftax.core.errors import GradientError, GraftaxError, StateError
from graftax.core.typedefs import Shape
from graftax.layers.building import unbuilt_below
from graftax.layers.inputs import describe_call
from graftax.layers.inputs_of_call import spread_inputs
from graftax.layers.layer import Layer
from graftax.training.assigned_by_evaluation import warn_of_assigned
from graftax.training.batch import Batch, unpack
from graftax.training.misread_structures import explain_structure
from graftax.training.objectives import Objectives
from graftax.training.output_masks import masks_of
from graftax.training.recorded_limits import Limits, Outputs, next_run_of
from graftax.training.trainable_model import TrainableModel
from graftax.training.unread_by_step import UnreadByStep
from graftax.training.wired import Wired
from graftax.training.zero_weights import ZeroWeights
from graftax.transforms.compile import run_eagerly as eagerly
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import frames


class FirstStep:
    """Checks the batches of one loop before their steps.

    Args:
        model: The model.
        objectives: Its compiled losses and metrics.
        builds: Whether the model is built before the first step: a ``train_step`` of the user may need its variables.
        unread: What looks for weights and metrics that the step does not use. Defaults to None: nothing looks.
    """

    def __init__(self, model: Wired, objectives: Objectives, builds: bool, unread: UnreadByStep | None = None) -> None:
        self._unread = unread
        self.zero_weights = ZeroWeights(model)
        self._model = model
        self._objectives = objectives
        self._builds = builds
        self._traced: dict[int, bool] = {}  # by id, whether runs are compiled
        self._next_run, self._itself = next_run_of(model), weakref.ref(self)
        self._batches: Sequence[Batch] = ()
        self._shapes: list[Shape | None] = []
        self._build_note = ""
        self._first: Sequence[Batch] = ()
        self._is_of_one = False  # whether a batch is a tuple of one

    def prepare(self, run: Callable[..., Any], batch: object, batches: Sequence[Batch]) -> bool:
        """Prepare ``run(batch)``, a step with these batches, which is to come next; return whether it is compiled.

        A compiled one checks them before it runs, and raises `IndexRangeError`; an eager one raises by itself for an
        index, and for a label that is out of range in its loss.

        Raises:
            IndexRangeError: a label is out of range, and batches of these shapes have been seen eagerly.
        """
        self._objectives.given_factors.warn_if_changed()
        if self.zero_weights.are_open:
            self.zero_weights.look(batches)
        number = id(run)
        if number not in self._traced:
            self._prepare_first(run, batch, batches)
        if self._traced[number]:
            self._batches, self._next_run.checker = batches, self._itself
        elif self._objectives.looks:
            self._check_by_last_outputs(batches)
        return self._traced[number]

    def check(self, limits: Limits) -> None:
        """Check the batches of the run that begins, with the limits of its trace."""
        for batch in self._batches:
            limits.check(batch)
            if limits.outputs:
                self._check_targets(limits.outputs, *unpack(batch))

    def _check_by_last_outputs(self, batches: Sequence[Batch]) -> None:
        """Check the targets of batches with the shapes of the last one, whose outputs are known."""
        for batch in batches:
            shapes = [getattr(leaf, "shape", None) for leaf in tree.flatten(batch)]
            if shapes == self._shapes and self._objectives.outputs:
                self._check_targets(self._objectives.outputs, *unpack(batch))
            self._shapes = shapes

    def _prepare_first(self, run: Callable[..., Any], batch: object, batches: Sequence[Batch]) -> None:
        self._first, self._is_of_one = batches, len(batches[0]) == 1
        if self._builds and not self._traced:
            self._build(unpack(batches[0])[0])
        self._traced[id(run)] = False
        if isinstance(run, CompiledFunction) and frames.top is None and not eagerly.is_on():
            try:
                self._trace(run, batch)
            except GraftaxError as error:
                self._explain_structure(error, batches)
                raise
            self._traced[id(run)] = True

    def _check_targets(self, outputs: Outputs, x: object, y: object, sample_weight: object) -> None:
        objectives = self._objectives
        if y is None:
            return
        if objectives.checks_masks:
            objectives.check_targets(y, outputs, sample_weight, masks_of(self._model, x))
            return
        try:
            objectives.check_targets(y, outputs, sample_weight)
        except GraftaxError:
            masks = masks_of(self._model, x)  # masks may hide wrong targets, and are computed only then
            if masks is None:
                raise
            objectives.check_targets(y, outputs, sample_weight, masks)

    def explain(self, error: Exception) -> None:
        """Add notes to an error of a step: how fit built the model before, or why it could not; what a batch is."""
        self._explain_structure(error, self._first)
        notes = [self._build_note] if self._build_note and isinstance(error, GraftaxError) else []
        if self._builds and self._is_of_one and "tuple" in str(error):
            model: Any = self._model
            name = next(iter(signature(model.train_step).parameters), "batch")
            notes.append(f"train_step(self, {name}) gets the batch as (x,), a tuple of one: ({name},) = {name} before")
        for note in notes:
            if isinstance(error, GraftaxError):
                error.add_context(note)
            else:
                error.add_note(f"  where: {note}")

    def _explain_structure(self, error: Exception, batches: Sequence[Batch]) -> None:
        if batches:
            x, y, _ = unpack(batches[0])
            explain_structure(error, x, y, learns=True)

    def _build(self, x: object) -> None:
        model = self._model
        unbuilt = unbuilt_below(model)
        if not unbuilt:
            return
        if not model._gx_has_call:
            names = ", ".join(repr(layer._gx_path or layer.name) for layer in unbuilt[:3])
            self._build_note = (
                f"fit cannot build {names}: {type(model).__name__} has no call; call them on an example before"
            )
            return
        args, named = spread_inputs(model, x) or ((x,), {})
        try:
            model.build_for(*args, **named, training=True)
        except Exception as error:  # noqa: BLE001 - what train_step does may be right all the same
            first = str(error).partition("\n")[0]
            self._build_note = f"fit called the model on x to build it before train_step, and that failed: {first:.200}"
        else:
            given = describe_call(args, named)
            self._build_note = (
                f"fit built the model before train_step by a call on x, {given}; where train_step calls its parts on "
                "something else, call them on an example of that before fit"
            )

    def _trace(self, run: CompiledFunction[..., Any], batch: object) -> None:
        known = len(self._model.variables) if self._builds else 0
        try:
            run.trace(batch)
        except GradientError:
            if not self._builds or len(self._model.variables) == known:
                raise
            run.trace(batch)  # with what it has built
        if self._builds and len(self._model.variables) > known:
            run.forget()  # the step has created weights after it asked for the trainable variables
        if self._unread is None:
            return
        note, self._build_note = self._build_note, ""  # it has nothing to do with what is unread
        self._unread.look(run, batch, self._objectives)
        if self._unread.step == "test_step":
            warn_of_assigned(self._model, run.trace_arguments(batch)[0], self._objectives)
        self._build_note = note


def build_all(model: Layer, x: object, never_called: frozenset[int]) -> frozenset[int]:
    """Build all layers, so that their variables are trained from the first step.

    Args:
        model: The model.
        x: An example of its input.
        never_called: The layers that no call builds, by id, as found before; they are not searched again.

    Returns:
        The layers that no call builds, by id.
    """
    unbuilt = frozenset(map(id, unbuilt_below(model)))
    if not unbuilt - never_called:
        return never_called
    model.build_for(x, training=True)
    return frozenset(map(id, unbuilt_below(model)))


def build_for_hooks(model: TrainableModel, x: object) -> None:
    """Build a model before the first hook of a training, so that callbacks find its Variables there.

    Where that fails, the first step builds it, and says what is wrong.

    Args:
        model: The model.
        x: An example of its input.
    """
    if model._gx_has_call:
        with suppress(Exception):
            object.__setattr__(model, "_gx_never_called", build_all(model, x, model._gx_never_called))


def waiting_in(module: Module) -> tuple[str, ...]:
    """Return the paths of values of a checkpoint that wait for Variables of a Module."""
    return tuple(module._gx_pending.waiting()) if module._gx_pending is not None else ()


def require_restored(*modules: Module) -> None:
    """Raise if values of a checkpoint still wait for Variables of these.

    Raises:
        StateError: there are such values; the message names them.
    """
    for module in modules:
        waiting = module._gx_pending.waiting(is_overdue=True) if module._gx_pending is not None else ()
        if waiting:
            raise StateError(
                f"training starts while {len(waiting)} restored values still wait: {', '.join(waiting[:5])}",
                "the model is built now, and has no such Variables",
                "restore what fits: Checkpoint(...).restore(path, skip=[...]), or build the model as it was saved",
            )
