"""Arguments of public methods that there are not: told in three beats, whatever the method."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax.errors import ArgumentTypeError

CLASSES = [
    gx.Checkpoint,
    gx.CheckpointManager,
    gx.GradientTape,
    gx.IndexedRows,
    gx.Model,
    gx.Optimizer,
    gx.Reparam,
    gx.SeedGenerator,
    gx.Sequential,
    gx.Variable,
    gx.checkpoint.RestoreReport,
    gx.optimizers.LBFGS,
    gx.optimizers.Lookahead,
]
HOOKS = {
    # subclasses define these, and graftax calls them
    *(
        "build",
        "call",
        "compute_loss",
        "compute_metrics",
        "create_slots",
        "follow_base",
        "forward",
        "get_state",
        "inverse",
    ),
    *("penalty", "predict_step", "set_state", "test_step", "train_step", "train_steps", "update", "update_all"),
    *("compute_mask", "compute_output_shape", "reset_metrics"),
    *("from_spec", "failure", "tell", "tell_followed", "tell_settings", "wait_for"),  # for the package itself
}


def methods(kind: type[Any]) -> list[str]:
    public = [name for name in dir(kind) if not name.startswith("_") and name not in HOOKS]
    return [name for name in public if inspect.isfunction(inspect.getattr_static(kind, name))]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_public_method_answers_a_misspelt_argument_with_a_bare_error(kind: type[Any]) -> None:
    bare = []
    for name in methods(kind):
        method = getattr(kind, name)
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(method).parameters.values()):
            continue
        try:
            method(object.__new__(kind), no_such_argument=1)
        except ArgumentTypeError:
            continue
        except TypeError:
            bare.append(name)
    assert not bare


def frozen() -> gx.Variable:
    return gx.Variable(np.ones(2, "float32"))


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: gx.Checkpoint(w=frozen()).save("p", overwritee=True), "overwrite= in place of overwritee="),
        (lambda: gx.Checkpoint(w=frozen()).restore("p", strict=False), 'mode="overlap"'),
        (lambda: gx.Checkpoint(w=frozen()).save(step=3), 'path="checkpoint"'),
        (lambda: gx.Checkpoint({"w": frozen()}), "Checkpoint(model=model)"),
        (lambda: gx.CheckpointManager("p", max_to_keep=2, w=frozen()), "keep=2"),
        (lambda: gx.CheckpointManager("p", kep=2, w=frozen()), "keep=2"),
        (lambda: gx.Sequential([]).freeze(pattern="x"), "where= in place of pattern="),
        (lambda: frozen().assign(vlaue=1.0), "value= in place of vlaue="),
        (lambda: frozen().assign_add(delta=1.0), "value= in place of delta="),
        (lambda: frozen().assign_sub(1.0, use_locking=True), "leave use_locking= out"),
        (lambda: frozen().assign(1.0, 2.0), "Variable.assign(value)"),
        (lambda: gx.Slot(size=3), "shape= in place of size="),
        (lambda: gx.optimizers.SGD(0.1).apply(grads=[], variables=[]), "gradients= in place of grads="),
        (lambda: gx.IndexedRows([0], vals=[[1.0]], shape=(2, 1)), "values= in place of vals="),
        (lambda: gx.gradcheck(lambda x: x, (1.0,), eps=1e-3), "step= in place of eps="),
        (lambda: gx.reparam.prune(gx.Sequential([]), amount=0.5), "fraction= in place of amount="),
        (lambda: gx.layers.Dense(2).build(shape=(None, 3)), "input_shape= in place of shape="),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_argument_that_was_meant(call: Callable[[], Any], line: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    assert line in caught.value.instead
