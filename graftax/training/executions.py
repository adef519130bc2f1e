"""How steps are run: compiled, with what a backend can do of that, or as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.backend import registry
from graftax.backend.traced_checks import PLAIN, RANGES, RESULTS
from graftax.core.wrapping import carry_names
from graftax.layers import added_losses
from graftax.training.heard_limits import ListenedStep, limits_of
from graftax.training.parts import parts_of
from graftax.transforms.compile.jit import CompiledFunction
from graftax.transforms.compile.run_eagerly import run_eagerly
from graftax.variables.graph.module import Module


class CompiledSteps(dict[str, Callable[..., Any]]):
    """The compiled steps of a model, by name; a copy of the model compiles its own."""

    def __init__(self) -> None:
        super().__init__()
        self.on_batch: dict[str, Any] = {}
        """What runs them batch by batch, for whoever has a loop of his own, by name."""

    def __reduce__(self) -> tuple[type[CompiledSteps], tuple[()]]:
        return CompiledSteps, ()


def compiled(model: object, step: str, known: CompiledSteps, check_nans: bool, eager: bool) -> Callable[..., Any]:
    """Return a step of a model, by name, compiled if the backend can and it is not to run eagerly.

    Args:
        model: The model.
        step: The name of the step.
        known: Steps that are compiled already, by name; it is added there.
        check_nans: Whether it raises for results that are not finite.
        eager: Whether it is to run eagerly.
    """
    if not registry.current().has("tracing"):
        return getattr(model, step)  # type: ignore[no-any-return]
    waits = calls_python(model)
    name = f"{step}{', checked' if check_nans else ''}{', with Python' if waits else ''}"
    if name not in known:
        function = getattr(model, step)
        if step in ("train_step", "test_step"):
            function = begun_anew(model, function)
        plain = RANGES if step in ("test_step", "predict_step") else PLAIN
        known[name] = CompiledFunction(function, allow_callback=waits, looks=RESULTS if check_nans else plain)
    return eagerly(known[name]) if eager or not registry.current().has("compiling") else known[name]


def calls_python(model: object) -> bool:
    """Tell whether a layer of a model runs Python in its call.

    Example:
        >>> import graftax as gx
        >>> calls_python(gx.Sequential([gx.layers.Dense(1)]))
        False
    """
    return isinstance(model, Module) and parts_of(model).calls_python


def begun_anew(model: Any, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step that knows of no terms of the loss from an earlier one, and whose traces are listened to."""

    def run(*args: Any) -> Any:
        added_losses.forget(model)
        return step(*args)

    carry_names(run, step)
    return ListenedStep(limits_of(model), run)


def eagerly(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the step as plain Python, and what is compiled inside of it, too."""

    def run(*args: Any) -> Any:
        with run_eagerly():
            return step(*args)

    return run
