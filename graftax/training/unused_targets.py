"""Targets and sample weights that nothing would use are refused before a step; missing targets and losses are told."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graftax.core.errors import DataError, StateError

STEPS = ("train_step", "test_step", "compute_loss", "compute_metrics")
"""The methods of a model that use targets and weights. If a user overrides one, nothing is refused."""


def refuse_unused_targets(targets: dict[str, Any], used: Collection[str]) -> None:
    """Raise if there are targets for an output without a loss or metric.

    Args:
        targets: The targets by output; None for no targets.
        used: The outputs that have a loss or a metric.

    Raises:
        DataError: there is such an output; the message names it.
    """
    idle = [name for name, part in targets.items() if part is not None and name not in used]
    if not idle:
        return
    if "" in targets:
        raise DataError(
            "targets for a model compiled without a loss and without metrics",
            "nothing would look at them",
            'fit(x) without y, or model.compile(..., loss="mse")',
        )
    left = ", ".join(f"{name!r}: ..." for name in targets if name not in idle)
    raise DataError(
        f"targets for {', '.join(map(repr, idle))}",
        f"the output {idle[0]!r} has neither a loss nor a metric, and nothing would look at them",
        f'y={{{left}}}, or a loss for it: loss={{..., {idle[0]!r}: "mse"}}',
    )


def require_target(targets: dict[str, Any], name: str, user: str) -> None:
    """Raise if an output has no targets, and something compares it with them.

    Args:
        targets: The targets by output.
        name: The output.
        user: What compares it: ``"loss"`` or ``"metric"``.

    Raises:
        DataError: there are none; the message names the output.
    """
    if targets.get(name) is not None:
        return
    there = [other for other, part in targets.items() if part is not None]
    left = "".join(f"{other!r}: ..., " for other in there)
    given = f"y={{..., {name!r}: None}}" if name in targets else f"the targets are {', '.join(map(repr, there))}"
    raise DataError(
        given,
        f"the output {name!r} has a {user}, which compares it with targets",
        f"y={{{left}{name!r}: ...}}; for a run without them a model compiled without a {user} for it; where some rows "
        f"have none, any targets of the right shape there, with sample_weight={{{name!r}: weights}} of 0 for these rows"
        + (", and weighted_metrics= in place of metrics=" if user == "metric" else ""),
    )


def refuse_unused_weights(weights: object, names: list[str], used: Collection[str]) -> None:
    """Raise if there are sample weights for an output without a loss or weighted metric.

    Args:
        weights: The sample weights of the user: a dict or list by output, or one for all.
        names: The names of the outputs.
        used: The outputs that have a loss or a weighted metric.

    Raises:
        DataError: there is such an output; the message names it.
    """
    if isinstance(weights, dict):
        given = [name for name, part in weights.items() if part is not None]
    elif isinstance(weights, list | tuple) and len(weights) == len(names):
        given = [name for name, part in zip(names, weights, strict=True) if part is not None]
    else:
        given = [] if weights is None or used else names[:1]
    idle = [name for name in given if name not in used]
    if not idle:
        return
    if "" in names:
        raise DataError(
            "sample_weight for a model compiled without a loss and without weighted metrics",
            "nothing would be weighted: metrics= count every sample alike",
            'model.compile(..., weighted_metrics=["mae"]), or fit without sample_weight',
        )
    left = ", ".join(f"{name!r}: ..." for name in given if name not in idle)
    raise DataError(
        f"sample_weight for {', '.join(map(repr, idle))}",
        f"the output {idle[0]!r} has neither a loss nor a weighted metric, and nothing would be weighted",
        f'weighted_metrics={{{idle[0]!r}: ["mae"]}}, or sample_weight={{{left}}}',
    )


def no_loss(model: Any) -> StateError:
    """Return the error for a model whose loss is asked for, and that has none."""
    instead = 'model.compile(optimizer="adam", loss="mse")'
    if model._gx_has_own("train_step") and not model._gx_has_own("test_step"):
        instead = (
            f"def test_step(self, batch) in {type(model).__name__}, beside its train_step: x, y = batch, and return "
            f'{{"loss": ...}} of self(x, training=False); or {instead}'
        )
    return StateError(
        f"{type(model).__name__} {model.name!r} has no loss",
        "it was compiled without one, and no layer adds one",
        instead,
    )
