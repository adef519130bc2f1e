"""The error for an argument that there is not, with the one that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from graftax.errors import ArgumentTypeError
from graftax.optimizers.foreign_names import names_of

P = ParamSpec("P")
T = TypeVar("T")

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "lr": ("learning_rate", "initial_learning_rate", "peak"),
    "base_lr": ("low", "initial_learning_rate"),
    "max_lr": ("peak", "high"),
    "eps": ("epsilon", "epsilon_1"),
    "eps_root": ("epsilon_root",),
    "b1": ("beta_1",),
    "b2": ("beta_2",),
    "b3": ("beta_3",),
    "beta1": ("beta_1",),
    "beta2": ("beta_2",),
    "momentum": ("beta_1",),
    "beta": ("momentum",),
    "beta_1": ("momentum",),
    "alpha": ("rho", "beta_2"),
    "rho": ("beta_2",),
    "discounting_factor": ("rho",),
    "wd": ("weight_decay",),
    "decoupled_weight_decay": ("weight_decay",),
    "l2_regularization": ("l2",),
    "clip_norm": ("clipnorm",),
    "clip_value": ("clipvalue",),
    "clip_by_global_norm": ("global_clipnorm",),
    "max_norm": ("global_clipnorm",),
    "use_ema": ("ema_momentum",),
    "gradient_accumulation_steps": ("accumulation_steps",),
    "loss_scale_factor": ("loss_scale",),
    "initial_accumulator_value": ("initial_accumulator",),
    "l1_regularization_strength": ("l1_strength",),
    "l2_regularization_strength": ("l2_strength",),
    "l2_shrinkage_regularization_strength": ("l2_shrinkage",),
    "clip_threshold": ("clip",),
    "clipping_threshold": ("clip",),
    "adam_beta_1": ("beta_1",),
    "adam_beta_2": ("beta_2",),
    "ns_steps": ("steps",),
    "trust_coefficient": ("trust",),
    "etas": ("limits",),
    "max_iter": ("max_iterations",),
    "max_eval": ("max_evaluations",),
    "tolerance_grad": ("tolerance_gradient",),
    "sync_period": ("every",),
    "slow_step_size": ("rate",),
    "init_scale": ("initial",),
    "init_value": ("initial_learning_rate", "start", "low", "value"),
    "peak_value": ("warmup_target", "peak", "high"),
    "end_value": ("end_learning_rate", "end"),
    "end_lr": ("end_learning_rate", "end"),
    "T_max": ("decay_steps",),
    "T_0": ("first_decay_steps",),
    "T_mult": ("t_mul",),
    "step_size": ("decay_steps",),
    "transition_steps": ("decay_steps",),
    "gamma": ("decay_rate",),
    "milestones": ("boundaries",),
    "step_size_up": ("steps_up",),
    "step_size_down": ("steps_down",),
    "pct_start": ("rising",),
    "div_factor": ("start_factor",),
    "final_div_factor": ("end_factor",),
    "anneal_strategy": ("shape",),
    "num_warmup_steps": ("warmup_steps",),
}
"""What Keras, torch and optax call an argument, and what it may be called here, the first that there is."""

INSTEAD = {
    "decay": "learning_rate=graftax.optimizers.schedules.InverseTimeDecay(0.1, 1, 0.01)",
    "maximize": "without it; optimizer.minimize(lambda: -value, variables)",
    "params": "without it; optimizer.minimize(loss_fn, model)",
    "weight_decouple": "weight_decay=0.01; l2=0.01 for a decay in the gradient",
    "jit_compile": "without it; graftax.jit(step)",
}
"""What takes more words."""


def refused(init: Callable[Concatenate[T, P], None]) -> Callable[Concatenate[T, P], None]:
    """An ``__init__`` that says which argument there is not, rather than naming the base class that has none."""
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(self: T, /, *args: P.args, **kwargs: P.kwargs) -> None:
        for name, value in kwargs.items():
            if name not in known:
                raise _error(type(self), name, value)
        init(self, *args, **kwargs)

    return checked


def _error(kind: type, name: str, value: Any) -> ArgumentTypeError:
    names = names_of(kind)
    ours = next((one for one in ELSEWHERE.get(name, ()) if one in names), None)
    near = get_close_matches(name, names, n=1)
    if name == "betas" and isinstance(value, tuple | list) and "beta_1" in names:
        meant = ", ".join(f"beta_{i}={beta!r}" for i, beta in enumerate(value, 1))
    elif ours is not None:
        meant = f"{ours}={value!r:.40}"
    else:
        meant = INSTEAD.get(name) or (f"{near[0]}={value!r:.40}" if near else "without it")
    return ArgumentTypeError(f"{kind.__name__} got {name}={value!r:.40}", f"it takes {', '.join(names)}", meant)
