"""The error for an option that no optimizer has, with the one that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Concatenate, ParamSpec, TypeVar

from graftax.errors import ArgumentTypeError
from graftax.wrapping import wraps

P = ParamSpec("P")
T = TypeVar("T")

ELSEWHERE = {
    "lr": "learning_rate=...",
    "betas": "beta_1=..., beta_2=...",
    "eps": "epsilon=...",
    "b1": "beta_1=...",
    "b2": "beta_2=...",
    "momentum": "beta_1=...",
    "alpha": "rho=..., or beta_2=...",
    "decay": "learning_rate=graftax.schedules.InverseTimeDecay(rate, 1, decay)",
    "clip_by_global_norm": "global_clipnorm=...",
    "use_ema": "ema_momentum=0.99",
    "gradient_accumulation_steps": "accumulation_steps=...",
    "loss_scale_factor": "loss_scale=...",
    "maximize": "minimize(lambda: -value, variables)",
}
"""What Keras, torch and optax call it."""


def refused(init: Callable[Concatenate[T, P], None]) -> Callable[Concatenate[T, P], None]:
    """An ``__init__`` that says which option there is not, rather than naming the base class that has none."""
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(self: T, /, *args: P.args, **kwargs: P.kwargs) -> None:
        for name, value in kwargs.items():
            if name not in known:
                raise _error(type(self), name, value, known)
        init(self, *args, **kwargs)

    return checked


def _error(kind: type, name: str, value: Any, of_all: list[str]) -> ArgumentTypeError:
    own = [p.name for p in inspect.signature(kind).parameters.values() if p.kind is not p.VAR_KEYWORD]
    names = list(dict.fromkeys([*own, *of_all]))
    near = get_close_matches(name, names, n=1)
    meant = ELSEWHERE.get(name) or (f"{near[0]}={value!r:.40}" if near else "without it")
    return ArgumentTypeError(f"{kind.__name__} got {name}={value!r:.40}", f"it takes {', '.join(names)}", meant)
