"""Schedules for other numbers than the learning rate: refused; a Variable that a callback assigns does the same."""

from __future__ import annotations

from graftax.core.errors import ArgumentTypeError


def refuse_function(owner: str, name: str, value: object, words: str) -> None:
    """Raise if a number of an optimizer is to be a function, such as a schedule.

    Args:
        owner: Whose number it is, for the message.
        name: Its name.
        value: What was given.
        words: What it may be.

    Raises:
        ArgumentTypeError: it is a function.
    """
    if not callable(value) or hasattr(value, "shape"):
        return
    raise ArgumentTypeError(
        f"{owner}: {name}={value!r:.60}",
        f"{words}; only the learning rate may be a function of the step",
        f"{name} = graftax.Variable(0.1, trainable=False) for it, and fit(..., callbacks=[graftax.callbacks."
        f"LambdaCallback(on_train_batch_begin=lambda batch, logs: {name}.assign(schedule(optimizer.iterations)))])",
    )
