"""How steps run: compiled, if the backend can, or as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from typing import Any

from graftax import ops
from graftax.backend import registry
from graftax.backend.traced_checks import PLAIN, RANGES, RESULTS
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.core.user_functions import check_takes
from graftax.core.wrapping import carry_names
from graftax.layers import added_losses
from graftax.layers.undoing import undone_if_raised
from graftax.training.held_metrics import untouched_left_out
from graftax.training.parts import parts_of
from graftax.training.recorded_limits import LimitRecordingStep
from graftax.training.used_by_step import Use, watch_use
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.transforms.compile.run_eagerly import run_eagerly
from graftax.transforms.flow.scan import scan
from graftax.variables.graph.class_attributes import in_class
from graftax.variables.graph.module import Module
from graftax.variables.graph.trained_model import training

TEST_STEPS = "_gx_test_steps"
"""The name of the step that evaluates several batches."""


class CompiledSteps(dict[str, Callable[..., Any]]):
    """The compiled steps of a model, by name. They are not copied: a copy of the model compiles its own."""

    tested = 0
    """Batches that were evaluated one by one so far."""
    at_once: int | None = None
    """How many are evaluated in one run from now on, where nobody has said; None until that is known."""

    def __init__(self) -> None:
        self.used: dict[str, Use] = {}
        """What each step of the user's has used of the loss."""
        self.methods: dict[str, Any] = {}
        """What model and class had as a method when it was compiled, for each name."""

    def __reduce__(self) -> tuple[type[CompiledSteps], tuple[()]]:
        return CompiledSteps, ()


def compile_step(
    model: object, step: str, compiled_steps: CompiledSteps, check_nans: bool, eager: bool
) -> Callable[..., Any]:
    """Return a step of a model, by name, compiled if the backend can and ``eager`` is False.

    Args:
        model: The model.
        step: The name of the step.
        compiled_steps: The steps that are compiled already, by name; this one is added.
        check_nans: Whether the step raises for results that are not finite.
        eager: Whether it runs eagerly.
    """
    shows_numbers = step in ("train_step", "test_step")
    if shows_numbers:
        line = (
            f"def {step}(self, batch): x, y = batch, and sample_weight where fit gets one: x, y, sample_weight = batch"
        )
        check_takes(type(model).__name__, step, getattr(model, step), ["batch"], line)
    if not registry.current().has("tracing"):
        function: Callable[..., Any] = getattr(model, step)
        return _check_logs(model, function, step) if shows_numbers else function
    waits = calls_python(model)
    name = f"{step}{', checked' if check_nans else ''}{', with Python' if waits else ''}"
    kept = vars(model).get(step), in_class(type(model), step)
    if name not in compiled_steps or compiled_steps.methods[name] != kept:  # the class may have got another one
        compiled_steps.methods[name] = kept
        function = getattr(model, step)
        if shows_numbers:
            function = with_fresh_losses(model, function, step)
        if functions := _functions_of(model):
            function = _make_dependent(function, functions)
        plain = RANGES if step in ("test_step", TEST_STEPS, "predict_step") else PLAIN
        compiled_steps[name] = CompiledFunction(function, allow_callback=waits, looks=RESULTS if check_nans else plain)
    return eagerly(compiled_steps[name]) if eager or not registry.current().has("compiling") else compiled_steps[name]


def _objectives_of(model: Any) -> list[Module]:
    """Return the losses and metrics of a model that `compile` was given, or has made."""
    objectives = model._gx_objectives
    if objectives is None:
        return []
    given = (one for value in objectives.given_arguments().values() for one in tree.flatten(value))
    found = [*objectives.metrics, *(one for one in given if isinstance(one, Module))]
    return list({id(one): one for one in found}.values())


def _functions_of(model: Any) -> tuple[Any, ...]:
    """Return the functions given to `compile` as losses and metrics, which the steps do not name."""
    objectives = getattr(model, "_gx_objectives", None)
    given = objectives.given_arguments().values() if objectives is not None else ()
    leaves = (one for value in given for one in tree.flatten(value))
    return tuple(one for one in leaves if callable(one) and not isinstance(one, Module))


def _make_dependent(function: Callable[..., Any], functions: tuple[Any, ...]) -> Callable[..., Any]:
    """Return a step such that what these functions close over and name counts as what the step depends on."""

    def run(*args: Any, beside: tuple[Any, ...] = functions) -> Any:
        return function(*args)

    carry_names(run, function)
    return run


def calls_python(model: object) -> bool:
    """Tell whether a layer of a model, or a loss or metric of it, runs arbitrary Python.

    Example:
        >>> import graftax as gx
        >>> calls_python(gx.Sequential([gx.layers.Dense(1)]))
        False
    """
    objectives = getattr(model, "_gx_objectives", None)
    if objectives is not None and objectives.calls_python:
        return True
    return isinstance(model, Module) and parts_of(model).calls_python


def with_fresh_losses(model: Any, function: Callable[..., Any], step: str) -> Callable[..., Any]:
    """Return a step that starts without added losses of earlier steps, and whose traces record limits of its batch.

    Its result is checked while it is traced, and so not at each batch.
    """
    function = watch_use(model, _check_logs(model, function, step), step)

    def run(*args: Any) -> Any:
        added_losses.forget(model)
        return function(*args)

    carry_names(run, function)
    return LimitRecordingStep(model, run)


def in_one_run(model: Any, name: str, batches: Any) -> dict[str, Any]:
    """Run a step of a model, by name, for each row of arrays that hold several batches; return the last numbers."""
    step = with_fresh_losses(model, getattr(model, name), name)
    names: list[str] = []

    def turn(carry: Any, batch: Any) -> tuple[Any, dict[str, Any]]:
        logs = step(batch)
        names[:] = logs  # in the order in which they are shown; the loop has its own
        return carry, logs

    with ExitStack() as undone:
        for root in (model, *_objectives_of(model)):
            undone.enter_context(undone_if_raised(root, with_objects=True))
        logs = scan(turn, ops.zeros(()), batches)[1]
    return {one: logs[one][-1] for one in names}


def _check_logs(model: Any, function: Callable[..., Any], step: str) -> Callable[..., Any]:
    def run(*args: Any) -> dict[str, Any]:
        with (
            untouched_left_out(model, is_own=model._gx_has_own(step)),
            training(model) if step == "train_step" else nullcontext(),  # rules see paths from this model
        ):
            logs = function(*args)
        return loss_first(logs, step)

    carry_names(run, function)
    return run


def loss_first(logs: Any, step: str) -> dict[str, Any]:
    """Return the logs of a step with the loss first, where users expect it.

    Raises:
        ArgumentTypeError: the step did not return a dict of numbers.
    """
    if not isinstance(logs, Mapping):
        got = f"shape {tuple(logs.shape)}" if hasattr(logs, "shape") else type(logs).__name__
        raise ArgumentTypeError(
            f"{step} returned {'None' if logs is None else got}",
            "callbacks, the history and the bar show numbers by name",
            'return {"loss": loss} at its end',
        )
    for name, value in logs.items():
        if not isinstance(name, str) or getattr(value, "shape", ()) != () or not hasattr(value, "__float__"):
            raise ArgumentTypeError(
                f"{step} returned {name!r}: {_describe(value)}",
                "each entry is one number, which goes into the history",
                f"{{{name!r}: ops.mean(value)}}",
            )
    if "loss" not in logs or next(iter(logs)) == "loss":
        return dict(logs)
    return {"loss": logs["loss"], **logs}


def _describe(value: Any) -> str:
    return f"an array of shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)


def eagerly(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the step as plain Python, including compiled functions inside of it."""

    def run(*args: Any) -> Any:
        with run_eagerly():
            return step(*args)

    return run
