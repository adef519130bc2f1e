"""Optimizers by name, for ``model.compile("adam")``."""

from __future__ import annotations

from collections.abc import Callable

from graftax.errors import ArgumentTypeError
from graftax.known_names import unknown
from graftax.module import Module
from graftax.optimizers.adabelief import AdaBelief
from graftax.optimizers.adadelta import Adadelta
from graftax.optimizers.adafactor import Adafactor
from graftax.optimizers.adagrad import Adagrad
from graftax.optimizers.adam import Adam
from graftax.optimizers.adamax import Adamax
from graftax.optimizers.adamw import AdamW
from graftax.optimizers.adan import Adan
from graftax.optimizers.ademamix import AdEMAMix
from graftax.optimizers.adopt import ADOPT
from graftax.optimizers.ftrl import Ftrl
from graftax.optimizers.lamb import LAMB
from graftax.optimizers.lars import LARS
from graftax.optimizers.lion import Lion
from graftax.optimizers.minimizer import Minimizer, check_signature
from graftax.optimizers.muon import Muon
from graftax.optimizers.nadam import Nadam
from graftax.optimizers.nadamw import NAdamW
from graftax.optimizers.novograd import Novograd
from graftax.optimizers.optimizer import Optimizer
from graftax.optimizers.prodigy import Prodigy
from graftax.optimizers.radam import RAdam
from graftax.optimizers.rmsprop import RMSprop
from graftax.optimizers.rprop import Rprop
from graftax.optimizers.schedule_free import ScheduleFreeAdamW, ScheduleFreeSGD
from graftax.optimizers.sgd import SGD
from graftax.optimizers.shampoo import Shampoo
from graftax.optimizers.sign_sgd import SignSGD
from graftax.optimizers.sm3 import SM3
from graftax.optimizers.soap import SOAP
from graftax.optimizers.sophia import Sophia
from graftax.optimizers.yogi import Yogi
from graftax.short_traceback import door

_CLASSES: tuple[Callable[[], Optimizer], ...] = (
    SGD,
    Adam,
    AdamW,
    Nadam,
    NAdamW,
    RAdam,
    Adamax,
    AdaBelief,
    Yogi,
    Adan,
    AdEMAMix,
    ADOPT,
    RMSprop,
    Adagrad,
    Adadelta,
    Ftrl,
    Lion,
    Rprop,
    SignSGD,
    Prodigy,
    ScheduleFreeAdamW,
    ScheduleFreeSGD,
    Adafactor,
    LAMB,
    LARS,
    Muon,
    Novograd,
    SM3,
    Shampoo,
    SOAP,
    Sophia,
)
NAMES: dict[str, Callable[[], Optimizer]] = {getattr(kind, "__name__", "").lower(): kind for kind in _CLASSES}


@door
def get(optimizer: str | Minimizer) -> Minimizer:
    """The optimizer itself, or one with default arguments by its name.

    Raises:
        ArgumentError: there is none of that name.
        ArgumentTypeError: it is neither a name nor something that minimizes in the way that training asks for.

    Example:
        >>> get("adam")
        Adam(learning_rate=0.001)
    """
    if isinstance(optimizer, Module) and isinstance(optimizer, Minimizer):
        check_signature(optimizer)
        return optimizer
    if isinstance(optimizer, type) and issubclass(optimizer, Module):
        raise ArgumentTypeError(
            f"optimizer={optimizer.__name__}, the class", "one is made first", f"optimizer={optimizer.__name__}(...)"
        )
    if not isinstance(optimizer, str):
        raise ArgumentTypeError(
            f"optimizer={optimizer!r:.60}",
            "it is a name, a graftax optimizer, or another graftax.Module with minimize(loss_fn, variables, has_aux)",
            _instead(optimizer),
        )
    if optimizer.lower() not in NAMES:
        raise unknown("optimizer", optimizer, NAMES, "or an optimizer: graftax.optimizers.Adam(1e-3)")
    return NAMES[optimizer.lower()]()


def _instead(given: object) -> str:
    if hasattr(given, "init") and hasattr(given, "update"):
        return "optimizer=graftax.optimizers.Optax(transformation)"
    return "optimizer=graftax.optimizers.Adam(1e-3)"
