"""A run that is resumed where all of its epochs are done: nothing is left to train, which is told."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

from graftax.core import tree, user_line
from graftax.losses import registry as losses
from graftax.training.objectives import require_objectives

log = logging.getLogger("graftax")

_CHANGING = re.compile(r"(learning_rate=)[-+.\w]+|(value=)[^)]*| at 0x[0-9a-f]+")
"""What differs without another constructor: rates and other Variables, which training changes; addresses."""


def describe_compiled(model: object) -> dict[str, str]:
    """Return a model's optimizer, losses and factors as texts, which are alike in two programs that compile alike."""
    objectives = require_objectives(model)
    given = objectives.given_losses()
    by_output = [None if one is None else losses.get(one) for one in tree.flatten(given["loss"])]
    found = {"optimizer": objectives.optimizer, "loss": by_output[0] if len(by_output) == 1 else by_output}
    found |= {"loss_weights": given["weights"]} if given["weights"] is not None else {}
    return {name: _CHANGING.sub(r"\1\2", repr(one)) for name, one in found.items()}


def tell_nothing_left(
    path: str, epochs: int, before: Mapping[str, str], now: Mapping[str, str], numbers: Sequence[str]
) -> None:
    """Log that there is nothing to train; warn if the program was compiled otherwise, and so expects another result.

    Args:
        path: The latest checkpoint.
        epochs: The number of epochs.
        before: The result of `describe_compiled` in the run that is resumed; empty in one of an earlier version.
        now: That of this program.
        numbers: The numbers of optimizers, and the parts that are frozen, that differ, as text.
    """
    done = f"nothing left to do: epoch {epochs} of {epochs} is in {path!r}"
    names = dict.fromkeys([*before, *now]) if before else ()
    changed = [
        f"{name} = {now.get(name, 'None'):.200}, where that run had {before.get(name, 'None'):.200}"
        for name in names
        if now.get(name) != before.get(name)
    ]
    if not changed and not numbers:
        log.info("fit(resume=...): %s; the history is that of this run", done)
        return
    user_line.warn(
        f"fit(resume=...): {done}. Weights and history are those of that run, and this program was compiled otherwise: "
        f"{'; '.join([*numbers, *changed])}. Instead: a folder for each run, resume='runs/second'; or more epochs="
    )
