"""Plotting the curves of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.known_names import closest
from graftax.core.short_traceback import door
from graftax.training.hooks.history import History
from graftax.training.optional_libraries import optional_library


@door
def plot_history(history: History | Mapping[str, Sequence[float]], names: Sequence[str] | None = None) -> Any:
    """Return a figure of matplotlib with a curve for each number; training and validation share axes.

    Args:
        history: The result of ``fit``; or its ``history``, whose lists are drawn from the first epoch on.
        names: The numbers to plot, without ``val_``. Defaults to None: all.

    Raises:
        ArgumentTypeError: it is not a history.
        ArgumentError: it is empty, or does not have such a number.
        MissingLibraryError: matplotlib is not installed: ``pip install 'graftax[plots]'``.

    Example:
        >>> figure = plot_history({"loss": [1.0, 0.5], "val_loss": [1.1, 0.7], "accuracy": [0.5, 0.8]})
        >>> [axes.get_ylabel() for axes in figure.axes]
        ['loss', 'accuracy']
    """
    numbers = history.history if isinstance(history, History) else history
    if not isinstance(numbers, Mapping):
        raise ArgumentTypeError(
            f"plot_history got {type(history).__name__}", "it draws what fit returned", "plot_history(model.fit(...))"
        )
    there = list(dict.fromkeys(name.removeprefix("val_") for name in numbers))
    if not there:
        raise ArgumentError(
            "plot_history got a history without numbers",
            "no epoch has ended",
            "plot_history(history) after the first epoch",
        )
    for name in names or ():
        if name not in there:
            near = closest(name, there)
            raise ArgumentError(
                f"plot_history got names={list(names or ())!r}", f"there are {', '.join(there)}", repr(near or there[0])
            )
    chosen = list(names) if names is not None else there
    figures = optional_library("matplotlib.figure", "plots", "plot_history")
    figure = figures.Figure(figsize=(4.5 * len(chosen), 3.5), layout="constrained")
    epochs = history.epochs if isinstance(history, History) else {}
    for place, name in enumerate(chosen):
        axes = figure.add_subplot(1, len(chosen), place + 1)
        for label, key in (("training", name), ("validation", f"val_{name}")):
            if key in numbers:
                values = list(numbers[key])
                at = epochs.get(key, range(len(values)))
                axes.plot([epoch + 1 for epoch in at], values, label=label, marker="." if len(values) < 30 else "")
        axes.set_xlabel("epoch")
        axes.set_ylabel(name)
        if name in numbers and f"val_{name}" in numbers:
            axes.legend()
    return figure
